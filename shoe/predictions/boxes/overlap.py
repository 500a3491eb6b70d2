"""Distinct boxes of predictions and annotations, and their overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask, as_bits, expand, first_equal
from shoe.core.boxes import CommonCoordinates, convert_boxes
from shoe.core.interactions import Interactions
from shoe.predictions.boxes.conventions import TO_CORNERS

PERSON, OBJECT = 0, 1
# Boxes are "stretched" if in at least _FEWEST images a fraction _STRETCHED of them, and _MORE than of the annotated
# boxes, equal an area within _NEAR of its sides.
_FEWEST, _STRETCHED, _MORE, _NEAR = 16, 0.8, 0.3, 0.02
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The n distinct boxes of images: (n,) image index, ``PERSON`` or ``OBJECT``, and first triplet with the box."""

    image: Indices
    kind: Indices
    numbers: Floats
    rows: Indices

    @classmethod
    def distinct(cls, image: Indices | Ints, human: Floats, target: Floats) -> Boxes:
        """Return the distinct boxes of n triplets with (n,) image indices, (n, 4) human boxes, (n, 4) object boxes."""
        every = np.arange(len(image))
        firsts = [np.flatnonzero(first_equal(as_bits(image, boxes)) == every) for boxes in (human, target)]
        rows = np.concatenate(firsts)
        kind = np.repeat([PERSON, OBJECT], [len(each) for each in firsts])
        numbers = np.concatenate([boxes[each] for boxes, each in zip((human, target), firsts, strict=True)])
        return cls(image[rows].astype(np.int64), kind, numbers, rows)

    def select(self, mask: Mask) -> Boxes:
        """Return the boxes for which the (n,) mask is True."""
        return Boxes(self.image[mask], self.kind[mask], self.numbers[mask], self.rows[mask])


class AnnotatedBoxes:
    """Annotated boxes of the ground-truth images with the indices ``images``, read under the layout ``layout``."""

    def __init__(self, truth: Interactions, images: Ints, layout: str = "xyxy") -> None:
        owner, row = expand(truth.offsets[images], np.diff(truth.offsets)[images])
        coordinates = truth.coordinates[images][owner]
        human, target = (
            convert_boxes(TO_CORNERS[layout](boxes[row]), coordinates, CommonCoordinates.EDGES)
            for boxes in (truth.human_boxes, truth.object_boxes)
        )
        found = Boxes.distinct(owner, human, target)
        group = 2 * found.image + found.kind
        self._corners = np.ascontiguousarray(found.numbers[np.argsort(group, kind="stable")].T)
        self._count = np.bincount(group, minlength=2 * len(images))
        self._first = np.cumsum(self._count) - self._count

    def best(self, image: Indices, kind: Indices, boxes: Floats) -> Floats:
        """Return the (c, n) best IoU of n boxes with annotated boxes of their image and kind, under c box conventions.

        ``image`` is the (n,) index of each box's image among those of ``self``, which must have annotated boxes of the
        (n,) ``kind``; ``boxes`` are the (4, c, n) x1, y1, x2, y2 of each box under each convention.
        """
        count, _, _, overlap = self._candidates(image, kind, boxes)
        return np.asarray(np.maximum.reduceat(overlap, np.cumsum(count) - count, axis=1))

    def nearest(self, image: Indices, kind: Indices, boxes: Floats) -> Floats:
        """Return the (n, 4) annotated boxes of the image and kind with the highest IoU with the (4, 1, n) ``boxes``."""
        count, annotated, owner, overlap = self._candidates(image, kind, boxes)
        return np.asarray(self._corners[:, annotated[np.lexsort((overlap[0], owner))[np.cumsum(count) - 1]]].T)

    def _candidates(self, image: Indices, kind: Indices, boxes: Floats) -> tuple[Indices, Indices, Indices, Floats]:
        group = 2 * image + kind
        count = self._count[group]
        owner, annotated = expand(self._first[group], count)
        return count, annotated, owner, _overlap(boxes, self._corners[:, annotated], owner)


def stretched_boxes(predictions: Interactions, truth: Interactions, images: Ints, sizes: Floats) -> list[str]:
    """Return report lines if many more predicted than annotated boxes cover both boxes of a pair, or the whole image.

    ``images`` are the (m,) indices in ``truth`` of the m predicted images, and ``sizes`` their (m, 2) sizes.
    """
    if len(images) < _FEWEST:
        return []
    rows, first = np.unique(images, return_index=True)  # the files may have the images in another order
    predicted, annotated = _stretched(predictions, sizes), _stretched(truth.select_images(rows), sizes[first])
    found = {
        kind: f"boxes: {share:.0%} of the {kind} boxes in sampled images cover {area}, but in the annotations "
        f"{annotated[kind, area]:.0%}: write the box of the {kind} alone"
        for (kind, area), share in predicted.items()
        if share >= max(_STRETCHED, annotated[kind, area] + _MORE)
    }
    return list(found.values())


def _stretched(table: Interactions, sizes: Floats) -> dict[tuple[str, str], float]:
    """Return the fraction of the boxes of a kind (human, object) that cover an area (both boxes, the whole image)."""
    size, human, target = sizes[table.image], table.human_boxes, table.object_boxes
    union = np.hstack([np.minimum(human[:, :2], target[:, :2]), np.maximum(human[:, 2:], target[:, 2:])])
    return {
        (kind, name): float((abs(boxes - area) <= _NEAR * np.tile(area[:, 2:] - area[:, :2], 2)).all(axis=1).mean())
        for kind, boxes in (("human", human), ("object", target))
        for name, area in (("both boxes", union), ("the whole image", np.hstack([np.zeros_like(size), size])))
    }


def _overlap(boxes: Floats, truth: Floats, owner: Indices) -> Floats:
    """Return the (c, p) IoU of the (4, p) annotated boxes ``truth`` with the predicted boxes of index ``owner``.

    ``boxes`` are the (4, c, n) corners of n predicted boxes under c conventions. The IoU of boxes without area is 0.
    """
    areas = (boxes[2] - boxes[0]) * (boxes[3] - boxes[1])
    x1, y1, x2, y2 = (corner.take(owner, axis=1) for corner in boxes)
    width = np.minimum(x2, truth[2], out=x2)
    width -= np.maximum(x1, truth[0], out=x1)
    height = np.minimum(y2, truth[3], out=y2)
    height -= np.maximum(y1, truth[1], out=y1)
    intersection = np.maximum(width, 0, out=width)
    intersection *= np.maximum(height, 0, out=height)
    union = areas.take(owner, axis=1)
    union += (truth[2] - truth[0]) * (truth[3] - truth[1])
    union -= intersection
    return np.asarray(np.divide(intersection, np.maximum(union, _TINY, out=union), out=intersection))
