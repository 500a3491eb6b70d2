"""Array types, vectorised operations on groups and rows, and reproducible random numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]  # coordinates, scores, overlaps, similarities
Ints = NDArray[np.int32]  # indices of images, words and classes in tables
Indices = NDArray[np.int64]  # row indices of a table, and counts of rows
AnyInts = NDArray[np.integer]
Mask = NDArray[np.bool_]  # whether a row is selected
T = TypeVar("T")


# Operations on groups of different sizes


def expand(first: Indices, count: Indices) -> tuple[Indices, Indices]:
    """Join the ranges ``first[i]`` to ``first[i] + count[i] - 1``; return the (total,) i and value of each element."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) + (first - (np.cumsum(count) - count))[owner]


def blocks(count: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) group index of each block: adjacent groups with about ``most`` elements in total.

    ``count`` are the sizes of the groups, which are not divided. Empty groups at the start are left out, so nothing is
    yielded if all groups are empty.
    """
    total = np.cumsum(count)
    if len(total) == 0 or total[-1] == 0:
        return
    starts = distinct(np.searchsorted(total, np.arange(0, total[-1], most), "right")).tolist()
    yield from zip(starts, [*starts[1:], len(count)], strict=True)


def index_in_group(count: NDArray[np.integer]) -> Indices:
    """Return the (total,) index, from 0, of each element within its group; ``count[i]`` is the size of group i."""
    return np.asarray(np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count))


def first_of_each(sorted_groups: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return the (n,) mask of the elements that start a run of equal adjacent values."""
    mark = np.ones(len(sorted_groups), bool)
    mark[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return mark


def first_true(mask: Mask) -> int | None:
    """Return the index of the first True in an (n,) mask; None if the mask has no True."""
    return int(np.argmax(mask)) if mask.any() else None


def mask_of(rows: Indices, size: int) -> Mask:
    """Return the (size,) mask that is True at the indices ``rows``."""
    mask = np.zeros(size, bool)
    mask[rows] = True
    return mask


def scatter(values: AnyInts, rows: Indices, size: int) -> Indices:
    """Return a (size,) array with ``values`` at the indices ``rows``, and -1 elsewhere."""
    spread = np.full(size, -1, np.int64)
    spread[rows] = values
    return spread


def stable_order(numbers: NDArray[np.integer]) -> Indices:
    """Return the stable argsort of non-negative integers; faster than ``np.argsort``."""
    # NumPy sorts plain integers with vector instructions, so the indices are low bits of the keys.
    index, bits = np.arange(len(numbers), dtype=np.uint64), len(numbers).bit_length()
    order = index.view(np.int64)
    for shift in range(0, max(1, int(numbers.max(initial=0)).bit_length()), 64 - bits):
        digits = (numbers >> shift).astype(np.uint64)
        keys = (digits[order] if shift else digits) << np.uint64(bits) | index
        keys.sort()
        place = (keys & np.uint64((1 << bits) - 1)).view(np.int64)
        order = order[place] if shift else place
    return order


def descending_order(numbers: Floats) -> Indices:
    """Return the stable argsort of finite numbers, largest first, by :func:`stable_order`."""
    bits = (0.0 - numbers).view(np.int64)
    # The bits of negative floats, read as integers, are in reverse order and have the sign bit set.
    bits ^= (bits >> 63) | np.iinfo(np.int64).min
    return stable_order(bits.view(np.uint64))


def row_order(group: NDArray[np.integer], score: Floats) -> Indices:
    """Return the (n,) rows sorted by group, then by descending finite score, then by row."""
    by_score = descending_order(score)
    return by_score[stable_order(group[by_score])]


def distinct(values: Indices) -> Indices:
    """Return the distinct values in ascending order; faster than ``np.unique``."""
    ascending = np.sort(values)
    return ascending[first_of_each(ascending)]


def number_distinct(keys: Indices, most: int) -> tuple[Indices, Indices]:
    """Return the sorted distinct values of n keys, 0 to ``most`` - 1, and the (n,) index of each key among them."""
    if most > 16 * len(keys):  # sorting the keys is faster than a table of all possible keys
        order = stable_order(keys)
        new = first_of_each(keys[order])
        index = np.empty(len(keys), np.int64)
        index[order] = np.cumsum(new) - 1
        return keys[order[new]], index
    found = np.flatnonzero(mask_of(keys, most))
    number = np.empty(most, np.int32)
    number[found] = np.arange(len(found))
    return found, number.take(keys).astype(np.int64)


def number_words(words: Iterable[T]) -> tuple[list[T], Indices]:
    """Return the distinct words in order of first appearance, and the (n,) index of each of n words among them."""
    number: dict[T, int] = {}
    index = [number.setdefault(word, len(number)) for word in words]
    return list(number), np.array(index, np.int64)


def positions(words: Iterable[T], known: Iterable[T]) -> Indices:
    """Return the (n,) index of each of n words in ``known``; -1 for a word that is not in ``known``."""
    position = {word: i for i, word in enumerate(known)}
    return np.array([position.get(word, -1) for word in words], np.int64)


def best_of_each(group: NDArray[np.integer], score: Floats, most: int, *, reverse_ties: bool = False) -> Indices:
    """Return ascending row indices: of each group, the ``most`` rows with the highest scores.

    ``group`` is the (n,) index of each row's group, ``score`` (n,) finite numbers. Of rows with equal scores, earlier
    rows are preferred; later rows if ``reverse_ties``.
    """
    sizes = np.bincount(group, minlength=1)
    if sizes.max(initial=0) <= most:
        return np.arange(len(group))
    step, rise = np.diff(group), np.diff(score)
    if not ((step < 0) | ((step == 0) & (rise >= 0 if reverse_ties else rise > 0))).any():
        return np.flatnonzero(index_in_group(sizes) < most)  # most files list the predictions of an image by score
    order = row_order(group, score)
    if reverse_ties:
        order = len(group) - 1 - row_order(group[::-1], score[::-1])
    return np.sort(order[index_in_group(sizes) < most])


def runs(sorted_groups: NDArray[np.integer]) -> tuple[Indices, Indices]:
    """Return the index of the first element of each run of equal values, and the length of each run."""
    start = np.flatnonzero(first_of_each(sorted_groups))
    return start, np.diff(start, append=len(sorted_groups))


def argmax_per_run(sorted_groups: NDArray[np.integer], *values: NDArray[np.floating]) -> Indices:
    """Return, for each run of equal groups, the index of the row with the largest value in the first array.

    Ties in an array are resolved by the next array in ``values``, and ties in all arrays in favour of the first row.
    """
    if not values or len(sorted_groups) == 0:
        return np.flatnonzero(first_of_each(sorted_groups))
    value, *others = values
    start, size = runs(sorted_groups)
    largest = np.flatnonzero(value == np.repeat(np.maximum.reduceat(value, start), size))
    return largest[argmax_per_run(sorted_groups[largest], *(other[largest] for other in others))]


# Rows that are equal in all columns (exact comparison), without sorting by every column

Bits = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def as_bits(*numbers: Floats | NDArray[np.integer]) -> list[Bits]:
    """Return the (n,) float64 bits (uint64) of each column of (n,) or (n, k) arrays; -0.0 becomes 0.0."""
    return [bits for each in numbers for bits in (np.atleast_2d(each.T).astype(np.float64) + 0.0).view(np.uint64)]


def group_equal_rows(columns: Sequence[Bits]) -> tuple[Indices, Mask]:
    """Return an order of n table rows in which equal rows are adjacent; ``columns`` are the (n,) table columns.

    The result is (n,) row indices in this order (equal rows ascending), and the (n,) mask, in this order, of the rows
    that differ from the row before.
    """
    hashes = _hashes(columns)
    order = np.argsort(hashes, kind="stable")
    new = _differs(columns, order)
    if (new & ~first_of_each(hashes[order])).any():
        # Different rows have the same hash, and may separate equal rows.
        order = np.lexsort(columns)
        new = _differs(columns, order)
    return order, new


def first_equal(columns: Sequence[Bits]) -> Indices:
    """Return, for each of n table rows, the index of the first row with equal values; ``columns`` are (n,) each."""
    return first_of_run(*group_equal_rows(columns))


def first_of_run(order: Indices, new: Mask) -> Indices:
    """Return, for each row, the index of the first equal row, given the results of :func:`group_equal_rows`."""
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def maybe_equal(columns: Sequence[Bits]) -> Indices:
    """Return the ascending indices of all table rows that equal another row; a few other rows may be included.

    Rows are compared by their hashes. Fast for tables with few equal rows.
    """
    hashes = _hashes(columns)
    ascending = np.sort(hashes)
    twice = ascending[1:][ascending[1:] == ascending[:-1]]
    if not len(twice):
        return np.zeros(0, np.int64)
    # A table of the first 20 bits leaves few rows to search for.
    seen = mask_of((twice >> np.uint64(44)).view(np.int64), 1 << 20)
    rows: Indices = np.flatnonzero(seen.take((hashes >> np.uint64(44)).view(np.int64)))
    return rows.compress(twice.take(np.searchsorted(twice, hashes[rows]), mode="clip") == hashes[rows])


def _hashes(columns: Sequence[Bits]) -> Bits:
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes ^= column
        hashes *= _ODD
        hashes ^= hashes >> _HALF
    return hashes * _ODD


def _differs(columns: Sequence[Bits], order: Indices) -> Mask:
    differs = np.zeros(len(order), bool)
    differs[:1] = True
    for column in columns:
        differs |= first_of_each(column[order])
    return differs


# Random numbers: SplitMix64 (Steele, Lea and Flood 2014) of a counter. NumPy's generators may differ between versions.

Numbers = NDArray[np.uint64]

_SEED = 20151215
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def random_numbers(stream: int, shape: tuple[int, ...]) -> Numbers:
    """Return an array of the first 64-bit numbers of the random sequence with the ID ``stream``."""
    return numbers_at(np.array([stream]), np.arange(np.prod(shape), dtype=np.uint64)).reshape(shape)


def numbers_at(stream: NDArray[np.int64], index: NDArray[np.integer]) -> Numbers:
    """Return element ``index[i]`` of the sequence ``stream[i]`` of :func:`random_numbers`; the arrays are broadcast."""
    start = np.uint64(_SEED) + (stream.astype(np.uint64) << np.uint64(32))
    return hash_numbers(start + index.astype(np.uint64, copy=False) * _ODD)


def hash_numbers(values: Numbers) -> Numbers:
    """Return a 64-bit hash of each number, without collisions; each bit depends on all bits of the number."""
    values = (values ^ (values >> np.uint64(30))) * _FACTORS[0]
    values = (values ^ (values >> np.uint64(27))) * _FACTORS[1]
    return values ^ (values >> np.uint64(31))
