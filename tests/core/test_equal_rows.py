"""Equal rows, found by mixing their columns to one number, are those that are equal."""

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.arrays import as_bits, first_equal, group_equal_rows

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
