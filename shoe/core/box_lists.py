"""A table's boxes as the QPIC family's files have them: listed once for each image, with triplets that point to two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.interactions import Interactions


@dataclass(frozen=True, slots=True, eq=False)
class BoxLists:
    """The distinct labelled boxes of m images, and where the n triplets of their table point to.

    Attributes:
        offsets: (m + 1,) the boxes of image i are entries offsets[i] to offsets[i + 1] of the lists.
        boxes: four numbers each.
        labels: a number each.
        human, object: (n,) index of each triplet's boxes among those of its image.
    """

    offsets: Indices
    boxes: list[list[float]]
    labels: list[int]
    human: list[int]
    object: list[int]

    @classmethod
    def of(cls, table: Interactions, person: int, object_labels: NDArray[np.integer]) -> BoxLists:
        """List the boxes of a table.

        ``person`` is the label of human boxes, and ``object_labels`` (n,) that of each object box.
        """
        n = len(table)
        box = np.concatenate([table.human_boxes, table.object_boxes])
        label = np.concatenate([np.full(n, person), object_labels])
        image = np.tile(table.image, 2)
        order = np.lexsort((*box.T, label, image))
        keys = np.column_stack([image, label, box])[order]
        first = np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)])[: len(keys)]
        start = np.searchsorted(keys[first, 0], np.arange(len(table.images) + 1))
        index = np.empty(2 * n, np.int64)
        index[order] = np.cumsum(first) - 1
        index -= start[image]
        boxes, labels = keys[first, 2:].tolist(), keys[first, 1].astype(np.int64).tolist()
        return cls(start, boxes, labels, index[:n].tolist(), index[n:].tolist())
