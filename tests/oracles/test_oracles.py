"""What the oracles stand on: curves, boxes, tables. The numbers here were found with paper and pencil."""

from itertools import permutations
from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.boxes import Coordinates
from tests.oracles import average_precision as curves
from tests.oracles.average_precision import Method, average_precision, eleven_point, expected_ap, recall_grid
from tests.oracles.boxes import iou_continuous, iou_pixels, iou_pixels_strict, moved
from tests.oracles.model import ImageScene, from_tables, to_tables
from tests.oracles.scenes import CLASSES, scenes

METHODS: tuple[Method, ...] = get_args(Method)


def test_grids_are_those_of_the_references() -> None:
    assert recall_grid("arange") == np.arange(0, 1.1, 0.1).tolist()
    missed = {name: [i for i, t in enumerate(recall_grid(name)) if i / 10 < t] for name in ("arange", "linspace")}
    assert missed == {"arange": [3, 6, 7], "linspace": [3]}
    assert all(i / 10 >= t for i, t in enumerate(recall_grid("exact")))


def test_three_of_ten_truths_found_first() -> None:
    found = [eleven_point([1, 1, 1], 10, grid) for grid in get_args(curves.Grid)]
    assert found == pytest.approx([3 / 11, 3 / 11, 4 / 11])  # arange, linspace, exact


def test_areas_of_a_short_ranking() -> None:
    # recall 1/2 1/2 1, precision 1 1/2 2/3; the envelope is 1 2/3 2/3
    assert curves.all_points([1, 0, 1], 2) == pytest.approx(1 / 2 + 1 / 2 * 2 / 3, abs=1e-7)
    assert curves.trapezoid([1, 0, 1], 2) == pytest.approx(1 / 2 + 1 / 2 * (1 / 2 + 2 / 3) / 2, abs=1e-7)
    assert eleven_point([1, 0, 1], 2) == pytest.approx((6 + 5 * 2 / 3) / 11)
    assert average_precision([1, 0, 1], 2, "101-point") == pytest.approx((51 + 50 * 2 / 3) / 101)


def test_areas_of_fractional_labels() -> None:
    # found 0.5 and 1.5 of 2 at ranks 1 and 2: recall 1/4 3/4, precision 1/2 3/4, so the envelope is 3/4 throughout
    assert curves.all_points([0.5, 1.0], 2) == pytest.approx(0.75 * 0.75, abs=1e-7)
    assert curves.trapezoid([0.5, 1.0], 2) == pytest.approx(0.25 * 0.5 + 0.5 * (0.5 + 0.75) / 2, abs=1e-7)
    assert curves.interpolated([0.5, 1.0], 2, [0.0, 0.25, 0.75, 0.76]) == pytest.approx(3 * 0.75 / 4)


@pytest.mark.parametrize("method", METHODS)
def test_one_truth_one_hit_is_one_and_nothing_is_nothing(method: Method) -> None:
    assert average_precision([1], 1, method) == pytest.approx(1, abs=1e-7)
    assert [average_precision([0] * count, truths, method) for count, truths in ((0, 1), (2, 1), (1, 0))] == [0, 0, 0]


def test_constant_scores_average_over_the_place_of_the_hit() -> None:
    # One truth, three predictions of one score, one right: it is first, second or third with precision 1, 1/2, 1/3.
    tied = expected_ap([(0.5, 0.0), (0.5, 1.0), (0.5, 0.0)], 1, "all-points")
    assert tied == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-7)


@given(
    st.lists(st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.sampled_from((0.0, 0.5, 1.0))), max_size=5),
    st.integers(1, 4),
    st.sampled_from(METHODS),
)
def test_expectation_is_the_mean_over_all_orders_that_scores_allow(
    entries: list[tuple[float, float]], truths: int, method: Method
) -> None:
    ranked = sorted((score for score, _ in entries), reverse=True)
    allowed = [order for order in permutations(entries) if [s for s, _ in order] == ranked]
    values = [average_precision([label for _, label in order], truths, method) for order in allowed]
    assert expected_ap(entries, truths, method) == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_too_many_orders_are_refused_and_equal_labels_are_one_order() -> None:
    assert expected_ap([(0.0, 0.0)] * 2000, 1, "all-points") == 0
    with pytest.raises(curves.OutOfReachError):
        expected_ap([(0.5, i / 100) for i in range(10)], 1, "all-points")


def test_half_overlap_in_each_convention() -> None:
    assert iou_continuous((0, 0, 10, 10), (0, 0, 5, 10)) == 0.5
    assert iou_pixels((1, 1, 10, 10), (1, 1, 5, 10)) == 0.5
    assert iou_pixels((1, 1, 1, 1), (1, 1, 1, 1)) == 1
    assert iou_pixels_strict((1, 1, 1, 1), (1, 1, 1, 1)) == 0
    assert iou_continuous((1, 1, 1, 9), (1, 1, 1, 9)) == 0
    assert iou_pixels((0, 0, 4, 4), (5, 0, 9, 4)) == 0


def test_one_pixel_box_in_all_coordinates() -> None:
    """The first pixel of an image, in three frames, is one box wherever frames are understood."""
    first = {
        Coordinates.CONTINUOUS: (0.0, 0.0, 1.0, 1.0),
        Coordinates.PIXELS_0: (0.0, 0.0, 0.0, 0.0),
        Coordinates.PIXELS_1: (1.0,) * 4,
    }
    assert {moved(box, frame, "edges") for frame, box in first.items()} == {(0, 0, 1, 1)}
    assert moved((0, 0, 0, 0), Coordinates.PIXELS_0, "indices") == moved((1, 1, 1, 1), Coordinates.PIXELS_1, "indices")
    assert moved((3, 4, 5, 6), Coordinates.CONTINUOUS, "indices") == (4, 5, 6, 7)
    assert all(moved((3, 4, 5, 6), frame, "raw") == (3, 4, 5, 6) for frame in Coordinates)


@given(scenes(), st.randoms(use_true_random=False))
def test_scenes_survive_the_tables(found: list[ImageScene], random: Random) -> None:
    order = list(range(len(found)))
    random.shuffle(order)
    assert from_tables(*to_tables(found, CLASSES, order)) == found
