"""Facts about predictions that explain surprising figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.coordinates import CommonCoordinates
from shoe.core.interactions import Interactions
from shoe.matching.overlaps import Boxes
from shoe.matching.repeats import repeated
from shoe.matching.task import Task


@dataclass(frozen=True, slots=True)
class Profile:
    """Facts about the predictions that explain surprising figures."""

    images: int
    """Images with at least one prediction."""
    unknown_images: tuple[str, ...]
    constant_scores: bool
    """There are several predictions, and all have one and the same score."""
    repeats: int
    """Predictions that repeat another one exactly: the same words on the same boxes of the same image."""
    outside_share: float | None
    """Share of predictions with a box that leaves its image by more than a pixel; None where no size is known."""


def profile_of(task: Task) -> Profile:
    """Look at all predictions of a task."""
    predictions = task.predictions
    sizes = np.concatenate([task.truth.interactions.sizes, [[0, 0]]])[task.truth_image]
    known = np.flatnonzero(np.repeat((sizes > 0).all(axis=1), np.diff(predictions.offsets)))
    outside_share = None
    if len(known):
        limit = np.repeat(sizes, np.diff(predictions.offsets), axis=0)[known] + 1
        boxes = Boxes(predictions, CommonCoordinates.EDGES)
        outside = np.zeros(len(known), bool)
        for corners in (boxes.human(known), boxes.object(known)):
            outside |= (corners[:, :2] < -1).any(axis=1) | (corners[:, 2:] > limit).any(axis=1)
        outside_share = float(outside.mean())
    return Profile(
        images=int((np.diff(predictions.offsets) > 0).sum()),
        unknown_images=task.unknown_images,
        constant_scores=_constant(predictions),
        repeats=len(repeated(predictions, np.arange(len(predictions)))),
        outside_share=outside_share,
    )


def _constant(predictions: Interactions) -> bool:
    return len(predictions) > 1 and bool((predictions.score == predictions.score[0]).all())
