"""``shoe dataset``: datasets and their files, in thin commands."""

from collections.abc import Callable

import typer

from shoe.cli.dataset.check import check
from shoe.cli.dataset.look import info, list_, stats
from shoe.cli.dataset.split import split

app = typer.Typer(
    help="Look into datasets and their files, and split them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_,
    "info": info,
    "stats": stats,
    "check": check,
    "split": split,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
