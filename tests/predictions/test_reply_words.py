"""Verbs, objects and scores in labels with markup, and in sentences that name the interaction of a pair."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoe.demo
from shoe.scoring.matching.task import Task
from shoe.scoring.score import foreign_words
from tests.predictions.reading import read_lines

BOXES = {"human_box": [0, 0, 90, 90], "object_box": [10, 10, 50, 50]}
LINES = Path(__file__).parents[1].joinpath("data", "reply_words.tsv").read_text("utf-8").splitlines()[1:]


def record_of(form: str, reply: str) -> dict[str, object]:
    """Return a record whose verb or object, item, answer about a pair, or answer with boxes is ``reply``."""
    if form in ("verb", "object"):
        item = {**BOXES, "verb": "holding", "object": "cup"} | {form: reply}
        return {"image": "a.jpg", "response": json.dumps([item])}
    if form == "item":
        return {"image": "a.jpg", "response": json.dumps([BOXES | json.loads(reply)])}
    if form == "reply":
        return {"image": "a.jpg", **BOXES, "object": "cup", "response": reply}
    return {"image": "a.jpg", "response": reply}


def read(folder: Path, form: str, reply: str) -> str:
    """Return "verb, object, score; ..." of a reply, whose H and O are boxes, without assumed scores."""
    reply = reply.replace("\\n", "\n").replace("\\t", "\t")
    if form == "text":
        reply = re.sub(r"\bH\b", "[0, 0, 90, 90]", re.sub(r"\bO\b", "[10, 10, 50, 50]", reply))
    other = {"image": "b.jpg", "response": [{**BOXES, "verb": "hold", "object": "cup", "score": 0.125}]}
    table, _ = read_lines(folder, other, record_of(form, reply))
    rows = zip(table.image, table.verb, table.object, table.score, strict=True)
    found = [(table.verbs[v], table.objects[o], score) for i, v, o, score in rows if table.images[i] == "a.jpg"]
    return "; ".join(f"{v}, {o}" + (f", {s:g}" if s > 0.125 else "") for v, o, s in found) or "-"


@pytest.mark.parametrize("line", LINES)
def test_markup_and_frames_around_a_verb_are_no_words(tmp_path: Path, line: str) -> None:
    form, right, reply = line.split("\t")
    assert read(tmp_path, form, reply) == right


def item(verb: str, object_: str = "cup", shift: int = 0) -> dict[str, object]:
    return {"human_box": [shift, 0, 90, 90], "object_box": [10, 10, 50, 50], "verb": verb, "object": object_}


def test_unclear_replies_to_yes_no_questions_are_left_out_and_counted(tmp_path: Path) -> None:
    for unclear in ("Hard to say", "", "Error: 503"):
        replies = {"hold": "Yes", "wash": "No", "fill": unclear}
        records = ({"image": "a.jpg", **item(verb), "response": reply} for verb, reply in replies.items())
        table, notes = read_lines(tmp_path, *records)
        assert (table.verbs, notes.count("unread"), notes.replies) == (("hold",), 1, 3)


def chat(image: str, *turns: object) -> dict[str, object]:
    texts = [turn if isinstance(turn, str) else json.dumps(turn) for turn in turns]
    pairs = [({"role": "user", "content": "?"}, {"role": "assistant", "content": text}) for text in texts]
    return {"image": image, "messages": [message for pair in pairs for message in pair]}


@pytest.mark.parametrize(
    ("turns", "verbs", "unread"),
    [
        (([item("hold")], "Nothing else, the list is complete."), ["hold"], 0),
        *((([item("hold")], []), ["hold"], 0), (([item("hold")], [item("wash")]), ["wash"], 1)),
        (([item("hold")], [item("wash")], "That is all."), ["wash"], 1),
        (([item("hold")], [item("hold")]), ["hold"], 0),
    ],
)
def test_the_last_turn_with_interactions_is_read(
    tmp_path: Path, turns: list[object], verbs: list[str], unread: int
) -> None:
    table, notes = read_lines(tmp_path, chat("a.jpg", *turns), chat("b.jpg", [item("fill", shift=5)]))
    assert sorted(table.verbs) == sorted([*verbs, "fill"])
    assert notes.count("earlier_turns") == unread == notes.urgent().count(notes.sentence("earlier_turns"))


def test_turns_that_chats_on_several_images_share_are_examples(tmp_path: Path) -> None:
    chats = [chat("a.jpg", [item("fill")], [item("hold")]), chat("b.jpg", [item("fill")], [])]
    table, notes = read_lines(tmp_path, *chats)
    assert (table.verbs, notes.count("earlier_turns")) == (("hold",), 0)


@pytest.mark.parametrize(
    "record",
    [
        {"model_x": json.dumps([item("hold")]), "model_y": json.dumps([item("wash")])},
        {"response": {"attempt 1": [item("hold")], "attempt 2": [item("wash")]}},
        {"response": json.dumps({"stage_a": [item("hold")], "stage_b": [item("wash")]})},
    ],
)
def test_several_answers_in_one_record_are_not_joined(tmp_path: Path, record: dict[str, object]) -> None:
    table, notes = read_lines(tmp_path, {"image": "a.jpg"} | record)
    assert (table.verbs, notes.count("several_answers")) == (("wash",), 1)


TRUTH = shoe.read_ground_truth(shoe.demo.TRUTH)


@pytest.mark.parametrize(
    ("form", "values"), [("{}.v.01", ("match no label", "another word")), ("{}#v", ("match no label",)), ("{}", None)]
)
def test_most_words_with_more_than_a_label_cause_a_warning(form: str, values: tuple[str, ...] | None) -> None:
    table = shoe.read_predictions(shoe.demo.PREDICTIONS["detector"])
    found = foreign_words(Task(replace(table, verbs=tuple(map(form.format, table.verbs))), TRUTH))
    assert [all(value in line for value in values or ()) for line in found] == [True] * (values is not None)


def test_one_verb_that_is_no_label_in_most_predictions_causes_a_warning() -> None:
    table = shoe.read_predictions(shoe.demo.PREDICTIONS["detector"])
    verbs = (*table.verbs, "demonstrates")
    for part, count in ((3, 1), (1, 0)):
        verb = np.where(np.arange(len(table)) % 4 < part, len(table.verbs), table.verb)
        found = foreign_words(Task(replace(table, verbs=verbs, verb=verb), TRUTH))
        assert ["verb 'demonstrates'" in line for line in found] == [True] * count


@pytest.mark.parametrize("name", shoe.demo.PREDICTIONS)
def test_the_demo_has_no_warning_about_its_words(name: str) -> None:
    assert foreign_words(Task(shoe.read_predictions(shoe.demo.PREDICTIONS[name]), TRUTH)) == []
