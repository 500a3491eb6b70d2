"""Which rows of some columns are equal, by exact numbers, without sorting by every column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import distinct, first_of_each

Bits = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BUCKETS_PER_ROW = 4


def as_bits(numbers: Floats | NDArray[np.integer]) -> list[Bits]:
    """Columns of (n,) or (n, k) numbers as bits; 0.0 and -0.0 are one number."""
    return list((np.atleast_2d(numbers.T).astype(np.float64) + 0.0).view(np.uint64))


def together(columns: Sequence[Bits]) -> tuple[Indices, Mask]:
    """Find an order in which equal rows of (n,) columns stand together, each run of them ascending.

    Returns:
        (n,) rows in that order, and (n,) whether the row there differs from the one before it.
    """
    mixed = _mixed(columns)
    order = np.argsort(mixed, kind="stable")
    new = _differs(columns, order)
    if (new & ~first_of_each(mixed[order])).any():
        # Rows that differ were mixed to one number, and may stand between equal ones.
        order = np.lexsort(columns)
        new = _differs(columns, order)
    return order, new


def first_equal(columns: Sequence[Bits]) -> Indices:
    """(n,) the first row that equals each row."""
    return first_of_run(*together(columns))


def first_of_run(order: Indices, new: Mask) -> Indices:
    """(n,) the first row that equals each row, from what :func:`together` returns."""
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def maybe_equal(columns: Sequence[Bits]) -> Indices:
    """Rows, ascending, among which are all that equal another row, and few others: for tables where few do.

    A scatter and a gather take the place of a sort.
    """
    mixed = _mixed(columns)
    bits = max(1, (_BUCKETS_PER_ROW * len(mixed)).bit_length())
    bucket = (mixed >> np.uint64(64 - bits)).astype(np.int64)
    number = np.arange(len(mixed), dtype=np.int32)
    last = np.zeros(1 << bits, np.int32)
    last[bucket] = number
    crowded = np.zeros(1 << bits, bool)
    crowded[bucket[last[bucket] != number]] = True
    rows: Indices = np.flatnonzero(crowded[bucket])
    order = np.argsort(mixed[rows])
    same = np.flatnonzero(mixed[rows[order[1:]]] == mixed[rows[order[:-1]]])
    return distinct(rows[np.concatenate([order[same], order[same + 1]])])


def _mixed(columns: Sequence[Bits]) -> Bits:
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed ^= column
        mixed *= _ODD
        mixed ^= mixed >> _HALF
    return mixed * _ODD


def _differs(columns: Sequence[Bits], order: Indices) -> Mask:
    differs = np.zeros(len(order), bool)
    differs[:1] = True
    for column in columns:
        differs |= first_of_each(column[order])
    return differs
