"""``shoe map ablate``: what each subset of a map's raters would have made of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

Item = TypeVar("Item")


def ablate(
    map: Annotated[str, typer.Argument(metavar="MAP", help="A shipped map's name, or a map's folder.")],
    predictions: Annotated[
        Path | None, typer.Option("--for", metavar="PREDICTIONS", help="Score this prediction file under each subset.")
    ] = None,
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file for --for.")
    ] = None,
    human: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Human ratings, CSV or TSV, to compare each subset with.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Take a map apart by its raters: correlations, and the score and human agreement of every subset of them.

    Example: shoe map ablate my-map --for predictions.json --ground-truth instances_test2015.json --human study.csv

    The header of FILE is class_synset, synset, rating, or verb_a, object_a, verb_b, object_b, rating for whole
    interactions (a: the class); senses are WordNet names, ratings 0 to 4, several lines for a pair are averaged.
    Agreement is 1 - mean absolute difference / range, on the pairs that the subset has a value for. Standard deviations
    are of a sample. At most 10 raters. Boxes of PREDICTIONS are taken in their format's own convention; others: shoe
    convert.

    JSON keys: name, digest, ensemble, raters; correlations {verbs, objects [{raters, pairs, pearson}]}; subsets
    [{raters, rated {verbs, objects}, map, mf1, human {verbs, objects, interactions {pairs, agreement, pearson,
    spearman}}}]; sizes [{size, subsets, map, mf1, human_agreement {verbs, objects, interactions}}] and all_subsets,
    each figure as {subsets, mean, standard_deviation, lowest, highest}; signature (of the whole map's score); human
    {verbs, objects, interactions {pairs, ratings}}. Fractions 0..1; what was not asked for or cannot be measured is
    left out.
    """
    from shoe.cli.map.evaluation import evaluated
    from shoe.cli.output import write_json
    from shoe.io.json import encode
    from shoe.maps.ablate import ablate as ablate_map
    from shoe.maps.ablate import subsets_of
    from shoe.maps.human import read_human_ratings
    from shoe.report.map_ablate import ablation_dict, print_ablation
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    similarity = SimilarityMap.load(map, ENSEMBLE)
    subsets_of(len(similarity.raters))  # before minutes of reading, not after
    ratings = read_human_ratings(human) if human else []
    report = evaluated(predictions, ground_truth, map, similarity.dataset)
    found = ablate_map(similarity, report, ratings, _shown_progress)
    if json is not None:
        write_json(encode(ablation_dict(found), readable=True), json)
    if json != "-":
        print_ablation(found, console())


def _shown_progress(items: list[Item]) -> Iterable[Item]:
    """The items, with a bar on stderr while a person watches."""
    from rich.console import Console
    from rich.progress import track

    talk = Console(stderr=True)
    return track(items, "subsets of raters", console=talk, transient=True, disable=not talk.is_terminal)
