"""Overlap of boxes, under each convention of the field (docs/protocols.md 0.2, 0.3)."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats

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
        overlap: the convention.
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
