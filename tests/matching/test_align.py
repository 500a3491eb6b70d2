"""Images by name, however their folder and ending are written."""

import numpy as np
import pytest

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.matching.align import align


def table(*images: str) -> Interactions:
    n = len(images)
    return Interactions.from_columns(
        images=list(images),
        image=np.arange(n),
        human_boxes=np.tile([0.0, 0, 1, 1], (n, 1)),
        object_boxes=np.tile([0.0, 0, 1, 1], (n, 1)),
        verb=np.zeros(n, int),
        object=np.zeros(n, int),
        verbs=["ride"],
        objects=["horse"],
    )


def test_names_without_folder_and_ending() -> None:
    alignment = align(table("b", "images/test/a.png", r"c:\x\c.jpeg", "d.jpg"), table("a.jpg", "b.jpg", "c.jpg"))
    assert alignment.truth_image.tolist() == [1, 0, 2, -1]
    assert alignment.unknown == ("d.jpg",)


def test_rows_of_each_image_of_the_truth() -> None:
    predictions = table("b", "x", "a")
    first, count = align(predictions, table("a", "b", "c")).rows_of(predictions, 3)
    assert first.tolist() == [2, 0, 0]
    assert count.tolist() == [1, 1, 0]


def test_two_names_of_one_image_are_refused() -> None:
    with pytest.raises(InputError, match=r"found 'a.jpg' and 'x/a.png', expected one name for one image"):
        align(table("a.jpg", "x/a.png"), table("a.jpg"))


def test_a_dotted_name_is_no_ending() -> None:
    assert align(table(".hidden"), table(".hidden.jpg")).truth_image.tolist() == [0]
