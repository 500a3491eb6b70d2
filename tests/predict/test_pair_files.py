"""Files of pairs, ours and others'."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.benchmarks import benchmark
from shoe.predict.detection_files import usual_names
from shoe.predict.images import Picture
from shoe.predict.pairs import read_paired
from shoe.predict.records import Pair, Paired, write_lines
from tests.errors import input_error
from tests.predict.made import made_pictures

HICO = benchmark("hico-det")
NAMES = usual_names(HICO)


@pytest.fixture
def pictures(tmp_path: Path) -> list[Picture]:
    return made_pictures(tmp_path, ["a.png", "b.png"])


def test_pairs_are_read_as_written_and_by_name(pictures: list[Picture], tmp_path: Path) -> None:
    pair = Pair((0.0, 1.5, 20.0, 40.0), (10.0, 1.0, 64.0, 48.0), "potted_plant", 0.9, 0.5)
    written = [
        Paired(image=one.name, digest=one.digest, width=64, height=48, pairs=(pair,) * number)
        for number, one in enumerate(pictures)
    ]
    write_lines(tmp_path / "pairs.jsonl", written)
    assert read_paired(tmp_path / "pairs.jsonl", pictures, NAMES, HICO).records == written
    assert read_paired(tmp_path / "pairs.jsonl", pictures[1:], NAMES, HICO).records == written[1:]
    theirs = [
        {"filename": "images/b.jpg", "box_pairs": [{"h_box": [0, 0, 9, 9], "o_box": [1, 1, 9, 9], "o_label": 17}]}
    ]
    (tmp_path / "theirs.json").write_text(json.dumps(theirs))
    first, second = read_paired(tmp_path / "theirs.json", pictures, NAMES, HICO).records
    assert (first.pairs, second.pairs) == ((), (Pair((0.0, 0.0, 9.0, 9.0), (1.0, 1.0, 9.0, 9.0), "horse"),))


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"o_label": 80}, ("pair 1: o_label: ", "found 80", "0 to 79", "COCO")),
        ({"o_label": "bycicle"}, ("'bycicle'", "hico-det", "bicycle?")),
        ({"h_box": [0, 0, 99, 9]}, ("pair 1: box: ", "0, 0, 99, 9", "x1 < x2 and y1 < y2", "inside a.png", "64 x 48")),
        ({"h_score": 2}, ("h_score: ", "found 2", "0 to 1")),
    ],
)
def test_what_is_wrong_is_one_line(
    changes: dict[str, Any], values: tuple[str, ...], pictures: list[Picture], tmp_path: Path
) -> None:
    pair = {"h_box": [0, 0, 9, 9], "o_box": [1, 1, 9, 9], "o_label": "dog"} | changes
    (tmp_path / "pairs.json").write_text(json.dumps([{"filename": "a.png", "box_pairs": [pair]}]))
    with input_error(*values):
        read_paired(tmp_path / "pairs.json", pictures, NAMES, HICO)


def test_a_picture_that_was_changed_is_named(pictures: list[Picture], tmp_path: Path) -> None:
    write_lines(tmp_path / "pairs.jsonl", [Paired(image="a.png", digest="12", pairs=())])
    with input_error("found 12", record="image 'a.png'", field="digest"):
        read_paired(tmp_path / "pairs.jsonl", pictures, NAMES, HICO)
