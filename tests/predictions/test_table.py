"""Sizes of images, from wherever they come."""

from pathlib import Path

import orjson
import pytest

from shoe.core.errors import InputError
from shoe.predictions import read_predictions, read_predictions_with_notes

RECORD = {"human_box": [100, 100, 500, 500], "object_box": [0, 0, 1000, 1000], "verb": "ride", "object": "horse"}


def test_sizes_are_found_whatever_folder_and_ending_a_name_has(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_bytes(orjson.dumps([{"image": name, **RECORD} for name in ("b", "a.png", "c.jpg", "unknown")]))
    sizes = {"images/a.jpg": (640, 400), "b.jpg": (320, 200), "c.jpg": (10, 20), "c.png": (30, 40)}
    table = read_predictions(path, sizes=sizes)
    assert table.sizes.tolist() == [[320, 200], [640, 400], [10, 20], [0, 0]]
    assert read_predictions(path, sizes={}).sizes.tolist() == [[0, 0]] * 4
    path.write_bytes(orjson.dumps([{"image": "a", **RECORD}]))
    assert read_predictions(path, boxes="thousand", sizes=sizes).human_boxes.tolist() == [[64, 40, 320, 200]]


def test_relative_boxes_of_a_stranger_among_images_of_known_size_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_bytes(orjson.dumps([{"image": name, **RECORD} for name in ("stranger", "a", "a")]))
    table, notes = read_predictions_with_notes(path, boxes="thousand", sizes={"a.jpg": (640, 400)})
    assert table.images == ("stranger", "a")
    assert table.offsets.tolist() == [0, 0, 2]
    line = (
        "1 prediction left out, because relative boxes need the image size, which is not known for 1 image: 'stranger'"
    )
    assert line in notes.lines()
    with pytest.raises(InputError, match="found 'stranger', expected names of images with known size"):
        read_predictions(path, boxes="thousand", sizes={"b.jpg": (1, 1)})
