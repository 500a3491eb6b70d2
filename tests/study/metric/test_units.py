"""How measures rank predictions: pairs of one image, ties, and figures without each group of images and raters."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from shoe.study.metric.systems import Level
from shoe.study.metric.units import MOST_PAIRED, Judged, Units, figures_of_units, pair_order, pairs_within, tie_width
from tests.examples import examples


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
@examples(10)
def test_ties_are_calibrated_as_trying_every_width_would(units: list[tuple[int, int, int]]) -> None:
    image, people, credit = (np.array(column) for column in zip(*units, strict=True))
    pairs = pairs_within(image)
    wanted = {(i, j) for i, j in combinations(range(len(image)), 2) if image[i] == image[j]}
    assert {tuple(sorted(each)) for each in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)} == wanted
    people, credit = people * 1.0, credit / 4
    theirs, known = pair_order(people, pairs), np.ones(len(pairs.first), bool)
    width = tie_width(credit, pairs, theirs, known)

    def right(least: float) -> int:
        return sum(
            np.sign(people[i] - people[j])
            == (0 if abs(credit[i] - credit[j]) <= least else np.sign(credit[i] - credit[j]))
            for i, j in wanted
        )

    tried = [right(least) for least in (0, 0.25, 0.5, 0.75, 1)]
    assert (right(width), width) == (max(tried), (0, 0.25, 0.5, 0.75, 1)[tried.index(max(tried))])


def test_of_a_crowded_image_some_are_paired() -> None:
    pairs = pairs_within(np.repeat([0, 1], [MOST_PAIRED + 30, 2]))
    assert np.bincount(pairs.image).tolist() == [MOST_PAIRED * (MOST_PAIRED - 1) // 2, 1]
    assert (pairs.first != pairs.second).all()


def judged() -> Judged:
    """Two models on three images, the second model without a prediction on the third; two raters."""
    ratings = np.array([[4, 4], [0, 1], [2, 3], [1, -1], [3, 3], [-1, -1]], np.int8)
    credit = np.array([[1, 1], [0, 1], [0.6, 1], [0, 1], [0.5, 1], [0.9, 1]])
    return Judged(np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 0]), credit, ratings)


def test_figures_are_scipys_also_without_each_rater() -> None:
    found = figures_of_units(judged())
    number, of = found["prediction"]
    people, credit = [4, 0.5, 2.5, 1, 3], [1, 0, 0.6, 0, 0.5]
    assert number == 6
    for name, scipys in (("spearman", spearmanr), ("pearson", pearsonr), ("kendall", kendalltau)):
        assert of[name, 0].whole == pytest.approx(scipys(people, credit).statistic)
    assert of["accuracy", 0].whole == 1  # of two pairs on images with two judged predictions
    assert {of[name, 1].whole for name in ("spearman", "pearson", "kendall", "accuracy")} == {None}
    number, of = found["image"]
    assert number == 5
    assert of["pearson", 0].whole == pytest.approx(pearsonr(people, credit).statistic)
    assert len(of["pearson", 0].items) == 3
    # Without the second rater, and without the first, whom the fourth prediction needs.
    assert of["pearson", 0].raters[0] is not None
    assert Level.from_rankings(5, {"a": {"pearson": of["pearson", 1]}}).nearest == {}
    # Raters are left out one by one.
    (_, of), made = figures_of_units(judged())["prediction"], judged()
    alone = [
        pearsonr(made.ratings[rated, j], made.credit[rated, 0]).statistic
        for j in range(2)
        for rated in [made.ratings[:, j] >= 0]
    ]
    assert sorted(value or 0 for value in of["pearson", 0].raters) == pytest.approx(sorted(alone))
    nobody = Units(made.image, np.full(6, np.nan), made.credit)
    assert set(nobody.figures(np.ones(3, bool), nobody.agreeing(nobody.widths)).values()) == {None}
