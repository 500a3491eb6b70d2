"""``shoe export``: tasks and labels for other tools."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import refuse_overwrite, say, write_json


def lmms_eval(
    folder: Annotated[Path, Argument(help="Existing folder for the task, for --include_path of lmms-eval.")],
    images: Annotated[Path, Option(help="Folder of the images. Images that are not in the ground truth are ignored.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
) -> None:
    """Write a task for lmms-eval, which queries a model with the prompt of shoe prompt and scores the answers.

    Example: shoe export lmms-eval tasks --images test2015 --ground-truth instances_test2015.json
    """
    from shoe.frameworks import write_lmms_eval_task

    name = write_lmms_eval_task(folder, images, ground_truth, dataset)
    print(f"{folder}: lmms-eval eval --include_path {folder} --tasks {name} --log_samples ...", file=sys.stderr)


def fiftyone(
    predictions: options.Predictions,
    out: Annotated[Path, Argument(help="JSON file to write.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    boxes: options.Boxes = None,
    format: options.Format = None,
    similarity: options.Similarity = "dataset",
    images_in_predictions: options.ImagesInPredictions = False,
) -> None:
    """Write labels for FiftyOne: COCO boxes with error type, similarity and IoU as attributes.

    Example: shoe export fiftyone predictions.json labels.json --ground-truth instances_test2015.json
    """
    from shoe.core.io.json import encode
    from shoe.diagnosis.diagnose import diagnose
    from shoe.frameworks import coco_labels
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((predictions, ground_truth), out)
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, boxes=boxes, format=format, similarity=similarity,
        images_in_predictions=images_in_predictions, protocols=("shoe",),
    )  # fmt: skip
    truth = scoring.truth()
    table, notes = scoring.read(predictions, truth)
    truth = scoring.part(truth, [table])
    diagnosis = diagnose(table, truth, similarity=None, notes=notes, by="class")
    report = scoring.score(table, truth, notes)
    labels = coco_labels(diagnosis, report)
    write_json(encode(labels), str(out))
    for line in report.remarks:
        say(line)
    say(f"{out}: {len(labels['annotations']):,} boxes on {len(labels['images']):,} images")


app = options.group("Write tasks and labels for other tools: lmms-eval, FiftyOne.", lmms_eval, fiftyone)
