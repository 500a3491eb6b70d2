"""Random weak detectors: right files of any quality, about which no check may say anything."""

from typing import Any

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.boxes import CommonCoordinates, convert_boxes
from shoe.core.interactions import Interactions

QUALITIES: dict[str, list[float]] = {
    "jitter": [0.02, 0.05, 0.1, 0.2, 0.3, 0.5],
    "wrong_verb": [0, 0.2, 0.5, 0.8, 0.95],
    "wrong_object": [0, 0.1, 0.4, 0.8],
    "extra": [0, 0.5, 2, 5],
    "missed": [0, 0.3, 0.6, 0.9],
    "knows": [0, 0.5, 1, 3],
}


def random_quality(rng: np.random.Generator) -> dict[str, float]:
    return {name: float(rng.choice(values)) for name, values in QUALITIES.items()}


def detector(
    truth: Interactions,
    rng: np.random.Generator,
    *,
    jitter: float = 0.05,
    wrong_verb: float = 0.2,
    wrong_object: float = 0.1,
    extra: float = 0,
    missed: float = 0,
    knows: float = 1,
) -> Interactions:
    """Predictions of a detector that sees some of the annotations.

    Args:
        jitter: standard deviation of each coordinate, as a fraction of the side of the box.
        wrong_verb, wrong_object: fraction of other labels, drawn at random or by their frequency.
        extra: number of random predictions per annotation.
        missed: fraction of annotations that are not found.
        knows: how much higher right predictions are scored, in standard deviations of 1/3 of the logits.
    """
    seen = np.flatnonzero(rng.random(len(truth)) >= missed)
    added = rng.integers(len(truth.images), size=int(extra * len(truth)))
    image = np.concatenate([truth.image[seen], added])
    sizes = truth.sizes[image].astype(np.float64)
    boxes = {}
    for name in ("human_boxes", "object_boxes"):
        edges = convert_boxes(getattr(truth, name), truth.triplet_coordinates, CommonCoordinates.EDGES)[seen]
        sides = np.tile(edges[:, 2:] - edges[:, :2], 2)
        moved = edges + sides * rng.normal(size=edges.shape) * jitter
        anywhere = np.sort(rng.random((2, len(added), 2)), axis=0)
        both = np.concatenate([moved, np.concatenate([*anywhere], axis=1) * np.tile(sizes[len(seen) :], 2)])
        both = np.clip(both, 0, np.tile(sizes, 2))
        both[:, 2:] = np.maximum(both[:, 2:], both[:, :2] + 1)
        boxes[name] = both
    by_frequency = rng.random() < 0.5
    right = np.arange(len(image)) < len(seen)
    words: dict[str, Any] = {}
    for name, labels, wrong in (("verb", truth.verbs, wrong_verb), ("object", truth.objects, wrong_object)):
        own = getattr(truth, name)
        other = rng.choice(own, len(image)) if by_frequency else rng.integers(len(labels), size=len(image))
        is_right = right & (rng.random(len(image)) >= wrong)
        words[name] = np.where(is_right, np.append(own[seen], np.zeros(len(added), np.int64)), other)
        right = right & is_right
    logits: Floats = np.where(right, knows, -knows) * 1.5 + rng.normal(size=len(image))
    return Interactions.from_columns(
        images=truth.images, image=image, **boxes, **words, verbs=truth.verbs, objects=truth.objects,
        score=1 / (1 + np.exp(-logits)), sizes=truth.sizes,
    )  # fmt: skip


def part(truth: Interactions, rng: np.random.Generator, images: int) -> Interactions:
    chosen = np.zeros(len(truth.images), bool)
    chosen[rng.permutation(len(chosen))[:images]] = True
    return truth.select_images(chosen)
