"""``python -m shoe``: the command line."""

from shoe.cli import main

main()
