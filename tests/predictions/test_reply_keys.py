"""Replies with several keys or values for one word: names and descriptions, lists of verbs, alternatives, scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.predictions import ReadNotes
from tests.predictions.reading import read_lines, words

HUMAN, THING = [0, 0, 90, 90], [10, 10, 50, 50]
BOXES = {"human_box": HUMAN, "object_box": THING}
RIDE, FEED = ("ride", "horse"), ("feed", "horse")


def read(tmp_path: Path, reply: Any) -> tuple[list[tuple[str, str]], list[float], ReadNotes]:
    text = reply if isinstance(reply, str) else json.dumps([reply])
    table, notes = read_lines(tmp_path, {"image": "a.jpg", "response": text})
    return words(table), table.score.tolist(), notes


HORSE = {"object": "horse"}
NO_BOXES = dict.fromkeys(BOXES)
NAMES: list[dict[str, Any]] = [
    *({"type": "animal", "label": "horse"}, {"category": "animal", "name": "horse"}),
    *({"name": "horse_1", "class": "horse"}, {"color": "red", "label": "horse"}),
]
PERSON = {"human": {"bbox": HUMAN}}
PERSON = {"human": {"bbox": HUMAN}}
IDS = {"persons": [{"id": "p0", "box": HUMAN}], "objects": [{"id": "o0", "label": "horse", "box": THING}]}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        # The name of the object is read before its descriptions and its class.
        ({"object_color": "red", "object": "horse", "verb": "ride"}, [RIDE]),
        ({"object_state": "moving", "object_name": "horse", "verb": "ride"}, [RIDE]),
        ({"object_category": "animal", "object_name": "horse", "verb": "ride"}, [RIDE]),
        ({"object_type": "animal", "object_class": "horse", "verb": "ride"}, [RIDE]),
        ({"object_attributes": ["red", "large"], "object": "horse", "verb": "ride"}, [RIDE]),
        ({"object": "horse", "object_attributes": {"color": "red"}, "verb": "ride"}, [RIDE]),
        ({"object_class": "horse", "verb": "ride"}, [RIDE]),
        *(({**NO_BOXES, **PERSON, "object": name | {"bbox": THING}, "action": "ride"}, [RIDE]) for name in NAMES),
        # A description of the verb is the verb if there is no other.
        *(({key: "ride", **HORSE}, [RIDE]) for key in ("action_type", "verb_class", "human_action")),
        # A list of two is two verbs, or a verb and its object.
        *(({key: ["ride", "feed"], **HORSE}, [RIDE, FEED]) for key in ("interaction", "hoi", "relation")),
        *(({key: ["ride horse", "feed horse"], **HORSE}, [RIDE, FEED]) for key in ("interaction", "hoi", "relation")),
        *(({key: ["ride", "horse"], **HORSE}, [RIDE]) for key in ("interaction", "hoi")),
        # Two relations with IDs, and two actions on the object.
        (NO_BOXES | IDS | {"hoi": ["p0 ride o0", "p0 feed o0"]}, [RIDE, FEED]),
        ({**HORSE, "primary_action": "ride", "secondary_action": "feed"}, [RIDE, FEED]),
        # The object of two person boxes is a person.
        ({**NO_BOXES, "person1_bbox": HUMAN, "person2_bbox": THING, "interaction": "hugging"}, [("hugging", "person")]),
        ({**NO_BOXES, "person_1": HUMAN, "person_2": THING, "interaction": "hugging"}, [("hugging", "person")]),
        # The base form of a posture is the verb of a label.
        ({"phrase": "stand on boat"}, [("stand on", "boat")]),
        ({"phrase": "person -> stand on -> boat"}, [("stand on", "boat")]),
        ({"phrase": "stand on the boat"}, [("stand on", "boat")]),
    ],
)
def test_keys_of_an_item(tmp_path: Path, item: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert read(tmp_path, {key: value for key, value in (BOXES | item).items() if value is not None})[0] == expected


KICK = {"verb": "kick", "score": 0.1}


@pytest.mark.parametrize(
    ("item", "unread"),
    [
        *(({"verb": "ride", key: KICK}, key) for key in ("alternatives", "top_k", "runner_up", "details")),
        *(({"verb": "ride", key: [KICK]}, key) for key in ("alternatives", "top_k", "runner_up", "details")),
        ({"relation_type": "physical contact", "verb": "ride"}, "relation_type"),
        ({"action": "ride", "action_type": "dynamic"}, "action_type"),
        ({"verb": "ride", "verb_tense": "present"}, "verb_tense"),
        ({"verb": "ride", "similar_verbs": ["straddle", "drive"]}, "similar_verbs"),
        ({"initial_verb": "kick", "final_verb": "ride"}, "initial_verb"),
        ({"interaction": "ride", "action_category": "sports"}, "action_category"),
        ({"verb": "ride", "human_action": "looking at camera"}, "human_action"),
        ({"verb": "ride", "other_verbs": ["kick"]}, "other_verbs"),
        ({"verb": "ride", "candidate_verbs": ["kick"]}, "candidate_verbs"),
        ({"primary_action": "ride", "secondary_action": "looking at camera"}, "secondary_action"),
    ],
)
def test_descriptions_and_alternatives_are_no_further_verbs(tmp_path: Path, item: dict[str, Any], unread: str) -> None:
    found, _, notes = read(tmp_path, BOXES | HORSE | item)
    assert (found, [*notes.unread]) == ([RIDE], [unread])


@pytest.mark.parametrize(
    "scores",
    [
        *({"detection_score": 0.8, "interaction_score": 0.3}, {"localization_score": 0.8, "relation_score": 0.3}),
        {"visual_score": 0.8, "text_score": 0.7, "final_score": 0.3},
        *({"box_confidence": 0.8, "confidence": 0.3}, {"score": 0.3, "verb_score": 0.8}),
    ],
)
def test_the_score_of_the_interaction_is_read_before_other_scores(tmp_path: Path, scores: dict[str, float]) -> None:
    assert read(tmp_path, BOXES | HORSE | {"verb": "ride"} | scores)[1] == [0.3]


FIELDS = f"human_box: {HUMAN}\nobject_box: {THING}\nobject: horse\n"
NESTED = FIELDS.replace("\n", "\n    ")
CELLS = "|---|---|---|"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Lists of verbs are read completely.
        *((f"{FIELDS}Verbs: ride, feed", [RIDE, FEED]), (f"{FIELDS}verbs: [ride, feed]", [RIDE, FEED])),
        *((f"{FIELDS}verbs: ['ride', 'feed']", [RIDE, FEED]), (f"{FIELDS}verbs:\n  - ride\n  - feed", [RIDE, FEED])),
        (f"{FIELDS}Interactions: riding; feeding", [("riding", "horse"), ("feeding", "horse")]),
        (f"{FIELDS}Action: riding, feeding", [("riding", "horse"), ("feeding", "horse")]),
        (f"{FIELDS}**Actions**:\n- riding\n- feeding", [("riding", "horse"), ("feeding", "horse")]),
        # Details are no verbs.
        (f"{FIELDS}verb: riding it, facing left, smiling", [("riding", "horse")]),
        (f"{FIELDS}verb: riding, with both hands", [("riding", "horse")]),
        (f"{FIELDS}verb: riding, high confidence", [("riding", "horse")]),
        (f"{FIELDS}verb: riding, sure: yes", [("riding", "horse")]),
        # Line breaks in a cell separate verbs; indented keys under a person keep the side that they name.
        (f"| Person | Noun | Box | Verbs |\n{CELLS}---|\n| {HUMAN} | horse | {THING} | ride<br/>feed |", [RIDE, FEED]),
        (f"Person 1:\n    {NESTED}verb: ride\n\nPerson 2:\n    {NESTED}verb: feed", [RIDE, FEED]),
        (f"| Person A | Interaction | Person B |\n{CELLS}\n| {HUMAN} | hugging | {THING} |", [("hugging", "person")]),
    ],
)
def test_lines_and_cells(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert read(tmp_path, text)[0] == expected


@pytest.mark.parametrize("form", ["Person {}:\n{}\n", "**Person {}**\n```json\n{}\n```\n", "Pair #{}: {}\n"])
def test_lists_under_numbered_headings_are_parts_of_one_answer(tmp_path: Path, form: str) -> None:
    first = [BOXES | HORSE | {"verb": verb} for verb in ("ride", "pet")]
    second = [{"human_box": [5, 5, 70, 70], "object_box": THING, "verb": "feed", **HORSE}]
    reply, same = (form.format(1, json.dumps(first)) + form.format(n, json.dumps(second)) for n in (2, 1))
    assert read(tmp_path, reply)[0] == [RIDE, ("pet", "horse"), FEED]
    assert len(read(tmp_path, same)[0]) < 3
