"""``shoe map export``: a map for other tools."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def export(
    map: Annotated[str, typer.Argument(metavar="MAP", help="A shipped map's name, or a map's folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .npz, .csv or .tsv.")],
) -> None:
    """Write a map as dense arrays (.npz) or as one long table (.csv, .tsv); whole or not at all.

    Example: shoe map export hico-det hico-det.npz

    The value of a pair is the mean of its ratings, 0 to 1. Arrays, for C classes, S synsets and R raters: verb_classes,
    object_classes (C,); verb_synsets, object_synsets (S,); verb_values, object_values (C, S), NaN where nobody rated, 1
    for a sense and itself; verb_ratings, object_ratings (C, S, R) int8, -1 where missing; raters (R,); name, dataset,
    digest, ensemble. Loading them needs no pickle. Columns of a table: part, class_synset, synset, value, each rater.
    """
    from shoe.maps.export import export as export_map
    from shoe.report.map_tables import heading
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    similarity = SimilarityMap.load(map, ENSEMBLE)
    export_map(similarity, out)
    print(f"{heading(similarity)}: written to {out}", file=sys.stderr)
