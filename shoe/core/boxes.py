"""Box coordinates, conversion between them, and intersection over union.

Datasets and evaluators use boxes ``x1, y1, x2, y2`` in three types of coordinates that differ by one pixel. A table
stores the numbers as in the file, and their type of coordinates. A protocol defines in which coordinates boxes are
compared, and so how they are converted.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats


class Coordinates(IntEnum):
    """Type of box coordinates in a file: continuous edges, or pixel indices counted from 0 or from 1."""

    CONTINUOUS = 0  # edges, measured from the top-left corner of the image: width = x2 - x1; detectors predict these
    PIXELS_0 = 1  # indices of the first and the last pixel, counted from 0: width = x2 - x1 + 1
    PIXELS_1 = 2  # indices of the first and the last pixel, counted from 1 (Matlab): width = x2 - x1 + 1


class CommonCoordinates(StrEnum):
    """Coordinates in which a protocol compares boxes; boxes in other coordinates are converted first."""

    RAW = "raw"  # numbers as in the ground truth and prediction files, unconverted (QPIC, CDN, GEN-VLKT, THID)
    INDICES = "indices"  # 1-based pixel indices: 1 is added to 0-based coordinates (official Matlab script, PPDM)
    EDGES = "edges"  # continuous edges: pixel indices become the edges of their pixels (pocket: SCG, UPT, PViC)


# Rows: Coordinates. Columns: added to x1, y1, x2, y2.
_SHIFTS: dict[CommonCoordinates, list[list[float]]] = {
    CommonCoordinates.RAW: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    CommonCoordinates.INDICES: [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]],
    CommonCoordinates.EDGES: [[0, 0, 0, 0], [0, 0, 1, 1], [-1, -1, 0, 0]],
}


def convert_boxes(boxes: Floats, coordinates: NDArray[np.uint8], to: CommonCoordinates) -> Floats:
    """Return (n, 4) boxes converted to the coordinates ``to``; if nothing changes, ``boxes`` itself, not a copy.

    ``coordinates`` is the (n,) :class:`Coordinates` of each box, or (1,) if all are equal.
    """
    shift = np.array(_SHIFTS[to])
    used = np.flatnonzero(np.bincount(coordinates))
    if not shift[used].any():
        return boxes
    return np.asarray(boxes + (shift[used[0]] if len(used) == 1 else shift[coordinates]))


# Overlap of boxes (docs/protocols.md 0.2, 0.3)

_TINY = np.finfo(np.float64).tiny


class Overlap(StrEnum):
    """Rule for computing the areas of boxes and of intersections: a width is x2 - x1 or x2 - x1 + 1."""

    CONTINUOUS = "cont"  # boxes are edges: width = x2 - x1 (pocket, THID)
    PIXELS = "+1"  # boxes are inclusive pixel indices: width = x2 - x1 + 1 (official Matlab script)
    # As PIXELS, but 0 unless boxes share more than one pixel in width and height (PPDM, QPIC, CDN, GEN-VLKT).
    PIXELS_CROSSING = "+1-crossing"


@dataclass(frozen=True, slots=True)
class OverlapRule:
    """Criterion for matching two human-object pairs: the smaller of human IoU and object IoU reaches the threshold.

    Attributes:
        inclusive: whether an IoU equal to the threshold is sufficient.
    """

    overlap: Overlap
    threshold: float
    inclusive: bool

    def is_reached(self, value: Floats) -> NDArray[np.bool_]:
        """Return the (n,) mask of the IoUs ``value`` above the threshold, or also equal to it if ``inclusive``."""
        return value >= self.threshold if self.inclusive else value > self.threshold


def area(boxes: Floats, overlap: Overlap) -> Floats:
    """Return the (n,) areas of (n, 4) boxes x1, y1, x2, y2; sides are 1 longer unless ``overlap`` is CONTINUOUS."""
    x1, y1, x2, y2 = boxes.T
    last = 0 if overlap is Overlap.CONTINUOUS else 1
    return np.asarray((x2 - x1 + last) * (y2 - y1 + last))


def iou(a: Floats, b: Floats, overlap: Overlap, areas: tuple[Floats, Floats] | None = None) -> Floats:
    """Return the (n,) intersections over union, 0 to 1, of boxes a[i] and b[i]; ``a`` and ``b`` are (n, 4).

    ``areas`` are the (n,) areas of ``a`` and of ``b``, computed if None. A box without area has IoU 0.
    """
    ax1, ay1, ax2, ay2 = a.T
    bx1, by1, bx2, by2 = b.T
    width = np.minimum(ax2, bx2)
    width -= np.maximum(ax1, bx1)
    height = np.minimum(ay2, by2)
    height -= np.maximum(ay1, by1)
    if overlap is Overlap.PIXELS_CROSSING:
        width[(width <= 0) | (height <= 0)] = -1
    if overlap is not Overlap.CONTINUOUS:
        width += 1
        height += 1
    np.maximum(width, 0, out=width)
    np.maximum(height, 0, out=height)
    inter: Floats = width * height
    area_a, area_b = areas or (area(a, overlap), area(b, overlap))
    union = area_a + area_b
    union -= inter
    # Pixel indices that are compared as edges can have no area: their overlap is 0, not undefined.
    np.maximum(union, _TINY, out=union)
    inter /= union
    return inter
