"""Sizes of images, from wherever they come."""

from pathlib import Path

from shoe.predictions import read_predictions, read_predictions_with_notes
from tests.errors import input_error
from tests.predictions.reading import codes, write_lines

RECORD = {"human_box": [100, 100, 500, 500], "object_box": [0, 0, 1000, 1000], "verb": "ride", "object": "horse"}


def test_sizes_are_found_whatever_folder_and_ending_a_name_has(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "v", *({"image": name, **RECORD} for name in ("b", "a.png", "c.jpg", "unknown")))
    sizes = {"images/a.jpg": (640, 400), "b.jpg": (320, 200), "c.jpg": (10, 20), "c.png": (30, 40)}
    table = read_predictions(path, sizes=sizes)
    assert table.sizes.tolist() == [[320, 200], [640, 400], [10, 20], [0, 0]]
    assert read_predictions(path, sizes={}).sizes.tolist() == [[0, 0]] * 4
    write_lines(path, {"image": "a", **RECORD})
    assert read_predictions(path, boxes="thousand", sizes=sizes).human_boxes.tolist() == [[64, 40, 320, 200]]


def test_relative_boxes_of_a_stranger_among_images_of_known_size_are_left_out(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "v", *({"image": name, **RECORD} for name in ("stranger", "a", "a")))
    table, notes = read_predictions_with_notes(path, boxes="thousand", sizes={"a.jpg": (640, 400)})
    assert (table.images, table.offsets.tolist()) == (("stranger", "a"), [0, 0, 2])
    assert ("sizeless" in codes(notes), notes.count("sizeless")) == (True, 1)
    assert notes.sentence("sizeless").endswith("1 image: 'stranger'")
    with input_error("'stranger'", field="image"):
        read_predictions(path, boxes="thousand", sizes={"b.jpg": (1, 1)})
