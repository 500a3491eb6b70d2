"""``shoe map import, merge, info, diff, ablate, export``: what can be done with whole maps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import progress_bar, put_json

if TYPE_CHECKING:
    from shoe.scoring.score import Report
    from shoe.similarity import SimilarityMap

_Truth = Annotated[Path | None, typer.Option("--ground-truth", "-g", help="Annotation file for --for.")]


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
    extends: Annotated[
        str | None, typer.Option(metavar="MAP", help="Shipped map that has all other ratings; OUT refers to it.")
    ] = None,
) -> None:
    """Make a map from tables of ratings: columns class_synset, synset, and one for each rater.

    Example: shoe map import my-map verbs.csv objects.csv --model gpt=gpt-4.1-2025-04-14

    A rating is 0 to 4, or nothing where the rater has not rated the pair; senses are WordNet 3.0 names (ride.v.01),
    which also tell verbs from objects. Tables may bring other raters, other pairs, or both. Anything else is refused,
    with file, line and field. What shoe map export writes as a table can be imported. OUT is written whole or not at
    all.
    """
    from shoe.benchmarks import benchmark
    from shoe.core.errors import OptionError, quote
    from shoe.maps.sources import import_tables

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
    _tell_made(import_tables(out, tables, dataset=dataset, models=models, prose=prose, extends=extends))


def merge(
    map: options.Map,
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER", help="Maps, or tables of ratings (see shoe map import --help).")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the map that has them all.")],
) -> None:
    """Add raters to a map: a new map with the columns of all, and the pairs of any.

    Example: shoe map merge my-map new-rater.csv --out my-map-2

    A rater's name that occurs twice is refused. Where a rater did not rate a pair of another's, its rating is missing,
    not 0; so it is with whole interactions. What each map says of itself is kept under "merged" in the new map.json.
    DIR is written whole or not at all.
    """
    from shoe.maps.sources import merge as merge_maps

    _tell_made(merge_maps(out, [map, *others]))


def info(map: options.Map, json: options.Json = None) -> None:
    """Describe a map: its raters and their ratings, how far they agree, which classes are covered, where it is from.

    Example: shoe map info hico-det

    Agreement of two raters is measured on the pairs that both rated. Coverage is the number of synsets rated with each
    class sense of the map's dataset; classes with none are warned of.
    """
    from shoe.maps.info import describe
    from shoe.report.maps import print_info
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap

    similarity = SimilarityMap.load(map)
    found = describe(similarity)
    if not put_json(found, json):
        print_info(similarity, found, console())


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A shipped map's name, or a map's folder.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    predictions: Annotated[
        Path | None, typer.Option("--for", metavar="PREDICTIONS", help="Also score this prediction file under both.")
    ] = None,
    ground_truth: _Truth = None,
    json: options.Json = None,
) -> None:
    """Compare two maps: pairs shared or not, correlation, largest disagreements, and what they do to a score.

    Example: shoe map diff hico-det my-map --for predictions.json --ground-truth instances_test2015.json

    A pair is a map's if a rater of it rated the pair; its value is the mean of the ratings, 0 to 1. Boxes of
    PREDICTIONS are taken in their format's own convention; others: shoe convert. Glosses need WordNet's files:
    scripts/setup-wordnet.
    """
    from shoe.core.errors import MissingExtraError
    from shoe.maps.diff import MapDiff, under
    from shoe.report.maps import print_diff
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    maps = SimilarityMap.load(a, ENSEMBLE), SimilarityMap.load(b, ENSEMBLE)
    report = evaluated(predictions, ground_truth, a, maps[0].dataset)
    reports = (report, under(report, maps[1])) if report else None
    found = MapDiff.from_maps(*maps, reports)
    try:
        found = found.with_glosses()
    except MissingExtraError as missing:
        print(missing, file=sys.stderr)
    if not put_json(found, json):
        print_diff(maps, found, reports, console())


def ablate(
    map: options.Map,
    predictions: Annotated[
        Path | None, typer.Option("--for", metavar="PREDICTIONS", help="Score this prediction file under each subset.")
    ] = None,
    ground_truth: _Truth = None,
    human: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Human ratings, CSV or TSV, to compare each subset with.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Take a map apart by its raters: correlations, and the score and human agreement of every subset of them.

    Example: shoe map ablate my-map --for predictions.json --ground-truth instances_test2015.json --human study.csv

    FILE is a table of shoe study collect; or its header is class_synset, synset, rating, or verb_a, object_a, verb_b,
    object_b, rating for whole interactions (a: the class). Senses are WordNet names, ratings 0 to 4, several lines for
    a pair are averaged. Of subsets that have a value for half of the pairs it is said which people cannot tell from the
    nearest one, at 95 % for all together. Agreement is 1 - mean absolute difference / range, on the pairs that the
    subset has a value for. Standard deviations are of a sample. At most 10 raters. Boxes of PREDICTIONS are taken in
    their format's own convention; others: shoe convert.
    """
    from shoe.maps.ablate import MapAblate, subsets_of
    from shoe.maps.ablate import ablate as ablate_map
    from shoe.report.maps import print_ablation
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE
    from shoe.study.raters_and_people import read_people

    similarity = SimilarityMap.load(map, ENSEMBLE)
    subsets_of(len(similarity.raters))  # before minutes of reading, not after
    ratings = read_people(human) if human else []
    report = evaluated(predictions, ground_truth, map, similarity.dataset)
    found = ablate_map(similarity, report, ratings, progress_bar("subsets of raters"))
    if not put_json(MapAblate.from_ablation(found), json):
        print_ablation(found, console())


def export(
    map: options.Map,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .npz, .csv or .tsv.")],
) -> None:
    """Write a map as dense arrays (.npz) or as one long table (.csv, .tsv); whole or not at all.

    Example: shoe map export hico-det hico-det.npz

    The value of a pair is the mean of its ratings, 0 to 1. Arrays, for C classes, S synsets and R raters: verb_classes,
    object_classes (C,); verb_synsets, object_synsets (S,); verb_values, object_values (C, S), NaN where nobody rated, 1
    for a sense and itself; verb_ratings, object_ratings (C, S, R) int8, -1 where missing; raters (R,); name, dataset,
    digest, ensemble. Loading them needs no pickle. Columns of a table: part, class_synset, synset, value, each rater.
    Of m rated whole interactions: interaction_rows (m, 4), interaction_values (m,), interaction_ratings (m, R); a table
    has no room for them.
    """
    from shoe.maps.convert import export as export_map
    from shoe.report.maps import heading
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    similarity = SimilarityMap.load(map, ENSEMBLE)
    export_map(similarity, out)
    print(f"{heading(similarity)}: written to {out}", file=sys.stderr)


def evaluated(predictions: Path | None, ground_truth: Path | None, map_name: str, dataset: str) -> Report | None:
    """Score a prediction file under a map, and say on stderr how it was read; None if no file is given."""
    from shoe.core.errors import OptionError
    from shoe.maps.diff import scored
    from shoe.scoring.evidence.facts import box_check

    if predictions is None and ground_truth is None:
        return None
    if predictions is None or ground_truth is None:
        given, other = ("--for", "--ground-truth") if predictions else ("--ground-truth", "--for")
        raise OptionError(f"{given}: found no {other}, expected both or none")
    report = scored(predictions, ground_truth, map_name, dataset)
    notes = report.notes
    lines = [f"{predictions}: {notes.summary()}", *notes.lines()] if notes else []
    for line in [*lines, *box_check(report).lines()]:
        print(line, file=sys.stderr)
    return report


def _tell_made(made: SimilarityMap) -> None:
    """Say on stderr what a new map holds, and what a user of it should know."""
    from shoe.core.errors import printable
    from shoe.maps.info import describe
    from shoe.report.maps import heading

    for line in [heading(made), *(f"warning: {line}" for line in describe(made).warnings)]:
        print(printable(line, longest=1000), file=sys.stderr)


# ``shoe map learn``: predict what a map does not rate.


def learn(
    map: options.Map,
    json: options.Json = None,
) -> None:
    """Predict all pairs that a map does not rate from those that it rates, and put the predictions beside it.

    Example: shoe map learn my-map

    Gradient-boosted trees learn a pair's rating from WordNet's graph, names, definitions and the ratings of other
    pairs. How well they predict is measured on senses, then on classes, whose ratings they have not seen; that is
    printed and written to map.json. Scoring takes the predictions for unrated pairs (unrated=learned) and needs no
    trees for it; learning needs shoe-eval[llm] and WordNet's files.
    """
    from shoe.maps.learn import teach
    from shoe.report.maps import learned_table
    from shoe.report.terminal import console

    found = teach(map, lambda line: print(line, file=sys.stderr))
    if not put_json(found, json):
        console().print(learned_table(found))
