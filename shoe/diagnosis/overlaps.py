"""Which boxes of the predictions are on which boxes of the ground truth, within the scope of a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import CommonCoordinates
from shoe.core.iou import OverlapRule, iou
from shoe.core.ragged import blocks, expand
from shoe.diagnosis.scope import Scope
from shoe.matching.overlaps import Boxes

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
        iou: (c,) pair IoU where both do; 0 elsewhere.
        human_correct, object_correct: (p,) whether a prediction's box overlaps enough with *any* box of the image that
            has its label. Where people are objects too, a human box can so be correct at an object box.
    """

    prediction: Indices
    truth: Indices
    human: Mask
    object: Mask
    iou: Floats
    human_correct: Mask
    object_correct: Mask

    @property
    def pair(self) -> Mask:
        """(c,) whether both boxes overlap enough."""
        return self.human & self.object


def overlaps(scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
    """Look up which predictions in scope share a box with which truths."""
    found, human, object_ = scope.task.either_overlaps(coordinates, rule)
    index_of_truth = _index(scope.truth, len(scope.task.truth.interactions))
    index = _index(scope.prediction, len(scope.task.predictions))
    part = human | object_
    part &= (index_of_truth >= 0)[found.truth]
    part &= (index >= 0)[found.prediction]
    chosen = np.flatnonzero(part)
    chosen = chosen[np.argsort(index[found.prediction[chosen]], kind="stable")]
    prediction, truth = index[found.prediction[chosen]], index_of_truth[found.truth[chosen]]
    human, object_ = human[chosen], object_[chosen]
    both = np.flatnonzero(human & object_)
    pair_iou = np.zeros(len(chosen))
    pair_iou[both] = np.minimum(found.human[chosen[both]], found.object[chosen[both]])
    correct = _correct(scope, coordinates, rule, prediction, human, object_)
    return Overlaps(prediction, truth, human, object_, pair_iou, *correct)


def _correct(
    scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule, prediction: Indices, human: Mask, object_: Mask
) -> tuple[Mask, Mask]:
    """(p,) which human boxes, and which object boxes, are on a box of their label, be it of the other kind."""
    human_correct, object_correct = np.zeros((2, len(scope.prediction)), bool)
    human_correct[prediction[human]] = True
    object_correct[prediction[object_]] = True
    names = scope.task.truth.classes.objects
    if _PERSON not in names:
        return human_correct, object_correct
    ours, theirs = Boxes(scope.task.predictions, coordinates), Boxes(scope.task.truth.interactions, coordinates)
    person = names.index(_PERSON)
    every, people = np.arange(len(scope.prediction)), np.flatnonzero(scope.truth_object == person)
    for p, t in _pairs(scope, every, people):
        on = rule.holds(iou(ours.human(scope.prediction[p]), theirs.object(scope.truth[t]), rule.overlap))
        human_correct[p[on]] = True
    for p, t in _pairs(scope, np.flatnonzero(scope.object == person), np.arange(len(scope.truth))):
        on = rule.holds(iou(ours.object(scope.prediction[p]), theirs.human(scope.truth[t]), rule.overlap))
        object_correct[p[on]] = True
    return human_correct, object_correct


def _pairs(scope: Scope, predictions: Indices, truths: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Every one of some predictions with every one of some truths of its image, a bounded number at a time."""
    count = np.bincount(scope.truth_image[truths], minlength=scope.images)
    first = np.cumsum(count) - count
    image = scope.image[predictions]
    for start, end in blocks(count[image], _PAIRS_AT_ONCE):
        owner, t = expand(first[image[start:end]], count[image[start:end]])
        yield predictions[start:end][owner], truths[t]


def _index(rows: Indices, size: int) -> Indices:
    """(size,) index of each row of a table in the scope; -1 for those that have no part."""
    index = np.full(size, -1, np.int64)
    index[rows] = np.arange(len(rows))
    return index
