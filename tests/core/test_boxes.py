"""Image names and intersection over union."""

import numpy as np
import pytest

import shoe
from shoe.core.boxes import Overlap, OverlapRule, iou
from shoe.core.interactions import image_index
from shoe.demo import PREDICTIONS, TRUTH

KNOWN = ["a.jpg", "x/b.png", "c.jpg", "c.png", ".hidden"]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        *(("a.jpg", 0), ("a", 0), ("folder/a.jpeg", 0), (r"c:\pictures\a.PNG", 0), ("A", 0), ("b", 1), ("X/B.PNG", 1)),
        *(("c.png", 3), ("c", -1), ("c.gif", -1), ("C.png", -1)),  # as it stands, or could be either
        *((".hidden.jpg", 4), ("d.jpg", -1), ("", -1)),
    ],
)
def test_by_name_then_without_folder_and_ending(name: str, index: int) -> None:
    assert image_index([name], KNOWN).tolist() == [index]
    assert image_index([name, "no such"], KNOWN).tolist() == [index, -1]


def test_a_file_with_the_images_in_another_order_gets_the_same_warnings() -> None:
    """The check of boxes that cover both boxes of a pair once compared images of the ground truth in a wrong order."""
    truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(PREDICTIONS["detector"])
    order = np.random.default_rng(0).permutation(len(table.images))
    shuffled = shoe.concatenate([table.select_images([image]) for image in order.tolist()])
    assert shuffled.images != table.images
    found = [shoe.score(each, truth, protocols=["hico-det"]) for each in (table, shuffled)]
    assert found[0].warnings == found[1].warnings
    assert [each.strict.map for each in found if each.strict] == [pytest.approx(0.6798407, abs=1e-6)] * 2


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
