"""Lines of a reply that name a pair of boxes, with the verb before or after the pair, and drafts above final lists."""

import json
from pathlib import Path

import pytest

from shoe.predictions import read_predictions_with_notes

PERSON, CHAIR, BOOK = "person [0, 0, 90, 90]", "chair [10, 10, 50, 50]", "book [60, 60, 80, 80]"
SIT, HOLD = ("sitting on", "chair", 50.0), ("holding", "book", 80.0)


def read(tmp_path: Path, reply: str) -> list[tuple[str, str, float]]:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"image": "a.jpg", "response": reply}) + "\n")
    table, _ = read_predictions_with_notes(path)
    assert all(box[2] == 90 for box in table.human_boxes)
    rows = zip(table.verb, table.object, table.object_boxes, strict=True)
    return [(table.verbs[verb].lower(), table.objects[thing], float(box[2])) for verb, thing, box in rows]


@pytest.mark.parametrize(
    "line",
    [
        "- **{verb}** – {person}, {thing}",
        "{verb}: {person} and {thing}",
        "{verb}: {thing}, {person}",
        "{verb} → {person} → {thing}",
        "{verb} = ({person}, {thing})",
        "- {verb} ({person}, {thing})",
        "({person}, {thing}): {verb}",
        "1. {person}, {thing} - {verb}",
        "Pair 1: {person}, {thing} -> {verb}",
        "{person} & {thing}\n- {verb}\n",
        "Pair 1: {person}, {thing}\nInteraction: {verb}\n",
    ],
)
def test_the_verb_of_a_pair_is_read_before_behind_and_below_the_pair(tmp_path: Path, line: str) -> None:
    pairs = [("sitting on", CHAIR), ("holding", BOOK)]
    reply = "\n".join(line.format(verb=verb, person=PERSON, thing=thing) for verb, thing in pairs)
    assert read(tmp_path, reply) == [SIT, HOLD]


def test_labels_with_colons_in_parentheses_have_the_verb_of_their_line(tmp_path: Path) -> None:
    reply = f"- sitting on ({PERSON}, {CHAIR})\n- holding ({PERSON}, {BOOK})".replace(" [", ": [")
    assert read(tmp_path, reply) == [SIT, HOLD]


def test_it_is_the_object_that_starts_the_line(tmp_path: Path) -> None:
    reply = f"- {CHAIR}: the {PERSON} is sitting on it.\n- {BOOK}: the {PERSON} is holding it."
    assert read(tmp_path, reply) == [SIT, HOLD]


def test_several_verbs_of_a_pair_are_all_read(tmp_path: Path) -> None:
    twice = [SIT, ("holding", "chair", 50.0)]
    assert read(tmp_path, f"{PERSON}, {CHAIR}\n- sitting on\n- holding") == twice
    assert read(tmp_path, f"sitting on, holding: {PERSON}, {CHAIR}") == twice


def test_a_phrase_before_a_pair_keeps_its_object(tmp_path: Path) -> None:
    assert read(tmp_path, f"- holding book: {PERSON}, {BOOK}") == [HOLD]


def test_a_number_behind_a_pair_is_its_score(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [f"holding: {PERSON}, {BOOK} (0.9)", f"({PERSON}, {CHAIR}): sitting on (0.4)"]
    path.write_text(json.dumps({"image": "a.jpg", "response": "\n".join(lines)}) + "\n")
    assert read_predictions_with_notes(path)[0].score.tolist() == [0.9, 0.4]


@pytest.mark.parametrize(
    ("draft", "final"),
    [
        ("Draft:", "After checking, the correct list:"),
        ("**Initial guess:**", "**Final answer:**"),
        ("First pass:", "Refined:"),
    ],
)
def test_a_draft_above_a_final_list_is_not_read(tmp_path: Path, draft: str, final: str) -> None:
    reply = f"{draft}\n1. {PERSON} - kicking - {CHAIR}\n\n{final}\n1. {PERSON} - sitting on - {CHAIR}"
    assert read(tmp_path, reply) == [SIT]


def test_boxes_under_a_first_heading_are_read_if_the_final_answer_has_none(tmp_path: Path) -> None:
    reply = f"Initial list:\n{PERSON} - sitting on - {CHAIR}\n\nFinal answer: one person sits."
    assert read(tmp_path, reply) == [SIT]
