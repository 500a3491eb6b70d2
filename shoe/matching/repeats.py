"""Exact repeats: the same words on the same boxes of the same image, given more than once."""

import numpy as np
from numpy.typing import NDArray

from shoe.interactions import Interactions

Indices = NDArray[np.int64]


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Find the rows, among ``rows``, that repeat another one of them.

    Of equal triplets the one with the highest score is the original, then the first.

    Args:
        table: the predictions.
        rows: (r,) ascending rows.

    Returns:
        Ascending rows that are repeats.
    """
    mixed = np.zeros(len(rows), np.uint64)
    for number, column in enumerate(_columns(table, rows)):
        # An odd multiplier a column makes equal sums of different triplets as rare as chance; they are compared below.
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + column * np.uint64(2 * number + 1)
    order = np.argsort(mixed)
    same = np.flatnonzero(mixed[order][1:] == mixed[order][:-1])
    if len(same) == 0:
        return rows[:0]
    suspects = rows[np.unique(np.concatenate([order[same], order[same + 1]]))]
    columns = _columns(table, suspects)
    order = np.lexsort((suspects, -table.score[suspects], *columns))
    repeats = np.ones(len(suspects), bool)
    for column in columns:
        repeats[1:] &= column[order][1:] == column[order][:-1]
    repeats[0] = False
    return np.sort(suspects[order[repeats]])


def _columns(table: Interactions, rows: Indices) -> list[NDArray[np.uint64]]:
    # Adding 0 makes one number of 0.0 and -0.0.
    boxes = np.concatenate([table.human_boxes[rows], table.object_boxes[rows]], axis=1) + 0.0
    words = np.stack([table.image[rows], table.verb[rows], table.object[rows]]).astype(np.uint64)
    return [*np.ascontiguousarray(boxes.T).view(np.uint64), *words]
