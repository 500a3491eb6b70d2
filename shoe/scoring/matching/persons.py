"""Matching of predicted persons with annotated persons (V-COCO)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Indices, Ints, Mask, argmax_per_run, blocks, expand
from shoe.core.boxes import Overlap, OverlapRule
from shoe.core.interactions import image_index
from shoe.core.roles import RolePredictions, RoleTruth, Single
from shoe.predictions.roles import roles_of_triplets
from shoe.scoring.matching.task import Task

_PAIRS_AT_ONCE = 1 << 20


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
        """Match the predictions of a task with ``truth``, the annotated persons of its ground truth."""
        said = role_predictions(task)
        image = image_index(said.images, task.truth.interactions.images)[said.image]
        offsets = truth.offsets
        known = np.where(image >= 0, image, 0)
        first, count = offsets[known], np.where(image >= 0, np.diff(offsets)[known], 0)
        person, best = np.full(len(image), -1, np.int64), np.zeros(len(image), np.float32)
        boxes = truth.person_boxes
        for start, stop in blocks(count, _PAIRS_AT_ONCE):
            row, other = expand(first[start:stop], count[start:stop])
            near = overlaps(boxes[other], said.person_boxes[start + row], overlap)
            chosen = argmax_per_run(row, near)
            person[start + row[chosen]], best[start + row[chosen]] = other[chosen], near[chosen]
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


def role_predictions(task: Task) -> RolePredictions:
    """Return the predicted persons of a task; they are derived from its triplets if the file lists only triplets."""
    table = task.predictions
    return roles_of_triplets(table, task.truth.benchmark) if table.roles is None else table.roles
