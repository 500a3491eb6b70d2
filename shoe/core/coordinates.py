"""What the four numbers of a box mean, and how to move them from one meaning to another.

The field writes boxes as ``x1, y1, x2, y2`` in three kinds of coordinates, and every evaluator compares them in
coordinates of its own (protocols of HICO-DET differ by exactly this one pixel). A table keeps the numbers of its file
and says which coordinates they are; a protocol names those in which it compares.
"""

from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray


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
        to: the coordinates wanted.

    Returns:
        (n, 4) boxes; the same array, not a copy, where nothing has to move.
    """
    shift = np.array(_SHIFTS[to])
    used = np.flatnonzero(np.bincount(coordinates))
    if not shift[used].any():
        return boxes
    moved: NDArray[np.float64] = boxes + (shift[used[0]] if len(used) == 1 else shift[coordinates])
    return moved
