"""What is out of range is named by its image and its place there."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from shoe.benchmarks.checks import check_boxes, check_range, objects_of, triplet_name
from shoe.core.errors import InputError

IMAGES = ["a.jpg", "empty.jpg", "b.jpg"]
IMAGE = np.array([0, 0, 2, 2])
COUNTS = np.array([2, 0, 1])
PLACE_OF = (IMAGES, IMAGE)


def test_triplets_are_counted_from_1_within_their_image() -> None:
    names = [triplet_name(PLACE_OF, row) for row in range(4)]
    assert names == [f"image '{image}': triplet {i}" for image in ("a.jpg", "b.jpg") for i in (1, 2)]


def test_what_is_in_range_passes() -> None:
    check_range("f", PLACE_OF, "verb", np.array([1, 2, 3, 3]), 3, first=1)
    check_boxes("f", PLACE_OF, "h", np.array([0, 1, 0, 0]), COUNTS)
    check_boxes("f", PLACE_OF, "h", np.array([0, 1, 0, 5]), COUNTS, wrong=np.zeros(4, bool))
    table = np.array([-1, 7, 8])
    assert objects_of("f", IMAGES, COUNTS, np.array([1, 2, 1]), table, "x").tolist() == [7, 8, 7]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (
            lambda: check_range("f", PLACE_OF, "verb", np.array([1, 3, 0, 4]), 3, first=1, meaning=": verbs"),
            "f: image 'b.jpg': triplet 1: verb: found 0, expected 1 to 3: verbs",
        ),
        (
            lambda: check_boxes("f", PLACE_OF, "h", np.array([0, 1, 0, 1]), COUNTS),
            "f: image 'b.jpg': triplet 2: h: found 1, expected the index of one of the image's 1 boxes, from 0",
        ),
        (
            lambda: check_boxes("f", PLACE_OF, "object_id", np.array([0, -1, 0, 0]), COUNTS),
            "object_id: found -1, expected the index of one of the image's 2 boxes, from 0 (only V-COCO",
        ),
        (
            lambda: objects_of("f", IMAGES, COUNTS, np.array([1, 1, 0]), np.array([-1, 7]), "1"),
            "f: image 'b.jpg': box 1: category_id: found 0, expected 1",
        ),
        (
            lambda: objects_of("f", IMAGES, COUNTS, np.array([1, 2, 1]), np.array([-1, 7]), "1"),
            "f: image 'a.jpg': box 2: category_id: found 2, expected 1",
        ),
    ],
)
def test_the_first_that_is_out_of_range_is_named(check: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        check()
