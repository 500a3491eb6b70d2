"""Box conventions: each turns its numbers into corners in pixels, none is guessed, and a file may have several."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import DEFAULT, benchmark
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions, Rows
from shoe.demo import TRUTH
from shoe.predictions import read_predictions, read_predictions_with_notes
from shoe.predictions.boxes.conventions import (
    LAYOUTS,
    PICTURES,
    SCALES,
    Convention,
    parse_convention,
    valid_conventions,
)  # fmt: skip
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Source
from shoe.predictions.table import to_table
from shoe.predictions.truth import read_ground_truth
from tests.errors import input_error, option_error
from tests.predictions.reading import codes, read_lines, write_lines
from tests.present import present

BOX = np.array([[100.0, 50.0, 300.0, 250.0]])
SIZE = np.array([[640.0, 400.0]])
BAD_SCALES = ("resized:scale=0", "resized:scale=-1", "resized:shorter=0", "resized:shorter=9:8", "resized:shorter=a:b")
BAD_SMART = ("resized:smart=0", "resized:smart=28:9:8", "resized:smart=28:9", "resized:smart=28:0:9")
FLAT_WORDS = ("image", "verb", "object")
CORNERS = ("hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2")
ITEM = {"human_box": [1, 2, 30, 40], "object_box": [1, 2, 30, 40], "verb": "v", "object": "o"}


def of_box(path: Path, box: list[float], **more: object) -> Path:
    return write_lines(path, {"image": "a.jpg", **ITEM, "human_box": box, "object_box": box, **more})


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("xyxy", [100, 50, 300, 250]),
        ("xywh", [100, 50, 200, 200]),
        ("cxcywh", [200, 150, 200, 200]),
        ("yxyx", [50, 100, 250, 300]),
        ("unit", [100 / 640, 50 / 400, 300 / 640, 250 / 400]),
        ("thousand", [100 / 0.64, 50 / 0.4, 300 / 0.64, 250 / 0.4]),
        ("thousand,yxyx", [50 / 0.4, 100 / 0.64, 250 / 0.4, 300 / 0.64]),
        ("unit,cxcywh", [200 / 640, 150 / 400, 200 / 640, 200 / 400]),
        ("pixels-0", [100, 50, 300, 250]),
        ("pixels-1", [100, 50, 300, 250]),
        ("hundred", [100 / 6.4, 50 / 4, 300 / 6.4, 250 / 4]),
        ("padded", [100, 170, 300, 370]),
        ("xxyy", [100, 300, 50, 250]),
        ("unit,padded", [100 / 640, 170 / 640, 300 / 640, 370 / 640]),
        ("resized:1280x320,yxyx,padded", [85, 200, 185, 600]),
        ("resized:max=1280,padded", [200, 340, 600, 740]),
        ("resized:1280x200", [200, 25, 600, 125]),
        ("resized:scale=0.5", [50, 25, 150, 125]),
        ("resized:shorter=800", [200, 100, 600, 500]),
        ("resized:shorter=800:1000", [100 * 1000 / 640, 50 * 625 / 400, 300 * 1000 / 640, 250 * 625 / 400]),
        ("resized:max=1280", [200, 100, 600, 500]),
        ("resized:multiple=28", [100 * 644 / 640, 50 * 392 / 400, 300 * 644 / 640, 250 * 392 / 400]),
    ],
)
def test_each_convention_gives_corners_in_pixels_and_back(name: str, numbers: list[float]) -> None:
    convention = parse_convention(name)
    assert convention.to_pixels(np.array([numbers]), SIZE) == pytest.approx(BOX, rel=1e-12)
    assert convention.from_pixels(BOX, SIZE) == pytest.approx(np.array([numbers]), rel=1e-12)


@given(
    st.sampled_from(sorted(LAYOUTS)),
    st.sampled_from([*(s for s in SCALES if ":" not in s), "resized:97x31", "resized:max=448", "resized:smart=28"]),
    st.sampled_from(["", *PICTURES]),
    st.lists(st.floats(-2000, 2000), min_size=4, max_size=4),
    st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
)
def test_what_was_converted_can_be_undone(
    layout: str, scale: str, picture: str, numbers: list[float], size: tuple[int, int]
) -> None:
    convention = Convention(layout, scale, picture)
    boxes, sizes = np.array([numbers]), np.array([size], float)
    assert convention.from_pixels(convention.to_pixels(boxes, sizes), sizes) == pytest.approx(boxes, rel=1e-9, abs=1e-8)


def test_multiples_round_as_the_preprocessors_do() -> None:
    """Half-way cases go to the even multiple, as Python's round does, and no side becomes 0."""
    sizes = np.array([[42.0, 70.0], [5.0, 14.0]])
    corner = parse_convention("resized:multiple=28").to_pixels(np.array([[0, 0, 56.0, 56], [0, 0, 28, 28]]), sizes)
    assert corner[:, 2:] == pytest.approx(sizes)


@pytest.mark.parametrize(
    ("name", "resized"),
    [
        ("resized:smart=28", [(644, 476), (420, 644), (504, 336), (56, 56), (112, 56), (4004, 2996), (4368, 2912)]),
        ("resized:smart=28:200704:1003520",
         [(644, 476), (420, 644), (560, 392), (588, 364), (840, 252), (1148, 840), (1204, 812)]),
        ("resized:smart=28:3136:200704",
         [(504, 364), (364, 532), (504, 336), (56, 56), (112, 56), (504, 364), (532, 364)]),
        ("resized:smart=32", [(640, 480), (416, 640), (512, 320), (352, 224), (480, 160), (4000, 3008), (4992, 3328)]),
        ("resized:smart=32:262144:1310720",
         [(640, 480), (416, 640), (640, 448), (672, 416), (960, 288), (1312, 960), (1376, 928)]),
    ],
)  # fmt: skip
def test_smart_resizing_gives_the_sizes_of_the_processor_itself(name: str, resized: list[tuple[int, int]]) -> None:
    """Sizes that transformers' smart_resize gives for the same factor, min_pixels and max_pixels."""
    sizes = np.array([(640, 480), (427, 640), (500, 333), (70, 42), (40, 12), (4000, 3000), (6000, 4000)], float)
    corners = parse_convention(name).to_pixels(np.array([(0, 0, w, h) for w, h in resized], float), sizes)
    assert corners[:, 2:] == pytest.approx(sizes)


@given(
    st.sampled_from(list(LAYOUTS)), st.sampled_from([name for name in SCALES if "=" not in name and "x" not in name])
)
def test_a_name_is_what_its_convention_prints(layout: str, scale: str) -> None:
    convention = Convention(layout, scale)
    if scale in ("pixels-0", "pixels-1") and layout in ("xywh", "cxcywh"):
        with option_error("corners", "width"):
            parse_convention(str(convention))
    else:
        assert parse_convention(str(convention)) == convention
        assert parse_convention(f" {layout} , {scale.upper()}") == convention
    with option_error(f"{layout},cxcywh", "layout"):
        parse_convention(f"{layout},cxcywh")


@pytest.mark.parametrize(
    "name",
    ["", "xyx", "resized", "resized:0x5", "resized:5x0", "resized:max=0", "resized:WxH", *BAD_SMART, *BAD_SCALES],
)
def test_unknown_conventions_are_refused_with_the_known_ones(name: str) -> None:
    with option_error(repr(name.lower()), "known: cxcywh"):
        parse_convention(name)


def test_the_coordinates_go_with_the_convention(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "v", {"image": "a.jpg", **ITEM, "human_box": [5, 5, 5, 9]})
    assert read_predictions(path, boxes="pixels-0").coordinates.tolist() == [Coordinates.PIXELS_0]
    assert read_predictions(path, boxes="pixels-1").coordinates.tolist() == [Coordinates.PIXELS_1]
    with input_error("1 of 2 boxes", "pixels-0", "--boxes"):
        read_predictions(path)
    of_box(path, [100, 80, 50, 90])
    with input_error("2 of 2 boxes", "xywh", "cxcywh", "--boxes"):
        read_predictions(path)
    assert read_predictions(path, boxes="xywh").human_boxes.tolist() == [[100, 80, 150, 170]]


def test_sizes_come_from_the_file_or_from_elsewhere_and_are_never_guessed(tmp_path: Path) -> None:
    path = of_box(tmp_path / "v", [100, 100, 500, 500])
    with input_error("width and height", record="image 'a.jpg'"):
        read_predictions(path, boxes="thousand")
    with input_error("found 'a.jpg'", "as 'b.jpg'", "1 of 1 image", field="image"):
        read_predictions(path, boxes="thousand", sizes={"b.jpg": (640, 400)})
    table = read_predictions(path, boxes="thousand", sizes={"a.jpg": (640, 400)})
    assert table.human_boxes.tolist() == [[64, 40, 320, 200]]
    of_box(path, [100, 100, 500, 500], width=320, height=200)
    table = read_predictions(path, boxes="thousand", sizes={"a.jpg": (640, 400)})
    assert (table.human_boxes.tolist(), table.sizes.tolist()) == ([[32, 20, 160, 100]], [[320, 200]])


@given(st.lists(st.floats(-100, 100), min_size=4, max_size=4))
def test_the_layouts_that_fit_do(numbers: list[float]) -> None:
    box = np.array([numbers])
    for name in valid_conventions(box):
        convention = parse_convention(name)
        corners = convention.to_pixels(box, SIZE)
        assert (corners[:, :2] <= corners[:, 2:]).all()


@pytest.mark.parametrize("convention", [None, "xywh", "cxcywh", "unit"])
def test_numbers_too_large_to_add_are_one_line_and_no_warning(tmp_path: Path, convention: str | None) -> None:
    path = of_box(tmp_path / "v", [1e308, 1e308, 1.7e308, 1.7e308], width=640, height=400)
    with warnings.catch_warnings(action="error"), input_error("human box: found"):
        read_predictions(path, boxes=convention)


@pytest.mark.parametrize(
    ("bad", "of", "values"),
    [
        (1, 621, ("line 621 (image 'a.jpg'): human box: ", "(1 of 1,242 boxes", "drop")),
        (5, 11, ("(5 of 22 boxes", "drop")),
        (5, 10, ("(5 of 20 boxes", "xywh", "cxcywh", "--boxes")),
    ],
)
def test_few_boxes_without_area_are_no_reason_for_another_convention(
    tmp_path: Path, bad: int, of: int, values: tuple[str, ...]
) -> None:
    good = {"image": "a.jpg", **ITEM}
    with input_error(*values):
        read_lines(tmp_path, *[good] * (of - bad), *[good | {"human_box": [30, 2, 20, 40]}] * bad)


def test_a_box_is_named_by_the_record_that_it_stands_in(tmp_path: Path) -> None:
    bad, path = ITEM | {"object_box": [1, 2, 1, 40]}, tmp_path / "v"
    write_lines(path, {"image": "a", "interactions": [ITEM]}, {"image": "a", "interactions": [ITEM, bad]})
    path.write_text(path.read_text().replace("\n", "\n\n"))
    table, notes = read_predictions_with_notes(path)
    assert (len(table), notes.count("flat_boxes")) == (2, 1)
    assert notes.remarks["flat_boxes"].first.split(" (") == ["line 3, item 2", "image 'a')"]
    write_lines(path, [{"image": "a", "response": json.dumps([ITEM | {"human_box": "x"}, bad, bad])}])
    with input_error(record="record 1, item 2 (image 'a')", field="object box"):
        read_predictions(path)
    path.write_text(f"image,{','.join(CORNERS)},verb,object\n\na,1,2,1,4,1,2,3,4,v,o\n")
    with input_error(record="line 3 (image 'a')", field="human box"):
        read_predictions(path)
    reply = {"image": "a", "response": json.dumps([ITEM | {"human_box": [5, 5, 5, 5]}, ITEM])}
    with input_error(record="line 3 (image 'a')", field="object box"):
        read_lines(tmp_path, reply, {"image": "a", **ITEM}, {"image": "a", **ITEM, "object_box": [9, 9, 1, 1]})


@pytest.mark.parametrize(("column", "field"), [("hx2", "human box"), ("oy1", "object box"), ("score", "score")])
def test_an_infinite_number_is_named_by_the_record_that_it_stands_in(tmp_path: Path, column: str, field: str) -> None:
    columns: dict[str, list[Any]] = {name: [float(i)] * 2 for i, name in enumerate((*CORNERS, "score"))}
    columns |= {name: ["a"] * 2 for name in FLAT_WORDS}
    columns[column][1] = np.inf
    table = pyarrow.table(columns)
    for write, record in ((pyarrow.parquet.write_table, "record 2"), (pyarrow.csv.write_csv, "line 3")):
        write(table, tmp_path / "v")
        with input_error("inf", "finite", record=f"{record} (image 'a')", field=field):
            read_predictions(tmp_path / "v")


def test_ground_truth_gives_the_sizes_of_images(tmp_path: Path) -> None:
    truth = read_ground_truth(TRUTH)
    image, size = truth.interactions.images[0], truth.interactions.sizes[0]
    path = of_box(tmp_path / "unit.jsonl", [0, 0, 0.5, 1], image=image)
    with input_error("--ground-truth FILE (Python: truth=...)"):
        read_predictions(path, boxes="unit")
    for source in (truth, truth.interactions):
        table = read_predictions(path, boxes="unit", truth=source)
        assert table.human_boxes[0].tolist() == [0, 0, size[0] / 2, size[1]]


def test_sizes_are_found_whatever_folder_and_ending_a_name_has(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "v", *({"image": name, **ITEM} for name in ("b", "a.png", "c.jpg", "unknown")))
    sizes = {"images/a.jpg": (640, 400), "b.jpg": (320, 200), "c.jpg": (10, 20), "c.png": (30, 40)}
    table = read_predictions(path, sizes=sizes)
    assert table.sizes.tolist() == [[320, 200], [640, 400], [10, 20], [0, 0]]
    assert read_predictions(path, sizes={}).sizes.tolist() == [[0, 0]] * 4
    of_box(path, [100, 100, 500, 500], image="a")
    assert read_predictions(path, boxes="thousand", sizes=sizes).human_boxes.tolist() == [[64, 40, 320, 200]]


def test_relative_boxes_of_a_stranger_among_images_of_known_size_are_left_out(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "v", *({"image": name, **ITEM} for name in ("stranger", "a", "a")))
    table, notes = read_predictions_with_notes(path, boxes="thousand", sizes={"a.jpg": (640, 400)})
    assert (table.images, table.offsets.tolist()) == (("stranger", "a"), [0, 0, 2])
    assert ("sizeless" in codes(notes), notes.count("sizeless")) == (True, 1)
    assert notes.sentence("sizeless").endswith("1 image: 'stranger'")
    with input_error("'stranger'", field="image"):
        read_predictions(path, boxes="thousand", sizes={"b.jpg": (1, 1)})


# Several conventions in a file: each triplet is read under its own, unless the user names one


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
