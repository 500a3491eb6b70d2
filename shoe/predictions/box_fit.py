"""How well boxes overlap annotated ones under many readings at once, people with people and objects with objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.equal_rows import as_bits, first_equal
from shoe.core.interactions import Interactions
from shoe.core.ragged import expand

PERSON, OBJECT = 0, 1
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Distinct boxes of some images; n of them.

    Attributes:
        image: (n,) number of each box's image.
        kind: (n,) ``PERSON`` or ``OBJECT``, as the file says.
        numbers: (n, 4).
        rows: (n,) which of the triplets that they were made from is the first that has each.
    """

    image: Indices
    kind: Indices
    numbers: Floats
    rows: Indices

    @classmethod
    def of(cls, image: Indices | Ints, human: Floats, target: Floats) -> Boxes:
        """Gather the distinct boxes of triplets: (n,) numbers of images, and (n, 4) numbers twice."""
        kept = []
        for boxes in (human, target):
            first = first_equal([*as_bits(image), *as_bits(boxes)])
            kept.append(np.flatnonzero(first == np.arange(len(first))))
        return cls(
            image=np.concatenate([image[rows] for rows in kept]).astype(np.int64),
            kind=np.repeat([PERSON, OBJECT], [len(rows) for rows in kept]),
            numbers=np.concatenate([boxes[rows] for boxes, rows in zip((human, target), kept, strict=True)]),
            rows=np.concatenate(kept),
        )

    def select(self, keep: Mask) -> Boxes:
        """Those that a mask marks."""
        return Boxes(self.image[keep], self.kind[keep], self.numbers[keep], self.rows[keep])


class Annotated:
    """The annotated boxes of some images of a ground truth."""

    def __init__(self, truth: Interactions, images: Ints) -> None:
        count = np.diff(truth.offsets)[images]
        owner, row = expand(truth.offsets[images], count)
        coordinates = truth.coordinates[images][owner]
        human, target = (
            converted(boxes[row], coordinates, CommonCoordinates.EDGES)
            for boxes in (truth.human_boxes, truth.object_boxes)
        )
        found = Boxes.of(owner, human, target)
        group = 2 * found.image + found.kind
        self._corners = np.ascontiguousarray(found.numbers[np.argsort(group, kind="stable")].T)
        self._count = np.bincount(group, minlength=2 * len(images))
        self._first = np.cumsum(self._count) - self._count

    def best(self, image: Indices, kind: Indices, boxes: Floats) -> Floats:
        """Find the best IoU of each box with an annotated one of an image and kind.

        Args:
            image: (n,) number of the image among those annotated.
            kind: (n,) ``PERSON`` or ``OBJECT``.
            boxes: (4, c, n) x1, y1, x2, y2 of the boxes as each of c readings has them.

        Returns:
            (c, n).
        """
        group = 2 * image + kind
        count = self._count[group]
        owner, annotated = expand(self._first[group], count)
        overlap = _overlap(boxes, self._corners[:, annotated], owner)
        found: Floats = np.maximum.reduceat(overlap, np.cumsum(count) - count, axis=1)
        return found


def _overlap(boxes: Floats, truth: Floats, owner: Indices) -> Floats:
    """(c, p) IoU of boxes (4, c, n) with p annotated ones (4, p), each compared with one box; 0 without area."""
    areas = (boxes[2] - boxes[0]) * (boxes[3] - boxes[1])
    x1, y1, x2, y2 = (corner.take(owner, axis=1) for corner in boxes)
    width = np.minimum(x2, truth[2], out=x2)
    width -= np.maximum(x1, truth[0], out=x1)
    height = np.minimum(y2, truth[3], out=y2)
    height -= np.maximum(y1, truth[1], out=y1)
    shared = np.maximum(width, 0, out=width)
    shared *= np.maximum(height, 0, out=height)
    union = areas.take(owner, axis=1)
    union += (truth[2] - truth[0]) * (truth[3] - truth[1])
    union -= shared
    found: Floats = np.divide(shared, np.maximum(union, _TINY, out=union), out=shared)
    return found
