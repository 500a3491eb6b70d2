"""``shoe map import``: a map from tables of ratings."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT


def import_(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New folder for the map; its name is the map's.")],
    tables: Annotated[list[Path], typer.Argument(metavar="TABLES", help="CSV or TSV files, gzip-compressed or not.")],
    dataset: Annotated[str, typer.Option(help="Whose classes were rated.")] = DEFAULT,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="RATER=MODEL", help="Who or what is behind a column; again for more columns."),
    ] = None,
    provenance: Annotated[str | None, typer.Option(help="How the ratings came about, for map.json.")] = None,
    licence: Annotated[str | None, typer.Option(help="What may be done with them, for map.json.")] = None,
) -> None:
    """Make a map from tables of ratings: columns class_synset, synset, and one for each rater.

    Example: shoe map import my-map verbs.csv objects.csv --model gpt=gpt-4.1-2025-04-14

    A rating is 0 to 4, or nothing where the rater has not rated the pair; senses are WordNet 3.0 names (ride.v.01),
    which also tell verbs from objects. Tables may bring other raters, other pairs, or both. Anything else is refused,
    with file, line and field. What shoe map export writes as a table can be imported. OUT is written whole or not at
    all.
    """
    from shoe.benchmarks import benchmark
    from shoe.core.errors import OptionError, printable, quote
    from shoe.maps.info import describe
    from shoe.maps.sources import import_tables
    from shoe.report.map_tables import heading

    benchmark(dataset)
    models = {}
    for assignment in model or []:
        rater, _, name = assignment.partition("=")
        if not rater or not name or not name.isprintable():
            raise OptionError(f"model: found {quote(assignment)}, expected RATER=MODEL")
        models[rater] = name
    prose = {key: text for key, text in (("provenance", provenance), ("licence", licence)) if text}
    for key, text in prose.items():
        if not text.isprintable():
            raise OptionError(f"{key}: found {quote(text)}, expected one line of text")
    made = import_tables(out, tables, dataset=dataset, models=models, prose=prose)
    for line in [heading(made), *(f"warning: {line}" for line in describe(made).warnings)]:
        print(printable(line, longest=1000), file=sys.stderr)
