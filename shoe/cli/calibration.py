"""``shoe calibration``: whether scores mean what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json


def calibration(
    predictions: Annotated[
        list[Path], typer.Argument(help="Prediction files, of any format, or runs that shoe score --save kept.")
    ],
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset; runs need none.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = DEFAULT,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", "-p", help="Protocol; again for more. Default: hico-det, shoe.")
    ] = None,
    similarity: Annotated[
        str, typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
    ] = "dataset",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of a protocol.")
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    scores: Annotated[
        str | None, typer.Option(help="How to bring scores to 0..1: sigmoid (of logits), percent, minmax or rank.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Bins of scores, of equal width.", min=1, max=1000)] = 15,
    figures: Annotated[
        Path | None, typer.Option(help="Draw the reliability diagrams into this folder, as PDF and PNG.")
    ] = None,
    json: Json = None,
) -> None:
    """Compare scores with the share of predictions that are right: calibration error and ties, beside the mAP.

    Of predictions with a score of 0.8, eight in ten are to be right. The expected calibration error is the mean, over
    predictions, of how far the mean score of their bin is from its share of right ones; under shoe a prediction is
    right by its credit. Several files stand beside each other: one model's answers under several confidences.

    Example: shoe calibration mean.jsonl product.jsonl --ground-truth instances_test2015.json
    """
    from shoe.cli.models import runs_of
    from shoe.cli.output import spare, telling
    from shoe.evidence.calibration import CalibrationReport
    from shoe.plots.style import check_plots
    from shoe.report.calibration import calibrated, print_calibration
    from shoe.report.terminal import console
    from shoe.scoring.asked import Asked

    spare((*predictions, ground_truth), json)
    if figures is not None:
        check_plots()
    asked = Asked(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=tuple(protocol or ()),
        similarity=similarity,
        options=tuple(option or ()),
        boxes=boxes,
        scores=scores,
        format=None,
        classes=None,
        subset=None,
        images_in_predictions=False,
        split=None,
        image_labels=None,
    )
    with telling() as tell:
        runs = runs_of(predictions, asked, tell=tell)
    found = CalibrationReport([calibrated(run, bins) for run in runs])
    if figures is not None:
        from shoe.plots.reliability import draw_reliability

        draw_reliability(found, figures)
    if not put_json(found, json):
        print_calibration(found, console())
