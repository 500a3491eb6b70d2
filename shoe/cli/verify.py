"""``shoe verify``: whether a published result can be had again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shoe.cli import options
from shoe.cli.output import put_json


def verify(
    run: Annotated[Path, typer.Argument(help="The run (NAME.shoe) that score --save wrote.")],
    predictions: Annotated[Path, typer.Argument(help="The predictions that it is of.")],
    ground_truth: options.GroundTruth,
    similarity: Annotated[
        str | None, typer.Option(help="Similarity map, where the run's is no shipped one: its folder.")
    ] = None,
    boxes: options.Boxes = None,
    format: options.Format = None,
    classes: options.Classes = None,
    image_labels: options.ImageLabels = None,
    json: options.Json = None,
) -> None:
    """Compute a run again from its predictions: equal, or what differs and why.

    All that is in it has to be had again: figures, what they are means of, images, classes, notes, raters and interval.
    Protocols, options, the part of the images and how scores were read are the run's. Exit code 0 if all is equal, 1 if
    something differs.

    Example: shoe verify published.shoe predictions.json -g instances_test2015.json
    """
    from shoe.benchmarks import benchmark
    from shoe.cli.output import refuse_overwrite
    from shoe.comparison.run import Run
    from shoe.comparison.run_file import read_run
    from shoe.comparison.verify import options_of
    from shoe.comparison.verify import verify as verified
    from shoe.core.errors import InputError, quote
    from shoe.predictions.table import SCORES
    from shoe.report.evidence import print_verdict
    from shoe.report.terminal import console
    from shoe.scoring import evidence
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.scoring.score import score_by
    from shoe.similarity import COMPUTED
    from shoe.similarity.maps import shipped_maps

    refuse_overwrite((run, predictions, ground_truth, classes, image_labels), json)
    kept = read_run(run)
    of_run = kept.facts.get("map", "hico-det")
    if similarity is None and of_run not in (*shipped_maps(), *COMPUTED):
        expected = "a shipped map or measure, or --similarity with the folder of that map"
        raise InputError(run, field="map", found=quote(of_run), expected=expected)
    of = benchmark(kept.facts["data"])
    split, *parts = kept.facts["split"].split("/")
    scores = kept.facts.get("scores", "").split(", ")[-1]
    scoring = ScoringOptions(
        ground_truth=ground_truth,
        dataset=kept.facts["data"],
        similarity=similarity or of_run,
        boxes=boxes,
        scores=scores if scores in SCORES else None,
        format=format,
        classes=classes,
        subset=next((part for part in parts if part != "images-in-predictions"), None),
        images_in_predictions="images-in-predictions" in parts,
        split=next(
            (name for name in (kept.facts.get("class-split"), split) if name in (*of.class_splits, *of.splits)), None
        ),
        image_labels=image_labels,
    )
    truth = scoring.truth()
    if kept.class_split is not None and truth.class_split is None:  # of a file, whose classes the run has
        truth = replace(truth, class_split=kept.class_split)
    table, notes = scoring.read(predictions, truth)
    truth = scoring.part(truth, [table])
    report = score_by(options_of(kept), Task(table, truth), scoring.similarity, notes)
    spread = None if kept.spread is None else evidence.spread(report)
    interval = None if kept.interval is None else evidence.interval(report)
    verdict = verified(kept, Run.of(report, kept.name, spread, interval))
    if not put_json(verdict, json):
        print_verdict(str(run), verdict, console())
    if not verdict.equal:
        raise typer.Exit(1)
