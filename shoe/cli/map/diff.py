"""``shoe map diff``: two maps beside each other."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A shipped map's name, or a map's folder.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    predictions: Annotated[
        Path | None, typer.Option("--for", metavar="PREDICTIONS", help="Also score this prediction file under both.")
    ] = None,
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file for --for.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Compare two maps: pairs shared or not, correlation, largest disagreements, and what they do to a score.

    Example: shoe map diff hico-det my-map --for predictions.json --ground-truth instances_test2015.json

    A pair is a map's if a rater of it rated the pair; its value is the mean of the ratings, 0 to 1. Boxes of
    PREDICTIONS are taken in their format's own convention; others: shoe convert. Glosses need WordNet's files:
    scripts/setup-wordnet.

    JSON keys: a, b {name, digest, raters}; ensemble; verbs, objects {shared, only_a, only_b, pearson, spearman,
    mean_difference, largest [{class_synset, synset, a, b, lemmas, glosses}]}; with --for score {a, b {map, mf1,
    signature}, classes [{label, ground_truths, a, b}]}, the classes whose average precision moves most. Fractions 0..1;
    what cannot be measured is left out.
    """
    from shoe.cli.map.evaluation import evaluated
    from shoe.cli.output import write_json
    from shoe.core.errors import MissingExtraError
    from shoe.io.json import encode
    from shoe.maps.diff import compare, glosses_of
    from shoe.maps.effect import under
    from shoe.report.map_diff import diff_dict, print_diff
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    maps = SimilarityMap.load(a, ENSEMBLE), SimilarityMap.load(b, ENSEMBLE)
    report = evaluated(predictions, ground_truth, a, maps[0].dataset)
    reports = (report, under(report, maps[1])) if report else None
    parts = compare(*maps)
    glosses: dict[str, str] = {}
    try:
        glosses = glosses_of(parts)
    except MissingExtraError as missing:
        print(missing, file=sys.stderr)
    if json is not None:
        write_json(encode(diff_dict(maps, parts, glosses, reports), readable=True), json)
    if json != "-":
        print_diff(maps, parts, glosses, reports, console())
