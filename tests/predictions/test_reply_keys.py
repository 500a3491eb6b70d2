"""Replies with several keys or values for one word: names and descriptions, lists of verbs, alternatives, scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.predictions import read_predictions_with_notes
from shoe.predictions.notes import ReadNotes

HUMAN, THING = [0, 0, 90, 90], [10, 10, 50, 50]
BOXES = {"human_box": HUMAN, "object_box": THING}
RIDE, FEED = ("ride", "horse"), ("feed", "horse")


def read(tmp_path: Path, reply: Any) -> tuple[list[tuple[str, str]], list[float], ReadNotes]:
    text = reply if isinstance(reply, str) else json.dumps([reply])
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"image": "a.jpg", "response": text}) + "\n")
    table, notes = read_predictions_with_notes(path)
    found = [(table.verbs[v], table.objects[o]) for v, o in zip(table.verb, table.object, strict=True)]
    return found, table.score.tolist(), notes


@pytest.mark.parametrize(
    "words",
    [
        {"object_color": "red", "object": "horse"},
        {"object_state": "moving", "object_name": "horse"},
        {"object_category": "animal", "object_name": "horse"},
        {"object_type": "animal", "object_class": "horse"},
        {"object_attributes": ["red", "large"], "object": "horse"},
        {"object": "horse", "object_attributes": {"color": "red"}},
        {"object_class": "horse"},
    ],
)
def test_the_name_of_the_object_is_read_before_its_descriptions(tmp_path: Path, words: dict[str, Any]) -> None:
    assert read(tmp_path, words | BOXES | {"verb": "ride"})[0] == [RIDE]


@pytest.mark.parametrize(
    "words",
    [
        {"type": "animal", "label": "horse"},
        {"category": "animal", "name": "horse"},
        {"name": "horse_1", "class": "horse"},
        {"color": "red", "label": "horse"},
    ],
)
def test_the_name_beside_a_box_is_read_before_its_class(tmp_path: Path, words: dict[str, str]) -> None:
    item = {"human": {"bbox": HUMAN}, "object": words | {"bbox": THING}, "action": "ride"}
    assert read(tmp_path, item)[0] == [RIDE]


@pytest.mark.parametrize("key", ["interaction", "hoi", "relation"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["ride", "feed"], [RIDE, FEED]),
        (["ride horse", "feed horse"], [RIDE, FEED]),
        (["ride", "horse"], [RIDE]),
    ],
)
def test_a_list_of_two_is_two_verbs_or_a_verb_and_its_object(
    tmp_path: Path, key: str, value: list[str], expected: list[tuple[str, str]]
) -> None:
    if (key, value[1]) != ("relation", "horse"):
        assert read(tmp_path, BOXES | {key: value, "object": "horse"})[0] == expected


def test_two_relations_with_ids_are_both_read(tmp_path: Path) -> None:
    reply = {
        "persons": [{"id": "p0", "box": HUMAN}],
        "objects": [{"id": "o0", "label": "horse", "box": THING}],
        "hoi": ["p0 ride o0", "p0 feed o0"],
    }
    assert read(tmp_path, reply)[0] == [RIDE, FEED]


@pytest.mark.parametrize("key", ["alternatives", "top_k", "runner_up", "details"])
@pytest.mark.parametrize("value", [[{"verb": "kick", "score": 0.1}], {"verb": "kick", "score": 0.1}])
def test_the_verb_of_an_item_is_read_before_verbs_inside_other_keys(tmp_path: Path, key: str, value: Any) -> None:
    found, _, notes = read(tmp_path, BOXES | {"verb": "ride", "object": "horse", key: value})
    assert (found, key in notes.unread) == ([RIDE], True)


@pytest.mark.parametrize(
    "words",
    [
        {"relation_type": "physical contact", "verb": "ride"},
        {"action": "ride", "action_type": "dynamic"},
        {"verb": "ride", "verb_tense": "present"},
        {"verb": "ride", "similar_verbs": ["straddle", "drive"]},
        {"initial_verb": "kick", "final_verb": "ride"},
        {"interaction": "ride", "action_category": "sports"},
    ],
)
def test_descriptions_of_the_verb_are_no_further_verbs(tmp_path: Path, words: dict[str, Any]) -> None:
    found, _, notes = read(tmp_path, BOXES | {"object": "horse"} | words)
    assert (found, len(notes.unread)) == ([RIDE], 1)


@pytest.mark.parametrize("key", ["action_type", "verb_class", "human_action"])
def test_a_description_without_another_verb_is_the_verb(tmp_path: Path, key: str) -> None:
    assert read(tmp_path, BOXES | {"object": "horse", key: "ride"})[0] == [RIDE]


@pytest.mark.parametrize(
    "scores",
    [
        {"detection_score": 0.8, "interaction_score": 0.3},
        {"localization_score": 0.8, "relation_score": 0.3},
        {"visual_score": 0.8, "text_score": 0.7, "final_score": 0.3},
        {"box_confidence": 0.8, "confidence": 0.3},
        {"score": 0.3, "verb_score": 0.8},
    ],
)
def test_the_score_of_the_interaction_is_read_before_other_scores(tmp_path: Path, scores: dict[str, float]) -> None:
    assert read(tmp_path, BOXES | {"verb": "ride", "object": "horse"} | scores)[1] == [0.3]


@pytest.mark.parametrize(
    "lines",
    [
        "Verbs: ride, feed",
        "Interactions: riding; feeding",
        "Action: riding, feeding",
        "verbs: [ride, feed]",
        "verbs: ['ride', 'feed']",
        "verbs:\n  - ride\n  - feed",
        "**Actions**:\n- riding\n- feeding",
    ],
)
def test_lists_of_verbs_in_lines_are_read_completely(tmp_path: Path, lines: str) -> None:
    found = read(tmp_path, f"human_box: {HUMAN}\nobject_box: {THING}\nobject: horse\n{lines}")[0]
    assert [(verb.replace("riding", "ride").replace("feeding", "feed"), thing) for verb, thing in found] == [RIDE, FEED]


@pytest.mark.parametrize(
    "line",
    ["riding it, facing left, smiling", "riding, with both hands", "riding, high confidence", "riding, sure: yes"],
)
def test_details_behind_a_verb_are_no_verbs(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, f"human_box: {HUMAN}\nobject_box: {THING}\nobject: horse\nverb: {line}")[0]
    assert found == [("riding", "horse")]


def test_line_breaks_in_a_cell_separate_verbs(tmp_path: Path) -> None:
    table = f"| Person | Object | Box | Verbs |\n|---|---|---|---|\n| {HUMAN} | horse | {THING} | ride<br/>feed |"
    assert read(tmp_path, table)[0] == [RIDE, FEED]


@pytest.mark.parametrize(
    "words",
    [
        {"verb": "ride", "human_action": "looking at camera"},
        {"verb": "ride", "other_verbs": ["kick"]},
        {"verb": "ride", "candidate_verbs": ["kick"]},
        {"primary_action": "ride", "secondary_action": "looking at camera"},
    ],
)
def test_acts_of_the_person_and_other_candidates_are_no_further_verbs(tmp_path: Path, words: dict[str, Any]) -> None:
    found, _, notes = read(tmp_path, BOXES | {"object": "horse"} | words)
    assert (found, len(notes.unread)) == ([RIDE], 1)


def test_a_second_action_on_the_object_is_a_second_prediction(tmp_path: Path) -> None:
    item = BOXES | {"object": "horse", "primary_action": "ride", "secondary_action": "feed"}
    assert read(tmp_path, item)[0] == [RIDE, FEED]


@pytest.mark.parametrize("form", ["Person {}:\n{}\n", "**Person {}**\n```json\n{}\n```\n", "Pair #{}: {}\n"])
def test_lists_under_numbered_headings_are_parts_of_one_answer(tmp_path: Path, form: str) -> None:
    first = [BOXES | {"verb": verb, "object": "horse"} for verb in ("ride", "pet")]
    second = [{"human_box": [5, 5, 70, 70], "object_box": THING, "verb": "feed", "object": "horse"}]
    reply = form.format(1, json.dumps(first)) + form.format(2, json.dumps(second))
    assert read(tmp_path, reply)[0] == [RIDE, ("pet", "horse"), FEED]
    same = form.format(1, json.dumps(first)) + form.format(1, json.dumps(second))
    assert len(read(tmp_path, same)[0]) < 3


@pytest.mark.parametrize("keys", [("person1_bbox", "person2_bbox"), ("person_1", "person_2")])
def test_the_object_of_two_person_boxes_is_a_person(tmp_path: Path, keys: tuple[str, str]) -> None:
    item = dict(zip(keys, (HUMAN, THING), strict=True))
    assert read(tmp_path, item | {"interaction": "hugging"})[0] == [("hugging", "person")]
    table = f"| Person A | Interaction | Person B |\n|---|---|---|\n| {HUMAN} | hugging | {THING} |"
    assert read(tmp_path, table)[0] == [("hugging", "person")]


@pytest.mark.parametrize("phrase", ["stand on boat", "person -> stand on -> boat", "stand on the boat"])
def test_the_base_form_of_a_posture_is_the_verb_of_a_label(tmp_path: Path, phrase: str) -> None:
    assert read(tmp_path, BOXES | {"phrase": phrase})[0] == [("stand on", "boat")]


def test_indented_keys_under_a_person_keep_the_side_that_they_name(tmp_path: Path) -> None:
    fields = f"    human_box: {HUMAN}\n    object_box: {THING}\n    object: horse\n    verb: "
    assert read(tmp_path, f"Person 1:\n{fields}ride\n\nPerson 2:\n{fields}feed")[0] == [RIDE, FEED]
