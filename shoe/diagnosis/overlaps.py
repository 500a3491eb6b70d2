"""Which boxes of the predictions are on which boxes of the ground truth, within the scope of a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import CommonCoordinates
from shoe.core.iou import OverlapRule, iou
from shoe.core.ragged import blocks, expand
from shoe.diagnosis.scope import Scope
from shoe.matching.overlaps import Boxes
from shoe.matching.overlaps import Overlaps as Compared

_PAIRS_AT_ONCE = 1 << 16
"""Keeps the work arrays of a block in the processor's cache."""
_PERSON = "person"
"""The label of every human box; an object may have it too."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a prediction and a truth of its image that share a box; c pairs, by prediction, then by truth.

    Attributes:
        prediction, truth: (c,) places in the scope.
        human: (c,) whether the human boxes overlap enough.
        object: (c,) whether the object boxes do, and have one label.
        pair: (c,) whether both do.
        human_correct, object_correct: (p,) whether a prediction's box overlaps enough with *any* box of the image that
            has its label. Where people are objects too, a human box can so be correct at an object box.
        compared: all pairs of the task, in its order.
        row: (c,) which of them each pair is.
    """

    prediction: Indices
    truth: Indices
    human: Mask
    object: Mask
    pair: Mask
    human_correct: Mask
    object_correct: Mask
    compared: Compared
    row: Indices

    def iou(self, chosen: Indices) -> Floats:
        """Pair IoU of some of the pairs."""
        row = self.row[chosen]
        return np.minimum(self.compared.human[row], self.compared.object[row])


def overlaps(scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
    """Look up which predictions in scope share a box with which truths."""
    compared, human, object_ = scope.task.either_overlaps(coordinates, rule)
    index_of_truth = _index(scope.truth, len(scope.task.truth.interactions))
    index = _index(scope.prediction, len(scope.task.predictions))
    part = human | object_
    part &= (index_of_truth >= 0)[compared.truth]
    part &= (index >= 0)[compared.prediction]
    row = np.flatnonzero(part)
    prediction = index[compared.prediction[row]]
    order = np.argsort(prediction, kind="stable")
    row, prediction = row[order], prediction[order]
    truth, human, object_ = index_of_truth[compared.truth[row]], human[row], object_[row]
    correct = _correct(scope, coordinates, rule, prediction[np.flatnonzero(human)], prediction[np.flatnonzero(object_)])
    return Overlaps(prediction, truth, human, object_, human & object_, *correct, compared, row)


def _correct(
    scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule, with_human: Indices, with_object: Indices
) -> tuple[Mask, Mask]:
    """(p,) which human boxes, and which object boxes, are on a box of their label, be it of the other kind."""
    human_correct, object_correct = np.zeros((2, len(scope.prediction)), bool)
    human_correct[with_human] = True
    object_correct[with_object] = True
    names = scope.task.truth.classes.objects
    if _PERSON not in names:
        return human_correct, object_correct
    ours, theirs = Boxes(scope.task.predictions, coordinates), Boxes(scope.task.truth.interactions, coordinates)
    person = names.index(_PERSON)
    for t, p in _pairs(np.flatnonzero(scope.truth_object == person), scope.truth_image, scope.image):
        on = rule.holds(iou(ours.human(scope.prediction[p]), theirs.object(scope.truth[t]), rule.overlap))
        human_correct[p[on]] = True
    for p, t in _pairs(np.flatnonzero(scope.object == person), scope.image, scope.truth_image):
        on = rule.holds(iou(ours.object(scope.prediction[p]), theirs.human(scope.truth[t]), rule.overlap))
        object_correct[p[on]] = True
    return human_correct, object_correct


def _pairs(
    people: Indices, image: NDArray[np.integer], others: NDArray[np.integer]
) -> Iterator[tuple[Indices, Indices]]:
    """Each of some rows with all of the other side's on its image, which is ascending; a bounded number at a time."""
    count = np.bincount(others, minlength=image.max(initial=-1) + 1)
    first, image = np.cumsum(count) - count, image[people]
    for start, end in blocks(count[image], _PAIRS_AT_ONCE):
        owner, other = expand(first[image[start:end]], count[image[start:end]])
        yield people[start:end][owner], other


def _index(rows: Indices, size: int) -> Indices:
    """(size,) index of each row of a table in the scope; -1 for those that have no part."""
    index = np.full(size, -1, np.int64)
    index[rows] = np.arange(len(rows))
    return index
