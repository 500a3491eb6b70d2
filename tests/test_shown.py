"""What results show as the last value of a notebook's cell, and as dictionaries."""

from pathlib import Path
from typing import Any

import orjson
import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions_with_notes
from tests.cli.run import as_json

VLM = Path(PREDICTIONS["free text"])


@pytest.fixture(scope="module")
def results() -> list[Any]:
    truth = shoe.read_ground_truth(TRUTH)
    table, notes = read_predictions_with_notes(VLM)
    found = shoe.diagnose(table, truth, notes=notes, seeds=2)
    return [shoe.score(table, truth, notes=notes), found, table, truth]


def test_representations_are_a_few_lines(results: list[Any]) -> None:
    for result in results:
        assert len(repr(result)) < 1500
        assert len(repr(result).splitlines()) < 16
    report, found = results[:2]
    assert max(len(repr(part)) for part in (report.semantic, report.strict)) < 1500  # they hold arrays, too
    assert f"SHOE-mAP {100 * report.semantic.map:.2f}" in repr(report)
    assert f"object box: Δ mAP {100 * found.deltas['object_box'].map:.2f}" in repr(found)


def test_notebooks_show_tables(results: list[Any]) -> None:
    for result in results[:2]:
        shown = result._repr_html_()
        assert shown.startswith("<table><caption>")
        assert "&lt;GroundTruth: hico-det" in shown
        assert len(shown) < 3000


def test_python_says_what_the_commands_say(results: list[Any]) -> None:
    report, found = results[:2]
    scored = as_json("score", VLM, "--ground-truth", TRUTH)
    said = report.to_dict()
    assert set(said["notes"]) < set(scored["notes"])
    said["notes"] = scored["notes"]
    assert said == {key: scored[key] for key in said} | {
        "semantic": {key: scored["semantic"][key] for key in said["semantic"]}
    }
    diagnosed = as_json("diagnose", VLM, "--ground-truth", TRUTH, "--seeds", "2")
    assert orjson.loads(orjson.dumps(found.to_dict())) == {
        key: value for key, value in diagnosed.items() if key not in ("dataset", "split", "name")
    }


def test_python_warns_of_what_the_command_line_warns_of(tmp_path: Path, results: list[Any]) -> None:
    """Half of the images are strangers, and all boxes are read in a convention that does not fit."""
    lines = VLM.read_bytes().splitlines()
    truth = results[3].within(results[2].images[20:])
    path = tmp_path / "read.jsonl"
    path.write_bytes(b"\n".join(lines))
    report = shoe.score(shoe.read_predictions(path, boxes="xywh"), truth, similarity="identity")
    for shown in (repr(report), report._repr_html_(), "\n".join(report.to_dict()["notes"])):
        assert "--boxes xyxy (Python: boxes=" in shown.replace("&quot;", '"')
        assert "20 not in the ground truth and left out" in shown
