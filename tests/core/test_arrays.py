"""Arrays: ragged arrays, and rows that are equal."""

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.arrays import (
    argmax_per_run,
    as_bits,
    best_of_each,
    blocks,
    descending_order,
    expand,
    first_equal,
    group_equal_rows,
    index_in_group,
)

counts = st.lists(st.integers(0, 9), max_size=12)


@given(counts)
def test_ranges_are_expanded_and_indexed(sizes: list[int]) -> None:
    first = np.arange(len(sizes), dtype=np.int64) * 100
    owner, element = expand(first, np.array(sizes, np.int64))
    expected = [(i, 100 * i + k) for i, size in enumerate(sizes) for k in range(size)]
    assert list(zip(owner.tolist(), element.tolist(), strict=True)) == expected
    assert index_in_group(np.array(sizes, np.int64)).tolist() == [k for size in sizes for k in range(size)]


@given(counts, st.integers(1, 20))
def test_blocks_cover_all_elements_once_and_stay_small(sizes: list[int], most: int) -> None:
    found = list(blocks(np.array(sizes, np.int64), most))
    covered = [i for start, end in found for i in range(start, end)]
    assert len(covered) == len(set(covered))
    assert sum(sizes[i] for i in covered) == sum(sizes)
    assert all(sum(sizes[start:end]) <= most + max(sizes) for start, end in found)


entries = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), max_size=30)


@given(entries, st.integers(1, 5), st.booleans())
def test_best_of_each_is_a_sort_and_a_cut(entries: list[tuple[int, float]], most: int, reverse: bool) -> None:
    group, score = np.array([g for g, _ in entries], np.int64), np.array([s for _, s in entries], np.float64)
    expected = []
    for g in range(4):
        of_group = [i for i in range(len(group)) if group[i] == g]
        of_group.sort(key=lambda i: (-score[i], -i if reverse else i))
        expected += of_group[:most]
    assert best_of_each(group, score, most, reverse_ties=reverse).tolist() == sorted(expected)


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]) | st.floats(allow_nan=False, allow_infinity=False)))
def test_falling_order_is_a_stable_sort(numbers: list[float]) -> None:
    expected = sorted(range(len(numbers)), key=lambda i: -numbers[i])
    assert descending_order(np.array(numbers, np.float64)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))))
def test_first_largest_of_each_group(rows: list[tuple[int, int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    group, *values = np.array(rows, np.float64).reshape(-1, 3).T
    best = {g: max(row[1:] for row in rows if row[0] == g) for g, *_ in rows}
    expected = [rows.index((g, *value)) for g, value in best.items()]
    assert argmax_per_run(group.astype(np.int64), *values).tolist() == expected


few = st.sampled_from([0.0, -0.0, 1.0, 1.5, -1.0, 1e9])


@given(st.lists(st.tuples(few, few, few), max_size=20))
def test_first_equal_row(rows: list[tuple[float, float, float]]) -> None:
    columns = as_bits(np.array(rows, np.float64).reshape(-1, 3))
    assert first_equal(columns).tolist() == [rows.index(row) for row in rows]


@given(st.lists(st.integers(0, 5), max_size=20))
def test_runs_ascend(values: list[int]) -> None:
    order, new = group_equal_rows(as_bits(np.array(values, np.int32)))
    runs = np.split(order, np.flatnonzero(new)[1:]) if values else []
    expected = [[i for i, x in enumerate(values) if x == value] for value in set(values)]
    assert sorted(run.tolist() for run in runs) == sorted(expected)


def test_rows_that_mix_to_one_number_stay_apart() -> None:
    """Whatever the first column mixes to, the second one can undo the difference."""
    one, other = as_bits(np.array([1.0, 2.0]))[0]
    odd, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    with np.errstate(over="ignore"):
        a, b = one * odd, other * odd
    a, b = a ^ (a >> half), b ^ (b >> half)
    first, second = np.array([one, other, one, other]), np.array([a, b, a, b])
    assert first_equal([first, second]).tolist() == [0, 1, 0, 1]
