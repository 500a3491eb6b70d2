"""``shoe score``: the main job."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer


def score(
    predictions: Annotated[Path, typer.Argument(help="Prediction file; its format is recognised by content.")],
    ground_truth: Annotated[Path, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset.")],
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = "hico-det",
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            "--protocol", "-p", help="Protocol; again for more. 'all': every strict one. Default: hico-det, shoe."
        ),
    ] = None,
    similarity: Annotated[str, typer.Option(help="Similarity map: a shipped name or a folder.")] = "hico-det",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of a protocol.")
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Prediction format, if content is not to decide.")
    ] = None,
    classes: Annotated[Path | None, typer.Option(help="Class table that replaces the packaged one.")] = None,
    subset: Annotated[str | None, typer.Option(help="Score on a named part of the images: single-pair.")] = None,
    split: Annotated[
        str | None, typer.Option(help="test2015 or train2015, if the annotation file holds both (anno_bbox.mat).")
    ] = None,
    image_labels: Annotated[
        Path | None, typer.Option(help="Official anno.mat: known-object setting by image-level labels.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Score predictions: strict mAP beside SHOE-mAP, SHOE-mF1 and the miss rates, with a signature.

    Example: shoe score predictions.json --ground-truth instances_test2015.json --protocol all

    JSON keys: signature, dataset, split, images, ground_truths, predictions, strict {protocol, map, map_rare,
    map_non_rare, max_recall, classes, tied_share}, protocols [...], semantic {map, map_bounds, mf1, gt_miss_rate,
    prediction_miss_rate, classes, tied_share}, resolution {verbs, objects, rated_share, fallback_share,
    unrated_share}, profile, absent. Fractions 0..1; what cannot be measured is left out.
    """
    from shoe.cli.output import write_json
    from shoe.datasets.classes import read_classes
    from shoe.datasets.hico_det import read_ground_truth
    from shoe.datasets.subsets import subset_of
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.doctor import examine_boxes
    from shoe.report.json import as_json
    from shoe.report.terminal import console, print_report
    from shoe.scoring.score import DEFAULT_PROTOCOLS
    from shoe.scoring.score import score as score_predictions

    table = read_classes(classes, dataset) if classes else None
    truth = read_ground_truth(ground_truth, dataset, classes=table, image_labels=image_labels, split=split)
    if subset is not None:
        truth = subset_of(truth, subset)
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    read, notes = read_predictions_with_notes(predictions, format=format, boxes=boxes, dataset=dataset, sizes=sizes)
    report = score_predictions(
        read,
        truth,
        similarity=similarity,
        protocols=protocol or DEFAULT_PROTOCOLS,
        options=option or (),
        reading={"boxes": notes.boxes, "scores": notes.scores},
    )
    report = replace(report, notes=(*notes.lines(), *examine_boxes(read, truth.interactions).lines()))
    if json is not None:
        write_json(as_json(report), json)
    if json != "-":
        print_report(report, console())
