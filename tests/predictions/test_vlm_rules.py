"""Boundaries of the rules that read model answers, by hand."""

import numpy as np
import pytest

from shoe.core.io.tolerant import values_in
from shoe.predictions.vlm.box_marks import Entity
from shoe.predictions.vlm.boxes import Box
from shoe.predictions.vlm.collector import are_percent, scale_by_content
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.items import add_outer_boxes, apply_list_key, interactions_in
from shoe.predictions.vlm.parsed_reply import Pair
from shoe.predictions.vlm.text_records import assigned_records


def boxes(*numbers: float, rows: int = 30) -> np.ndarray:
    return np.tile(np.array(numbers * 2, np.float64), (rows, 1))


@pytest.mark.parametrize(
    ("corner", "side", "expected"),
    [
        (1.0, 500, "unit"),  # no number above 1: fractions of the image
        (1.5, 2000, "thousand"),  # a tiny box in a large image
        (480, 500, "xyxy"),  # all within a small image: pixels
        (560, 500, "thousand"),  # beyond the small image: no pixels
        (1200, 2000, "xyxy"),  # beyond 1,000: no thousandths
    ],
)
def test_the_scale_of_boxes_follows_their_numbers(corner: float, side: int, expected: str) -> None:
    found = scale_by_content("thousand", boxes(0, 0, corner, corner), np.full((30, 2), float(side)))
    assert found == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([1, 50], True), ([0, 50], False), ([1, 10], False), ([50, 101], False), ([50.5, 60], True)],
)
def test_percent_are_numbers_from_1_to_100_with_some_above_10(scores: list[float], expected: bool) -> None:
    assert are_percent(np.array(scores, np.float64)) is expected


def test_a_key_that_is_as_likely_a_verb_as_its_word_is_no_verb() -> None:
    item = {"human_box": [0, 0, 9, 9], "object_box": [1, 1, 8, 8], "label": "cut"}
    (pair,) = interactions_in([{"hold": [item]}]).items
    assert isinstance(pair, Pair)
    assert [verb.text for verb in pair.verbs] == ["cut"]


def test_a_colon_in_a_list_and_two_boxes_of_objects_are_read_in_their_order() -> None:
    assert [value.value for value in values_in("[a: b, 1]")] == [["a : b", 1]]
    (pair,) = interactions_in([{"object1_box": [0, 0, 9, 9], "object2_box": [1, 1, 8, 8], "verb": "hug"}]).items
    assert isinstance(pair, Pair)
    assert [each.box and each.box.numbers for each in (pair.human, pair.object)] == [(0, 0, 9, 9), (1, 1, 8, 8)]


def test_names_that_are_assigned_twice_are_no_record() -> None:
    text = "humans = [[1, 2, 3, 4]]\nverbs = ['ride']\n"
    assert (len(assigned_records(text)), assigned_records(text + text)) == (1, [])


def test_the_outer_box_of_an_object_comes_second() -> None:
    inner, outer = Entity(Box((0, 0, 9, 9))), Entity(Box((1, 1, 8, 8)), side="object")
    assert add_outer_boxes([inner], [outer]) == [inner, outer]


def test_a_name_in_a_list_of_interactions_is_the_verb() -> None:
    fields = Fields(names=["riding", "horse"])
    apply_list_key(fields, "interactions")
    assert ([verb.text for verb in fields.verbs], fields.names) == (["riding"], ["horse"])
