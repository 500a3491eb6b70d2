"""Parts for other frameworks: images, prompt and metrics for those that query models, and labels for FiftyOne."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.core.io.files import atomic_write, data_folder, write_text
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_types import TruthStatus
from shoe.predictions import read_predictions
from shoe.predictions.truth import read_ground_truth
from shoe.scoring.score import Report, score

METRICS = {"shoe_map": "semantic/map", "shoe_mf1": "semantic/mf1", "strict_map": "strict/map"}
"""Metrics of a task: the name in the framework, and the key of ``Report.to_dict(flat=True)``."""
cached_truth = lru_cache(2)(read_ground_truth)


def detection_prompt() -> str:
    """Return the prompt of ``shoe prompt``, which requests boxes in thousandths of the image size."""
    return (data_folder("prompts") / "detection.txt").read_text("utf-8").rstrip("\n")


def task_images(folder: str | Path, truth: GroundTruth) -> list[Path]:
    """Return the absolute paths of the ground truth's images in a folder. Raises InputError if there are none."""
    names = truth.interactions.images
    images = [path for name in names if (path := Path(folder).resolve() / name).is_file()]
    if not images:
        raise InputError(folder, found="none of the ground truth's images", expected=f"images such as {names[0]}")
    return images


def write_lmms_eval_task(folder: Path, images: Path, ground_truth: Path, dataset: str) -> str:
    """Write a task of lmms-eval into ``folder`` (YAML file, module and list of images); return the name of the task."""
    name, templates = f"shoe_{dataset.replace('-', '_')}", data_folder("prompts") / "lmms_eval"
    documents, common = folder / f"{name}.jsonl", {"ground_truth": str(ground_truth.resolve()), "dataset": dataset}
    paths = task_images(images, cached_truth(ground_truth, dataset))
    with atomic_write(documents) as stream:
        stream.write(msgspec.json.Encoder().encode_lines([{"image": str(path), **common} for path in paths]))
    text = (templates / "task.yaml").read_text("utf-8").replace("{name}", name)
    write_text(folder / f"{name}.yaml", text.replace("{documents}", documents.resolve().as_posix()))
    write_text(folder / "shoe_utils.py", (templates / "utils.py").read_text("utf-8"))
    return name


def score_replies(replies: Mapping[str, str], truth: GroundTruth, boxes: str) -> tuple[dict[str, float], str]:
    """Score a model's replies, given by image name, against the ground truth of these images only.

    Return ({name: value} of the :data:`METRICS` that can be computed, the error if most replies are invalid, else "").
    Replies that cannot be parsed count as replies without interactions. ``boxes`` is the box convention of the replies.
    """
    problem = ""
    try:
        table = _read(replies, truth, boxes)
    except InputError as error:
        problem, parsed = str(error).rpartition("replies.jsonl: ")[2], dict.fromkeys(replies, "[]")
        for name, reply in replies.items():
            with suppress(InputError):
                _read({name: reply}, truth, boxes)
                parsed[name] = reply
        table = _read(parsed, truth, boxes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the images are a small part of the split
        values = score(table, truth.within(list(replies))).to_dict(flat=True)
    return {name: values[key] for name, key in METRICS.items() if key in values}, problem


def _read(replies: Mapping[str, str], truth: GroundTruth, boxes: str) -> Interactions:
    with TemporaryDirectory() as folder:
        path = Path(folder, "replies.jsonl")
        records = [{"image": name, "response": reply} for name, reply in replies.items()]
        path.write_bytes(msgspec.json.Encoder().encode_lines(records))
        return read_predictions(path, format="vlm", boxes=boxes, dataset=truth.benchmark, truth=truth)


def coco_labels(diagnosis: Diagnosis, report: Report) -> dict[str, Any]:
    """Return the labels of a diagnosis as a COCO document: a human box and an object box per triplet.

    Each box has the attributes "source" ("prediction" or "ground_truth"), "pair" (number of the triplet), "interaction"
    and "error": the error type or "true_positive" of a prediction, or the :class:`TruthStatus` of a ground truth.
    Predictions on unknown images are left out. Boxes of predictions also have "score", "similarity" to the matched
    ground truth (0 without a match) and "iou", the best pair IoU with a ground truth (0 below the threshold).
    """
    table, truth = diagnosis.table, diagnosis.task.truth.interactions
    semantic: Any = report.semantic
    matches, near = semantic.matches, semantic.scorer.near
    similarity, iou = np.zeros((2, len(table) + 1))  # the last one for ground truths without a match
    similarity[matches.prediction] = matches.sigma
    np.maximum.at(iou, near.prediction, near.iou)
    values = {"score": table.score, "similarity": similarity, "iou": iou}
    status = np.array([*(each.name.lower() for each in TruthStatus), ""])[diagnosis.truth_status]
    classes = {name: i for i, name in enumerate(dict.fromkeys(["person", *table.objects, *truth.objects]))}
    annotations: list[dict[str, Any]] = []
    for source, rows, images, errors, columns in (
        ("prediction", table, diagnosis.task.image, diagnosis.predictions_table()["error"], values),
        ("ground_truth", truth, truth.image, status, {}),
    ):
        for row in np.flatnonzero(images >= 0).tolist():
            noun = rows.objects[rows.object[row]]
            named = {"source": source, "error": str(errors[row]), "interaction": f"{rows.verbs[rows.verb[row]]} {noun}"}
            numbers = {key: float(column[row]) for key, column in columns.items()}
            place = {"image_id": int(images[row]), "pair": len(annotations) // 2}
            for name, box in (("person", rows.human_boxes[row]), (noun, rows.object_boxes[row])):
                x1, y1, x2, y2 = box.tolist()
                label = {"id": len(annotations), "category_id": classes[name], "bbox": [x1, y1, x2 - x1, y2 - y1]}
                annotations.append({**label, "area": (x2 - x1) * (y2 - y1), **place, **named, **numbers})
    sizes = zip(truth.images, truth.sizes.tolist(), strict=True)
    images_of = [{"id": i, "file_name": name, "width": w, "height": h} for i, (name, (w, h)) in enumerate(sizes)]
    categories, info = [{"id": i, "name": name} for name, i in classes.items()], {"description": str(report.signature)}
    return {"info": info, "categories": categories, "images": images_of, "annotations": annotations}
