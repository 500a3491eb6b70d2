"""Functions of the task in the YAML file beside this file. Written by `shoe export lmms-eval`."""

from functools import lru_cache, partial
from pathlib import Path

from PIL import Image

from shoe.frameworks import METRICS, cached_truth, detection_prompt, score_replies


def doc_to_visual(doc):
    """Return the image of a document."""
    return [Image.open(doc["image"]).convert("RGB")]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """Return the prompt, which is the same for all documents."""
    return detection_prompt()


def process_results(doc, results):
    """Return the data of a document that each metric is computed from."""
    item = {**doc, "image": Path(doc["image"]).name, "response": results[0]}
    return dict.fromkeys(METRICS, item)


@lru_cache(1)
def _metrics(replies, ground_truth, dataset):
    return score_replies(dict(replies), cached_truth(ground_truth, dataset), "thousand")[0]


def _metric(name, items):
    replies = tuple((item["image"], item["response"]) for item in items)
    return _metrics(replies, items[0]["ground_truth"], items[0]["dataset"]).get(name, float("nan"))


shoe_map, shoe_mf1, strict_map = (partial(_metric, name) for name in METRICS)
