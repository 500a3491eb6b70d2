"""Rejected candidates and denied actions are no predictions, and words for no action are the label no_interaction."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.notes import ReadNotes
from shoe.predictions.vlm.boxes import verdict_of

RECORD = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 5, 5], "verb": "ride", "object": "horse"}
LINE = "interaction left out because the file denies it"
ROW = {"image": "a.jpg", **dict.fromkeys(("hx1", "hy1", "ox1", "oy1"), 0), **dict.fromkeys(("hx2", "hy2"), 9)}
ROW |= {"ox2": 5, "oy2": 5, "verb": "ride", "object": "horse"}


def read(folder: Path, *records: dict[str, Any]) -> tuple[Interactions, ReadNotes]:
    path = folder / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return read_predictions_with_notes(path)


KEYS = ["present", "exists", "valid", "interacting", "interaction", "is_valid", "response", "answer"]


@pytest.mark.parametrize("key", [*KEYS, "prediction"])
@pytest.mark.parametrize(
    ("no", "yes"),
    [(0, 1), (False, True), ("no", "yes"), ("No.", "Yes, she rides."), ("0", "1"), ("N", "y"), ("f", "T")],
)
def test_rejected_candidates_are_left_out(tmp_path: Path, key: str, no: Any, yes: Any) -> None:
    """Whatever the score says: it may be the confidence of the answer."""
    table, notes = read(tmp_path, {**RECORD, key: no, "score": 0.9}, {**RECORD, key: yes, "score": 0.4})
    assert (table.verbs, table.objects, table.score.tolist()) == (("ride",), ("horse",), [0.4])
    of_key = " ('is not riding')" if key in ("response", "answer", "prediction") else f": no under '{key}' (1)"
    assert notes.lines() == [f"1 {LINE}{of_key}"]


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


def write(folder: Path, form: str, records: list[dict[str, Any]]) -> Path:
    path = folder / f"p.{form}"
    if form == "csv":
        cells = ([str(record[key]) for key in records[0]] for record in records)
        path.write_text("\n".join(map(",".join, [list(records[0]), *cells])))
    elif form == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(records), path)
    else:
        path.write_text("\n".join(map(json.dumps, records)))
    return path


FORMS = [("csv", ROW), ("jsonl", ROW), ("parquet", ROW), ("vlm", RECORD)]


@pytest.mark.parametrize(("form", "row"), FORMS)
def test_a_column_of_verdicts_is_applied_and_counted(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    path = write(tmp_path, form, [{**row, "is_valid": value} for value in (0, 1, 0)])
    table, notes = read_predictions_with_notes(path)
    assert (notes.format, len(table), notes.examples("denied")) == (form, 1, {"is_valid": 2})


@pytest.mark.parametrize(("form", "row"), FORMS)
@pytest.mark.parametrize("value", [-1, 0.1, "partial", "none", 17])
def test_a_verdict_that_is_neither_yes_nor_no_is_refused(
    tmp_path: Path, form: str, row: dict[str, Any], value: Any
) -> None:
    path = write(tmp_path, form, [{**row, "present": each} for each in (type(value)("1"), value)])
    shown = repr(str(value)) if form == "csv" or isinstance(value, str) else str(value)
    place = {"csv": "line 3", "parquet": "record 2"}.get(form, "line 2")
    with pytest.raises(InputError, match=f"{place}: present: found {shown}, expected a verdict: yes or no"):
        read_predictions(path)


@pytest.mark.parametrize("row", [ROW, RECORD])
def test_a_verdict_that_is_an_object_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="line 1: verdict: found an object of 1"):
        read(tmp_path, *[{**row, "verdict": {"present": False}}] * 2)


@pytest.mark.parametrize(("form", "row"), FORMS)
def test_a_verdict_that_denies_all_predictions_is_refused(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="present: found 'no' for all of 3 predictions"):
        read_predictions(write(tmp_path, form, [{**row, "present": 0}] * 3))
    path = write(tmp_path, form, [{**row, "present": ""}] * 3)
    assert len(read_predictions(path)) == 3


@pytest.mark.parametrize(("form", "row"), FORMS)
@pytest.mark.parametrize("key", ["label", "correct", "rejected", "decision", "anything"])
def test_other_keys_with_two_values_are_named_before_all_others(
    tmp_path: Path, form: str, row: dict[str, Any], key: str
) -> None:
    """Whatever the key: "label" may be the ground truth of the prediction."""
    rows = [{**row, "a": i, "b": "x", "c": 1.5 * i, "d": "long", key: i % 2, "score": 0.5} for i in range(6)]
    table, notes = read_predictions_with_notes(write(tmp_path, form, rows))
    assert (len(table), notes.count("denied")) == (6, 0)
    values = {str(value): count for value, count in notes.unread[key].items()}
    assert values == {"0": 3, "1": 3}
    (line,) = notes.lines()
    assert line.startswith("5 ")
    assert line.index(f"{key!r} (0: 3, 1: 3)") < line.index("'b' (x: 6)")


def test_keys_of_class_id_formats_that_are_not_read_are_named(tmp_path: Path) -> None:
    boxes = [{"bbox": [0, 0, 9, 9], "category_id": 0, "score": 0.5}, {"bbox": [0, 0, 5, 5], "category_id": 17}]
    hoi = {"subject_id": 0, "object_id": 1, "category_id": 76, "score": 0.5}
    images = [
        {"filename": f"{i}.jpg", "predictions": boxes, "hoi_prediction": [{**hoi, "keep": i > 0}], "seconds": i / 7}
        for i in range(9)
    ]
    item = {"hoi_id": 150, "sub_bbox": [0, 0, 9, 9], "obj_bbox": [0, 0, 5, 5], "keep": False}
    many = {"...": 4} | {i / 7: 1 for i in range(5)}
    for document, unread in (
        (images, {"hoi_prediction.keep": {False: 1, True: 8}, "seconds": many}),
        ({"HICO_test2015_00000001": [item, item]}, {"keep": {False: 2}}),
    ):
        path = tmp_path / "p.json"
        path.write_text(json.dumps(document))
        table, notes = read_predictions_with_notes(path)
        assert (len(table), notes.unread) == (9 if document is images else 2, unread)


def test_keys_beside_replies_are_named_if_they_have_two_values(tmp_path: Path) -> None:
    records = [
        {
            "image": f"{i}.jpg",
            "response": json.dumps([RECORD]),
            "model": "m",
            "seed": i,
            "status": status,
            "valid": i > 1,
        }
        for i, status in enumerate(["ok", "rejected"] * 2)
    ]
    table, notes = read(tmp_path, *records)
    assert len(table) == 4
    assert notes.unread == {"status": {"ok": 2, "rejected": 2}, "valid": {False: 2, True: 2}}


@pytest.mark.parametrize("key", ["rejected", "non_interactions", "not_present"])
def test_several_lists_of_interactions_are_named(tmp_path: Path, key: str) -> None:
    item = {name: value for name, value in RECORD.items() if name != "image"}
    lists = {"interactions": [item], key: [item, item]}
    for record in ({"image": "a.jpg", **lists}, {"image": "a.jpg", "response": json.dumps(lists)}):
        table, notes = read(tmp_path, record)
        assert (len(table), list(notes.examples("joined"))) == (3, ["interactions", key])
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"predictions": [RECORD], key: [RECORD]}))
    with pytest.raises(InputError, match=f"found records under 'predictions', '{key}', expected one list"):
        read_predictions(path)
    path.write_text(json.dumps({"predictions": [RECORD], "ground_truth": [RECORD, RECORD]}))
    assert len(read_predictions(path)) == 1


def test_verbs_with_yes_or_no_are_those_with_yes(tmp_path: Path) -> None:
    without = {key: value for key, value in RECORD.items() if key != "verb"}
    table, _ = read(tmp_path, {**without, "verbs": {"ride": "yes", "clean": "no"}})
    assert (table.verbs, len(table)) == (("ride",), 1)


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


@pytest.mark.parametrize(("form", "row"), FORMS)
def test_images_of_two_folders_with_the_same_name_are_refused(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    same = [{**row, "image": path} for path in ("data/a/x.jpg", "a/x.jpg", "x.jpg", "data\\a\\x.jpg")]
    assert len(read_predictions(write(tmp_path, form, same)).images) == 1
    with pytest.raises(InputError, match=r"'data/a/x\.jpg' and 'b/x\.jpg', expected only one path"):
        read_predictions(write(tmp_path, form, [*same, {**row, "image": "b/x.jpg"}]))


def test_a_label_beside_an_object_is_named_in_items(tmp_path: Path) -> None:
    path = write(tmp_path, "vlm", [{**RECORD, "label": word} for word in ("yes", "no", "no")])
    assert read_predictions_with_notes(path)[1].unread["label"] == {"yes": 1, "no": 2}


ITEM = {key: value for key, value in RECORD.items() if key != "image"}
LIST = json.dumps([ITEM, ITEM | {"verb": "wash"}])


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        (f"Draft: {LIST}\nFinal: []", 0),
        (f"Initial:\n```json\n{LIST}\n```\nFinal:\n```json\n[]\n```", 0),
        (f"{LIST}\n\\boxed{{[]}}", 0),
        (f"{LIST}\n[]", 0),
        (f'{LIST}\nCorrected answer: {{"interactions": []}}', 0),
        (json.dumps({"draft": [ITEM], "final": []}), 0),
        (json.dumps({"draft": [], "final": []}), 0),
        (f"[]\n{LIST}", 2),
        (f"Person 1: {LIST}\nPerson 2: []", 2),
        (f'{LIST}\n{{"warnings": []}}', 2),
        (json.dumps({"interactions": [ITEM], "notes": []}), 1),
    ],
)
def test_an_empty_last_list_denies_the_draft(tmp_path: Path, reply: str, count: int) -> None:
    """But an empty list of another person or of other content does not."""
    table, _ = read(tmp_path, {"image": "a.jpg", "response": reply}, {"image": "b.jpg", "response": [ITEM]})
    assert (len(table) - 1, len(table.images)) == (count, 2)


DENIED = ("excluded_actions", "negative_actions", "absent_verbs", "not_verbs", "impossible_verbs")


@pytest.mark.parametrize("key", [*DENIED, "previousVerb", "next_action", "rejected_interactions"])
def test_verbs_under_keys_of_denied_actions_are_not_predicted(tmp_path: Path, key: str) -> None:
    for value in ("wash", ["wash", "feed"], [ITEM | {"verb": "wash"}]):
        for record in ({"response": [ITEM | {key: value}]}, {"response": {"interactions": [ITEM], key: value}}):
            table, notes = read(tmp_path, {"image": "a.jpg", **record})
            assert (table.verbs, len(table), [*notes.unread]) == (("ride",), 1, [key])


def test_a_column_of_denied_verbs_is_not_the_verb(tmp_path: Path) -> None:
    row = {"previous_action": "wash", **ROW, "action": "ride"}
    del row["verb"]
    table, notes = read_predictions_with_notes(write(tmp_path, "csv", [row]))
    assert (table.verbs, [*notes.unread]) == (("ride",), ["previous_action"])


def test_negative_coordinates_in_prose_are_those_of_the_interaction(tmp_path: Path) -> None:
    reply = "A person [-4, 18, 100, 97] is riding the horse [59, 29, 102, 72]."
    table, notes = read(tmp_path, {"image": "a.jpg", "response": reply})
    assert (table.human_boxes.tolist(), notes.count("unused_boxes")) == ([[-4, 18, 100, 97]], 0)
    _, notes = read(tmp_path, {"image": "a.jpg", "response": f"{reply} Also [-1, 2, 30, 40]."})
    assert notes.count("unused_boxes") == 1
