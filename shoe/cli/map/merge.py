"""``shoe map merge``: raters of several maps in one."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def merge(
    map: Annotated[str, typer.Argument(metavar="MAP", help="A shipped map's name, or a map's folder.")],
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER", help="Maps, or tables of ratings (see shoe map import --help).")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the map that has them all.")],
) -> None:
    """Add raters to a map: a new map with the columns of all, and the pairs of any.

    Example: shoe map merge my-map new-rater.csv --out my-map-2

    A rater's name that occurs twice is refused. Where a rater did not rate a pair of another's, its rating is missing,
    not 0. What each map says of itself is kept under "merged" in the new map.json. DIR is written whole or not at all.
    """
    from shoe.core.errors import printable
    from shoe.maps.info import describe
    from shoe.maps.sources import merge as merge_maps
    from shoe.report.map_tables import heading

    made = merge_maps(out, [map, *others])
    for line in [heading(made), *(f"warning: {line}" for line in describe(made).warnings)]:
        print(printable(line, longest=1000), file=sys.stderr)
