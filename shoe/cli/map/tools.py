"""``shoe map import, merge, info, diff, ablate, export, learn, cache``: commands for existing maps and answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import progress_bar, put_report, say
from shoe.core.errors import OptionError, pluralize, printable, quote

if TYPE_CHECKING:
    from shoe.scoring.score import Report
    from shoe.similarity import SimilarityMap

_Predictions = Annotated[
    Path | None,
    Option("--for", metavar="PREDICTIONS", help="Prediction file to score with each map or subset of raters."),
]
_Truth = Annotated[Path | None, Option("--ground-truth", "-g", help="Annotation file for scoring PREDICTIONS.")]


def import_(
    out: Annotated[Path, Argument(metavar="OUT", help="New folder for the map; the folder name is the map name.")],
    tables: Annotated[list[Path], Argument(metavar="TABLES", help="CSV or TSV files, gzip-compressed or not.")],
    dataset: Annotated[str, Option(help="Dataset whose classes were rated.")] = DEFAULT,
    model: Annotated[
        list[str] | None,
        Option(metavar="RATER=MODEL", help="MODEL: model or person that rated in column RATER. May be repeated."),
    ] = None,
    provenance: Annotated[str | None, Option(help="Origin of the ratings, recorded in map.json.")] = None,
    licence: Annotated[str | None, Option(help="Licence of the ratings, recorded in map.json.")] = None,
    extends: Annotated[
        str | None, Option(metavar="MAP", help="Shipped map to start from; OUT has its ratings and the new ones.")
    ] = None,
) -> None:
    """Create a map from tables of ratings with the columns class_synset, synset, and one column per rater.

    Example: shoe map import my-map verbs.csv objects.csv --model gpt=gpt-4.1-2025-04-14

    A rating is 0 to 4, or empty if the rater did not rate the pair. Senses are WordNet 3.0 names (ride.v.01); the name
    shows whether the pair is of verbs or objects. Tables may have different raters, different pairs, or both. Errors
    name file, line and field. Tables of shoe map export can be imported. If an error occurs, OUT is not written.
    """
    from shoe.maps.sources import import_tables

    benchmark(dataset)
    models = {}
    for assignment in model or []:
        rater, _, name = assignment.partition("=")
        if not rater or not name or not name.isprintable():
            raise OptionError(f"--model: found {quote(assignment)}, expected RATER=MODEL")
        models[rater] = name
    prose = {key: text for key, text in (("provenance", provenance), ("licence", licence)) if text}
    for key, text in prose.items():
        if not text.isprintable():
            raise OptionError(f"--{key}: found {quote(text)}, expected one line of text")
    _print_summary(import_tables(out, tables, dataset=dataset, models=models, prose=prose, extends=extends))


def merge(
    map: options.Map,
    others: Annotated[list[str], Argument(metavar="OTHER", help="Maps, or tables of ratings (see shoe map import).")],
    out: Annotated[Path, Option(metavar="DIR", help="New folder for the merged map.")],
) -> None:
    """Merge the raters of several maps or tables into a new map with all their columns and pairs.

    Example: shoe map merge my-map new-rater.csv --out my-map-2

    Rater names must be unique. If a rater did not rate a pair or a whole interaction that another rater rated, the
    rating is missing, not 0. The metadata of each map is recorded under "merged" in the new map.json. If an error
    occurs, DIR is not written.
    """
    from shoe.maps.sources import merge as merge_maps

    _print_summary(merge_maps(out, [map, *others]))


def info(
    map: options.Map,
    check: Annotated[bool, Option("--check", help="Also check whether the map's values are plausible.")] = False,
    json: options.Json = None,
) -> None:
    """Describe a map: raters, numbers of ratings, agreement, covered classes and provenance.

    Example: shoe map info hico-det --check

    Agreement of two raters is computed on the pairs that both rated. Coverage is the number of synsets rated with each
    class sense of the dataset. Classes without any rating are listed in a warning. --check warns of implausible values
    (docs/maps.md) and lists the 20 pairs of each part of speech whose rating is furthest from the predicted rating.
    """
    from shoe.maps.info import describe
    from shoe.report.maps import print_info
    from shoe.similarity import SimilarityMap

    similarity = SimilarityMap.load(map)
    found = describe(similarity, check)
    put_report(found, json, lambda to: print_info(similarity, found, to))


def diff(
    a: Annotated[str, Argument(metavar="A", help="First map: name of a shipped map, or folder of a map.")],
    b: Annotated[str, Argument(metavar="B", help="Second map: name of a shipped map, or folder of a map.")],
    predictions: _Predictions = None,
    ground_truth: _Truth = None,
    json: options.Json = None,
) -> None:
    """Compare two maps: shared pairs, correlation, largest differences and, with --for, their effect on a score.

    Example: shoe map diff hico-det my-map --for predictions.json --ground-truth instances_test2015.json

    A map contains a pair if at least one of its raters rated it. The value of a pair is the mean of the ratings, 0 to
    1. PREDICTIONS must use the box convention of its format; otherwise run shoe convert first.
    """
    from shoe.maps.diff import MapDiff, rescore
    from shoe.report.maps import print_diff
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    maps = SimilarityMap.load(a, ENSEMBLE), SimilarityMap.load(b, ENSEMBLE)
    report = evaluate_predictions(predictions, ground_truth, a, maps[0].dataset)
    reports = (report, rescore(report, maps[1])) if report else None
    found = MapDiff.from_maps(*maps, reports).with_glosses()
    put_report(found, json, lambda to: print_diff(maps, found, reports, to))


def ablate(
    map: options.Map,
    predictions: _Predictions = None,
    ground_truth: _Truth = None,
    human: Annotated[Path | None, Option(metavar="FILE", help="Human ratings (CSV or TSV) to compare with.")] = None,
    json: options.Json = None,
) -> None:
    """Ablate the raters of a map: correlations of raters, and score and human agreement of every subset of raters.

    Example: shoe map ablate my-map --for predictions.json --ground-truth instances_test2015.json --human study.csv

    FILE is a table of shoe study collect, or has the columns class_synset, synset, rating; or, for whole interactions,
    verb_a, object_a (the class), verb_b, object_b, rating. Senses are WordNet names, ratings 0 to 4. Several rows for
    a pair are averaged. Agreement is 1 - mean absolute difference (similarities scaled to 0 to 1), over the pairs for
    which the subset has a value. Subsets with a value for at least half of the pairs are compared with the subset of
    highest agreement; subsets that are not significantly worse are marked (95 % for all comparisons together).
    Standard deviations use n - 1. A map of more than 10 raters is refused. PREDICTIONS must use the box convention of
    its format; otherwise run shoe convert first.
    """
    from shoe.maps import ablate as ablation
    from shoe.report.maps import print_ablation
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE
    from shoe.study.raters_and_people import read_people

    similarity = SimilarityMap.load(map, ENSEMBLE)
    ablation.subsets_of(
        len(similarity.raters)
    )  # raises if there are too many raters, before files are read for minutes
    ratings = read_people(human) if human else []
    report = evaluate_predictions(predictions, ground_truth, map, similarity.dataset)
    found = ablation.ablate(similarity, report, ratings, progress_bar("subsets of raters"))
    put_report(found, json, lambda to: print_ablation(found, similarity, report, to))


def export(
    map: options.Map,
    out: Annotated[Path, Argument(metavar="OUT", help="File to write: .npz, .csv or .tsv. With --publish, a folder.")],
    publish: Annotated[bool, Option("--publish", help="Copy the map to a new folder, without private data.")] = False,
) -> None:
    """Write a map as dense arrays (.npz) or as one table (.csv, .tsv). If an error occurs, no file is written.

    Example: shoe map export hico-det hico-det.npz

    The value of a pair is the mean of its ratings, 0 to 1. Arrays, for C classes, S synsets and R raters: verb_classes,
    object_classes (C,); verb_synsets, object_synsets (S,); verb_values, object_values (C, S), NaN if unrated, 1 for
    identical senses; verb_ratings, object_ratings (C, S, R) int8, -1 if missing; raters (R,); name, dataset, digest,
    ensemble. For m rated whole interactions: interaction_rows (m, 4), interaction_values (m,), interaction_ratings
    (m, R). The file can be loaded without pickle. Columns of a table: part, class_synset, synset, value, and one column
    per rater. Tables do not contain whole interactions.

    With --publish, addresses, headers, paths and names of environment variables and machines are removed from map.json
    and listed; models, revisions and ratings remain. Free texts are kept and listed: check them before you publish.
    """
    from shoe.maps import convert
    from shoe.report.maps import heading
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    similarity = SimilarityMap.load(map, ENSEMBLE)
    if publish:
        print(*convert.publish(map, similarity, out), sep="\n", file=sys.stderr)
    else:
        convert.export(similarity, out)
    print(f"{heading(similarity)}: written to {out}", file=sys.stderr)


def evaluate_predictions(
    predictions: Path | None, ground_truth: Path | None, map_name: str, dataset: str
) -> Report | None:
    """Return the report of a prediction file scored with a map and the protocol shoe; None if no file is given.

    Remarks on the file and on its boxes are printed to standard error. Raise OptionError if only one file is given.
    """
    from shoe.maps.diff import scored

    if predictions is None and ground_truth is None:
        return None
    if predictions is None or ground_truth is None:
        raise OptionError("--for and --ground-truth must be given together")
    report = scored(predictions, ground_truth, map_name, dataset)
    lines = [f"{predictions}: {report.notes.summary()}", *report.notes.lines()] if report.notes else []
    for line in [*lines, *report.box_check.lines()]:
        print(line, file=sys.stderr)
    return report


def _print_summary(similarity: SimilarityMap) -> None:
    from shoe.maps.info import describe
    from shoe.report.maps import heading

    for line in [heading(similarity), *(f"warning: {line}" for line in describe(similarity).warnings)]:
        print(printable(line, longest=1000), file=sys.stderr)


def learn(map: options.Map, json: options.Json = None) -> None:
    """Predict the ratings of all unrated pairs from the rated pairs of a map, and save them in the map's folder.

    Example: shoe map learn my-map

    Gradient-boosted trees predict the rating of a pair from the WordNet graph, names, definitions and the ratings of
    other pairs. Their accuracy on held-out senses and on held-out classes is printed and written to map.json. Scoring
    uses the predicted ratings for unrated pairs if unrated=learned. This command requires shoe-eval[llm]; scoring with
    the predicted ratings does not.
    """
    from shoe.maps.learn import train_on_map
    from shoe.report.maps import learned_table

    found = train_on_map(map, lambda line: print(line, file=sys.stderr))
    put_report(found, json, lambda to: to.print(learned_table(found)))


def cache(
    folder: options.Cache = None,
    export: Annotated[
        Path | None, Option(metavar="DIR", help="Write all answers to this folder, a ledger per model.")
    ] = None,
    clear: Annotated[
        bool, Option("--clear", help="Delete all answers from the cache; ledgers are not changed.")
    ] = False,
) -> None:
    """Show the size of your cache of models' answers, and the number of answers of each model.

    Example: shoe map cache --export for-a-colleague

    map build, map complete and predict take answers from the cache before they send requests, and add the answers that
    they paid for. The cache is in the folder shoe-answers of --cache, which only you can read.
    """
    from shoe.llm.cache import AnswerStore, cache_folder, clear as clear_cache

    if export and clear:
        raise OptionError("--export and --clear are mutually exclusive: export first, then clear")
    place = cache_folder(folder)
    if place is None or not place.is_dir():
        print("the cache is off" if place is None else f"{place}: no answers")
        return
    if clear:
        clear_cache(place)
        print(f"{place}: empty")
        return
    store = AnswerStore(place, say)
    for path, count in store.export(export) if export else ():
        print(f"{path}: {pluralize(count, 'answer')}")
    if export is None:
        print(f"{place}: {sum(path.stat().st_size for path in place.glob('cache.db*')) / 1e6:,.1f} MB")
        for identity, count in store.summary().values():
            revision = f" ({identity['revision']})" if identity.get("revision") else ""
            print(f"{identity['model']}{revision}: {pluralize(count, 'answer')}")
