"""How measures rank models: against definitions written out, and a permutation test of every pair."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from shoe.study.agreement import Figure
from shoe.study.metric.systems import DrawnStatistic, Scores, opposite_pairs, scores_of, statistics_of
from shoe.study.metric.units import Judged
from tests.present import present


def still(*values: float) -> Scores:
    return Scores.from_draws(np.array(values), np.tile(values, (4, 1)))


def test_figures_of_models_by_hand() -> None:
    people, measure = still(3.0, 2.0, 1.0, 0.5), still(0.7, 0.8, 0.2, 0.2)
    found = statistics_of(people, people, measure, 1)
    assert found["kendall"].value == pytest.approx(kendalltau(people.values, measure.values).statistic)
    assert found["pearson"].value == pytest.approx(pearsonr(people.values, measure.values).statistic)
    assert found["accuracy"].value == pytest.approx(4 / 6)
    assert found["soft"].value == pytest.approx(1 - (1 + 0.5) / 6)  # nothing varies: all are sure
    assert found["soft"].figure() == Figure(found["soft"].value)  # one rater
    assert opposite_pairs(people, measure) == [(0, 1)]


def test_ties_pairs_and_models_that_nobody_judged_are_undefined() -> None:
    constant = statistics_of(still(3.0, 2.0, 1.0), still(3.0, 2.0, 1.0), still(0.5, 0.5, 0.5), 5)
    assert {name: found.value for name, found in constant.items()} == dict.fromkeys(constant)
    assert all(found.p is None and found.figure().interval is None for found in constant.values())
    two = statistics_of(still(3.0, 2.0), still(3.0, 2.0), still(0.1, 0.2), 5)
    assert [two[name].value for name in ("kendall", "pearson", "accuracy", "soft")] == [-1, None, 0, 0]
    credit, ratings = np.array([[0.5], [0.7], [0.1]]), np.array([[3], [1], [-1]])
    made = Judged(np.arange(3), np.array([0, 0, 1]), np.array([0, 0, 2]), credit, ratings)
    by_images, people, (measure,) = scores_of(made, 3, np.ones((2, 5), np.int32))
    np.testing.assert_array_equal(by_images.values, [2, np.nan, np.nan])
    np.testing.assert_array_equal(measure.values, [0.6, np.nan, np.nan])
    assert people is by_images  # one rater: nothing says what others would


def test_a_difference_that_draws_agree_on_is_found() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(500) * 0.1
    one, other = DrawnStatistic(0.9, 0.9 + noise), DrawnStatistic(0.2, 0.2 + noise + rng.standard_normal(500) * 0.05)
    assert present(one.minus(other).p) < 1e-6
    low, high = one.minus(other).figure().interval or (0, 0)
    assert 0.55 < low < 0.7 < high < 0.85


@pytest.mark.slow
def test_soft_pairwise_accuracy_is_that_of_permutation_tests() -> None:
    """As Thompson et al. (2024) have it: images of two models are swapped at random, 10,000 times."""
    images, models, rng = 80, 4, np.random.default_rng(3)
    quality = rng.normal(0, 1, (models, images)) + np.array([0, 0.1, 0.15, 0.5])[:, None] + rng.normal(0, 1, images)
    credit = quality + rng.normal(0, 1, quality.shape)
    image, model = np.tile(np.arange(images), models), np.repeat(np.arange(models), images)
    ratings = np.clip(np.rint(quality + 2), 0, 4).astype(np.int8).reshape(-1, 1)
    made = Judged(np.arange(images * models), image, model, credit.reshape(-1, 1), ratings)
    weights = rng.multinomial(images, np.full(images, 1 / images), 4_000).T.astype(np.int32)
    by_images, people, (measure,) = scores_of(made, models, weights)
    found = statistics_of(people, by_images, measure, 1)["soft"].value
    sure = []
    for table in (ratings.reshape(models, images), credit):
        flips = rng.choice([-1, 1], (10_000, images))
        pairs = [table[a] * 1.0 - table[b] for a, b in combinations(range(models), 2)]
        sure.append(np.array([(flips @ pair < pair.sum()).mean() for pair in pairs]))
    assert found == pytest.approx(1 - np.abs(sure[0] - sure[1]).mean(), abs=0.02)
