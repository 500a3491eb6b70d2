"""Matching of predicted persons with annotated persons (V-COCO)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask, argmax_per_run, blocks, expand
from shoe.core.boxes import Overlap, OverlapRule
from shoe.core.interactions import image_index
from shoe.core.roles import RolePredictions, RoleTruth, Single
from shoe.predictions.roles import roles_of_triplets
from shoe.scoring.matching.task import Task

_PAIRS_AT_ONCE = 1 << 18
Boxes = TypeVar("Boxes", Single, Floats)


@dataclass(frozen=True, slots=True, eq=False)
class PersonMatches:
    """Annotated person with the largest box overlap for each of n predicted persons, even if the overlap is small."""

    # predictions, truth: predicted persons and annotated persons, with their actions and roles
    predictions: RolePredictions
    truth: RoleTruth
    image: Ints  # (n,) ground-truth image of each predicted person; -1 for an unknown image
    person: Indices  # (n,) annotated person with the largest IoU (the first if equal); -1 on an image without persons
    iou: Single  # (n,) IoU of the two person boxes; 0 without an annotated person
    empty: Mask  # (b,) whether each predicted role box stands for "no box": all zeros, or all NaN

    @classmethod
    def from_task(cls, task: Task, truth: RoleTruth, overlap: Overlap) -> PersonMatches:
        """Match the predicted persons of a task, or those derived from its triplets, with the annotated persons."""
        table = task.predictions
        said = roles_of_triplets(table, task.truth.benchmark) if table.roles is None else table.roles
        image = image_index(said.images, task.truth.interactions.images)[said.image]
        columns = said.person_boxes, image, truth.person_boxes, truth.offsets
        person, best = nearest_boxes(*columns, lambda a, b: overlaps(a, b, overlap))
        empty = (said.boxes == 0).all(axis=1) | np.isnan(said.boxes).all(axis=1)
        return cls(said, truth, image, person, best, empty)

    def role_fits(self, rows: Indices, entry: int, rule: OverlapRule, scenario: str) -> Mask:
        """Return (r,) whether the predicted role box of each person is right: it overlaps the annotated role box.

        ``rows`` are predicted persons with an annotated person, ``entry`` is the index of the (action, role) pair. If
        the annotated person has no box for the role, an empty box is right in scenario "1", and any box in "2".
        """
        annotated, predicted = self.truth.role[self.person[rows], entry], self.predictions.role[rows, entry]
        fits: Mask = self.empty[predicted] if scenario == "1" else np.ones(len(rows), bool)
        known = np.flatnonzero(annotated >= 0)
        iou = overlaps(self.truth.boxes[annotated[known]], self.predictions.boxes[predicted[known]], rule.overlap)
        fits[known] = rule.is_reached(iou.astype(np.float64))
        return fits


def nearest_boxes(
    boxes: Boxes, image: Ints, targets: Boxes, offsets: Indices, iou: Callable[[Boxes, Boxes], Boxes]
) -> tuple[Indices, Boxes]:
    """Return the (n,) index of the first of the ``targets`` with the largest IoU in a box's image, and the (n,) IoU.

    Both are -1 and 0 for a box on an image without targets, or on no image (-1). ``offsets`` are the first targets of
    each image, and their total number.
    """
    known = np.where(image >= 0, image, 0)
    first, count = offsets[known], np.where(image >= 0, np.diff(offsets)[known], 0)
    nearest, best = np.full(len(boxes), -1, np.int64), np.zeros(len(boxes), boxes.dtype)
    for start, stop in blocks(count, _PAIRS_AT_ONCE):
        row, other = expand(first[start:stop], count[start:stop])
        near = iou(boxes[start + row], targets[other])
        chosen = argmax_per_run(row, near)
        nearest[start + row[chosen]], best[start + row[chosen]] = other[chosen], near[chosen]
    return nearest, best


def overlaps(a: Single, b: Single, overlap: Overlap) -> Single:
    """Return the (n,) IoU of row i of ``a`` and row i of ``b`` in single precision, as V-COCO's script computes it.

    Sides are x2 - x1 + 1, or x2 - x1 if ``overlap`` is CONTINUOUS. Boxes with NaN, or without overlap, have IoU 0.
    """
    last = np.float32(overlap is not Overlap.CONTINUOUS)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        sides = np.maximum(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]) + last, 0)
        inside = sides[:, 0] * sides[:, 1]
        size_a, size_b = (box[:, 2:] - box[:, :2] + last for box in (a, b))
        union = size_b[:, 0] * size_b[:, 1] + size_a[:, 0] * size_a[:, 1] - inside
        found: Single = np.nan_to_num(inside / union, nan=0.0)
    return found
