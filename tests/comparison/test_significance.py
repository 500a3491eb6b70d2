"""Intervals, tests, corrections, rankings and rank intervals: by hand, against slow forms, and against scipy."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.comparison.run import Run
from shoe.comparison.significance import Estimate, Statistics, kendall, rank_intervals, ranks, statistics
from shoe.core.statistics import holm, p_value
from shoe.demo import PREDICTIONS, TRUTH
from tests.comparison.samples import run_of, scenes_of
from tests.examples import examples
from tests.present import present


def test_p_values_and_ranks_by_hand() -> None:
    assert holm([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
    # p counts what is as large on either side.
    assert p_value(0.2, np.array([0.1, -0.2, 0.3, -0.4])) == pytest.approx(4 / 5)
    assert p_value(-0.5, np.array([0.1, -0.2, 0.3, np.nan])) == pytest.approx(1 / 4)
    # Ranks share the first, and miss rates count from below.
    assert ranks("semantic:map", [0.3, 0.5, None, 0.5]) == [3, 1, None, 1]
    assert ranks("semantic:gt_miss_rate", [0.3, 0.5, 0.3]) == [1, 3, 1]


def test_intervals_hold_their_metric_and_end_where_metrics_do() -> None:
    found = Estimate.from_resamples(0.5, np.linspace(0.6, 0.8, 401))
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.405, 0.595))
    assert Estimate.from_resamples(0.5, np.full(3, np.nan)) == Estimate(0.5, 0.5, 0.5)
    assert not Estimate.from_resamples(0.5, np.full(400, 0.1)).varies
    assert Estimate.from_resamples(0.9, np.array([0.0, *[1.0] * 999])).low == 0.9
    above = np.nextafter(1.0, 2)
    assert Estimate(above, 0.9, 1.2).within(0.0) == Estimate(above, 0.9, above)
    assert Estimate(-0.9, -1.3, 0.2).within(-1.0) == Estimate(-0.9, -1.0, 0.2)


@pytest.mark.parametrize(
    ("images", "resamples", "short"), [(5, 1000, "images"), (6, 1000, None), (6, 19, "resamples"), (0, 0, "images")]
)
def test_too_few_images_or_resamples_tell_nothing(images: int, resamples: int, short: str | None) -> None:
    assert Statistics(images, resamples, 0, {"a": {}, "b": {}}, ()).too_few == short


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
@examples(0.5)
def test_kendall_is_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    a, b = zip(*pairs, strict=True)
    expected = kendalltau(a, b).statistic
    assert kendall(a, b) == (None if np.isnan(expected) else pytest.approx(expected))


def test_equal_models_are_equal_and_one_image_has_no_intervals() -> None:
    run = run_of(scenes_of(7, 6))
    found = statistics([run, replace(run, name="other")], 19, 0)
    assert len(found.differences) == sum(value is not None for value in run.figures().values())
    assert {(d.value, d.interval, d.bootstrap.p, d.randomisation.p) for d in found.differences} == {(0, None, 1, 1)}
    assert found.estimates["model"] == found.estimates["other"]
    # One image has no intervals and no low p.
    run = run_of(scenes_of(7, 1))
    found = statistics([run, replace(run, name="other")], 100, 0)
    assert found.estimates == {"model": {}, "other": {}}
    assert not any(each.interval or each.significant for each in found.differences)


@pytest.mark.slow
def test_models_that_differ_do_so_in_any_order_and_equal_ones_do_not() -> None:
    truth, tables = shoe.read_ground_truth(TRUTH), map(shoe.read_predictions, PREDICTIONS.values())
    detector, text = (Run.from_report(shoe.score(each, truth), n) for n, each in zip(PREDICTIONS, tables, strict=True))
    models = [detector, text, replace(detector, name="detector again")]
    found = statistics(models, 99, 0)
    other = statistics(models[::-1], 99, 0)
    assert other.estimates == found.estimates
    for here in found.differences:
        there = present(other.between(here.models[0], here.models[1], here.figure))
        assert there.value == -here.value
        assert (there.bootstrap, there.randomisation) == (here.bootstrap, here.randomisation)
        assert there.randomisation.adjusted == here.randomisation.adjusted
    with_intervals, turned = (statistics(order, 100, 0) for order in (models[:2], models[1::-1]))
    for here in with_intervals.differences:
        there = present(turned.between(here.models[0], here.models[1], here.figure))
        assert bool(there.interval) == bool(here.interval)
        if there.interval and here.interval:
            assert [*there.interval] == pytest.approx([-end for end in reversed(here.interval)], abs=1e-12)
    far = present(found.between("free text", "detector", "strict:hico-det:full"))
    assert far.significant is (far.bootstrap.adjusted < 0.05)
    assert (far.randomisation.p, far.randomisation.adjusted) == pytest.approx((0.01, 0.03))
    assert found.too_few is None
    same = [d for d in found.differences if {*d.models} == {"detector", "detector again"}]
    assert len(same) == 9
    assert {(d.value, d.interval, d.bootstrap.p, d.randomisation.p) for d in same} == {(0, None, 1, 1)}


@pytest.mark.slow
def test_the_randomisation_test_nears_the_exact_one() -> None:
    """Miss rates are sums over images, so that all swaps of a few images can be listed."""
    a, b = (run_of(scenes_of(seed, 8)) for seed in (1, 2))
    truth, other = present(a.semantic).f1, present(b.semantic)
    moved = replace(other.f1, truth_category=truth.truth_category, truth_image=truth.truth_image)
    b = replace(b, strict=(), semantic=replace(other, f1=moved, tau=None), name="other")
    a = replace(a, strict=(), semantic=replace(present(a.semantic), tau=None))
    p = present(statistics([a, b], 4000, 0).between("model", "other", "semantic:gt_miss_rate"))
    counts = [np.bincount(f1.image, minlength=8) for f1 in (truth, moved)]
    apart = counts[0] - counts[1]
    exact = np.mean([abs(np.dot(signs, apart)) >= abs(apart.sum()) for signs in product([-1, 1], repeat=8)])
    assert p.randomisation.p == pytest.approx(exact, abs=0.03)


MAP, MISSES = "semantic:map", "semantic:gt_miss_rate"


def drawn(values: list[float], apart: float, seed: int = 0, resamples: int = 500) -> np.ndarray:
    """Resamples of models whose differences deviate by about ``apart``; what all share cancels out."""
    random = np.random.default_rng(seed)
    shared = random.normal(0, 0.2, resamples)
    return np.array([value + shared + random.normal(0, apart / 2, resamples) for value in values])


def test_models_far_apart_have_a_rank_each_and_others_tie() -> None:
    values = [0.3, 0.5, 0.4]
    assert rank_intervals(MAP, values, drawn(values, 0.01)) == [(3, 3), (1, 1), (2, 2)]
    assert rank_intervals(MISSES, values, drawn(values, 0.01)) == [(1, 1), (3, 3), (2, 2)]
    # Models within chance of each other tie.
    values = [0.50, 0.49, 0.30, 0.90]
    assert rank_intervals(MAP, values, drawn(values, 0.02)) == [(2, 3), (2, 3), (4, 4), (1, 1)]
    one = drawn([0.5], 0.1)
    assert rank_intervals(MAP, [0.5, 0.5], np.concatenate([one, one])) == [(1, 2), (1, 2)]
    assert rank_intervals(MAP, [0.5], one) == [(1, 1)]


@examples(20)
@given(values=st.lists(st.integers(0, 12), min_size=1, max_size=7), seed=st.integers(0, 99))
def test_intervals_hold_the_rank_and_follow_their_models(values: list[int], seed: int) -> None:
    figures = [value / 20 for value in values]
    resamples = drawn(figures, 0.1, seed, 60)
    found = rank_intervals(MAP, figures, resamples)
    for value, (lowest, highest) in zip(figures, found, strict=True):
        above, not_below = sum(v > value for v in figures), sum(v >= value for v in figures)
        assert 1 <= lowest <= above + 1 <= not_below <= highest <= len(figures)
    assert rank_intervals(MAP, figures[::-1], resamples[::-1]) == found[::-1]


@pytest.mark.slow
def test_all_intervals_hold_together_in_19_of_20_worlds() -> None:
    """Ten models, some of equal worth; the ranks that their true worth gives are within all intervals at once."""
    true = np.array([0.5, 0.5, 0.5, 0.5, 0.48, 0.46, 0.46, 0.4, 0.4, 0.3])
    held = 0
    for world in range(200):
        random = np.random.default_rng(world)
        images = random.normal(true[:, None], 0.15, (10, 100))
        draws = random.multinomial(100, np.full(100, 0.01), 400).T / 100
        found = rank_intervals(MAP, images.mean(axis=1).tolist(), images @ draws)
        better = [(true > value).sum() for value in true]
        equal = [(true >= value).sum() for value in true]
        # A model may stand anywhere among its equals.
        held += all(low <= b + 1 and high >= e for (low, high), b, e in zip(found, better, equal, strict=True))
    assert held >= 0.92 * 200
