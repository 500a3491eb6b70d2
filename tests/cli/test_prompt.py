"""``shoe prompt``: what it asks for is what the reader reads."""

import json
from pathlib import Path

import msgspec

import shoe
from tests.cli import run as cli


def test_the_answer_that_it_shows_is_read_as_it_is(tmp_path: Path) -> None:
    shown = next(line for line in cli.run("prompt").stdout.splitlines() if line.startswith('{"interactions"'))
    answer = shown.replace("x1, y1, x2, y2", "100, 200, 300, 400")
    path = tmp_path / "answers.jsonl"
    path.write_bytes(msgspec.json.encode({"image": "a.jpg", "response": answer, "width": 500, "height": 1000}))
    table = shoe.read_predictions(path, boxes="thousand")
    assert table.human_boxes.tolist() == [[50, 200, 150, 400]]
    assert (table.verbs, table.objects, table.score.tolist()) == (("sit on",), ("bicycle",), [0.9])


def test_the_schema_has_the_keys_that_the_prompt_names() -> None:
    schema, prompt = json.loads(cli.output("prompt", "--schema")), cli.output("prompt")
    item = schema["properties"]["interactions"]["items"]
    assert item["required"] == list(item["properties"])
    assert all(f'"{key}":' in prompt for key in item["properties"])
