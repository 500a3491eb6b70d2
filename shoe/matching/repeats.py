"""Exact repeats: the same words on the same boxes of the same image, given more than once."""

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.interactions import Interactions
from shoe.core.ragged import distinct

_ODD = np.uint64(0x9E3779B97F4A7C15)
_BUCKETS_PER_KEY = 4


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Find the rows, among ``rows``, that repeat another one of them.

    Of equal triplets the one with the highest score is the original, then the first.

    Args:
        table: the predictions.
        rows: (r,) ascending rows.

    Returns:
        Ascending rows that are repeats.
    """
    suspects = rows[_sharing_a_bucket(_keys(table, rows))]
    if len(suspects) == 0:
        return suspects
    columns = _columns(table, suspects)
    order = np.lexsort((suspects, -table.score[suspects], *columns))
    repeats = np.ones(len(suspects), bool)
    for column in columns:
        repeats[1:] &= column[order][1:] == column[order][:-1]
    repeats[0] = False
    return np.sort(suspects[order[repeats]])


def _keys(table: Interactions, rows: Indices) -> NDArray[np.uint64]:
    """(r,) equal for equal triplets, and seldom for others: one coordinate of each box and both words, mixed."""
    human = (table.human_boxes[rows, 0] + 0.0).view(np.uint64)
    object_ = (table.object_boxes[rows, 3] + 0.0).view(np.uint64)
    words = (table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]).astype(np.uint64)
    keys: NDArray[np.uint64] = ((human * _ODD ^ object_) * _ODD ^ words) * _ODD
    return keys


def _sharing_a_bucket(keys: NDArray[np.uint64]) -> Indices:
    """Indices of the keys that share a hash bucket with another: a scatter and a gather in place of a sort."""
    bits = max(1, (_BUCKETS_PER_KEY * len(keys)).bit_length())
    bucket = (keys >> np.uint64(64 - bits)).astype(np.int64)
    number = np.arange(len(keys), dtype=np.int32)
    last = np.zeros(1 << bits, np.int32)
    last[bucket] = number
    earlier = np.flatnonzero(last[bucket] != number)
    crowded = np.zeros(1 << bits, bool)
    crowded[bucket[earlier]] = True
    together: Indices = np.flatnonzero(crowded[bucket])
    return together[_sharing_a_key(keys[together])]


def _sharing_a_key(keys: NDArray[np.uint64]) -> Indices:
    order = np.argsort(keys)
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    return distinct(np.concatenate([order[same], order[same + 1]]))


def _columns(table: Interactions, rows: Indices) -> list[NDArray[np.uint64]]:
    # Adding 0 makes one number of 0.0 and -0.0.
    boxes = np.concatenate([table.human_boxes[rows], table.object_boxes[rows]], axis=1) + 0.0
    words = np.stack([table.image[rows], table.verb[rows], table.object[rows]]).astype(np.uint64)
    return [*np.ascontiguousarray(boxes.T).view(np.uint64), *words]
