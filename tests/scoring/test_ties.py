"""Orders of tied entries: drawn ones stand for all of them, and the error that is claimed is the error that is made."""

import math
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.scoring.average_precision import GRID_TOLERANCE, RankedLists, TiedList, average_precision, ranked_lists
from tests.oracles.average_precision import Method, expected_ap

EXACTLY: dict[str, Any] = {"ap": Interpolation.ALL_POINTS, "ties": Ties.EXPECTED, "epsilon": 1e-8}


def one_hit(size: int, classes: int = 1) -> RankedLists:
    """Equal classes: one score for all entries, of which the first is credited."""
    category, credit = np.repeat(np.arange(classes), size), np.tile(np.arange(size) == 0, classes).astype(float)
    return ranked_lists(category, np.ones(classes * size), credit, np.ones(classes, int), **EXACTLY)


def mean_over_single_ranks(size: int) -> float:
    """AP of one truth among ``size`` equally scored entries: 1/rank, each rank equally likely."""
    return sum(1 / rank for rank in range(1, size + 1)) / size


@pytest.mark.parametrize("size", [2, 50, 5040])
def test_one_hit_is_listed_exactly(size: int) -> None:
    found = one_hit(size)
    assert (found.error[0], found.ap[0]) == (0, pytest.approx(mean_over_single_ranks(size), abs=1e-7))


def test_the_mean_over_drawn_orders_is_as_near_as_its_error_says() -> None:
    """Many classes with one hit among 6,000, which is drawn, against the sum that is known."""
    classes = 200
    found = one_hit(6000, classes)
    error = math.sqrt((found.error**2).sum()) / classes
    assert abs(found.ap.mean() - mean_over_single_ranks(6000)) < 4 * error
    assert np.std(found.ap) / np.sqrt(classes) == pytest.approx(error, rel=0.5)


@pytest.mark.parametrize(("credited", "size"), [(8, 12), (3, 40), (9, 60)])
def test_drawn_orders_are_distinct_ranks_of_the_group(credited: int, size: int) -> None:
    ranked = TiedList.from_counts(np.zeros(credited, np.int64), np.full(credited, size), np.linspace(1, 0.5, credited))
    rank, credit = ranked.random_orders(3)
    assert (np.diff(rank, axis=1) > 0).all()
    assert rank.min() >= 1
    assert rank.max() <= size
    assert np.allclose(np.sort(credit, axis=1), np.sort(np.linspace(1, 0.5, credited)))
    counts = np.bincount(rank.astype(int).reshape(-1), minlength=size + 1)[1:]
    assert counts.max() < 2.5 * counts.mean()


def test_a_list_just_too_long_to_be_listed_agrees_with_its_listing() -> None:
    credit = np.array([1.0, 0.75, 0.5, 0.25])
    ranked = TiedList.from_counts(np.zeros(4, np.int64), np.full(4, 11), credit)
    assert ranked.orders == 7920
    truths = np.array([4])
    exact = average_precision(*ranked.all_orders(), truths, Interpolation.ALL_POINTS, 1e-8).mean()
    values = average_precision(*ranked.random_orders(0), truths, Interpolation.ALL_POINTS, 1e-8)
    error = values.reshape(-1, 2).mean(axis=1).std(ddof=1) / math.sqrt(len(values) / 2)
    assert abs(values.mean() - exact) < 4 * error


entries = st.lists(st.tuples(st.sampled_from([0.1, 0.5]), st.integers(0, 20)), min_size=1, max_size=6)


@given(entries, st.sampled_from(get_args(Method)), st.integers(0, 3))
def test_the_mean_agrees_with_all_orders(entries: list[tuple[float, int]], method: Method, extra: int) -> None:
    """Credits in twentieths, whose sums depend on their order in the last digits."""
    labels = [(score, steps / 20) for score, steps in entries]
    truths = sum(credit > 0 for _, credit in labels) + extra
    slow = expected_ap(labels, truths, method)
    epsilon = GRID_TOLERANCE if method in ("11-point", "101-point") else 1e-8
    how = EXACTLY | {"ap": Interpolation(method), "epsilon": epsilon}
    score, credit = np.array(labels).T
    fast = ranked_lists(np.zeros(len(labels), int), score, credit, np.array([truths]), **how)
    assert fast.ap[0] == pytest.approx(slow, abs=1e-9)
