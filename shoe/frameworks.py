"""Images, prompt and metrics of the detection task, for frameworks that query vision-language models."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.core.io.files import atomic_write, data_folder, write_text
from shoe.predictions import read_predictions
from shoe.predictions.truth import read_ground_truth
from shoe.scoring.score import score

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
