"""Commands prompt and explain."""

import json
from pathlib import Path

import msgspec
import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.cli.run import as_json, output


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


DETECTOR = PREDICTIONS["detector"]


def test_the_figures_are_those_of_score_and_the_parts_sum() -> None:
    protocols = ["hico-det", "ppdm", "upt"]
    found = as_json("explain", DETECTOR, "-g", TRUTH, "--protocols", ",".join(protocols))
    scored = as_json("score", DETECTOR, "-g", TRUTH, *(w for p in protocols for w in ("-p", p)))["protocols"]
    for name, of_score in zip(protocols, scored, strict=True):
        assert found["protocols"][name] == {k: of_score[k] for k in ("signature", "map", "map_rare", "map_non_rare")}
    assert [(d["before"], d["after"]) for d in found["differences"]] == [("hico-det", "ppdm"), ("hico-det", "upt")]
    for difference in found["differences"]:
        by = found["protocols"][difference["after"]]["map"] - found["protocols"]["hico-det"]["map"]
        assert sum(rule["map"] for rule in difference["rules"]) == pytest.approx(by, abs=1e-12)
        for moved in difference["classes"]:
            assert sum(moved["rules"].values()) == pytest.approx(moved["after"] - moved["before"], abs=1e-9)
    assert "false_positives" not in found


@pytest.mark.slow
def test_the_table_says_what_the_json_does() -> None:
    shown, brief = (output("explain", DETECTOR, "-g", TRUTH, *more) for more in (("-v",), ()))
    assert all(part in shown for part in ("hico-det → diag", "annotated twice", "--image-labels"))
    assert "--verbose" in brief
    assert "hico-det → diag" not in brief
    assert {"hico-det", "diag", "unpredicted"} <= set(brief.split())
