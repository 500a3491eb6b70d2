"""``shoe calibration``: whether scores mean what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import put_json


def calibration(
    predictions: Annotated[
        list[Path], typer.Argument(help="Prediction files, of any format, or runs that shoe score --save kept.")
    ],
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset; runs need none.")
    ] = None,
    dataset: options.Dataset = DEFAULT,
    protocol: options.Protocols = None,
    similarity: options.Similarity = "dataset",
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    bins: Annotated[int, typer.Option(help="Bins of scores, of equal width.", min=1, max=1000)] = 15,
    figures: Annotated[
        Path | None, typer.Option(help="Draw the reliability diagrams into this folder, as PDF and PNG.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Compare scores with the share of predictions that are right: calibration error and ties, beside the mAP.

    Of predictions with a score of 0.8, eight in ten are to be right. The expected calibration error is the mean, over
    predictions, of how far the mean score of their bin is from its share of right ones; under shoe a prediction is
    right by its credit. Several files stand beside each other: one model's answers under several confidences.

    Example: shoe calibration mean.jsonl product.jsonl --ground-truth instances_test2015.json
    """
    from shoe.cli.models import runs_of
    from shoe.cli.output import refuse_overwrite, telling
    from shoe.report.evidence import calibrated, print_calibration
    from shoe.report.figures.style import check_plots
    from shoe.report.terminal import console
    from shoe.scoring.evidence.collect import CalibrationReport
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, ground_truth), json)
    if figures is not None:
        check_plots()
    scoring = ScoringOptions(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=protocol or (),
        similarity=similarity,
        options=option or (),
        boxes=boxes,
        scores=scores,
    )
    with telling() as tell:
        runs = runs_of(predictions, scoring, tell=tell)
    found = CalibrationReport([calibrated(run, bins) for run in runs])
    if figures is not None:
        from shoe.report.figures.reliability import draw_reliability

        draw_reliability(found, figures)
    if not put_json(found, json):
        print_calibration(found, console())
