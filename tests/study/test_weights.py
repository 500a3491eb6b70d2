"""Items that stand for several: figures are those of a population, whether it is written out or drawn from."""

from dataclasses import replace
from itertools import combinations
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.stats import spearmanr

from shoe.core.statistics import alpha, spearman, spearman_permutation_p
from shoe.study import agreement
from shoe.study.analysis import agreement_of
from shoe.study.ratings import Weights, read_study
from shoe.study.sampling import draw_by, probabilities, simulated
from tests.errors import input_error
from tests.examples import examples
from tests.present import present

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
        assert spearman(a.astype(float), b.astype(float), weight[both]) == pytest.approx(rho)


def test_alpha_of_weighted_items_is_that_of_many_copies() -> None:
    rng = np.random.default_rng(3)
    ratings = np.clip(rng.integers(0, 5, (300, 1)) + rng.integers(-1, 2, (300, 4)), -1, 4).astype(np.int8)
    weight = rng.integers(1, 4, 300)
    for level in ("nominal", "ordinal", "interval"):
        often = alpha(np.repeat(ratings, weight, axis=0), level)
        assert alpha(ratings, level, weight / weight.mean()) == pytest.approx(often, abs=1e-3)
        assert alpha(ratings, level, np.ones(300)) == pytest.approx(alpha(ratings, level))


def test_probabilities_add_up_and_certain_pairs_are_drawn() -> None:
    influence = np.array([100.0, 5, 3, 2, 1, 0, 0, 0])
    found = probabilities(influence, 4)
    assert found.sum() == pytest.approx(4)
    assert (found[0], found.min() > 0, found.max() <= 1) == (1, True, True)
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
    assert spearman_permutation_p(a, a, np.arange(1.0, 13), 99) == 1 / 100
    assert spearman_permutation_p(a, np.ones(12), np.ones(12), 9) is None


@pytest.mark.parametrize("told", ["", "0", "-1", "x", "inf", "1e308", "5e-324"])
def test_each_item_has_a_weight_above_zero(tmp_path: Path, told: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"item,rater,rating,gold,weight,stratum\ng,x,4,4,,\na,x,1,,2.5,verb 2\nb,x,1,,{told},verb 3\n")
    with input_error(field="weight"):
        read_study(path)
    path.write_text(path.read_text().replace(f",{told},verb 3", ",7,verb 3"))
    found = present(read_study(path).weights)
    assert (found.weight.tolist(), len(set(found.stratum.tolist()))) == ([1, 2.5, 7], 3)
