"""How measures rank predictions, and models: against SciPy, definitions written out, and permutation tests."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from shoe.study.agreement import Figure
from shoe.study.metric import rankings
from tests.examples import examples
from tests.present import present


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
@examples(10)
def test_ties_are_calibrated_as_trying_every_width_would(units: list[tuple[int, int, int]]) -> None:
    image, people, credit = (np.array(column) for column in zip(*units, strict=True))
    pairs = rankings.pairs_within(image)
    wanted = {(i, j) for i, j in combinations(range(len(image)), 2) if image[i] == image[j]}
    assert {tuple(sorted(each)) for each in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)} == wanted
    people, credit = people * 1.0, credit / 4
    theirs, known = rankings.pair_order(people, pairs), np.ones(len(pairs.first), bool)
    width = rankings.tie_width(credit, pairs, theirs, known)

    def right(least: float) -> int:
        return sum(
            np.sign(people[i] - people[j])
            == (0 if abs(credit[i] - credit[j]) <= least else np.sign(credit[i] - credit[j]))
            for i, j in wanted
        )

    tried = [right(least) for least in (0, 0.25, 0.5, 0.75, 1)]
    assert (right(width), width) == (max(tried), (0, 0.25, 0.5, 0.75, 1)[tried.index(max(tried))])


def test_of_a_crowded_image_some_are_paired() -> None:
    pairs = rankings.pairs_within(np.repeat([0, 1], [rankings.MOST_PAIRED + 30, 2]))
    assert np.bincount(pairs.image).tolist() == [rankings.MOST_PAIRED * (rankings.MOST_PAIRED - 1) // 2, 1]
    assert (pairs.first != pairs.second).all()


def judged() -> rankings.Judged:
    """Two models on three images, the second model without a prediction on the third; two raters."""
    ratings = np.array([[4, 4], [0, 1], [2, 3], [1, -1], [3, 3], [-1, -1]], np.int8)
    credit = np.array([[1, 1], [0, 1], [0.6, 1], [0, 1], [0.5, 1], [0.9, 1]])
    return rankings.Judged(np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 0]), credit, ratings)


def test_figures_are_scipys_also_without_each_rater() -> None:
    found = rankings.figures_of_units(judged())
    number, of = found["prediction"]
    people, credit = [4, 0.5, 2.5, 1, 3], [1, 0, 0.6, 0, 0.5]
    assert number == 6
    for name, scipys in (("spearman", spearmanr), ("pearson", pearsonr), ("kendall", kendalltau)):
        assert of[name, 0].whole == pytest.approx(scipys(people, credit).statistic)
    assert of["accuracy", 0].whole == 1  # of two pairs on images with two judged predictions
    assert {of[name, 1].whole for name in ("spearman", "pearson", "kendall", "accuracy")} == {None}
    number, of = found["image"]
    assert [number, of["pearson", 0].whole] == pytest.approx([5, pearsonr(people, credit).statistic])
    assert len(of["pearson", 0].items) == 3
    # Without the second rater, and without the first, whom the fourth prediction needs.
    assert of["pearson", 0].raters[0] is not None
    assert rankings.Level.from_rankings(5, {"a": {"pearson": of["pearson", 1]}}).nearest == {}
    # Raters are left out one by one.
    (_, of), made = rankings.figures_of_units(judged())["prediction"], judged()
    rated = made.ratings >= 0
    alone = [pearsonr(made.ratings[of, j], made.credit[of, 0]).statistic for j, of in enumerate(rated.T)]
    assert sorted(value or 0 for value in of["pearson", 0].raters) == pytest.approx(sorted(alone))
    nobody = rankings.Units(made.image, np.full(6, np.nan), made.credit)
    assert set(nobody.figures(np.ones(3, bool), nobody.agreeing(nobody.widths)).values()) == {None}


def still(*values: float) -> rankings.Scores:
    return rankings.Scores.from_draws(np.array(values), np.tile(values, (4, 1)))


def test_figures_of_models_by_hand() -> None:
    people, measure = still(3.0, 2.0, 1.0, 0.5), still(0.7, 0.8, 0.2, 0.2)
    found = rankings.statistics_of(people, people, measure, 1)
    assert found["kendall"].value == pytest.approx(kendalltau(people.values, measure.values).statistic)
    assert found["pearson"].value == pytest.approx(pearsonr(people.values, measure.values).statistic)
    assert found["accuracy"].value == pytest.approx(4 / 6)
    assert found["soft"].value == pytest.approx(1 - (1 + 0.5) / 6)  # nothing varies: all are sure
    assert found["soft"].figure() == Figure(found["soft"].value)  # one rater
    assert rankings.opposite_pairs(people, measure) == [(0, 1)]


def test_ties_pairs_and_models_that_nobody_judged_are_undefined() -> None:
    constant = rankings.statistics_of(still(3.0, 2.0, 1.0), still(3.0, 2.0, 1.0), still(0.5, 0.5, 0.5), 5)
    assert {name: found.value for name, found in constant.items()} == dict.fromkeys(constant)
    assert all(found.p is None and found.figure().interval is None for found in constant.values())
    two = rankings.statistics_of(still(3.0, 2.0), still(3.0, 2.0), still(0.1, 0.2), 5)
    assert [two[name].value for name in ("kendall", "pearson", "accuracy", "soft")] == [-1, None, 0, 0]
    credit, ratings = np.array([[0.5], [0.7], [0.1]]), np.array([[3], [1], [-1]])
    made = rankings.Judged(np.arange(3), np.array([0, 0, 1]), np.array([0, 0, 2]), credit, ratings)
    by_images, people, (measure,) = rankings.scores_of(made, 3, np.ones((2, 5), np.int32))
    np.testing.assert_array_equal(by_images.values, [2, np.nan, np.nan])
    np.testing.assert_array_equal(measure.values, [0.6, np.nan, np.nan])
    assert people is by_images  # one rater: nothing says what others would


def test_a_difference_that_draws_agree_on_is_found() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(500) * 0.1
    one = rankings.DrawnStatistic(0.9, 0.9 + noise)
    other = rankings.DrawnStatistic(0.2, 0.2 + noise + rng.standard_normal(500) * 0.05)
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
    made = rankings.Judged(np.arange(images * models), image, model, credit.reshape(-1, 1), ratings)
    weights = rng.multinomial(images, np.full(images, 1 / images), 4_000).T.astype(np.int32)
    by_images, people, (measure,) = rankings.scores_of(made, models, weights)
    found = rankings.statistics_of(people, by_images, measure, 1)["soft"].value
    sure = []
    for table in (ratings.reshape(models, images), credit):
        flips = rng.choice([-1, 1], (10_000, images))
        pairs = [table[a] * 1.0 - table[b] for a, b in combinations(range(models), 2)]
        sure.append(np.array([(flips @ pair < pair.sum()).mean() for pair in pairs]))
    assert found == pytest.approx(1 - np.abs(sure[0] - sure[1]).mean(), abs=0.02)
