"""``shoe explain``: why two protocols disagree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json


def explain(
    predictions: Annotated[Path, typer.Argument(help="Prediction file; its format is recognised by content.")],
    ground_truth: Annotated[Path, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset.")],
    protocols: Annotated[
        list[str] | None,
        typer.Option(
            "--protocols", "--protocol", "-p", help="Strict protocols, with commas or again for more. Default: all."
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of every protocol.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = DEFAULT,
    image_labels: Annotated[
        Path | None, typer.Option(help="Official anno.mat: tells which false positives anybody looked at.")
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Prediction format, if content is not to decide.")
    ] = None,
    classes: Annotated[Path | None, typer.Option(help="Class table that replaces the packaged one.")] = None,
    split: Annotated[
        str | None, typer.Option(help="test2015 or train2015, if the annotation file holds both (anno_bbox.mat).")
    ] = None,
    json: Json = None,
) -> None:
    """Explain why strict protocols give different figures: which of their rules adds or costs how many points.

    Rules are switched one at a time from the first protocol's to another's; the share of a rule is its mean over all
    orders of switching (its Shapley value), so that shares sum to the difference. Beside it stands what the annotation
    does: what it has twice, and, with --image-labels, which false positives nobody ever looked at.

    Example: shoe explain predictions.json -g instances_test2015.json --protocols hico-det,qpic,upt,diag
    """
    from functools import partial

    from rich.console import Console
    from rich.progress import track

    from shoe.attribution.explain import explain as explained
    from shoe.attribution.rules import scorings
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.classes import read_classes
    from shoe.cli.output import spare
    from shoe.core.errors import OptionError
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.truth import read_ground_truth
    from shoe.protocols.named import SEMANTIC
    from shoe.report.explain import print_explained
    from shoe.report.terminal import console
    from shoe.scoring.score import score

    spare((predictions, ground_truth, classes, image_labels), json)
    known = benchmark(dataset)
    names = [name for given in protocols or ["all"] for name in given.split(",")]
    names = [name for given in names for name in (known.protocols if given == "all" else [given])]
    semantic = next((name for name in names if name in SEMANTIC), None)
    if semantic is not None:
        expected = f"strict ones ({', '.join(known.protocols)})"
        raise OptionError(f"--protocols: found {semantic}, whose rules are of another kind; expected {expected}")
    table = read_classes(classes, known.classes) if classes else None
    truth = read_ground_truth(ground_truth, dataset, classes=table, image_labels=image_labels, split=split)
    read, notes = read_predictions_with_notes(
        predictions, format=format, boxes=boxes, dataset=dataset, truth=truth.interactions
    )
    report = score(read, truth, protocols=names, options=option or (), notes=notes)
    talk = Console(stderr=True)
    number = scorings([result.options for result in report.strict_results])
    bar = partial(
        track, description=f"{number} sets of rules", console=talk, transient=True, disable=not talk.is_terminal
    )
    found = explained(report, bar)
    if not put_json(found, json):
        print_explained(report, found, console())
