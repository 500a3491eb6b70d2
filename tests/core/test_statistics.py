"""Statistics of rows of numbers: SciPy's of each row, and what is undefined."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from shoe.core import statistics
from shoe.core.statistics import differences
from tests.examples import examples

_ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12)


@given(_ROWS, _ROWS)
@examples(0.5)
def test_rows_are_correlated_as_each_alone(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    n = min(len(first), len(second))
    a, b = (np.array([[pair[k] for pair in rows[:n]] for rows in (first, second)], np.float64) for k in (0, 1))
    taus = statistics.kendall_of_differences(differences(a), differences(b))
    pearsons, spearmans = statistics.pearson_of_rows(a, b), statistics.spearman_of_rows(a, b)
    for row, (x, y) in enumerate(zip(a, b, strict=True)):
        constant = np.ptp(x) == 0 or np.ptp(y) == 0
        for ours, of in ((pearsons, stats.pearsonr), (spearmans, stats.spearmanr), (taus, stats.kendalltau)):
            assert ours[row] == pytest.approx(np.nan if constant else of(x, y).statistic, nan_ok=True)


def test_rounding_makes_no_column_vary_and_an_interval_holds_its_value() -> None:
    assert statistics.pearson([0.1] * 6, [0.3, 0.1, 0.2, 0.7, 0.5, 0.4]) is None
    assert differences([0.1 + 0.2, 0.3]).tolist() == [0]
    assert differences([0.3, 0.1], same=0.5).tolist() == [0]
    assert statistics.interval_around(2.0, np.array([1.0, 2.0, 3.0])) == pytest.approx((2.0, 4.95))
    assert statistics.percentiles(np.arange(101.0), 0.9) == pytest.approx((5, 95))
