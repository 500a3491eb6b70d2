"""Which predictions are in the place of which ground truth, whatever their words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices
from shoe.core.iou import OverlapRule, area, iou
from shoe.core.ragged import blocks, expand
from shoe.matching.task import Boxes

_PAIRS_AT_ONCE = 1 << 16
"""Keeps the work arrays of a block in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs of a ground truth and a prediction whose boxes both overlap; c pairs.

    Attributes:
        truth: (c,) row of the ground truth, ascending.
        prediction: (c,) row of the prediction, ascending for one ground truth.
        iou: (c,) the smaller of the two IoUs.
    """

    truth: Indices
    prediction: Indices
    iou: Floats

    def select(self, keep: NDArray[np.bool_] | Indices) -> Candidates:
        """The pairs that a mask, or ascending indices, name."""
        return Candidates(self.truth[keep], self.prediction[keep], self.iou[keep])


def candidates(truth: Boxes, predictions: Boxes, first: Indices, count: Indices, rule: OverlapRule) -> Candidates:
    """Compare every ground truth with every prediction on its image.

    Args:
        truth: boxes of the ground truth, grouped by its m images.
        predictions: boxes of the predictions.
        first: (m,) first row of the predictions on each image of the truth.
        count: (m,) their number.
        rule: the overlap that both boxes must reach.
    """
    offsets = truth.table.offsets
    found: list[tuple[Indices, Indices, Floats]] = []
    for start, end in blocks(np.diff(offsets) * count, _PAIRS_AT_ONCE):
        rows = slice(offsets[start], offsets[end])
        _, place = expand(first[start:end], count[start:end])
        block = slice(place[0], place[-1] + 1) if (np.diff(place) == 1).all() else place
        local_first = np.cumsum(count[start:end]) - count[start:end]
        image_of_row = np.repeat(np.arange(end - start), np.diff(offsets[start : end + 1]))
        t, p = expand(local_first[image_of_row], count[start:end][image_of_row])
        human = _iou_of(truth.human(rows), predictions.human(block), t, p, rule)
        near = np.flatnonzero(rule.holds(human))
        t, p = t[near], p[near]
        object_ = _iou_of(truth.object(rows), predictions.object(block), t, p, rule)
        both = np.flatnonzero(rule.holds(object_))
        found.append((t[both] + offsets[start], place[p[both]], np.minimum(human[near[both]], object_[both])))
    if not found:
        return Candidates(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Candidates(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _iou_of(a: Floats, b: Floats, of_a: Indices, of_b: Indices, rule: OverlapRule) -> Floats:
    """IoU of rows of two small tables, gathered by column so that the arithmetic runs over contiguous memory."""
    columns_a = np.take(np.ascontiguousarray(a.T), of_a, axis=1)
    columns_b = np.take(np.ascontiguousarray(b.T), of_b, axis=1)
    areas = area(a, rule.overlap)[of_a], area(b, rule.overlap)[of_b]
    return iou(columns_a.T, columns_b.T, rule.overlap, areas)
