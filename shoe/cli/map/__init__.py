"""``shoe map``: similarity maps, in thin commands."""

from collections.abc import Callable

import typer

from shoe.cli.map import tools
from shoe.cli.map.build import build
from shoe.cli.map.complete import complete
from shoe.cli.map.learn import learn

app = typer.Typer(
    help="Look into similarity maps, and make new ones from them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "build": build,
    "complete": complete,
    "learn": learn,
    "import": tools.import_,
    "merge": tools.merge,
    "info": tools.info,
    "diff": tools.diff,
    "ablate": tools.ablate,
    "export": tools.export,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
