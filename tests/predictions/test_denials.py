"""Rejected candidates and denied actions are no predictions, and words for no action are the label no_interaction."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import csv, parquet

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.vlm.boxes import verdict_of
from tests.errors import input_error
from tests.predictions.reading import codes, read_lines, write_lines

RECORD = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 5, 5], "verb": "ride", "object": "horse"}
ITEM = {key: value for key, value in RECORD.items() if key != "image"}
WITHOUT_VERB = {key: value for key, value in RECORD.items() if key != "verb"}
ROW = {"image": "a.jpg", **dict.fromkeys(("hx1", "hy1", "ox1", "oy1"), 0), **dict.fromkeys(("hx2", "hy2"), 9)}
ROW |= {"ox2": 5, "oy2": 5, "verb": "ride", "object": "horse"}


KEYS = ["present", "exists", "valid", "interacting", "interaction", "is_valid", "response", "answer"]


@pytest.mark.parametrize("key", [*KEYS, "prediction"])
@pytest.mark.parametrize(
    ("no", "yes"),
    [(0, 1), (False, True), ("no", "yes"), ("No.", "Yes, she rides."), ("0", "1"), ("N", "y"), ("f", "T")],
)
def test_rejected_candidates_are_left_out(tmp_path: Path, key: str, no: Any, yes: Any) -> None:
    """Whatever the score says: it may be the confidence of the answer."""
    table, notes = read_lines(tmp_path, {**RECORD, key: no, "score": 0.9}, {**RECORD, key: yes, "score": 0.4})
    assert (table.verbs, table.objects, table.score.tolist()) == (("ride",), ("horse",), [0.4])
    shown = "('is not riding')" if key in ("response", "answer", "prediction") else f"'{key}' (1)"
    assert (codes(notes), notes.count("denied"), notes.lines()[0].endswith(shown)) == (["denied"], 1, True)


def test_verdicts_inside_a_reply_count_alike(tmp_path: Path) -> None:
    items = [{**ITEM, "present": i % 2} for i in range(4)]
    for reply in (json.dumps(items), items):
        table, notes = read_lines(tmp_path, {"image": "a.jpg", "response": reply})
        assert (len(table), notes.count("denied")) == (2, 2)


def write(folder: Path, form: str, records: list[dict[str, Any]]) -> Path:
    path = folder / f"p.{form}"
    if form not in ("csv", "parquet"):
        return write_lines(path, *records)
    table = pyarrow.Table.from_pylist(records)
    (csv.write_csv if form == "csv" else parquet.write_table)(table, path)
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
    with input_error(f"found {shown},", "yes or no", record=place, field="present"):
        read_predictions(path)


@pytest.mark.parametrize("row", [ROW, RECORD])
def test_a_verdict_that_is_an_object_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    with input_error("an object", record="line 1", field="verdict"):
        read_lines(tmp_path, *[{**row, "verdict": {"present": False}}] * 2)


@pytest.mark.parametrize(("form", "row"), FORMS)
def test_a_verdict_that_denies_all_predictions_is_refused(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    with input_error("'no'", "3 predictions", field="present"):
        read_predictions(write(tmp_path, form, [{**row, "present": 0}] * 3))
    assert len(read_predictions(write(tmp_path, form, [{**row, "present": ""}] * 3))) == 3


@pytest.mark.parametrize(("form", "row"), FORMS)
@pytest.mark.parametrize("key", ["label", "correct", "rejected", "decision", "anything"])
def test_other_keys_with_two_values_are_named_before_all_others(
    tmp_path: Path, form: str, row: dict[str, Any], key: str
) -> None:
    """Whatever the key: "label" may be the ground truth of the prediction."""
    rows = [{**row, "a": i, "b": "x", "c": 1.5 * i, "d": "long", key: i % 2, "score": 0.5} for i in range(6)]
    table, notes = read_predictions_with_notes(write(tmp_path, form, rows))
    assert (len(table), notes.count("denied")) == (6, 0)
    assert {str(value): count for value, count in notes.unread[key].items()} == {"0": 3, "1": 3}
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
    reply = {"response": json.dumps([RECORD]), "model": "m"}
    others = [{"seed": i, "status": ["ok", "rejected"][i % 2], "valid": i > 1} for i in range(4)]
    table, notes = read_lines(tmp_path, *({"image": f"{i}.jpg", **reply, **each} for i, each in enumerate(others)))
    assert (len(table), notes.unread) == (4, {"status": {"ok": 2, "rejected": 2}, "valid": {False: 2, True: 2}})


@pytest.mark.parametrize("key", ["rejected", "non_interactions", "not_present"])
def test_several_lists_of_interactions_are_named(tmp_path: Path, key: str) -> None:
    lists = {"interactions": [ITEM], key: [ITEM, ITEM]}
    for record in ({"image": "a.jpg", **lists}, {"image": "a.jpg", "response": json.dumps(lists)}):
        table, notes = read_lines(tmp_path, record)
        assert (len(table), list(notes.examples("joined"))) == (3, ["interactions", key])
    with input_error(f"'predictions', '{key}'"):
        read_lines(tmp_path, {"predictions": [RECORD], key: [RECORD]})
    assert len(read_lines(tmp_path, {"predictions": [RECORD], "ground_truth": [RECORD, RECORD]})[0]) == 1


ASKED = RECORD | {"question": "Is the person riding the horse?"}
CHOICES = {"choices": [{"message": {"role": "assistant", "content": "No, she leads it."}}]}


@pytest.mark.parametrize(
    ("records", "verb", "denied"),
    [
        ([{**WITHOUT_VERB, "verbs": {"ride": "yes", "clean": "no"}}], "ride", 0),
        ([RECORD | {"response": json.dumps({"verb": "ride", "object": "horse"})}], "ride", 0),
        ([RECORD | {"response": json.dumps({"verb": "feed", "object": "horse"})}], "feed", 0),
        ([ASKED | {"response": "Yes, she is."}, ASKED | {"response": CHOICES}], "ride", 1),
    ],
)
def test_answers_deny_verbs_or_name_another(tmp_path: Path, records: list[Any], verb: str, denied: int) -> None:
    table, notes = read_lines(tmp_path, *records)
    assert (table.verbs, len(table), notes.count("denied")) == ((verb,), 1, denied)


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
    assert (notes.count("denied"), notes.examples("no_action")) == (3, {"none": 1, "N/A": 1})
    assert "'none', 'N/A'" in notes.lines()[codes(notes).index("no_action")]


@pytest.mark.parametrize("verb", ["no contact", "No direct interaction", "no_physical_contact"])
def test_no_contact_is_no_interaction(tmp_path: Path, verb: str) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps(
        {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 5, 5], "verb": verb, "object": "horse"}
    ))  # fmt: skip
    assert read_predictions_with_notes(tmp_path / "p.jsonl")[0].verbs == ("no_interaction",)


NEITHER = ("no_interaction", "no person rides", "Nobody", "ride", "yes: [1, 2]", "", None)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        *(("No", 0), ("**no**", 0), ("No, he walks", 0), ("no\nHe walks", 0), ("yes he is", 1), ("False", 0)),
        *((True, 1), *((text, None) for text in NEITHER)),
    ],
)
def test_what_means_yes_or_no(text: Any, verdict: float | None) -> None:
    assert verdict_of(text) == verdict


@pytest.mark.parametrize("key", ["expected", "annotations", "ground_truth", "reference"])
@pytest.mark.parametrize("answer", ["", "[]", [], None])
def test_ground_truth_beside_empty_answers_is_never_read(tmp_path: Path, key: str, answer: Any) -> None:
    for truth in ([ITEM], json.dumps([ITEM])):
        with pytest.raises(InputError, match=r"no interaction|3 of 3"):
            read_lines(tmp_path, *({"image": f"{i}.jpg", "response": answer, key: truth} for i in range(3)))


@pytest.mark.parametrize(
    ("truth", "said"),
    [("gt_verb", "pred_verb"), ("true_verb", "predicted_verb"), ("verb", "model_verb"), ("original_verb", "verb")],
)
def test_a_verb_of_the_ground_truth_beside_the_predicted_verb_is_not_read(
    tmp_path: Path, truth: str, said: str
) -> None:
    table, _ = read_lines(tmp_path, {**WITHOUT_VERB, truth: "feed", said: "ride"})
    assert (table.verbs, len(table)) == (("ride",), 1)
    path = tmp_path / "table.csv"
    path.write_text(
        f"image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,{truth},{said},gt_object,pred_object,gt_score,pred_score\n"
        "HICO_test2015_00000001.jpg,1,1,20,30,15,5,40,50,feed,ride,dog,horse,1,0.4\n"
    )
    table = read_predictions(path)
    assert (table.verbs, table.objects, table.score.tolist()) == (("ride",), ("horse",), [0.4])


@pytest.mark.parametrize(("form", "row"), FORMS)
def test_images_of_two_folders_with_the_same_name_are_refused(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    same = [{**row, "image": path} for path in ("data/a/x.jpg", "a/x.jpg", "x.jpg", "data\\a\\x.jpg")]
    assert len(read_predictions(write(tmp_path, form, same)).images) == 1
    with input_error("'data/a/x.jpg'", "'b/x.jpg'"):
        read_predictions(write(tmp_path, form, [*same, {**row, "image": "b/x.jpg"}]))


LIST = json.dumps([ITEM, ITEM | {"verb": "wash"}])


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        (f"Draft: {LIST}\nFinal: []", 0),
        (f"Initial:\n```json\n{LIST}\n```\nFinal:\n```json\n[]\n```", 0),
        *((f"{LIST}\n\\boxed{{[]}}", 0), (f"{LIST}\n[]", 0), (f'{LIST}\nCorrected answer: {{"interactions": []}}', 0)),
        *((json.dumps({"draft": [ITEM], "final": []}), 0), (json.dumps({"draft": [], "final": []}), 0)),
        *((f"[]\n{LIST}", 2), (f"Person 1: {LIST}\nPerson 2: []", 2), (f'{LIST}\n{{"warnings": []}}', 2)),
        (json.dumps({"interactions": [ITEM], "notes": []}), 1),
    ],
)
def test_an_empty_last_list_denies_the_draft(tmp_path: Path, reply: str, count: int) -> None:
    """But an empty list of another person or of other content does not."""
    table, _ = read_lines(tmp_path, {"image": "a.jpg", "response": reply}, {"image": "b.jpg", "response": [ITEM]})
    assert (len(table) - 1, len(table.images)) == (count, 2)


DENIED = ("excluded_actions", "negative_actions", "absent_verbs", "not_verbs", "impossible_verbs")


@pytest.mark.parametrize("key", [*DENIED, "previousVerb", "next_action", "rejected_interactions"])
def test_verbs_under_keys_of_denied_actions_are_not_predicted(tmp_path: Path, key: str) -> None:
    for value in ("wash", ["wash", "feed"], [ITEM | {"verb": "wash"}]):
        for record in ({"response": [ITEM | {key: value}]}, {"response": {"interactions": [ITEM], key: value}}):
            table, notes = read_lines(tmp_path, {"image": "a.jpg", **record})
            assert (table.verbs, len(table), [*notes.unread]) == (("ride",), 1, [key])


def test_a_column_of_denied_verbs_is_not_the_verb_and_a_label_is_named(tmp_path: Path) -> None:
    row = {"previous_action": "wash", **{"action" if key == "verb" else key: value for key, value in ROW.items()}}
    table, notes = read_predictions_with_notes(write(tmp_path, "csv", [row]))
    assert (table.verbs, [*notes.unread]) == (("ride",), ["previous_action"])
    _, notes = read_lines(tmp_path, *(RECORD | {"label": word} for word in ("yes", "no", "no")))
    assert notes.unread["label"] == {"yes": 1, "no": 2}


def test_negative_coordinates_in_prose_are_those_of_the_interaction(tmp_path: Path) -> None:
    reply = "A person [-4, 18, 100, 97] is riding the horse [59, 29, 102, 72]."
    table, notes = read_lines(tmp_path, {"image": "a.jpg", "response": reply})
    assert (table.human_boxes.tolist(), notes.count("unused_boxes")) == ([[-4, 18, 100, 97]], 0)
    _, notes = read_lines(tmp_path, {"image": "a.jpg", "response": f"{reply} Also [-1, 2, 30, 40]."})
    assert notes.count("unused_boxes") == 1
