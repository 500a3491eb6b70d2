"""Rows of free text name the record and the item that they come from."""

import json
from pathlib import Path
from typing import Any

from shoe.benchmarks import benchmark
from shoe.predictions.formats.vlm import read_vlm
from shoe.predictions.source import open_source
from tests.predictions.reading import write_lines


def test_rows_name_their_records_and_items(tmp_path: Path) -> None:
    """Replies of several items each, between a structured record, a sentence and a reply that is cut."""
    boxes = [{"human_box": [i, 10, 90, 80], "object_box": [20, i, 99, 70]} for i in range(4)]
    said: list[dict[str, Any]] = [
        {"verb": "riding", "object": "horse"},
        {"verb": "being used by", "object": "person"},
        {"verb": "not riding", "object": "horse"},
        {"verb": "wash and hold", "object": "cup", "score": 0.5},
    ]
    items: list[dict[str, Any]] = [{**box, **words} for box, words in zip(boxes, said, strict=True)]
    things = [{"verb": "hold", "object": "cup", "bbox": [5, 6, 70, 80]}] * 2
    tokens = "<ref>man</ref><box>[[1, 2, 3, 4]]</box> on <ref>bed</ref><box>[[5, 6, 7, 8]]</box>"
    records: list[dict[str, Any]] = [
        {"image": f"{i % 9}.jpg", "response": json.dumps(items[: 1 + i % 4])} for i in range(60)
    ]
    records[30:30] = [
        {"image": "a.jpg", **items[0]},
        {"image": "b.jpg", "human_box": [1, 2, 30, 40], "objects": things},
        {"image": "c.jpg", "response": tokens},
        {"image": "d.jpg", "response": json.dumps(items)[:250]},
    ]
    path = write_lines(tmp_path / "replies.jsonl", *records)
    rows = read_vlm(open_source(path, benchmark("hico-det")))
    assert rows.place is not None
    places = [rows.place(row) for row in range(len(rows.image))]
    assert places[:3] == ["line 1, item 1", "line 2, item 1", "line 2, item 2"]
    assert [place for place in places if place[:7] in ("line 28", "line 31", "line 32")] == [
        *("line 28, item 1", "line 28, item 2", "line 28, item 4", "line 28, item 4"),
        *("line 31", "line 32, item 1", "line 32, item 2"),
    ]
    assert places == sorted(places, key=lambda place: int(place.split(",")[0][5:]))
