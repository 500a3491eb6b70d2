"""``shoe verify``: check whether a published result can be reproduced."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from shoe.cli import options
from shoe.cli.output import put_report, refuse_overwrite


def verify(
    run: Annotated[Path, Argument(help="Run (NAME.shoe) written by score --save.")],
    predictions: Annotated[Path, Argument(help="Prediction file of that run.")],
    ground_truth: options.GroundTruth,
    similarity: Annotated[str | None, Option(help="Folder of the similarity map, if it is not a shipped map.")] = None,
    boxes: options.Boxes = None,
    format: options.Format = None,
    classes: options.Classes = None,
    image_labels: options.ImageLabels = None,
    json: options.Json = None,
) -> None:
    """Recompute a run from its predictions, and report what differs and why.

    Everything in the run is compared: metrics and their components, images, classes, notes, metrics by single raters,
    and the intervals of --bounds. Protocols, options, image subset and score conversion are taken from the run. Exit
    code 0 if all is equal, 1 if anything differs.

    Example: shoe verify published.shoe predictions.json -g instances_test2015.json
    """
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.truth import PART
    from shoe.comparison.run import Run
    from shoe.comparison.run_file import read_run
    from shoe.comparison.verify import protocol_options, verify as verified
    from shoe.core.errors import InputError, quote
    from shoe.predictions.table import SCORES
    from shoe.report.evidence import print_verdict
    from shoe.scoring import evidence
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.scoring.score import score_by
    from shoe.similarity import COMPUTED
    from shoe.similarity.map_files import shipped_maps

    refuse_overwrite((run, predictions, ground_truth, classes, image_labels), json)
    kept = read_run(run)
    of_run = kept.facts.get("map", "hico-det")
    if similarity is None and of_run not in (*shipped_maps(), *COMPUTED):
        expected = "a shipped map or measure, or --similarity with the folder of that map"
        raise InputError(run, field="map", found=quote(of_run), expected=expected)
    of = benchmark(kept.facts["data"])
    split, *parts = kept.facts["split"].split("/")
    scores, splits = kept.facts.get("scores", "").split(", ")[-1], (kept.facts.get("class-split"), split)
    scoring = ScoringOptions(
        ground_truth=ground_truth, boxes=boxes, format=format, classes=classes, image_labels=image_labels,
        dataset=kept.facts["data"],
        similarity=similarity or of_run,
        scores=scores if scores in SCORES else None,
        bad_boxes=kept.facts.get("bad-boxes", "refuse").split()[0],
        subset=next((part for part in parts if part not in ("images-in-predictions", PART)), None),
        images_in_predictions="images-in-predictions" in parts,
        split=next((name for name in splits if name in (*of.class_splits, *of.splits)), None),
    )  # fmt: skip
    truth = scoring.truth()
    if kept.class_split is not None and truth.class_split is None:  # a split read from a file is stored in the run
        truth = replace(truth, class_split=kept.class_split)
    table, notes = scoring.read(predictions, truth)
    truth = scoring.part(truth, [table])
    report = score_by(protocol_options(kept), Task(table, truth), scoring.similarity, notes)
    spread = None if kept.spread is None else evidence.spread(report)
    interval = None if kept.interval is None else evidence.interval(report)
    verdict = verified(kept, Run.from_report(report, kept.name, spread, interval))
    put_report(verdict, json, lambda to: print_verdict(str(run), verdict, to))
    if not verdict.equal:
        raise typer.Exit(1)
