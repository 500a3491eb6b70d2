"""``shoe map``: build, inspect, compare and convert similarity maps."""

from shoe.cli import options
from shoe.cli.map.build import build, complete
from shoe.cli.map.tools import ablate, cache, diff, export, import_, info, learn, merge

app = options.group(
    "Build, inspect, compare and convert similarity maps.",
    *(build, complete, learn, import_, merge, info, diff, ablate, export, cache),
)
