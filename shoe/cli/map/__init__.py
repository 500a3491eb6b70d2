"""``shoe map``: similarity maps, in thin commands."""

import typer

from shoe.cli.map import tools
from shoe.cli.map.build import build
from shoe.cli.map.complete import complete
from shoe.cli.map.tools import learn

app = typer.Typer(
    help="Look into similarity maps, and make new ones from them.",
)
_OF_WHOLE_MAPS = tools.import_, tools.merge, tools.info, tools.diff, tools.ablate, tools.export
for _command in (build, complete, learn, *_OF_WHOLE_MAPS):
    app.command(_command.__name__.rstrip("_"))(_command)
