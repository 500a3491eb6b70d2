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


@pytest.mark.parametrize("form", ["Person {}:\n{}\n", "**Person {}**\n```json\n{}\n```\n", "Pair #{}: {}\n"])
def test_lists_under_numbered_headings_are_parts_of_one_answer(tmp_path: Path, form: str) -> None:
    first = [BOXES | HORSE | {"verb": verb} for verb in ("ride", "pet")]
    second = [{"human_box": [5, 5, 70, 70], "object_box": THING, "verb": "feed", **HORSE}]
    reply, same = (form.format(1, json.dumps(first)) + form.format(n, json.dumps(second)) for n in (2, 1))
    assert read(tmp_path, reply)[0] == [RIDE, ("pet", "horse"), FEED]
    assert len(read(tmp_path, same)[0]) < 3
