"""What the four numbers of a box mean, and how to move them from one meaning to another.

The field writes boxes as ``x1, y1, x2, y2`` in three kinds of coordinates, and every evaluator compares them in
coordinates of its own (protocols of HICO-DET differ by exactly this one pixel). A table keeps the numbers of its file
and says which coordinates they are; a protocol names those in which it compares.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats


class Coordinates(IntEnum):
    """The meaning of a file's box coordinates."""

    CONTINUOUS = 0
    """Edges, measured from the top-left corner of the image: width = x2 - x1. What detectors predict."""
    PIXELS_0 = 1
    """Indices of the first and the last pixel, counted from 0: width = x2 - x1 + 1."""
    PIXELS_1 = 2
    """Indices of the first and the last pixel, counted from 1 (Matlab): width = x2 - x1 + 1."""


class CommonCoordinates(StrEnum):
    """The coordinates in which a protocol compares boxes."""

    RAW = "raw"
    """The numbers of both files as they are, whatever they mean (QPIC, CDN, GEN-VLKT, THID)."""
    INDICES = "indices"
    """1-based pixel indices: 1 is added to everything that is 0-based (official Matlab script, PPDM)."""
    EDGES = "edges"
    """Continuous edges: pixel indices become the edges of their pixels (pocket: SCG, UPT, PViC)."""


# Rows: Coordinates. Columns: what is added to x1, y1, x2, y2.
_SHIFTS: dict[CommonCoordinates, list[list[float]]] = {
    CommonCoordinates.RAW: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    CommonCoordinates.INDICES: [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]],
    CommonCoordinates.EDGES: [[0, 0, 0, 0], [0, 0, 1, 1], [-1, -1, 0, 0]],
}


def converted(boxes: NDArray[np.float64], coordinates: NDArray[np.uint8], to: CommonCoordinates) -> NDArray[np.float64]:
    """Convert boxes to the coordinates in which a protocol compares them.

    Args:
        boxes: (n, 4) numbers as their file has them.
        coordinates: (n,) or (1,) ``Coordinates`` of each box.

    Returns:
        (n, 4) boxes; the same array, not a copy, where nothing has to move.
    """
    shift = np.array(_SHIFTS[to])
    used = np.flatnonzero(np.bincount(coordinates))
    if not shift[used].any():
        return boxes
    moved: NDArray[np.float64] = boxes + (shift[used[0]] if len(used) == 1 else shift[coordinates])
    return moved


# Overlap of boxes, under each convention of the field (docs/protocols.md 0.2, 0.3).

_TINY = np.finfo(np.float64).tiny


class Overlap(StrEnum):
    """How the area of a box and of an intersection is counted."""

    CONTINUOUS = "cont"
    """Boxes are edges: width = x2 - x1 (pocket, THID)."""
    PIXELS = "+1"
    """Boxes are inclusive pixel indices: width = x2 - x1 + 1 (official Matlab script)."""
    PIXELS_CROSSING = "+1-crossing"
    """As PIXELS, but 0 unless the extents overlap by more than a shared edge pixel (PPDM, QPIC, CDN, GEN-VLKT)."""


@dataclass(frozen=True, slots=True)
class OverlapRule:
    """When two pairs are the same: pair IoU = min(human IoU, object IoU) reaches the threshold."""

    overlap: Overlap
    threshold: float
    inclusive: bool

    def holds(self, value: Floats) -> NDArray[np.bool_]:
        """(n,) IoUs to (n,) whether they pass."""
        return value >= self.threshold if self.inclusive else value > self.threshold


def area(boxes: Floats, overlap: Overlap) -> Floats:
    """(n,) areas of (n, 4) boxes x1, y1, x2, y2."""
    x1, y1, x2, y2 = boxes.T
    last = 0 if overlap is Overlap.CONTINUOUS else 1
    areas: Floats = (x2 - x1 + last) * (y2 - y1 + last)
    return areas


def iou(a: Floats, b: Floats, overlap: Overlap, areas: tuple[Floats, Floats] | None = None) -> Floats:
    """Intersection over union, row by row.

    Args:
        a: (n, 4) boxes x1, y1, x2, y2.
        b: (n, 4) boxes in the same coordinates.
        areas: (n,) areas of ``a`` and of ``b``, where they are known already.

    Returns:
        (n,) values in 0..1.
    """
    ax1, ay1, ax2, ay2 = a.T
    bx1, by1, bx2, by2 = b.T
    width = np.minimum(ax2, bx2)
    width -= np.maximum(ax1, bx1)
    height = np.minimum(ay2, by2)
    height -= np.maximum(ay1, by1)
    if overlap is Overlap.PIXELS_CROSSING:
        apart = (width <= 0) | (height <= 0)
        width[apart] = -1
    if overlap is not Overlap.CONTINUOUS:
        width += 1
        height += 1
    np.maximum(width, 0, out=width)
    np.maximum(height, 0, out=height)
    inter: Floats = width * height
    area_a, area_b = areas or (area(a, overlap), area(b, overlap))
    union = area_a + area_b
    union -= inter
    # Pixel indices taken as edges can have no area at all: their overlap is 0, not undefined.
    np.maximum(union, _TINY, out=union)
    inter /= union
    return inter
