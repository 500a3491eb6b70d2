"""``shoe convert``: predictions from any format into any other."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Prediction file, or a folder of official .mat files.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    format: Annotated[str | None, typer.Option("--format", help="Format of IN, if content is not to decide.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT; else its ending decides.")
    ] = None,
    boxes: Annotated[
        str | None,
        typer.Option(metavar="CONVENTION", help="Box convention of IN, where it is not its format's own."),
    ] = None,
    scores: options.Scores = None,
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file, for the sizes of images.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Whose class numbers the files use.")] = DEFAULT,
) -> None:
    """Convert predictions from any format into any other; OUT is written whole or not at all.

    Formats: qpic, jsonl, vlm, csv, parquet, mllms, thid-images, mat, native (.npz); read only: gen-vlkt, ppdm, hoidet,
    thid, v-coco.
    Box conventions: xyxy, xywh, cxcywh, yxyx, xxyy; unit, hundred, thousand, pixels-0, pixels-1, resized:WxH,
    resized:max=N, resized:multiple=N, resized:smart=N, resized:smart=N:MIN:MAX; padded; swapped; joined by commas.

    Example: shoe convert answers.jsonl predictions.npz --boxes thousand --ground-truth instances_test2015.json
    """
    from shoe.cli.output import refuse_overwrite
    from shoe.core.boxes import Coordinates
    from shoe.predictions import read_predictions_with_notes, write_predictions
    from shoe.predictions.boxes.check import examine_boxes
    from shoe.predictions.formats.registry import NATIVE, format_of_name, writable
    from shoe.predictions.truth import read_ground_truth

    refuse_overwrite((), target)
    written = writable(to) if to else format_of_name(target)
    truth = None if ground_truth is None else read_ground_truth(ground_truth, dataset).interactions
    table, notes = read_predictions_with_notes(
        source, format=format, boxes=boxes, scores=scores, dataset=dataset, truth=truth
    )
    write_predictions(table, target, written, dataset, notes)
    print(f"{source}: {notes.summary()}", *notes.lines(), sep="\n", file=sys.stderr)
    if truth is not None and notes.format != NATIVE:
        for line in examine_boxes(table, truth, notes.applied(len(table))).lines():
            print(line, file=sys.stderr)
    print(f"{target}: written as {written}", file=sys.stderr)
    if written not in (NATIVE, "mat") and (table.coordinates != Coordinates.CONTINUOUS).any():
        print(f"{target}: boxes count pixels; read it with --boxes pixels-0", file=sys.stderr)
