"""Which boxes of the predictions are in the place of which boxes of the ground truth: every IoU, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import CommonCoordinates
from shoe.core.iou import OverlapRule, area, iou
from shoe.core.ragged import blocks, expand
from shoe.diagnosis.scope import Scope
from shoe.matching.task import Boxes

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
    """Compare every prediction with every truth of its image."""
    truths = np.bincount(scope.truth_image, minlength=scope.images)
    predictions = np.bincount(scope.image, minlength=scope.images)
    first_truth, first_prediction = np.cumsum(truths) - truths, np.cumsum(predictions) - predictions
    ours = Boxes(scope.task.predictions, coordinates)
    theirs = Boxes(scope.task.truth.interactions, coordinates)
    names = scope.task.truth.classes.objects
    person = names.index(_PERSON) if _PERSON in names else len(names)
    human_correct, object_correct = np.zeros((2, len(scope.prediction)), bool)
    found: list[tuple[Indices, Indices, Mask, Mask, Floats]] = []
    for start, end in blocks(truths * predictions, _PAIRS_AT_ONCE):
        begin, first = first_prediction[start], first_truth[start]
        of_image = np.repeat(np.arange(start, end), predictions[start:end])
        p, t = expand(first_truth[of_image] - first, truths[of_image])
        rows = scope.prediction[begin : begin + len(of_image)]
        truth_rows = scope.truth[first : first + truths[start:end].sum()]
        humans, objects = _Side(ours.human(rows), rule), _Side(ours.object(rows), rule)
        true_humans, true_objects = _Side(theirs.human(truth_rows), rule), _Side(theirs.object(truth_rows), rule)
        label = scope.object[begin : begin + len(rows)]
        true_label = scope.truth_object[first : first + len(truth_rows)]

        pair_iou = humans.iou(true_humans, p, t)
        human = rule.holds(pair_iou)
        alike = np.flatnonzero(label[p] == true_label[t])
        object_iou = objects.iou(true_objects, p[alike], t[alike])
        holds = np.flatnonzero(rule.holds(object_iou))
        on_object = alike[holds]
        object_ = np.zeros(len(p), bool)
        object_[on_object] = True
        pair_iou[on_object] = np.minimum(pair_iou[on_object], object_iou[holds])
        pair_iou *= human & object_
        near = np.flatnonzero(human | object_)
        found.append((p[near] + begin, t[near] + first, human[near], object_[near], pair_iou[near]))

        human_correct[begin + p[np.flatnonzero(human)]] = True
        object_correct[begin + p[on_object]] = True
        for mark, side, other, people, of in (
            (human_correct, humans, true_objects, true_label == person, t),
            (object_correct, objects, true_humans, label == person, p),
        ):
            if people.any():
                crossed = np.flatnonzero(people[of])
                holds = np.flatnonzero(rule.holds(side.iou(other, p[crossed], t[crossed])))
                mark[begin + p[crossed[holds]]] = True
    if not found:
        none, never = np.zeros(0, np.int64), np.zeros(0, bool)
        found.append((none, none, never, never, np.zeros(0)))
    prediction, truth, human_too, object_too, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return Overlaps(prediction, truth, human_too, object_too, values, human_correct, object_correct)


class _Side:
    """Boxes of one kind, by column, so that the arithmetic runs over contiguous memory."""

    def __init__(self, boxes: Floats, rule: OverlapRule) -> None:
        self.columns = np.ascontiguousarray(boxes.T)
        self.area = area(boxes, rule.overlap)
        self.rule = rule

    def iou(self, other: _Side, own: Indices, others: Indices) -> Floats:
        """(c,) IoU of some boxes with some of another kind."""
        a, b = np.take(self.columns, own, axis=1), np.take(other.columns, others, axis=1)
        return iou(a.T, b.T, self.rule.overlap, (self.area[own], other.area[others]))
