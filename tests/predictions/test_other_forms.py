"""Other forms of the same predictions, doubts about wrong IDs, joined models or missing scores, and first lines."""

import gzip
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import shoe
import shoe.demo
from shoe.core.interactions import Interactions, concatenate
from shoe.core.io.inspect_logs import read_log
from shoe.core.io.json import encode
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from tests.errors import input_error
from tests.predictions import samples
from tests.predictions.reading import codes, read_lines, words, write_lines

TRUTH = shoe.read_ground_truth(shoe.demo.TRUTH)
DETECTOR = shoe.demo.PREDICTIONS["detector"]
RECORDS: list[dict[str, Any]] = json.loads(DETECTOR.read_text())
ITEM = {"human_box": [0, 0, 90, 90], "object_box": [10, 10, 50, 50], "verb": "ride", "object": "horse"}
OTHER = {"human_box": [300, 0, 390, 90], "object_box": [310, 10, 350, 50], "verb": "hold", "object": "cup"}
CORNERS = {"hx1": 0, "hy1": 0, "hx2": 90, "hy2": 90, "ox1": 10, "oy1": 10, "ox2": 50, "oy2": 50}
FLAT = {"image": "a.jpg", **CORNERS, "verb": "ride", "object": "horse", "score": 0.5}


def warnings_of(table: Interactions) -> str:
    return "\n".join(shoe.score(table, TRUTH).input_warnings)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cell", ["kiss|pet", "kiss/pet", "kiss, pet", "kiss; pet", "kiss & pet", "['kiss', 'pet']"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "vlm"])
def test_a_cell_with_several_verbs_is_one_triplet_per_verb(tmp_path: Path, cell: str, form: str) -> None:
    path = tmp_path / "a"
    if form == "csv":
        quoted = {key: f'"{value}"' for key, value in (FLAT | {"verb": cell}).items()}
        path.write_text(",".join(quoted) + "\n" + ",".join(quoted.values()) + "\n")
    else:
        write_lines(path, *[({"image": "a.jpg", **ITEM} if form == "vlm" else FLAT) | {"verb": cell}] * 2)
    table, notes = read_predictions_with_notes(path)
    assert words(table)[:2] == [("kiss", "horse"), ("pet", "horse")]
    # The parser of replies reads a list as text, without a note.
    assert notes.count("several_verbs") == (1 if form == "csv" else 0 if form == "vlm" and cell[0] == "[" else 2)


def test_alternatives_and_labels_stay_one_verb(tmp_path: Path) -> None:
    rows = (FLAT | {"verb": verb} for verb in ("sipping from / taking from", "no_interaction", "A,B"))
    assert len(read_lines(tmp_path, *rows)[0]) == 3
    boxes = {name: ITEM[name] for name in ("human_box", "object_box")}
    table, _ = read_lines(tmp_path, {"image": "a.jpg", **boxes, "interaction": ["no_interaction", "chair"]})
    assert words(table) == [("no_interaction", "chair")]


@pytest.mark.parametrize(
    ("turns", "verbs", "code"),
    [
        ([[ITEM], [OTHER]], ["ride", "hold"], "joined_turns"),
        ([[ITEM], [ITEM | {"verb": "wash", "human_box": [2, 1, 92, 90]}]], ["wash"], "earlier_turns"),
    ],
)
def test_turns_about_different_boxes_are_joined(tmp_path: Path, turns: list[Any], verbs: list[str], code: str) -> None:
    pairs = [({"role": "user", "content": "?"}, {"role": "assistant", "content": json.dumps(turn)}) for turn in turns]
    table, notes = read_lines(tmp_path, {"image": "a.jpg", "messages": [message for pair in pairs for message in pair]})
    assert ([verb for verb, _ in words(table)], notes.count(code)) == (verbs, 1)


@pytest.mark.parametrize(
    "reply",
    [
        {"response": "A man [0, 0, 90, 90] rides a horse [10, 10, 50, 50].", "score": 0.25},
        {"response": "A man [0, 0, 90, 90] rides a horse [10, 10, 50, 50]. Confidence: 0.25"},
        {"response": json.dumps([ITEM]), "score": 0.25},
    ],
)
def test_scores_beside_sentences_are_read(tmp_path: Path, reply: dict[str, Any]) -> None:
    other = {"image": "b.jpg", "response": json.dumps([OTHER | {"score": 0.5}])}
    assert read_lines(tmp_path, {"image": "a.jpg", **reply}, other)[0].score[0] == 0.25


def test_confidences_without_an_interaction_of_their_own_are_noted(tmp_path: Path) -> None:
    text = "A man [0, 0, 90, 90] (confidence 0.9) rides a horse [10, 10, 50, 50] (confidence 0.8)."
    _, notes = read_lines(tmp_path, *[{"image": "a.jpg", "response": text}] * 2)
    assert "confidence" in notes.unread or not notes.scores_defaulted


@pytest.mark.parametrize("status", ["cancelled", "success"])
def test_samples_without_an_answer_are_left_out_of_unfinished_logs(tmp_path: Path, status: str) -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": json.dumps([ITEM])}}]}
    samples = [{"id": "a.jpg", "output": answer}, {"id": "b.jpg", "output": {"choices": []}}]
    path = write_lines(tmp_path / "log.json", {"version": 2, "status": status, "eval": {}, "samples": samples})
    left_out = int(status == "cancelled")
    assert read_log(path, path.read_bytes())[1] == left_out
    table, notes = read_predictions_with_notes(path)
    assert (len(table.images), notes.count("unanswered")) == (2 - left_out, left_out)


@pytest.mark.parametrize("field", ["human_boxes", "score", "verb", "image"])
def test_masked_values_are_refused(field: str) -> None:
    table = TRUTH.interactions
    names = ("images", "image", "human_boxes", "object_boxes", "verb", "object", "verbs", "objects", "score")
    columns = {name: getattr(table, name) for name in names}
    every_second = (np.arange(columns[field].size) % 2 == 0).reshape(columns[field].shape)
    columns[field] = np.ma.masked_where(every_second, columns[field])
    with input_error(f"{every_second.sum():,} masked", field=field):
        Interactions.from_columns(**columns)


def test_parquet_with_one_row_per_image_and_scores_as_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    nested = [{"image": "a.jpg", "predictions": [ITEM | {"score": 0.5}, OTHER | {"score": 0.25}]}]
    for rows, scores in ((nested, [0.5, 0.25]), ([FLAT | {"score": "0.5"}, FLAT | {"score": "25%"}], [0.5, 0.25])):
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
        table = read_predictions(tmp_path / "a.parquet")
        assert (table.score.tolist(), table.verbs[0]) == (scores, "ride")


@pytest.mark.parametrize("form", ["results", "by name", "by name, without names inside"])
def test_wrapped_records_of_detectors_are_read(tmp_path: Path, form: str) -> None:
    named = {each["filename"]: each for each in RECORDS}
    inner = {name: {key: each[key] for key in each if key != "filename"} for name, each in named.items()}
    document = {"results": {"model": "m", "results": RECORDS}, "by name": named}.get(form, inner)
    path = write_lines(tmp_path / "a.json", document)
    for format_ in (None, "qpic"):
        assert read_predictions(path, format=format_).equals(read_predictions(DETECTOR))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", ["box_ids", "other_boxes"])
def test_wrong_box_ids_are_named(tmp_path: Path, code: str) -> None:
    records, rng = deepcopy(RECORDS), Random(0)
    for record in records:
        record["predictions"].append({"bbox": [0, 0, 10, 10], "category_id": 0})
        if code == "other_boxes":
            rng.shuffle(record["predictions"])
        for hoi in record["hoi_prediction"] if code == "box_ids" else ():
            hoi |= {key: hoi[key] + 1 for key in ("subject_id", "object_id")}
    read, right = (read_predictions(path) for path in (write_lines(tmp_path / "a.json", records), DETECTOR))
    assert (read.notes.count(code) > 0, right.notes.count(code)) == (True, 0)
    lines = warnings_of(read)
    assert (read.notes.sentence(code) in lines, "swapped" in lines) == (True, False)
    assert "box IDs" not in warnings_of(right)


def test_verb_ids_of_boxes_without_labels_are_named(tmp_path: Path) -> None:
    records, right = deepcopy(RECORDS), samples.gen_vlkt_records(read_predictions(DETECTOR))
    for box in (box for record in records for box in record["predictions"]):
        del box["category_id"]
    read, known = (read_predictions(write_lines(tmp_path / "a.json", each)).notes for each in (records, right))
    assert (read.format, read.count("verbs_as_classes"), known.count("verbs_as_classes")) == ("gen-vlkt", 117, 0)
    assert read.urgent() == [read.sentence("verbs_as_classes")]


def test_a_box_id_beyond_the_last_box_may_count_from_1(tmp_path: Path) -> None:
    records = deepcopy(RECORDS[:2])
    records[0]["hoi_prediction"][0]["object_id"] = len(RECORDS[0]["predictions"])
    with input_error("triplet 1: ", "from 1)", field="object_id"):
        read_predictions(write_lines(tmp_path / "a.json", records))


@pytest.mark.filterwarnings("ignore")
def test_two_models_in_one_file_are_a_doubt(tmp_path: Path) -> None:
    table = read_predictions(DETECTOR)
    write_predictions(table, tmp_path / "a.csv", "csv")
    write_predictions(replace(table, score=table.score / 2), tmp_path / "b.csv", "csv")
    first, second = ((tmp_path / name).read_text() for name in ("a.csv", "b.csv"))
    (tmp_path / "both.csv").write_text(first + second.partition("\n")[2])
    both, alone = (read_predictions(tmp_path / name) for name in ("both.csv", "a.csv"))
    assert both.notes.count("joined_files") >= 190
    assert alone.notes.count("joined_files") == 0
    assert "joins two models" in warnings_of(both)


@pytest.mark.filterwarnings("ignore")
def test_batches_with_and_without_scores_are_a_doubt() -> None:
    table = TRUTH.interactions
    with_scores = table.select_images(np.arange(100))
    with_scores = replace(with_scores, unscored=0, score=np.full(len(with_scores), 0.5))
    without = table.select_images(np.arange(100, 200))
    both = concatenate([with_scores, replace(without, unscored=len(without))])
    assert (both.unscored, both.score.min(), both.score.max()) == (len(without), 0.25, 0.5)
    zero = replace(with_scores, score=np.zeros(len(with_scores)))
    assert concatenate([zero, replace(without, unscored=len(without))]).score.argmin() >= len(zero)
    metric = shoe.Metric(TRUTH)
    metric.update(with_scores)
    metric.update(replace(without, unscored=len(without)))
    assert f" {len(without)} of 621 predictions" in "\n".join(metric.compute().input_warnings)


@pytest.mark.filterwarnings("ignore")
def test_words_that_are_no_labels_are_counted_in_python() -> None:
    table = read_predictions(DETECTOR)
    other = tuple("befriend" if i == table.verb[0] else verb for i, verb in enumerate(table.verbs))
    count = len({*table.verb}) + len({*table.object})
    for each, expected in ((table, 0), (replace(table, verbs=other), 1)):
        lines = [line for line in shoe.score(each, TRUTH).doubts if "no labels" in line]
        assert [f" 1 of {count} " in line for line in lines] == [True] * expected


# Files whose first line says how their predictions were made

FIRST = {"format": "shoe predictions", "version": 1, "says": "boxes of A, words of B", "by": {"score": "product"}}
LINES: list[dict[str, Any]] = [{"image": f"{name}.jpg", **ITEM, "score": s} for name, s in (("a", 0.5), ("b", 0.25))]


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_line_moves_no_triplet_and_is_told(count: int, tmp_path: Path) -> None:
    plain = shoe.read_predictions(write_lines(tmp_path / "plain.jsonl", *LINES[:count]))
    made = shoe.read_predictions(write_lines(tmp_path / "made.jsonl", FIRST, *LINES[:count]))
    assert made.equals(plain)
    assert (made.notes.lines()[:-1], codes(made.notes)[-1]) == (plain.notes.lines(), "predictor")
    assert made.notes.lines()[-1].endswith(f": {FIRST['says']} (sha {made.notes.predictor_digest})")
    # Models are compared: who made them is no part of how they are scored.
    assert made.notes.signature_fields == plain.notes.signature_fields
    (tmp_path / "packed").write_bytes(gzip.compress(b"\n".join(map(encode, (FIRST, *LINES[:count])))))
    assert shoe.read_predictions(tmp_path / "packed").notes.lines() == made.notes.lines()


def test_another_choice_is_another_predictor_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    other = FIRST | {"by": {"score": "mean"}}
    one, two = (shoe.read_predictions(write_lines(tmp_path / "p", first, *LINES)).notes for first in (FIRST, other))
    assert (one.predictor_digest != two.predictor_digest, one.predictor == two.predictor) == (True, True)
    path = write_lines(tmp_path / "p.jsonl", FIRST, LINES[0], LINES[1] | {"score": [1, 2]})
    with input_error("[1, 2]", record="line 3", field="score"):
        shoe.read_predictions(path)
    with input_error("only the first"):
        shoe.read_predictions(write_lines(tmp_path / "empty.jsonl", FIRST))
