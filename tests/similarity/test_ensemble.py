"""Ensembles of raters: by hand, and against the standard library's statistics."""

import math
import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.similarity.ensemble import ENSEMBLES, RaterWeights, ensemble_values
from tests.errors import option_error

RATINGS = st.lists(st.sampled_from([None, 0, 1, 2, 3, 4]), min_size=1, max_size=6)


def value(ratings: list[int | None], how: str) -> float:
    row = np.array([[-1 if rating is None else rating for rating in ratings]], np.int8)
    return float(ensemble_values(row, how)[0])


@pytest.mark.parametrize(
    ("ratings", "mean", "median", "majority", "majority_mean"),
    [
        ([4, 4, 4], 4, 4, 4, 4),
        ([0, 0, 3], 1, 0, 0, 0),
        ([1, 2, 4], 7 / 3, 2, 1, 7 / 3),
        ([3, 1, None], 2, 2, 3, 2),
        ([None, 1, 3], 2, 2, 1, 2),
        ([None, None, 2], 2, 2, 2, 2),
        # Five raters, two ties of two: the first-named rater (0) voted for neither, the second voted 1.
        ([0, 1, 1, 2, 2], 1.2, 1, 1, 1.5),
        ([0, 2, 1, 1, 2], 1.2, 1, 2, 1.5),
        ([2, None, 0, 0, None, 2], 1, 1, 2, 1),
    ],
)
def test_by_hand(ratings: list[int | None], mean: float, median: float, majority: float, majority_mean: float) -> None:
    found = [4 * value(ratings, how) for how in ("mean", "median", "majority", "majority-mean")]
    assert found == pytest.approx([mean, median, majority, majority_mean], rel=0, abs=4e-15)


@pytest.mark.parametrize(
    ("ratings", "mean", "median", "majority"),
    [
        ([0, 0, None], 0, 0, 0),  # nobody else says anything
        ([0, 2, None], 2, 2, 2),  # one list omitted what the other has
        ([0, 0, 1], 1, 1, 1),  # omitted by both lists
        ([0, 0, 0], 0, 0, 0),
        ([2, 4, 0], 1.5, 2, 0),  # (2 / 2 + 4 / 2 + 0) / 2, and a vote that weighs as much as both
        ([0, 4, 1], 2, 2.5, 1),
    ],
)
def test_lists_that_omit_count_half(ratings: list[int | None], mean: float, median: float, majority: float) -> None:
    voices, row = RaterWeights((0.5, 0.5, 1), (True, True, False)), [-1 if r is None else r for r in ratings]
    table = np.array([row], np.int8)
    values = [4 * float(ensemble_values(table, how, voices)[0]) for how in ("mean", "median", "majority")]
    assert values == [mean, median, majority]


@given(RATINGS)
def test_against_the_standard_library(ratings: list[int | None]) -> None:
    present = [rating for rating in ratings if rating is not None]
    if not present:
        assert all(math.isnan(value(ratings, how)) for how in ENSEMBLES)
        return
    assert value(ratings, "mean") == statistics.fmean(present) / 4
    assert value(ratings, "median") == statistics.median(present) / 4
    most = max(Counter(present).values())
    modes = [rating for rating, votes in Counter(present).items() if votes == most]
    # Counter keeps the order of first votes, which is the order of raters.
    assert value(ratings, "majority") == modes[0] / 4
    assert value(ratings, "majority-mean") == pytest.approx(statistics.fmean(modes) / 4, abs=1e-15)


@given(st.lists(RATINGS.filter(lambda row: len(row) == 3), min_size=1, max_size=20), st.sampled_from(list(ENSEMBLES)))
def test_rows_do_not_touch_each_other(rows: list[list[int | None]], how: str) -> None:
    table = np.array([[-1 if rating is None else rating for rating in row] for row in rows], np.int8)
    np.testing.assert_array_equal(ensemble_values(table, how), [value(row, how) for row in rows])


def test_no_rows_and_an_unknown_ensemble() -> None:
    assert all(ensemble_values(np.zeros((0, 3), np.int8), how).shape == (0,) for how in ENSEMBLES)
    with option_error("'medain'", "median?"):
        ensemble_values(np.zeros((1, 3), np.int8), "medain")
