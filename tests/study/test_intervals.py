"""Intervals: those that the supplement prints, those of formulas, and those over items and raters."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from shoe.core.statistics import fisher_interval, spearman_bootstrap, spearman_permutation_p
from shoe.study.agreement import Figure, Scale, figure_of
from tests.present import present


def test_the_supplements_interval_is_fishers() -> None:
    assert fisher_interval(0.799, 500) == pytest.approx((0.765, 0.829), abs=5e-4)
    assert fisher_interval(0.799, 500, ranks=True) == pytest.approx((0.759, 0.833), abs=5e-4)
    assert fisher_interval(0.5, 3) is None
    assert fisher_interval(1.0, 10) == (1, 1)


def test_the_bootstrap_holds_the_correlation_and_p_is_never_zero() -> None:
    a = np.arange(30.0)
    assert spearman_permutation_p(a, a, permutations=999) == 1 / 1000
    assert spearman_permutation_p(a, np.ones(30), permutations=999) is None
    shuffled = np.random.default_rng(0).permutation(a)
    rho = spearmanr(a, shuffled)
    assert spearman_permutation_p(a, shuffled, permutations=9_999) == pytest.approx(rho.pvalue, abs=0.02)
    # The bootstrap interval holds the correlation.
    rng = np.random.default_rng(1)
    a = rng.standard_normal(80)
    b = a + rng.standard_normal(80)
    found = present(spearman_bootstrap(a, b))
    assert found.low < spearmanr(a, b).statistic < found.high
    assert spearman_bootstrap(np.ones(8), np.arange(8.0)) is None


def test_the_interval_of_a_mean_by_hand() -> None:
    # Raters all rate alike, so that only items differ: the textbook's mean +- t * s / sqrt(n).
    ratings = np.repeat(np.array([[0.0], [1], [2], [4], [3], [2]]), 3, axis=1)
    found = figure_of(lambda items, raters: float(ratings[np.ix_(items, raters)].mean()), (6, 3))
    reach = 2.5706 * ratings[:, 0].std(ddof=1) / np.sqrt(6)
    assert found.value == 2
    assert found.interval == pytest.approx((2 - reach, 2 + reach), abs=1e-3)


def test_a_figure_that_is_undefined_without_one_part_has_no_interval() -> None:
    found = figure_of(lambda items, _: 1.0 if len(items) == 5 else None, (5, 2))
    assert (found.value, found.interval) == (1, None)
    assert figure_of(lambda *_: None, (5, 2)) == Figure()
    assert figure_of(lambda *_: 0.0, (5, 2)) == Figure(0)  # of what never varied
    assert figure_of(lambda *_: 1.0, (5, 1)).interval is None


@pytest.mark.parametrize(("scale", "least"), [("share", 0.0), ("agreement", -1.0)])
def test_no_interval_leaves_what_a_figure_can_be(scale: Scale, least: float) -> None:
    # Two raters of three items say almost nothing.
    table = np.array([[1.0, 0.9], [0.9, 0.2], [0.1, 0.8]])
    found = present(figure_of(lambda items, raters: float(table[np.ix_(items, raters)].mean()), (3, 2), scale).interval)
    low, high = found
    assert low == pytest.approx(least)
    assert least <= low < high <= 1
