"""``shoe map``: build, inspect, compare and convert similarity maps."""

import typer

from shoe.cli.map import tools
from shoe.cli.map.build import build, complete
from shoe.cli.map.tools import learn

app = typer.Typer(help="Build, inspect, compare and convert similarity maps.")
for _command in (
    build, complete, learn, tools.import_, tools.merge, tools.info, tools.diff, tools.ablate, tools.export, tools.cache
):  # fmt: skip
    app.command(_command.__name__.rstrip("_"))(_command)
