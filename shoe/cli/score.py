"""``shoe score``: score predictions against the ground truth."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import refuse_overwrite, show_progress, write_json

if TYPE_CHECKING:
    from shoe.scoring.file_options import ScoringOptions


def score(
    predictions: Annotated[list[Path], Argument(readable=False, help="Prediction files in any supported format.")],
    ground_truth: options.GroundTruth,
    protocol: Annotated[
        list[str] | None,
        Option("--protocol", "-p", help="Name of a protocol, or 'all'. May be repeated. Default: hico-det and shoe."),
    ] = None,
    json: options.Json = None,
    per_class: options.PerClass = None,
    save: Annotated[Path | None, Option(help="Save the run as NAME.shoe, for shoe compare and shoe verify.")] = None,
    dataset: options.Dataset = DEFAULT,
    split: options.Split = None,
    boxes: options.Boxes = None,
    format: options.Format = None,
    bad_boxes: options.BadBoxes = "refuse",
    similarity: options.Similarity = "dataset",
    option: Annotated[
        list[str] | None,
        Option("--option", "-o", help="NAME=VALUE: set an option of a protocol. May be repeated. '-o help' lists all."),
    ] = None,
    scores: options.Scores = None,
    words: Annotated[Path | None, Option(help="Write the predicted words and their meanings to this CSV file.")] = None,
    images_in_predictions: options.ImagesInPredictions = False,
    subset: options.Subset = None,
    classes: options.Classes = None,
    image_labels: options.ImageLabels = None,
    bounds: options.Bounds = False,
    results: Annotated[
        Path | None, Option(help="Folder for one JSON report per prediction file, if there are several.")
    ] = None,
    shard: Annotated[str | None, Option(help="With --results: score only one part of the files, e.g. 3/16.")] = None,
    engine: options.Engine = "serial",
    verbose: options.Verbose = False,
) -> None:
    """Score predictions: strict mAP, SHOE-mAP, SHOE-mF1 and miss rates, with a signature of all settings.

    Protocols: hico-det, hico-det-known-object, ppdm, qpic, gen-vlkt, upt, thid, diag; shoe, shoe-literal, shoe-robust;
    for V-COCO v-coco-agent, v-coco-s1, v-coco-s2; for SWIG-HOI swig-hoi, choir; all: every strict protocol and shoe.
    shoe score -o help lists the protocol options. shoe convert --help lists formats and box conventions.

    Example: shoe score predictions.json --ground-truth instances_test2015.json --protocol all
    """
    from shoe.report.score import as_json, print_report, write_classes, write_wordings
    from shoe.report.text import console
    from shoe.scoring.evidence.collect import Evidence
    from shoe.scoring.evidence.facts import wordings
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, ground_truth, classes, image_labels), words, per_class, save, json)
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, classes=classes, split=split, image_labels=image_labels,
        subset=subset, images_in_predictions=images_in_predictions, boxes=boxes, scores=scores, format=format,
        protocols=protocol or (), options=option or (), similarity=similarity, bad_boxes=bad_boxes,
    )  # fmt: skip
    if results is not None or len(predictions) > 1 or shard is not None or engine != "serial":
        one = {"--words": words, "--per-class": per_class, "--save": save, "--json": json}
        _score_many(predictions, scoring, results, engine, shard, [name for name in one if one[name]], bounds=bounds)
        return
    (path,) = predictions
    report, notes = scoring.report(path)
    evidence = Evidence.from_report(report, bounds=bounds)
    if words is not None:
        write_wordings(wordings(report), notes.examples("unparsed"), words)
    if per_class is not None:
        write_classes(report, per_class)
    if save is not None:
        from shoe.comparison.run import Run
        from shoe.comparison.run_file import write_run

        write_run(Run.from_report(report, path.stem, evidence.spread, evidence.interval), save)
    if json is not None:
        write_json(as_json(report, evidence), json)
    if json != "-":
        print_report(report, console(), evidence, verbose=verbose)


def _score_many(
    files: list[Path],
    scoring: "ScoringOptions",
    folder: Path | None,
    engine: str,
    shard: str | None,
    of_one: list[str],
    *,
    bounds: bool,
) -> None:
    from shoe.core.errors import OptionError, pluralize
    from shoe.engines import engine_of
    from shoe.engines.base import Shard
    from shoe.report.many_files import print_many, score_many
    from shoe.report.text import console

    if folder is None:
        raise OptionError(
            "--results is required with several files, --shard or --engine: give a folder for the reports"
        )
    if of_one:
        raise OptionError(f"{of_one[0]} and --results are mutually exclusive: give only one")
    part = None if shard is None else Shard.parse(shard)
    with show_progress() as progress:
        found = score_many(files, scoring, folder, engine_of(engine), shard=part, bounds=bounds, progress=progress)
    for line in found.failed.values():
        print(f"shoe: {line}", file=sys.stderr)
    if part is None:
        print_many(found.results, console())
    missing = f"; {pluralize(found.others, 'file')} of other parts not scored yet" if found.others else ""
    print(f"{pluralize(len(found.results), 'result')} in {folder}, {found.scored:,} of them new{missing}")
    if found.failed:
        sys.exit(2)


def print_options() -> None:
    """Print a table of all protocol options, as ``-o help`` does."""
    from shoe.benchmarks.scoring_options import describe
    from shoe.report.text import aligned

    print("\n".join(aligned([("option", "values", "default", "meaning"), *describe()])))
