"""Rows of free text, packed a few at a time: the same whatever their number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.predictions.source import open_source
from shoe.predictions.vlm import packed, read_vlm

COLUMNS = ("image", "verb", "object", "score", "human_boxes", "object_boxes", "loose", "convention")


def read(path: Path) -> dict[str, Any]:
    rows = read_vlm(open_source(path, benchmark("hico-det")))
    assert rows.place is not None
    places = [rows.place(row) for row in range(len(rows.image))]
    return {"places": places, **{name: getattr(rows, name) for name in (*COLUMNS, "images", "verbs", "objects")}}


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """Replies of known shape, each of several items, between a structured record, a sentence and a plain line."""
    boxes = [{"human_box": [i, 10, 90, 80], "object_box": [20, i, 99, 70]} for i in range(4)]
    said: list[dict[str, Any]] = [
        {"verb": "riding", "object": "horse"},
        {"verb": "being used by", "object": "person"},
        {"verb": "not riding", "object": "horse"},
        {"verb": "wash and hold", "object": "cup", "score": 0.5},
    ]
    items: list[dict[str, Any]] = [{**box, **words} for box, words in zip(boxes, said, strict=True)]
    things = [{"verb": "hold", "object": "cup", "bbox": [5, 6, 70, 80]}] * 2
    records: list[dict[str, Any]] = [
        {"image": f"{i % 9}.jpg", "response": json.dumps(items[: 1 + i % 4])} for i in range(60)
    ]
    records[30:30] = [
        {"image": "a.jpg", **items[0]},
        {"image": "b.jpg", "human_box": [1, 2, 30, 40], "objects": things},
        {
            "image": "c.jpg",
            "response": "<ref>man</ref><box>[[1, 2, 3, 4]]</box> on <ref>bed</ref><box>[[5, 6, 7, 8]]</box>",
        },
        {"image": "d.jpg", "response": json.dumps(items)[:250]},
    ]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_rows_name_their_records_and_items(replies: Path) -> None:
    places = read(replies)["places"]
    assert places[:3] == ["line 1, item 0", "line 2, item 0", "line 2, item 1"]
    assert [place for place in places if place[:7] in ("line 28", "line 31", "line 32")] == [
        *("line 28, item 0", "line 28, item 1", "line 28, item 3", "line 28, item 3"),
        *("line 31", "line 32, item 0", "line 32, item 1"),
    ]
    assert places == sorted(places, key=lambda place: int(place.split(",")[0][5:]))


@pytest.mark.parametrize("most", [1, 7])
def test_how_many_are_packed_at_a_time_changes_nothing(
    most: int, replies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(replies)
    monkeypatch.setattr(packed, "_MOST", most)
    for name, values in read(replies).items():
        np.testing.assert_array_equal(values, whole[name], err_msg=name)
