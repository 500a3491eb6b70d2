"""Matching of V-COCO predictions by person with annotated persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Indices, Ints, Mask, as_bits, blocks, expand, first_equal, first_largest
from shoe.core.boxes import Overlap, OverlapRule
from shoe.core.interactions import image_index
from shoe.core.roles import RolePredictions, RoleTruth, Single
from shoe.lexicon.resolve import match_labels
from shoe.scoring.matching.task import Task

_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class PersonMatches:
    """Annotated person with the largest box overlap for each of n predictions, whatever the threshold.

    Attributes:
        image: (n,) image of each prediction in the ground truth; -1 if unknown there.
        person: (n,) annotated person, of equals the first; -1 on an image without persons.
        iou: (n,) IoU of the two person boxes.
        empty: (b,) whether a role's box stands for "no box": all zeros, or all NaN.
    """

    said: RolePredictions
    truth: RoleTruth
    image: Ints
    person: Indices
    iou: Single
    empty: Mask

    @classmethod
    def of(cls, task: Task, truth: RoleTruth, overlap: Overlap) -> PersonMatches:
        """Match the persons of a task; ``truth`` are the persons of its ground truth."""
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
            chosen = first_largest(row, near)
            person[start + row[chosen]], best[start + row[chosen]] = other[chosen], near[chosen]
        empty = (said.boxes == 0).all(axis=1) | np.isnan(said.boxes).all(axis=1)
        return cls(said, truth, image, person, best, empty)

    def role_fits(self, rows: Indices, entry: int, rule: OverlapRule, scenario: str) -> Mask:
        """Return whether the role's box is right, for predictions of persons who do the action.

        If the person has no annotated box for the role, an empty box is right in scenario "1", and any box in "2".
        """
        annotated, predicted = self.truth.role[self.person[rows], entry], self.said.role[rows, entry]
        fits: Mask = self.empty[predicted] if scenario == "1" else np.ones(len(rows), bool)
        known = np.flatnonzero(annotated >= 0)
        iou = overlaps(self.truth.boxes[annotated[known]], self.said.boxes[predicted[known]], rule.overlap)
        fits[known] = rule.holds(iou.astype(np.float64))
        return fits


def overlaps(a: Single, b: Single, overlap: Overlap) -> Single:
    """Return the (n,) IoU of (n, 4) boxes in single precision, as the official script computes it.

    Boxes may be invalid: NaN, or with an end before the start. Boxes without overlap have IoU 0.
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
    """Return the predictions by person: those of the file, or else those derived from the triplets."""
    table, actions = task.predictions, task.truth.benchmark.actions
    if table.roles is not None:
        return table.roles
    action = match_labels(table.verbs, actions.names, "verb")
    names = task.truth.benchmark.objects
    object_ = match_labels(table.objects, names, "object")
    # A word that is no object's name, -1, takes the action's first role, which is the only role of most actions.
    first = dict(actions.numbered[::-1])
    entry = np.array(
        [[*(actions.entry_of(number, name) for name in names), first[number]] for number in range(len(actions))],
        np.int32,
    )
    rows = np.flatnonzero(action[table.verb] >= 0)
    verb, target = action[table.verb[rows]], object_[table.object[rows]]
    columns = [*as_bits(table.image), *as_bits(table.human_boxes), *as_bits(table.object_boxes)]
    return RolePredictions.of_triplets(
        table.images,
        first_equal(columns)[rows],
        table.image[rows],
        table.human_boxes[rows].astype(np.float32),
        table.object_boxes[rows].astype(np.float32),
        verb,
        entry[verb, target],
        table.score[rows].astype(np.float32),
        (len(actions), len(actions.entries)),
    )
