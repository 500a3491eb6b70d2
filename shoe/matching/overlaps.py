"""Which boxes of the predictions are on which boxes of the ground truth, whatever their words: compared once a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask
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
    truth: Boxes,
    predictions: Boxes,
    first: Indices,
    count: Indices,
    rule: OverlapRule,
    labels: tuple[Ints, Ints] | None = None,
) -> Overlaps:
    """Compare every ground truth with every prediction on its image.

    Args:
        truth: boxes of the ground truth, grouped by its m images.
        predictions: boxes of the predictions.
        first: (m,) first row of the predictions on each image of the truth.
        count: (m,) their number.
        rule: the overlap that both boxes must reach.
        labels: (t,) and (n,) objects: where they are given, human boxes that reach the rule are enough, or object boxes
            that do and have one label.
    """
    # Room for all pairs: what is not written to takes no memory, and nothing is copied.
    most = int((np.diff(truth.table.offsets) * count).sum())
    indices, values = np.empty((2, most), np.int64), np.empty((2, most))
    size = 0
    for rows, block, t, p in _blocks(truth.table.offsets, first, count):
        humans = _Pairs(truth.human(rows), predictions.human(block), rule.overlap)
        objects = _Pairs(truth.object(rows), predictions.object(block), rule.overlap)
        human = humans.iou(t, p)
        reached = rule.holds(human)
        if labels is not None:
            same = labels[0][rows][t] == labels[1][block][p]
            near = np.flatnonzero(reached | same)
            object_ = objects.iou(t[near], p[near])
            enough = np.flatnonzero(reached[near] | rule.holds(object_))
        else:
            near = np.flatnonzero(reached)
            object_ = objects.iou(t[near], p[near])
            enough = np.flatnonzero(rule.holds(object_))
        near = near[enough]
        part = slice(size, size := size + len(near))
        indices[0, part] = t[near] + rows.start
        indices[1, part] = p[near] + block.start if isinstance(block, slice) else block[p[near]]
        values[0, part], values[1, part] = human[near], object_[enough]
    return Overlaps(*indices[:, :size], *values[:, :size])


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
        starts = first[start:end][sizes > 0]
        if (np.diff(starts) == sizes[sizes > 0][:-1]).all():
            block: slice | Indices = slice(starts[0], starts[0] + sizes.sum())
        else:
            block = expand(first[start:end], sizes)[1]
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
