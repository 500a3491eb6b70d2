"""Which rows of a table are equal, by exact numbers, without sorting by every column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import first_of_each

Bits = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def as_bits(numbers: Floats | NDArray[np.integer]) -> list[Bits]:
    """Columns of (n,) or (n, k) numbers as bits; 0.0 and -0.0 are one number."""
    columns = np.atleast_2d(numbers.T).astype(np.float64) + 0.0
    return list(columns.view(np.uint64))


def together(columns: Sequence[Bits]) -> tuple[Indices, Mask]:
    """Find an order in which equal rows stand together, each run of them ascending.

    Args:
        columns: any number of (n,) columns.

    Returns:
        (n,) rows in that order, and (n,) whether the row there differs from the one before it.
    """
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * _ODD
        mixed ^= mixed >> _HALF
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


def _differs(columns: Sequence[Bits], order: Indices) -> Mask:
    differs = np.zeros(len(order), bool)
    differs[:1] = True
    for column in columns:
        differs |= first_of_each(column[order])
    return differs
