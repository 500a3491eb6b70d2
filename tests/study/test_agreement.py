"""Agreement of raters, with intervals and weights: figures from textbooks, by hand, and from definitions."""

from dataclasses import replace
from itertools import combinations, permutations
from operator import attrgetter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.stats import spearmanr

from shoe.core import statistics
from shoe.similarity.ensemble import MISSING
from shoe.study import agreement
from shoe.study.agreement import Figure, Scale, figure_of
from shoe.study.analysis import agreement_of
from shoe.study.ratings import Weights, read_study
from shoe.study.sampling import draw_by, probabilities, simulated
from tests.errors import input_error
from tests.examples import examples
from tests.present import present

TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 4), min_size=raters, max_size=raters), min_size=1, max_size=12)
).map(lambda rows: np.array(rows, np.int8))  # fmt: skip

# Krippendorff's example of four observers and twelve units, values 1 to 5, as 0 to 4
UNITS = "0 0 -1 0,1 1 2 1,2 2 2 2,2 2 2 2,1 1 1 1,0 1 2 3,3 3 3 3,0 0 1 0,1 1 1 1,-1 4 4 4,-1 -1 0 0,-1 -1 2 -1"
KRIPPENDORFF = np.array([[int(value) for value in unit.split()] for unit in UNITS.split(",")], np.int8)


@pytest.mark.parametrize(("level", "known"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_textbook(level: statistics.MeasurementLevel, known: float) -> None:
    assert statistics.alpha(KRIPPENDORFF, level) == pytest.approx(known, abs=5e-4)


def slow_alpha(ratings: np.ndarray, level: statistics.MeasurementLevel) -> float | None:
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
@examples(1)
def test_alpha_is_its_definition_and_the_order_of_items_and_raters_does_not_matter(
    ratings: np.ndarray, random: Random
) -> None:
    for level in ("nominal", "ordinal", "interval"):
        assert statistics.alpha(ratings, level) == pytest.approx(slow_alpha(ratings, level), abs=1e-9)
    rows, columns = (random.sample(range(n), n) for n in ratings.shape)
    for figure in (agreement.mean_kappa, agreement.within_item_spread, agreement.mean_ceiling):
        assert figure(ratings[np.ix_(rows, columns)]) == pytest.approx(figure(ratings), nan_ok=True)


def test_what_says_nothing_is_undefined() -> None:
    same, lonely = np.full((6, 3), 2, np.int8), np.array([[0], [4], [2]], np.int8)
    for figure in (agreement.mean_kappa, agreement.mean_ceiling):
        assert (figure(same), figure(lonely)) == (None, None)
    assert statistics.alpha(same, "ordinal") is statistics.alpha(lonely, "interval") is None
    assert agreement.within_item_spread(lonely) is None
    one, overlap = np.array([[0, 3, 4]], np.int8), np.array([[0, 3, -1], [4, 3, 1], [1, 2, -1]], np.int8)
    for weight in (None, np.array([2.5])):  # chance alone pairs what is there: both would be 0
        assert agreement.mean_kappa(one, weight) is None
        assert statistics.alpha(one, "ordinal", weight) is None
    assert agreement.mean_kappa(overlap) == agreement.mean_kappa(overlap[:, :2])


@pytest.mark.slow
@examples(1)
@given(TABLES)
def test_kappas_of_all_pairs_are_those_of_each(ratings: np.ndarray) -> None:
    found = statistics.PairSums.from_ratings(ratings).kappas
    for i, j in permutations(range(ratings.shape[1]), 2):
        both = (ratings[:, [i, j]] != MISSING).all(axis=1)
        kappa = statistics.quadratic_weighted_kappa(ratings[both, i], ratings[both, j])
        assert found[i, j] == pytest.approx(np.nan if kappa is None else kappa, abs=1e-12, nan_ok=True)


def test_the_supplements_interval_is_fishers() -> None:
    assert statistics.fisher_interval(0.799, 500) == pytest.approx((0.765, 0.829), abs=5e-4)
    assert statistics.fisher_interval(0.799, 500, ranks=True) == pytest.approx((0.759, 0.833), abs=5e-4)
    assert statistics.fisher_interval(0.5, 3) is None
    assert statistics.fisher_interval(1.0, 10) == (1, 1)


def test_the_bootstrap_holds_the_correlation_and_p_is_never_zero() -> None:
    a = np.arange(30.0)
    assert statistics.spearman_permutation_p(a, a, permutations=999) == 1 / 1000
    assert statistics.spearman_permutation_p(a, np.ones(30), permutations=999) is None
    shuffled = np.random.default_rng(0).permutation(a)
    rho = spearmanr(a, shuffled)
    assert statistics.spearman_permutation_p(a, shuffled, permutations=9_999) == pytest.approx(rho.pvalue, abs=0.02)
    # The bootstrap interval holds the correlation.
    rng = np.random.default_rng(1)
    a = rng.standard_normal(80)
    b = a + rng.standard_normal(80)
    found = present(statistics.spearman_bootstrap(a, b))
    assert found.low < spearmanr(a, b).statistic < found.high
    assert statistics.spearman_bootstrap(np.ones(8), np.arange(8.0)) is None


def test_the_interval_of_a_mean_by_hand() -> None:
    # Raters all rate alike, so that only items differ: the textbook's mean +- t * s / sqrt(n).
    ratings = np.repeat(np.array([[0.0], [1], [2], [4], [3], [2]]), 3, axis=1)
    found = figure_of(lambda items, raters: float(ratings[np.ix_(items, raters)].mean()), (6, 3))
    reach = 2.5706 * ratings[:, 0].std(ddof=1) / np.sqrt(6)
    assert found.value == 2
    assert found.interval == pytest.approx((2 - reach, 2 + reach), abs=1e-3)


def test_a_figure_that_is_undefined_without_one_part_has_no_interval() -> None:
    found = figure_of(lambda items, _: 1.0 if len(items) == 5 else None, (5, 2))
    assert (found.value, found.interval, figure_of(lambda *_: None, (5, 2))) == (1, None, Figure())
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


ROWS = st.lists(st.tuples(st.integers(1, 4), *[st.integers(-1, 4)] * 3), min_size=2, max_size=9)


@given(ROWS)
@examples(0.5)
def test_an_item_of_weight_three_is_three_items(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, np.int8)
    weight, ratings = table[:, 0].astype(float), table[:, 1:]
    often = np.repeat(ratings, table[:, 0], axis=0)
    shared = [int((ratings[:, [i, j]] >= 0).all(axis=1).sum()) for i, j in combinations(range(3), 2)]
    assume(1 not in shared)  # one item that two raters share says nothing; its copies would be two
    for figure in (agreement.mean_kappa, agreement.within_item_spread, agreement.mean_ceiling):
        assert figure(ratings, weight) == pytest.approx(figure(often), abs=1e-9)
    both = (ratings[:, :2] >= 0).all(axis=1)
    if (a := ratings[both, 0]).size > 1 and np.ptp(a) and np.ptp(b := ratings[both, 1]):
        rho = spearmanr(np.repeat(a, table[both, 0]), np.repeat(b, table[both, 0])).statistic
        assert statistics.spearman(a.astype(float), b.astype(float), weight[both]) == pytest.approx(rho)


def test_alpha_of_weighted_items_is_that_of_many_copies() -> None:
    rng = np.random.default_rng(3)
    ratings = np.clip(rng.integers(0, 5, (300, 1)) + rng.integers(-1, 2, (300, 4)), -1, 4).astype(np.int8)
    weight = rng.integers(1, 4, 300)
    for level in ("nominal", "ordinal", "interval"):
        often = statistics.alpha(np.repeat(ratings, weight, axis=0), level)
        assert statistics.alpha(ratings, level, weight / weight.mean()) == pytest.approx(often, abs=1e-3)
        assert statistics.alpha(ratings, level, np.ones(300)) == pytest.approx(statistics.alpha(ratings, level))


def test_probabilities_add_up_and_certain_pairs_are_drawn() -> None:
    influence = np.array([100.0, 5, 3, 2, 1, 0, 0, 0])
    found = probabilities(influence, 4)
    assert (found.sum(), found[0], found.min() > 0, found.max() <= 1) == (pytest.approx(4), 1, True, True)
    for seed in range(20):
        rows = draw_by(found, seed)
        assert (len(rows), rows[0], len(set(rows.tolist()))) == (4, 0, 4)
    assert probabilities(influence, 8) == pytest.approx(np.ones(8))


@pytest.mark.slow
def test_estimates_of_drawn_pairs_are_unbiased() -> None:
    rng = np.random.default_rng(1)
    influence = rng.pareto(1.5, 300)
    values = 0.3 * np.log(influence) + rng.normal(size=300)  # what is influential is unlike the rest
    chance = probabilities(influence, 40)
    draws = [draw_by(chance, seed) for seed in range(4_000)]
    drawn = np.bincount(np.concatenate(draws), minlength=300) / len(draws)
    assert np.abs(drawn - chance).max() < 5 * np.sqrt(0.25 / len(draws))
    totals = np.array([(values[rows] / chance[rows]).sum() for rows in draws])
    means = np.array([np.average(values[rows], weights=1 / chance[rows]) for rows in draws])
    as_drawn = np.array([values[rows].mean() for rows in draws])
    error = totals.std() / np.sqrt(len(draws))
    assert totals.mean() == pytest.approx(values.sum(), abs=4 * error)  # Horvitz and Thompson: unbiased
    assert means.mean() == pytest.approx(values.mean(), abs=0.02)  # Hajek: nearly
    assert abs(as_drawn.mean() - values.mean()) > 0.2


@pytest.mark.slow
def test_equal_weights_change_no_figure() -> None:
    study = simulated(120, 4, 2)
    weighted = replace(study, weights=Weights(np.full(120, 7.0), np.zeros(120, np.int64)))
    plain, found = agreement_of(study), agreement_of(weighted)
    for a, b in zip(*((of.kappa, of.ceiling, *of.alpha.values()) for of in (plain, found)), strict=True):
        assert (b.value, b.interval) == (pytest.approx(a.value), pytest.approx(a.interval))
    for name in ("spearman.interval", "fisher", "bootstrap", "p"):
        assert attrgetter(name)(found.reference) == pytest.approx(attrgetter(name)(plain.reference))


def test_those_left_of_a_stratum_stand_for_all_of_it() -> None:
    weights = Weights(np.array([10.0, 10, 1, 1]), np.array([0, 0, 1, 1]))
    assert [weights.population, weights.effective] == pytest.approx([22, 22**2 / 202])
    assert weights.select(np.array([0, 2, 3])) == pytest.approx(np.array([20, 1, 1]) * 3 / 22)
    assert weights.select(np.array([1])) == pytest.approx([1])
    a = np.arange(12.0)
    assert statistics.spearman_permutation_p(a, a, np.arange(1.0, 13), 99) == 1 / 100
    assert statistics.spearman_permutation_p(a, np.ones(12), np.ones(12), 9) is None


@pytest.mark.parametrize("told", ["", "0", "-1", "x", "inf", "1e308", "5e-324"])
def test_each_item_has_a_weight_above_zero(tmp_path: Path, told: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"item,rater,rating,gold,weight,stratum\ng,x,4,4,,\na,x,1,,2.5,verb 2\nb,x,1,,{told},verb 3\n")
    with input_error(field="weight"):
        read_study(path)
    path.write_text(path.read_text().replace(f",{told},verb 3", ",7,verb 3"))
    found = present(read_study(path).weights)
    assert (found.weight.tolist(), len(set(found.stratum.tolist()))) == ([1, 2.5, 7], 3)
