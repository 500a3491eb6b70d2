"""``shoe convert``: convert predictions between formats."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options


def convert(
    source: Annotated[Path, Argument(metavar="IN", help="Prediction file, or a folder of official .mat files.")],
    target: Annotated[Path, Argument(metavar="OUT", help="File to write.")],
    format: Annotated[str | None, Option("--format", help="Format of IN. Default: recognised by content.")] = None,
    to: Annotated[str | None, Option(metavar="FORMAT", help="Format of OUT. Default: by file name extension.")] = None,
    boxes: Annotated[str | None, Option(metavar="CONVENTION", help="Box convention of IN. Default: by format.")] = None,
    scores: options.Scores = None,
    ground_truth: Annotated[
        Path | None, Option("--ground-truth", "-g", help="Annotation file, required if OUT needs image sizes.")
    ] = None,
    dataset: Annotated[str, Option(help="Dataset that defines the class IDs in the files.")] = DEFAULT,
) -> None:
    """Convert predictions between formats. If an error occurs, OUT is not written.

    Formats: qpic, jsonl, vlm, csv, parquet, mllms, thid-images, mat, native (.npz); input only: gen-vlkt, ppdm, hoidet,
    thid, v-coco.
    Box conventions: xyxy, xywh, cxcywh, yxyx, xxyy; unit, hundred, thousand, pixels-0, pixels-1, resized:WxH,
    resized:max=N, resized:scale=F, resized:shorter=N:MAX, resized:multiple=N, resized:smart=N, resized:smart=N:MIN:MAX;
    padded; swapped. Join with commas.

    Example: shoe convert answers.jsonl predictions.npz --boxes thousand --ground-truth instances_test2015.json
    """
    from shoe.cli.output import refuse_overwrite
    from shoe.core.boxes import Coordinates
    from shoe.core.errors import pluralize
    from shoe.predictions import read_predictions_with_notes, write_predictions
    from shoe.predictions.boxes.check import check_box_convention
    from shoe.predictions.formats.registry import NATIVE, format_of_name, writable_format
    from shoe.predictions.numbering import check_numbering
    from shoe.predictions.roles import count_lost
    from shoe.predictions.truth import read_ground_truth

    refuse_overwrite((), target)
    written = writable_format(to) if to else format_of_name(target)
    truth = None if ground_truth is None else read_ground_truth(ground_truth, dataset)
    annotated = None if truth is None else truth.interactions
    table, notes = read_predictions_with_notes(
        source, format=format, boxes=boxes, scores=scores, dataset=dataset, truth=annotated
    )
    write_predictions(table, target, written, dataset, notes)
    print(f"{source}: {notes.summary()}", *notes.lines(), sep="\n", file=sys.stderr)
    if truth is not None and notes.format != NATIVE:
        boxes_of = check_box_convention(table, truth.interactions, notes.conventions_of(len(table)))
        for line in [*boxes_of.lines(), *check_numbering(table, truth, notes)]:
            print(line, file=sys.stderr)
    print(f"{target}: written as {written}", file=sys.stderr)
    if lost := count_lost(table, benchmark(dataset), notes):
        part = f"{pluralize(lost, 'prediction')} by person {'is' if lost == 1 else 'are'} left out"
        print(f"{target}: {part}, because a triplet needs an object; scores by person need {source}", file=sys.stderr)
    if written != NATIVE and notes.scores_as:
        line = f"{target}: stores the scores after the conversion {notes.scores_as}, but not the name of the conversion"
        print(f"{line}; a native table (.npz) stores both", file=sys.stderr)
    is_pixels = bool((table.coordinates != Coordinates.CONTINUOUS).any())
    if len(table) and written != NATIVE and is_pixels != (written == "mat"):
        kind, name = ("pixel indices", "pixels-0") if is_pixels else ("continuous coordinates", "pixels")
        print(f"{target}: boxes are {kind}; use --boxes {name} to read this file", file=sys.stderr)
