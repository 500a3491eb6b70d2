"""``shoe audit``: what predictions could earn by tricks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json


def audit(
    predictions: Annotated[Path, typer.Argument(help="Prediction file; its format is recognised by content.")],
    ground_truth: Annotated[Path, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset.")],
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = DEFAULT,
    similarity: Annotated[
        str, typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
    ] = "dataset",
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    scores: Annotated[
        str | None, typer.Option(help="How to bring scores to 0..1: sigmoid (of logits), percent, minmax or rank.")
    ] = None,
    json: Json = None,
) -> None:
    """Attack the metric with a file's own predictions: what would copies, vague words or stretched scores add?

    Each attack changes the predictions without knowing more of any image, and is scored under the default strict
    protocol, shoe, shoe-literal and shoe-robust. A figure that many attacks lift says little of a model.

    Example: shoe audit predictions.json --ground-truth instances_test2015.json
    """
    from functools import partial

    from rich.console import Console
    from rich.progress import track

    from shoe.cli.output import spare
    from shoe.evidence.audit import audit as made
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.audit import print_audit
    from shoe.report.terminal import console

    spare((predictions, ground_truth), json)
    truth = read_ground_truth(ground_truth, dataset)
    table, _ = read_predictions_with_notes(
        predictions, boxes=boxes, scores=scores, dataset=dataset, truth=truth.interactions
    )
    talk = Console(stderr=True)
    bar = partial(track, description="attacks", console=talk, transient=True, disable=not talk.is_terminal)
    found = made(table, truth, similarity=similarity, watch=bar)
    if not put_json(found, json):
        print_audit(found, console())
