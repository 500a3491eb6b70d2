"""A file may have several box conventions: each triplet is read under its own, unless the user names one."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import DEFAULT, benchmark
from shoe.core.interactions import Interactions, Rows
from shoe.predictions.boxes.conventions import Convention, parse_convention
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Source
from shoe.predictions.table import to_table
from tests.errors import input_error
from tests.predictions.reading import codes
from tests.present import present

SIZES = {"a.jpg": (400, 200), "b.jpg": (100, 300)}


def read(named: str | None = None, sizes: dict[str, tuple[int, int]] | None = SIZES) -> tuple[Interactions, ReadNotes]:
    """Four triplets: one in pixels, two in thousandths with y first, one of location tokens; images not in order."""
    source = Source(Path("replies.jsonl"), benchmark(DEFAULT), sizes)
    rows = Rows(
        images=["a.jpg", "b.jpg"],
        image=np.array([1, 0, 0, 1]),
        human_boxes=np.array([[10, 20, 30, 60], [500, 250, 1000, 750], [0, 0, 100, 200], [0.1, 0.2, 0.3, 0.4]]),
        object_boxes=np.array([[0, 0, 50, 90], [100, 200, 300, 400], [500, 500, 600, 600], [0.5, 0.5, 1, 1]]),
        verbs=["ride"],
        objects=["horse"],
        verb=np.zeros(4, np.int64),
        object=np.zeros(4, np.int64),
        conventions=["xyxy", "thousand,yxyx", "unit"],
        convention=np.array([0, 1, 1, 2]),
        fixed={2},
    )
    return to_table(rows, source, Convention(), named), source.notes


def test_each_triplet_is_read_under_its_own_convention() -> None:
    table, notes = read()
    assert table.human_boxes.tolist() == pytest.approx(
        np.array([[100, 100, 300, 200], [0, 0, 80, 20], [10, 20, 30, 60], [10, 60, 30, 120]])
    )
    assert notes.boxes == "thousand,yxyx; xyxy; unit"
    assert notes.triplets_by_convention == {"thousand,yxyx": 2, "xyxy": 1, "unit": 1}
    assert notes.lines()[codes(notes).index("conventions")].endswith("thousand,yxyx (2), xyxy (1), unit (1)")
    assert notes.conventions is not None
    assert [str(notes.conventions.at(row)) for row in range(4)] == ["thousand,yxyx", "thousand,yxyx", "xyxy", "unit"]


def test_a_convention_that_the_user_names_replaces_all_but_what_is_fixed() -> None:
    """Each word replaces its own part: a scale leaves the layout that the file tells."""
    table, notes = read("thousand,xyxy")
    assert notes.triplets_by_convention == {"thousand": 3, "unit": 1}
    assert table.human_boxes[0].tolist() == pytest.approx([200, 50, 400, 150])
    assert read("hundred")[1].triplets_by_convention == {"hundred,yxyx": 2, "hundred": 1, "unit": 1}
    assert read("xywh")[1].triplets_by_convention == {"thousand,xywh": 2, "xywh": 1, "unit": 1}
    assert table.human_boxes[3].tolist() == pytest.approx([10, 60, 30, 120])


def test_a_picture_or_order_that_the_user_names_holds_for_all() -> None:
    assert read("padded")[1].boxes == "thousand,yxyx,padded; padded; unit,padded"
    usual, swapped = read()[0], read("swapped")[0]
    assert (swapped.human_boxes == usual.object_boxes).all()
    assert (swapped.object_boxes == usual.human_boxes).all()


def test_only_conventions_that_need_sizes_ask_for_them() -> None:
    with input_error("no width", "thousand,yxyx", record="image 'a.jpg'"):
        read(sizes=None)
    with input_error("no width", "unit", record="image 'b.jpg'"):
        read("pixels,xyxy", sizes=None)


def test_what_was_converted_can_be_undone_for_each() -> None:
    table, notes = read("padded,swapped")
    sizes = table.sizes[table.image].astype(np.float64)
    written = present(notes.conventions).from_pixels(table.human_boxes, table.object_boxes, sizes)
    again = present(notes.conventions).to_pixels(*written, sizes)
    assert np.array(again) == pytest.approx(np.array([table.human_boxes, table.object_boxes]))


@pytest.mark.parametrize(
    ("words", "own", "name"),
    [
        ("swapped,padded", "thousand,yxyx", "thousand,yxyx,padded,swapped"),
        ("swapped,unit", "thousand,yxyx", "unit,yxyx,swapped"),
        ("xyxy,pixels,swapped", "thousand,yxyx", "swapped"),
        ("padded", "xyxy", "padded"),
    ],
)
def test_the_words_of_a_convention_name_what_they_change(words: str, own: str, name: str) -> None:
    assert str(parse_convention(words, parse_convention(own))) == name
