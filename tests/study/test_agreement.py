"""Agreement of raters: figures from textbooks, by hand, and from definitions written out slowly."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.statistics import MeasurementLevel, PairSums, alpha, quadratic_weighted_kappa
from shoe.similarity.ensemble import MISSING
from shoe.study import agreement
from tests.examples import examples

TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 4), min_size=raters, max_size=raters), min_size=1, max_size=12)
).map(lambda rows: np.array(rows, np.int8))  # fmt: skip

# Krippendorff's example of four observers and twelve units, values 1 to 5, as 0 to 4
KRIPPENDORFF = np.array(
    [
        *([0, 0, -1, 0], [1, 1, 2, 1], [2, 2, 2, 2], [2, 2, 2, 2], [1, 1, 1, 1], [0, 1, 2, 3]),
        *([3, 3, 3, 3], [0, 0, 1, 0], [1, 1, 1, 1], [-1, 4, 4, 4], [-1, -1, 0, 0], [-1, -1, 2, -1]),
    ],
    np.int8,
)


@pytest.mark.parametrize(("level", "known"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_textbook(level: MeasurementLevel, known: float) -> None:
    assert alpha(KRIPPENDORFF, level) == pytest.approx(known, abs=5e-4)


@given(TABLES)
@examples(1)
def test_alpha_is_its_definition(ratings: np.ndarray) -> None:
    for level in ("nominal", "ordinal", "interval"):
        assert alpha(ratings, level) == pytest.approx(slow_alpha(ratings, level), abs=1e-9)


def slow_alpha(ratings: np.ndarray, level: MeasurementLevel) -> float | None:
    """1 - observed / expected disagreement: over pairs of ratings of a unit, and over all pairs of ratings."""
    units = [[int(value) for value in row if value != MISSING] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    if len(units) < 2 or len(set(values)) < 2:
        return None

    def distance(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        low, high = sorted((a, b))
        between = sum(values.count(value) for value in range(low, high + 1))
        return (between - (values.count(a) + values.count(b)) / 2) ** 2

    within = [sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units]
    every = sum(distance(a, b) for a in values for b in values) / (len(values) * (len(values) - 1))
    return 1 - sum(within) / len(values) / every


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
@examples(1)
def test_kappa_is_that_of_scikit_learn_with_all_levels_named(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    a, b = np.array(pairs, np.int8).T
    found = quadratic_weighted_kappa(a, b)
    if found is None:
        assert len(pairs) == 1 or len(set(a) | set(b)) == 1
    else:
        assert found == pytest.approx(cohen_kappa_score(a, b, labels=range(5), weights="quadratic"), abs=1e-12)


def test_ceiling_and_spread_by_hand() -> None:
    ratings = np.array([[0, 0, 1], [2, 1, 2], [4, 4, 3], [1, 2, -1]], np.int8)
    # The first: 0 2 4 1 beside means .5 1.5 3.5 2 of the others, ranks 1 3 4 2 beside 1 2 4 3: 1 - 6 * 2 / (4 * 15).
    assert agreement.ceiling(ratings)[0] == pytest.approx(0.8)
    # The third: 1 2 3 beside 0 1.5 4.
    assert agreement.ceiling(ratings)[2] == pytest.approx(1)
    # The spread of a rater more or less.
    ratings = np.array([[0, 2, -1], [3, 3, 3], [4, -1, -1]], np.int8)
    assert agreement.within_item_spread(ratings) == pytest.approx((np.sqrt(2) + 0) / 2)


@given(TABLES, st.randoms(use_true_random=False))
@examples(0.5)
def test_the_order_of_items_and_raters_does_not_matter(ratings: np.ndarray, random: object) -> None:
    rows, columns = (list(range(n)) for n in ratings.shape)
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    for figure in (agreement.mean_kappa, agreement.within_item_spread, agreement.mean_ceiling):
        assert figure(ratings[np.ix_(rows, columns)]) == pytest.approx(figure(ratings), nan_ok=True)


def test_what_says_nothing_is_undefined() -> None:
    same, lonely = np.full((6, 3), 2, np.int8), np.array([[0], [4], [2]], np.int8)
    for figure in (agreement.mean_kappa, agreement.mean_ceiling):
        assert (figure(same), figure(lonely)) == (None, None)
    undefined = (alpha(same, "ordinal"), alpha(lonely, "interval"), agreement.within_item_spread(lonely))
    assert undefined == (None, None, None)
    one, overlap = np.array([[0, 3, 4]], np.int8), np.array([[0, 3, -1], [4, 3, 1], [1, 2, -1]], np.int8)
    for weight in (None, np.array([2.5])):  # chance alone pairs what is there: both would be 0
        assert agreement.mean_kappa(one, weight) is None
        assert alpha(one, "ordinal", weight) is None
    assert agreement.mean_kappa(overlap) == agreement.mean_kappa(overlap[:, :2])


@pytest.mark.slow
@examples(1)
@given(TABLES)
def test_kappas_of_all_pairs_are_those_of_each(ratings: np.ndarray) -> None:
    found = PairSums.from_ratings(ratings).kappas
    for i, j in permutations(range(ratings.shape[1]), 2):
        both = (ratings[:, [i, j]] != MISSING).all(axis=1)
        kappa = quadratic_weighted_kappa(ratings[both, i], ratings[both, j])
        assert found[i, j] == pytest.approx(np.nan if kappa is None else kappa, abs=1e-12, nan_ok=True)
