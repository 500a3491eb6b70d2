"""Overlaps worked by hand in each convention (protocols.md 0.2)."""

import numpy as np
import pytest

from shoe.core.boxes import Overlap, OverlapRule, iou

CASES = [
    # a, b, continuous, +1, +1-crossing
    ((0, 0, 10, 10), (0, 0, 10, 10), 1.0, 1.0, 1.0),
    ((0, 0, 10, 10), (5, 0, 15, 10), 50 / 150, 66 / 176, 66 / 176),
    ((0, 0, 10, 10), (10, 0, 20, 10), 0.0, 11 / 231, 0.0),  # they share one column of pixels
    ((0, 0, 10, 10), (11, 0, 20, 10), 0.0, 0.0, 0.0),
    ((0, 0, 3, 9), (0, 0, 3, 4), 12 / 27, 0.5, 0.5),  # exactly half of the pixels
    ((4, 4, 4, 4), (4, 4, 4, 4), 0.0, 1.0, 0.0),  # one pixel: no area as edges, no crossing
]


@pytest.mark.parametrize(("a", "b", "continuous", "pixels", "crossing"), CASES)
def test_by_hand(a: tuple[int, ...], b: tuple[int, ...], continuous: float, pixels: float, crossing: float) -> None:
    first, second = np.array([a], float), np.array([b], float)
    kinds = (Overlap.CONTINUOUS, Overlap.PIXELS, Overlap.PIXELS_CROSSING)
    for one, other in ((first, second), (second, first)):
        found = [iou(one, other, kind)[0] for kind in kinds]
        assert found == pytest.approx([continuous, pixels, crossing], abs=1e-15)


@pytest.mark.parametrize(("inclusive", "holds"), [(True, [False, True, True]), (False, [False, False, True])])
def test_a_rule_says_whether_the_threshold_itself_is_enough(inclusive: bool, holds: list[bool]) -> None:
    rule = OverlapRule(Overlap.PIXELS, 0.5, inclusive)
    assert rule.is_reached(np.array([0.5 - 1e-12, 0.5, 0.5 + 1e-12])).tolist() == holds
