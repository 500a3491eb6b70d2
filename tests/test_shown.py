"""What results show as the last value of a notebook's cell, and as dictionaries."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from shoe.diagnosis.error_types import ErrorType
from shoe.predictions import read_predictions_with_notes
from shoe.scoring.strict import strict_credits
from tests.cli.run import as_json
from tests.errors import says
from tests.present import present

VLM = Path(PREDICTIONS["free text"])


@pytest.fixture(scope="module")
def results() -> list[Any]:
    truth = shoe.read_ground_truth(TRUTH)
    table, notes = read_predictions_with_notes(VLM)
    found = shoe.diagnose(table, truth, notes=notes, seeds=2)
    return [shoe.score(table, truth, notes=notes), found, table, truth]


def test_representations_are_a_few_lines_and_notebooks_show_tables(results: list[Any]) -> None:
    for result in results:
        assert len(repr(result)) < 1500
        assert len(repr(result).splitlines()) < 16
    report, found = results[:2]
    assert max(len(repr(part)) for part in (report.semantic, report.strict)) < 1500  # they hold arrays, too
    assert f"SHOE-mAP {100 * report.semantic.map:.2f}" in repr(report)
    assert f"box: Δ mAP {100 * found.deltas['object_box'].map:.2f}" in repr(found)
    # Notebooks show tables.
    for result in results[:2]:
        shown = result._repr_html_()
        assert shown.startswith("<table><caption>")
        assert "&lt;GroundTruth: hico-det" in shown
        assert shown.count("<rect") == 4  # human and object box of a prediction and of the nearest ground truth
        assert len(shown) < 3000
    # The worst prediction is drawn.
    report, found = results[:2]
    rows, credit = strict_credits(report.task, report.strict.options)
    assert f"({report.predictions.score[rows[credit == 0]].max():.2f})" in report._repr_html_()
    costly = max((each.label for each in list(ErrorType)[1:]), key=lambda name: found.deltas[name].map)
    assert costly == "object_box"
    assert f"{found.examples(costly, 1)[0].image}: object box error" in found._repr_html_()
    truth = results[3]
    perfect = shoe.score(truth.interactions, truth, protocols=["upt"])
    assert present(perfect.strict).map == 1
    assert "<figure" not in perfect._repr_html_()


def test_numbers_are_listed_by_the_path_of_their_keys(results: list[Any]) -> None:
    report, found = results[:2]
    flat = shoe.score(report.predictions, report.truth, protocols=["qpic", "upt", "shoe"]).to_dict(flat=True)
    assert {type(value) for value in flat.values()} <= {int, float}
    assert flat["strict/map"] == flat["protocols/qpic/map"] == report.strict.map
    assert {"protocols/upt/map", "protocols/upt/map_rare", "images"} < flat.keys()
    assert flat["semantic/above_delta/mf1"] == report.semantic.above_delta.mf1
    assert found.to_dict(flat=True)["errors/object_box/delta_map"] == found.deltas["object_box"].map


def test_tables_are_columns_of_one_length(results: list[Any]) -> None:
    report, found = results[:2]
    classes, errors, rows = report.classes_table(), found.errors_table(), found.predictions_table()
    for table, length in ((classes, 600), (errors, 9), (rows, len(report.predictions))):
        assert {len(column) for column in table.values()} == {length}
    assert np.nanmean(classes["hico-det/ap"]) == pytest.approx(report.strict.map)
    assert np.nanmean(classes["shoe/ap"]) == pytest.approx(report.semantic.map)
    assert classes["ground_truths"].sum() == len(report.truth.interactions)
    assert dict(zip(errors["error"], errors["count"], strict=True))["duplicate"] == found.counts["duplicate"]
    for error in ("true_positive", "object_box", "interaction"):
        assert (rows["error"] == error).sum() == found.counts[error]
    image, box = rows["image"][7], [rows[f"o{edge}"][7] for edge in ("x1", "y1", "x2", "y2")]
    assert image == report.predictions.images[report.predictions.image[7]]
    assert box == report.predictions.object_boxes[7].tolist()


def test_python_says_what_the_commands_say(results: list[Any]) -> None:
    report, found = results[:2]
    scored = as_json("score", VLM, "--ground-truth", TRUTH)
    said = report.to_dict()
    (words,) = set(said["notes"]) - set(scored["notes"])  # in the second line of the command
    assert words.startswith("words      186 of 356 ")
    said["notes"] = scored["notes"]
    scored["semantic"] = {key: scored["semantic"][key] for key in said["semantic"]}
    assert said == {key: scored[key] for key in said}
    diagnosed = as_json("diagnose", VLM, "--ground-truth", TRUTH, "--seeds", "2")
    for key in ("dataset", "split", "name"):
        del diagnosed[key]
    assert orjson.loads(orjson.dumps(found.to_dict())) == diagnosed


def test_python_warns_of_what_the_command_line_warns_of(tmp_path: Path, results: list[Any]) -> None:
    """Half of the images are strangers, and all boxes are read in a convention that does not fit."""
    lines = VLM.read_bytes().splitlines()
    truth = results[3].within(results[2].images[20:])
    path = tmp_path / "read.jsonl"
    path.write_bytes(b"\n".join(lines))
    report = shoe.score(shoe.read_predictions(path, boxes="xywh"), truth, similarity="identity")
    for shown in (repr(report), report._repr_html_(), "\n".join(report.to_dict()["notes"])):
        assert says(shown.replace("&quot;", '"'), "--boxes xyxy", 'boxes="xyxy"')
        assert "20 not in all" in shown
