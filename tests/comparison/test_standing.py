"""Rank intervals: what is sure stands apart, what is not is a tie."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.comparison.significance import rank_intervals
from tests.examples import examples

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
