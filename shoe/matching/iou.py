"""Overlap of boxes, under each convention of the field (protocols.md 0.2, 0.3)."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Overlap(StrEnum):
    """How the area of a box and of an intersection is counted."""

    CONTINUOUS = "cont"
    """Boxes are edges: width = x2 - x1 (pocket, THID)."""
    PIXELS = "+1"
    """Boxes are inclusive pixel indices: width = x2 - x1 + 1 (official Matlab script)."""
    PIXELS_CROSSING = "+1-crossing"
    """As PIXELS, but 0 unless the extents overlap by more than a shared edge pixel (PPDM, QPIC, CDN, GEN-VLKT)."""


def iou(a: Floats, b: Floats, overlap: Overlap) -> Floats:
    """Intersection over union, row by row.

    Args:
        a: (n, 4) boxes x1, y1, x2, y2.
        b: (n, 4) boxes in the same space.
        overlap: the convention.

    Returns:
        (n,) values in 0..1.
    """
    one = 0.0 if overlap is Overlap.CONTINUOUS else 1.0
    ax1, ay1, ax2, ay2 = a.T
    bx1, by1, bx2, by2 = b.T
    width = np.minimum(ax2, bx2) - np.maximum(ax1, bx1)
    height = np.minimum(ay2, by2) - np.maximum(ay1, by1)
    crossing = (width > 0) & (height > 0) if overlap is not Overlap.PIXELS else (width + 1 > 0) & (height + 1 > 0)
    inter = np.where(crossing, (width + one) * (height + one), 0.0)
    area_a = (ax2 - ax1 + one) * (ay2 - ay1 + one)
    area_b = (bx2 - bx1 + one) * (by2 - by1 + one)
    union = area_a + area_b - inter
    # Pixel indices taken as edges can have no area at all: their overlap is 0, not undefined.
    ratio: Floats = np.divide(inter, union, out=np.zeros(len(union)), where=union > 0)
    return ratio
