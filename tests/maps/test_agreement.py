"""Agreement of raters: textbook values, scipy, and the matrix form of kappa that the paper writes down."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.statistics import pearson, quadratic_weighted_kappa, spearman
from shoe.maps.info import rater_agreements

_ratings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.array(pairs, np.int8).T
    return a, b


def kappa_of_matrices(a: np.ndarray, b: np.ndarray) -> float | None:
    """SHOE supplement, 5.3: 1 - sum(w O) / sum(w E), w = (i - j)**2 / (k - 1)**2; of one pair O is E."""
    if len(a) < 2:
        return None
    level = np.arange(5)
    observed = np.array([[((a == i) & (b == j)).sum() for j in level] for i in level])
    expected = np.outer([(a == i).sum() for i in level], [(b == j).sum() for j in level]) / len(a)
    weight = (level[:, None] - level) ** 2 / 16
    return float(1 - (weight * observed).sum() / (weight * expected).sum()) if (weight * expected).sum() else None


@given(_ratings)
def test_kappa_is_that_of_the_matrices_and_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    a, b = columns(pairs)
    kappa = kappa_of_matrices(a, b)
    assert quadratic_weighted_kappa(a, b) == (None if kappa is None else pytest.approx(kappa, abs=1e-12))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert (pearson(a, b), spearman(a, b)) == (None, None)
    else:
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_kappa_by_hand() -> None:
    # Observed: (1 + 0 + 1 + 0) / 4. Expected: each of 0, 1, 2, 4 against three times 1 and once 4, over 16.
    expected = (3 * (1 + 0 + 1 + 9) + (16 + 9 + 4 + 0)) / 16
    a, b = columns([(0, 1), (1, 1), (2, 1), (4, 4)])
    assert quadratic_weighted_kappa(a, b) == pytest.approx(1 - 0.5 / expected)


def test_kappa_of_nothing_and_of_one_value() -> None:
    nothing = np.zeros(0, np.int8)
    assert quadratic_weighted_kappa(nothing, nothing) is None
    assert quadratic_weighted_kappa(*columns([(2, 2), (2, 2)])) is None
    assert quadratic_weighted_kappa(*columns([(0, 4), (4, 0)])) == -1


def test_raters_are_compared_where_both_rated() -> None:
    ratings = np.array([[3, 2, -1], [0, 0, -1], [-1, 1, -1], [4, 4, -1]], np.int8)
    first, *others = rater_agreements(ratings, ["a", "b", "c"])
    assert (first.raters, first.pairs, first.exact) == (["a", "b"], 3, 2 / 3)
    assert first.pearson == pearson([3, 0, 4], [2, 0, 4])
    assert first.quadratic_weighted_kappa == quadratic_weighted_kappa(*columns([(3, 2), (0, 0), (4, 4)]))
    assert [found.raters for found in others] == [["a", "c"], ["b", "c"]]
    for found in others:
        assert (found.pairs, found.exact, found.pearson, found.quadratic_weighted_kappa) == (0, None, None, None)
