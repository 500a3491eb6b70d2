"""``shoe calibration`` as a user runs it, and its figures counted once more, one prediction at a time."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoe
from shoe.comparison.run import Run
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import as_json, output, run


@pytest.mark.slow
def test_figures_are_what_counting_one_by_one_gives() -> None:
    files = PREDICTIONS["detector"], PREDICTIONS["free text"]
    found = as_json("calibration", *files, "-g", TRUTH, "-p", "hico-det", "--bins", "7")["models"]
    assert [model["predictions"] for model in found] == ["detector", "vlm"]
    for path, model in zip(files, found, strict=True):
        report = shoe.score(shoe.read_predictions(path), shoe.read_ground_truth(TRUTH), protocols=["hico-det"])
        entries = Run.from_report(report, "x").strict[0].entries
        (of_protocol,) = model["protocols"]
        assert of_protocol["map"] == report.strict.map if report.strict else False
        rows = list(zip(entries.category.tolist(), entries.score.tolist(), entries.credit.tolist(), strict=True))
        error, seen = 0.0, 0
        for each in of_protocol["bins"]:
            inside = [row for row in rows if each["low"] < row[1] <= each["high"] or row[1] == each["low"] == 0]
            assert each["predictions"] == len(inside)
            if inside:
                score, right = (float(np.mean([row[i] for row in inside])) for i in (1, 2))
                assert (each["score"], each["right"]) == pytest.approx((score, right))
                error += len(inside) / len(rows) * abs(score - right)
            seen += len(inside)
        assert (seen, of_protocol["expected_calibration_error"]) == (len(rows), pytest.approx(error))
        pairs = Counter(row[:2] for row in rows)
        assert of_protocol["tied_share"] == pytest.approx(sum(n for n in pairs.values() if n > 1) / len(rows))


@pytest.mark.slow
def test_tables_and_figures_are_there_and_scores_that_are_no_probabilities_are_left_out(tmp_path: Path) -> None:
    printed = output("calibration", PREDICTIONS["detector"], "-g", TRUTH, "--figures", tmp_path / "figures")
    assert "0.80 to 0.87" in printed
    names = [f"reliability-{protocol}.{ending}" for protocol in ("hico-det", "shoe") for ending in ("pdf", "png")]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    box = [0, 0, 9, 9]
    line = {"image": "HICO_test2015_00000025.jpg", "human_box": box, "object_box": box, "verb": "ride"}
    (tmp_path / "logits.jsonl").write_text(json.dumps(line | {"object": "horse", "score": 7.5}))
    found = as_json("calibration", tmp_path / "logits.jsonl", "-g", TRUTH)["models"][0]["protocols"]
    assert all("bins" not in one and "tied_share" not in one for one in found)


@pytest.mark.parametrize("command", ["calibration", "explain", pytest.param("audit", marks=pytest.mark.slow)])
def test_each_command_that_prints_a_score_prints_what_is_wrong_with_the_file(command: str, tmp_path: Path) -> None:
    """Boxes in thousandths and other mistakes were named by ``shoe score`` only."""
    table = shoe.read_predictions(PREDICTIONS["detector"])
    table = replace(table, human_boxes=table.human_boxes / 2, object_boxes=table.object_boxes / 2)
    table = table.select_images(np.arange(len(table.images)) < 120)
    shoe.write_predictions(table, tmp_path / "half.csv", "csv")
    words = [command, tmp_path / "half.csv", "-g", TRUTH, *(["-p", "hico-det"] if command != "audit" else [])]
    found = as_json(*words)
    notes = found["models"][0]["notes"] if command == "calibration" else found["notes"]
    assert any(line.startswith("boxes: ") and "resized:scale=0.5" in line for line in notes)
    assert any(line.startswith("120 of 200 images") for line in notes)
    if command != "audit":
        printed = run(*words).stdout
        assert all(line in printed for line in notes)


def test_notes_of_several_files_name_the_file_and_unfit_scores_are_explained(tmp_path: Path) -> None:
    table = shoe.read_predictions(PREDICTIONS["detector"])
    paths = [tmp_path / "fractions.csv", tmp_path / "percent.csv"]
    for path, factor in zip(paths, (1, 100), strict=True):
        shoe.write_predictions(replace(table, score=factor * table.score), path, "csv")
    done = run("calibration", *paths, "-g", TRUTH)
    assert re.search(r"percent: .* 90\.", done.stdout), done.stderr
    assert not any(text in done.stdout for text in ("fractions:", "from 0 to 1"))
    for path, conversion, is_odd in ((paths[0], "sigmoid", True), (paths[1], "percent", False)):
        found = as_json("calibration", path, "-g", TRUTH, "-p", "hico-det", "--scores", conversion)["models"][0]
        assert [conversion in line for line in found["notes"] if "already from 0" in line] == [True] * is_odd
