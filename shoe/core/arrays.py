"""The array types of the project, by what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Coordinates, scores, overlaps, similarities."""
Ints = NDArray[np.int32]
"""Numbers of images, words and classes, as tables hold them."""
Indices = NDArray[np.int64]
"""Rows of a table, and counts of rows."""
Mask = NDArray[np.bool_]
"""Which of some rows."""


# Work on groups of different sizes without a Python loop.


def expand(first: Indices, count: Indices) -> tuple[Indices, Indices]:
    """List (n,) ranges one after the other: (total,) which range an element is of, and (total,) the element."""
    owner = np.repeat(np.arange(len(count)), count)
    starts = np.cumsum(count) - count
    return owner, np.arange(len(owner)) + (first - starts)[owner]


def blocks(count: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Cut consecutive groups into blocks of about ``most`` elements: (first group, group after the last) of each."""
    total = np.cumsum(count)
    if len(total) == 0 or total[-1] == 0:
        return
    starts = distinct(np.searchsorted(total, np.arange(0, total[-1], most), "right")).tolist()
    yield from zip(starts, [*starts[1:], len(count)], strict=True)


def index_in_group(count: NDArray[np.integer]) -> Indices:
    """(total,) index of each element in its group, from 0; groups stand one after the other."""
    index: Indices = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return index


def first_of_each(sorted_groups: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.bool_]:
    """Mark the first element of each run of equal values."""
    mark = np.ones(len(sorted_groups), bool)
    mark[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return mark


def stable_order(numbers: NDArray[np.integer]) -> Indices:
    """Stable argsort of whole numbers from 0 on; small ones by radix, in a fraction of the time."""
    return np.argsort(numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers, kind="stable")


def falling_order(numbers: Floats) -> Indices:
    """Stable argsort, the highest first, of finite numbers: by radix, in half the time that comparing them takes."""
    bits = (0.0 - numbers).view(np.int64)
    # As whole numbers the bits of a negative one stand the wrong way round, and below those of a positive one.
    bits ^= (bits >> 63) | np.iinfo(np.int64).min
    order = np.argsort(bits.astype(np.uint16), kind="stable")
    for shift in (16, 32, 48):
        order = order[np.argsort((bits >> shift).astype(np.uint16)[order], kind="stable")]
    return order


def distinct(values: Indices) -> Indices:
    """Distinct values, ascending; ``np.unique`` first imports what takes as long as scoring a small file."""
    ascending = np.sort(values)
    return ascending[first_of_each(ascending)]


def best_of_each(group: NDArray[np.integer], score: Floats, most: int, *, reverse_ties: bool = False) -> Indices:
    """Find the rows with the highest scores of each group.

    Args:
        group: (n,) number of each row's group.
        score: (n,) finite numbers.
        most: how many rows of a group stay.
        reverse_ties: whether the last, not the first, rows of equal scores stay.

    Returns:
        Ascending rows.
    """
    sizes = np.bincount(group, minlength=1)
    if sizes.max(initial=0) <= most:
        return np.arange(len(group))
    row = np.arange(len(group))
    order = np.lexsort((-row if reverse_ties else row, -score, group))
    return np.sort(order[index_in_group(sizes) < most])


def runs(sorted_groups: NDArray[np.integer]) -> tuple[Indices, Indices]:
    """First element and length of each run of equal values."""
    start = np.flatnonzero(first_of_each(sorted_groups))
    return start, np.diff(start, append=len(sorted_groups))


def first_largest(sorted_groups: NDArray[np.integer], *values: NDArray[np.floating]) -> Indices:
    """Index of the largest of each run of equal groups: by the first values, then by the next; the first of equals."""
    if not values or len(sorted_groups) == 0:
        return np.flatnonzero(first_of_each(sorted_groups))
    value, *others = values
    start, size = runs(sorted_groups)
    largest = np.flatnonzero(value == np.repeat(np.maximum.reduceat(value, start), size))
    return largest[first_largest(sorted_groups[largest], *(other[largest] for other in others))]


# Which rows of some columns are equal, by exact numbers, without sorting by every column.

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


# Random numbers that follow from a seed alone: SplitMix64 (Steele, Lea and Flood 2014) over a counter.
#
# A figure or a sample must not change with NumPy's generators, which may differ from one version to the next.

Numbers = NDArray[np.uint64]

_SEED = 20151215
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def random_numbers(stream: int, shape: tuple[int, ...]) -> Numbers:
    """Draw 64-bit numbers of a stream: different ones have nothing to do with each other, larger shapes only add."""
    size = int(np.prod(shape))
    start = np.uint64((_SEED + (stream << 32)) % 2**64)
    return mixed(start + np.arange(size, dtype=np.uint64) * _STEP).reshape(shape)


def numbers_at(stream: NDArray[np.int64], index: NDArray[np.int64]) -> Numbers:
    """Look up what ``random_numbers`` draws, at any index of any stream; both are broadcast."""
    start = np.uint64(_SEED) + (stream.astype(np.uint64) << np.uint64(32))
    return mixed(start + index.astype(np.uint64) * _STEP)


def mixed(values: Numbers) -> Numbers:
    """Mix the bits of each number, so that every bit depends on every bit; different numbers stay different."""
    values = (values ^ (values >> np.uint64(30))) * _FACTORS[0]
    values = (values ^ (values >> np.uint64(27))) * _FACTORS[1]
    return values ^ (values >> np.uint64(31))
