"""``shoe explain``: why two protocols disagree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import progress_bar, put_json, refuse_overwrite


def explain(
    predictions: options.Predictions,
    ground_truth: options.GroundTruth,
    protocols: Annotated[
        list[str] | None,
        typer.Option(
            "--protocols", "--protocol", "-p", help="Strict protocols, with commas or again for more. Default: all."
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of every protocol.")
    ] = None,
    dataset: options.Dataset = DEFAULT,
    image_labels: Annotated[
        Path | None, typer.Option(help="Official anno.mat: tells which false positives anybody looked at.")
    ] = None,
    boxes: options.Boxes = None,
    format: options.Format = None,
    classes: options.Classes = None,
    split: Annotated[
        str | None, typer.Option(help="test2015 or train2015, if the annotation file holds both (anno_bbox.mat).")
    ] = None,
    json: options.Json = None,
) -> None:
    """Explain why strict protocols give different figures: which of their rules adds or costs how many points.

    Rules are switched one at a time from the first protocol's to another's; the share of a rule is its mean over all
    orders of switching (its Shapley value), so that shares sum to the difference. Beside it stands what the annotation
    does: what it has twice, and, with --image-labels, which false positives nobody ever looked at.

    Example: shoe explain predictions.json -g instances_test2015.json --protocols hico-det,qpic,upt,diag
    """
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.protocols import SEMANTIC
    from shoe.core.errors import OptionError
    from shoe.diagnosis.protocol_differences import explain as explained
    from shoe.diagnosis.protocol_differences import scorings
    from shoe.report.evidence import print_explained
    from shoe.report.terminal import console
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((predictions, ground_truth, classes, image_labels), json)
    known = benchmark(dataset)
    names = [name for given in protocols or ["all"] for name in given.split(",")]
    names = [name for given in names for name in (known.protocols if given == "all" else [given])]
    semantic = next((name for name in names if name in SEMANTIC), None)
    if semantic is not None:
        expected = f"strict ones ({', '.join(known.protocols)})"
        raise OptionError(f"--protocols: found {semantic}, whose rules are of another kind; expected {expected}")
    report, _ = ScoringOptions(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=names,
        options=option or (),
        boxes=boxes,
        format=format,
        classes=classes,
        split=split,
        image_labels=image_labels,
    ).report(predictions)
    number = scorings([result.options for result in report.strict_results])
    found = explained(report, progress_bar(f"{number} sets of rules"))
    if not put_json(found, json):
        print_explained(report, found, console())
