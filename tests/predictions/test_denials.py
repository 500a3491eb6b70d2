"""Rejected candidates and denied actions are no predictions, and words for no action are the label no_interaction."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.notes import ReadNotes
from shoe.predictions.vlm.boxes import verdict_of

RECORD = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 5, 5], "verb": "ride", "object": "horse"}
LINE = "interaction left out because the file denies it ('is not riding', 'label': 0)"


def read(folder: Path, *records: dict[str, Any]) -> tuple[Interactions, ReadNotes]:
    path = folder / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return read_predictions_with_notes(path)


KEYS = ["label", "present", "exists", "valid", "interacting", "interaction", "is_valid", "response", "answer"]


@pytest.mark.parametrize("key", [*KEYS, "prediction"])
@pytest.mark.parametrize(("no", "yes"), [(0, 1), (False, True), ("no", "yes"), ("No.", "Yes, she rides."), ("0", "1")])
def test_rejected_candidates_are_left_out(tmp_path: Path, key: str, no: Any, yes: Any) -> None:
    """Whatever the score says: it may be the confidence of the answer."""
    table, notes = read(tmp_path, {**RECORD, key: no, "score": 0.9}, {**RECORD, key: yes, "score": 0.4})
    assert (table.verbs, table.objects, table.score.tolist()) == (("ride",), ("horse",), [0.4])
    assert notes.lines() == [f"1 {LINE}"]


def test_verdicts_inside_a_reply_count_alike(tmp_path: Path) -> None:
    items = [{key: value for key, value in {**RECORD, "present": i % 2}.items() if key != "image"} for i in range(4)]
    for reply in (json.dumps(items), items):
        table, notes = read(tmp_path, {"image": "a.jpg", "response": reply})
        assert (len(table), notes.count("denied")) == (2, 2)


def test_the_answer_to_a_question_with_verb_and_boxes_replaces_no_verb(tmp_path: Path) -> None:
    asked = {**RECORD, "question": "Is the person riding the horse?"}
    wrapped = {"choices": [{"message": {"role": "assistant", "content": "No, she leads it."}}]}
    table, notes = read(tmp_path, {**asked, "response": "Yes, she is."}, {**asked, "response": wrapped})
    assert (table.verbs, len(table), notes.count("denied")) == (("ride",), 1, 1)


def test_numbers_that_are_ids_are_no_verdicts(tmp_path: Path) -> None:
    table, notes = read(tmp_path, *({**RECORD, "label": number} for number in (0, 1, 17)))
    assert (len(table), notes.count("denied")) == (3, 0)


def test_tables_with_a_column_of_verdicts(tmp_path: Path) -> None:
    header = "image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object,label"
    for labels, left in (("010", 1), ("017", 3)):
        path = tmp_path / "p.csv"
        path.write_text("\n".join([header, *(f"a.jpg,0,0,9,9,0,0,5,5,ride,horse,{label}" for label in labels)]))
        assert len(read_predictions_with_notes(path)[0]) == left
        flat = [dict(zip(header.split(","), ["a.jpg", *[0, 0, 9, 9] * 2, "ride", "horse", int(i)], strict=True)) for i
                in labels]  # fmt: skip
        table, notes = read(tmp_path, *flat)
        assert (notes.format, len(table), notes.count("denied")) == ("jsonl", left, 3 - left)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "vlm"])
def test_a_denied_verb_is_no_prediction_and_none_is_no_interaction(tmp_path: Path, suffix: str) -> None:
    verbs = ["not ride", "isn't riding", "never rides", "none", "N/A", "no_interaction", "ride", "not interacting"]
    path = tmp_path / f"p.{suffix}"
    rows = Interactions.from_columns(
        images=["a.jpg"], image=[0] * len(verbs), human_boxes=[[0, 0, 9, 9]] * len(verbs), verbs=verbs,
        object_boxes=[[0, 0, 5, 5]] * len(verbs), verb=range(len(verbs)), object=[0] * len(verbs), objects=["horse"],
    )  # fmt: skip
    write_predictions(rows, path, suffix)
    table, notes = read_predictions_with_notes(path)
    assert [table.verbs[verb] for verb in table.verb] == ["no_interaction"] * 3 + ["ride", "not interacting"]
    assert notes.count("denied") == 3
    assert "2 interactions whose verb is 'none', 'N/A' were read as no_interaction" in notes.lines()


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("No", 0), ("**no**", 0), ("No, he walks", 0), ("no\nHe walks", 0), ("yes he is", 1), ("False", 0), (True, 1)],
)
def test_what_means_yes_or_no(text: Any, verdict: float) -> None:
    assert verdict_of(text) == verdict


@pytest.mark.parametrize("text", ["no_interaction", "no person rides", "Nobody", "ride", "yes: [1, 2]", "", None])
def test_what_means_neither(text: Any) -> None:
    assert verdict_of(text) is None


@pytest.mark.parametrize("key", ["expected", "annotations", "ground_truth", "reference"])
@pytest.mark.parametrize("answer", ["", "[]", [], None])
def test_ground_truth_beside_empty_answers_is_never_read(tmp_path: Path, key: str, answer: Any) -> None:
    item = {name: value for name, value in RECORD.items() if name != "image"}
    for truth in ([item], json.dumps([item])):
        with pytest.raises(InputError, match=r"no interaction in any reply|3 of 3 replies contain no interaction"):
            read(tmp_path, *({"image": f"{i}.jpg", "response": answer, key: truth} for i in range(3)))


@pytest.mark.parametrize(
    ("truth", "said"),
    [("gt_verb", "pred_verb"), ("true_verb", "predicted_verb"), ("verb", "model_verb"), ("original_verb", "verb")],
)
def test_a_verb_of_the_ground_truth_beside_the_predicted_verb_is_not_read(
    tmp_path: Path, truth: str, said: str
) -> None:
    without = {key: value for key, value in RECORD.items() if key != "verb"}
    table, _ = read(tmp_path, {**without, truth: "feed", said: "ride"})
    assert (table.verbs, len(table)) == (("ride",), 1)
    path = tmp_path / "table.csv"
    path.write_text(
        f"image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,{truth},{said},gt_object,pred_object,gt_score,pred_score\n"
        "HICO_test2015_00000001.jpg,1,1,20,30,15,5,40,50,feed,ride,dog,horse,1,0.4\n"
    )
    table = read_predictions(path)
    assert (table.verbs, table.objects, table.score.tolist()) == (("ride",), ("horse",), [0.4])


@pytest.mark.parametrize("verb", ["ride", "feed"])
def test_a_reply_counts_whether_or_not_it_equals_the_verb_of_the_question(tmp_path: Path, verb: str) -> None:
    table, _ = read(tmp_path, RECORD | {"response": json.dumps({"verb": verb, "object": "horse"})})
    assert (table.verbs, len(table)) == ((verb,), 1)
