"""Exact repeats: the same words on the same boxes of the same image, given more than once."""

import numpy as np
from numpy.typing import NDArray

from shoe.interactions import Interactions

Indices = NDArray[np.int64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Find the rows, among ``rows``, that repeat another one of them.

    Of equal triplets the one with the highest score is the original, then the first.

    Args:
        table: the predictions.
        rows: (r,) ascending rows.

    Returns:
        Ascending rows that are repeats.
    """
    # Few triplets share one coordinate of each box and both words by chance; those that do are compared in full.
    corners = np.stack([table.human_boxes[rows, 0], table.object_boxes[rows, 3]]) + 0.0
    human, object_ = corners.view(np.uint64)
    words = (table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]).astype(np.uint64)
    key = (human * _ODD ^ object_) * _ODD ^ words
    ascending = np.sort(key)
    if not (ascending[1:] == ascending[:-1]).any():
        return rows[:0]
    order = np.argsort(key)
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    suspects = np.unique(rows[np.concatenate([order[same], order[same + 1]])])
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
