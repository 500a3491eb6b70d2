"""What the four numbers of a box mean, and how to move them from one meaning to another.

The field writes boxes as ``x1, y1, x2, y2`` in three frames, and every evaluator compares them in a space of its own
(protocols of HICO-DET differ by exactly this one pixel). A table keeps the numbers of its file and says which frame
they are in; a protocol names the space in which it compares.
"""

from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray


class Frame(IntEnum):
    """The meaning of a file's box coordinates."""

    CONTINUOUS = 0
    """Edges, measured from the top-left corner of the image: width = x2 - x1. What detectors predict."""
    PIXELS_0 = 1
    """Indices of the first and the last pixel, counted from 0: width = x2 - x1 + 1."""
    PIXELS_1 = 2
    """Indices of the first and the last pixel, counted from 1 (Matlab): width = x2 - x1 + 1."""


class BoxSpace(StrEnum):
    """The coordinates in which a protocol compares boxes."""

    RAW = "raw"
    """The numbers of both files as they are, whatever they mean (QPIC, CDN, GEN-VLKT, THID)."""
    INDICES = "indices"
    """1-based pixel indices: 1 is added to everything that is 0-based (official Matlab script, PPDM)."""
    EDGES = "edges"
    """Continuous edges: pixel indices become the edges of their pixels (pocket: SCG, UPT, PViC)."""


# Rows: Frame. Columns: what is added to x1, y1, x2, y2.
_SHIFTS: dict[BoxSpace, list[list[float]]] = {
    BoxSpace.RAW: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    BoxSpace.INDICES: [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]],
    BoxSpace.EDGES: [[0, 0, 0, 0], [0, 0, 1, 1], [-1, -1, 0, 0]],
}


def shifted(boxes: NDArray[np.float64], frames: NDArray[np.uint8], space: BoxSpace) -> NDArray[np.float64]:
    """Move boxes into a space.

    Args:
        boxes: (n, 4) numbers as their file has them.
        frames: (n,) or (1,) ``Frame`` of each box.
        space: the coordinates wanted.

    Returns:
        (n, 4) boxes; the same array, not a copy, where nothing has to move.
    """
    shift = np.array(_SHIFTS[space])
    used = np.flatnonzero(np.bincount(frames))
    if not shift[used].any():
        return boxes
    moved: NDArray[np.float64] = boxes + (shift[used[0]] if len(used) == 1 else shift[frames])
    return moved
