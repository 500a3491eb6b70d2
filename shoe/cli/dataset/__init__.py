"""``shoe dataset``: datasets and their files, in thin commands."""

import typer

from shoe.cli.dataset.check import check
from shoe.cli.dataset.look import info, list_, stats
from shoe.cli.dataset.split import split

app = typer.Typer(
    help="Look into datasets and their files, and split them.",
)
for _command in (list_, info, stats, check, split):
    app.command(_command.__name__.rstrip("_"))(_command)
