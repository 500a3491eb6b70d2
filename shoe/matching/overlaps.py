"""Which boxes of the predictions are on which boxes of the ground truth, whatever their words: compared once a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.interactions import Interactions
from shoe.core.iou import Overlap, OverlapRule, area, iou
from shoe.core.ragged import blocks, expand

_PAIRS_AT_ONCE = 1 << 16
"""Keeps the work arrays of a block in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Both boxes of the triplets of a table, moved into other coordinates for the rows that are asked for."""

    table: Interactions
    coordinates: CommonCoordinates

    def human(self, rows: Indices | slice) -> Floats:
        """(r, 4) human boxes of some rows; a slice is not copied where nothing moves."""
        return self._moved(self.table.human_boxes[rows], rows)

    def object(self, rows: Indices | slice) -> Floats:
        """(r, 4) object boxes of some rows."""
        return self._moved(self.table.object_boxes[rows], rows)

    def _moved(self, boxes: Floats, rows: Indices | slice) -> Floats:
        coordinates = self.table.triplet_coordinates
        return converted(boxes, coordinates if len(coordinates) == 1 else coordinates[rows], self.coordinates)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a ground truth and a prediction of one image, by ground truth, then by prediction; c pairs.

    Attributes:
        truth: (c,) row of the ground truth.
        prediction: (c,) row of the prediction.
        human: (c,) IoU of the human boxes.
        object: (c,) IoU of the object boxes, whatever their labels.
    """

    truth: Indices
    prediction: Indices
    human: Floats
    object: Floats

    @property
    def iou(self) -> Floats:
        """(c,) pair IoU: the smaller of the two."""
        return np.minimum(self.human, self.object)

    def __len__(self) -> int:
        return len(self.truth)

    def select(self, keep: Mask | Indices) -> Overlaps:
        """The pairs that a mask, or ascending indices, name."""
        return Overlaps(self.truth[keep], self.prediction[keep], self.human[keep], self.object[keep])


def overlaps(
    truth: Boxes, predictions: Boxes, first: Indices, count: Indices, rule: OverlapRule, *, either: bool = False
) -> Overlaps:
    """Compare every ground truth with every prediction on its image.

    Args:
        truth: boxes of the ground truth, grouped by its m images.
        predictions: boxes of the predictions.
        first: (m,) first row of the predictions on each image of the truth.
        count: (m,) their number.
        rule: the overlap that both boxes must reach.
        either: whether one box that reaches it is enough; takes twice the time.
    """
    found: list[tuple[Indices, Indices, Floats, Floats]] = []
    for rows, block, t, p in _blocks(truth.table.offsets, first, count):
        humans = _Pairs(truth.human(rows), predictions.human(block), rule.overlap)
        objects = _Pairs(truth.object(rows), predictions.object(block), rule.overlap)
        human = humans.iou(t, p)
        near = np.flatnonzero(rule.holds(human))
        if either:
            object_ = objects.iou(t, p)
            near = np.flatnonzero(rule.holds(human) | rule.holds(object_))
            object_ = object_[near]
        else:
            object_ = objects.iou(t[near], p[near])
            both = np.flatnonzero(rule.holds(object_))
            near, object_ = near[both], object_[both]
        prediction = p[near] + block.start if isinstance(block, slice) else block[p[near]]
        found.append((t[near] + rows.start, prediction, human[near], object_))
    if not found:
        return Overlaps(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return Overlaps(*(np.concatenate(column) for column in zip(*found, strict=True)))


def overlaps_of_pairs(truth: Boxes, predictions: Boxes, truths: Indices, rows: Indices, rule: OverlapRule) -> Overlaps:
    """Compare given pairs of a ground truth and a prediction, and keep those whose two boxes reach a rule."""
    human = iou(truth.human(truths), predictions.human(rows), rule.overlap)
    near = np.flatnonzero(rule.holds(human))
    truths, rows = truths[near], rows[near]
    object_ = iou(truth.object(truths), predictions.object(rows), rule.overlap)
    both = np.flatnonzero(rule.holds(object_))
    return Overlaps(truths[both], rows[both], human[near[both]], object_[both])


def _blocks(
    offsets: Indices, first: Indices, count: Indices
) -> Iterator[tuple[slice, Indices | slice, Indices, Indices]]:
    """Images a few at a time: rows of the truth, rows of the predictions, and all pairs of the two on one image."""
    for start, end in blocks(np.diff(offsets) * count, _PAIRS_AT_ONCE):
        sizes = count[start:end]
        _, rows = expand(first[start:end], sizes)
        block = slice(rows[0], rows[-1] + 1) if (np.diff(rows) == 1).all() else rows
        image = np.repeat(np.arange(end - start), np.diff(offsets[start : end + 1]))
        t, p = expand((np.cumsum(sizes) - sizes)[image], sizes[image])
        yield slice(offsets[start], offsets[end]), block, t, p


class _Pairs:
    """Two sets of boxes by column, so that the arithmetic runs over contiguous memory."""

    def __init__(self, a: Floats, b: Floats, overlap: Overlap) -> None:
        self.columns = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        self.areas = area(a, overlap), area(b, overlap)
        self.overlap = overlap

    def iou(self, i: Indices, j: Indices) -> Floats:
        """(c,) IoU of some boxes of one set with some of the other."""
        a, b = np.take(self.columns[0], i, axis=1), np.take(self.columns[1], j, axis=1)
        return iou(a.T, b.T, self.overlap, (self.areas[0][i], self.areas[1][j]))
