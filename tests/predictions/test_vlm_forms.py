"""Every form of an answer holds the same two interactions."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.predictions import read_predictions, read_predictions_with_notes
from tests.errors import input_error
from tests.predictions.reading import boxes, read_lines, read_replies, read_reply, words, write_lines

FOLDER = Path(__file__).resolve().parent.parent / "data" / "vlm"
NAME, SIZE = "HICO_test2015_00000209.jpg", (640, 480)
EXPECTED = [
    ("riding", "horse", [120, 60, 300, 400], [80, 200, 420, 470]),
    ("holding", "umbrella", [440, 90, 560, 440], [400, 20, 610, 160]),
]
# What the content of these does not tell.
UNITS = dict.fromkeys(("shikra", "kosmos2_entities"), "unit") | dict.fromkeys(
    ("cogvlm", "glm_box", "glm_box_inline"), "thousand"
)
PIXELS = {"kosmos2_tokens": 20, "minigptv2": 4}
"""How far off a corner may be, where the numbers are of a coarse grid."""
MAN, HORSE = [1, 2, 30, 40], [5, 6, 70, 80]
PAIR = {"human": MAN, "object": HORSE}


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.[jc]s*")))
def test_a_form_holds_the_interactions(name: str) -> None:
    stem = name.partition(".")[0]
    table, notes = read_predictions_with_notes(FOLDER / name, boxes=UNITS.get(stem), sizes={NAME: SIZE})
    assert notes.format == ("jsonl" if stem == "a_key_a_number" else "vlm")  # flat columns by their own names
    assert table.images == (NAME,)
    found = [(verb.split(" / ")[0], thing.split(" / ")[0]) for verb, thing in words(table)]
    assert sorted(found) == sorted((verb, thing) for verb, thing, _, _ in EXPECTED)
    for row, said in enumerate(found):
        human, thing = next((h, o) for verb, noun, h, o in EXPECTED if (verb, noun) == said)
        apart = np.concatenate([table.human_boxes[row] - human, table.object_boxes[row] - thing])
        assert np.abs(apart).max() <= PIXELS.get(stem, 1)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"response": '<point x="10" y="20">person riding horse</point>'}, "found points"),
        ({"response": '<points coords="1 1 101 202 2 303 404">riding</points>'}, "found points"),
        ({"response": [{"point_2d": [1, 2], "label": "person riding horse"}]}, "found points"),
        ({"response": [{"bbox_2d": [1, 2, 3, 4], "label": "person riding horse"}]}, "one box each"),
        ({"response": "<ref>man riding horse</ref><box>(1,2),(3,4)</box>"}, "1 boxes without words"),
        ({"boxes": [[1, 2, 3, 4]], "logits": [0.5], "phrases": ["man"]}, "expected"),
        ({"image": None, "prompt": "list all", "predict": "[]", "label": "[]"}, "expected"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_the_reason(tmp_path: Path, record: dict[str, Any], found: str) -> None:
    with input_error(found):
        read_lines(tmp_path, *[{key: x for key, x in ({"image": "a.jpg"} | record).items() if x}] * 2)


@pytest.mark.parametrize(
    ("said", "verbs"),
    [
        ("jumping and flipping", ["jumping", "flipping"]),
        ("running, walking & petting", ["running", "walking", "petting"]),
        ("sit on/ride", ["sit on", "ride"]),
        ("moving up and down", ["moving"]),
        ("no interaction", ["no_interaction"]),
    ],
)
def test_a_list_of_verbs_is_as_many_interactions(tmp_path: Path, said: str, verbs: list[str]) -> None:
    table = read_reply(tmp_path, [{"human_box": MAN, "object_box": HORSE, "verb": said, "object": "horse"}])
    assert sorted(words(table)) == sorted((verb, "horse") for verb in verbs)


def test_a_reference_without_a_box_is_counted_as_that(tmp_path: Path) -> None:
    things = [{"id": "P1", "label": "person", "bbox": MAN}, {"id": "O2", "bbox": HORSE}]
    relations = [{"subject": "P1", "predicate": "ride", "object": name} for name in ("O2", "O9")]
    _, notes = read_lines(tmp_path, {"image": "a.jpg", "response": {"objects": things, "relations": relations}})
    assert notes.examples("left_out") == {"reference": 1}
    assert "'O9'" in notes.remarks["left_out"].first


def test_box_tokens_with_numbers_beyond_a_thousand_are_pixels(tmp_path: Path) -> None:
    said = "<ref>A man</ref><box>(100,90),(1240,900)</box> rides <ref>a horse</ref><box>(200,300),(400,700)</box>."
    path = write_lines(tmp_path / "answers.jsonl", {"image": "a.jpg", "response": said})
    table = read_predictions(path, sizes={"a.jpg": (1280, 960)})
    assert boxes(table) == ([[100, 90, 1240, 900]], [[200, 300, 400, 700]])


@pytest.mark.parametrize("keys", [("noun", "act"), ("act", "noun")])
def test_a_key_means_the_same_in_every_item(tmp_path: Path, keys: tuple[str, str]) -> None:
    """Of "board" and "train" alone nobody can say which one is done to the other."""
    said = [("board", "train"), ("stop at", "traffic light"), ("holding", "umbrella"), ("eat", "cake")]
    items = [{"act": verb, "noun": noun} for verb, noun in said]
    ordered = [{"box1": MAN, "box2": HORSE, **{key: item[key] for key in keys}} for item in items]
    assert words(read_reply(tmp_path, orjson.dumps(ordered).decode())) == said


def test_the_first_of_several_answers_counts_and_the_report_says_so(tmp_path: Path) -> None:
    samples = [orjson.dumps([{**PAIR, "verb": verb, "name": "cup"}]).decode() for verb in ("hold", "wash")]
    table, notes = read_lines(tmp_path, {"image": "a.jpg", "samples": samples})
    assert (table.verbs, notes.count("several_answers")) == (("hold",), 1)


def test_a_name_without_relations_is_no_verb(tmp_path: Path) -> None:
    """Two boxes under a key that may be a verb are an interaction; those that relations point to are not."""
    edges = [["person 1", verb, "cup 1"] for verb in ("hold", "wash")]
    table = read_reply(tmp_path, {"nodes": {"person 1": MAN, "cup 1": HORSE}, "edges": edges})
    assert sorted(verb for verb, _ in words(table)) == ["hold", "wash"]


@pytest.mark.parametrize("container", ["results", "output", "data"])
def test_a_container_is_neither_verb_nor_object(tmp_path: Path, container: str) -> None:
    with input_error("'riding'", field="phrase"):
        read_reply(tmp_path, orjson.dumps({container: [{**PAIR, "label": "riding"}]}).decode())


def test_boxes_in_a_row_of_nobody_are_counted(tmp_path: Path) -> None:
    said = "A person [1, 2, 30, 40] rides a horse [5, 6, 70, 80]."
    rows = "[1, 2, 30, 40] carrying [5, 6, 70, 80] (cup) [1, 2, 30, 40] washing [5, 6, 70, 80] (cup)"
    table, notes = read_replies(tmp_path, said, rows)
    assert (len(table), notes.examples("left_out")) == (1, {"words": 1})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (f"{MAN} {HORSE} peel carrot", ("peel", "carrot")),
        (f"{MAN} {HORSE} repairing toaster", ("repairing", "toaster")),
        (f"{MAN}, {HORSE}: A man is riding a horse.", ("riding", "horse")),
        (f"{MAN}, {HORSE}: groom dog", ("groom", "dog")),
        (f"washing(person{MAN}, car{HORSE})", ("washing", "car")),
        (f"- washing car ({MAN}, {HORSE})", ("washing", "car")),
        (f"Interaction 1: A person is flying a kite.\nPerson: {MAN}\nKite: {HORSE}", ("flying", "kite")),
        (f"Flying a kite.\nPerson: {MAN}\nKite: {HORSE}", ("flying", "kite")),
    ],
)
def test_words_beside_two_boxes_are_of_the_person_first(tmp_path: Path, said: str, expected: tuple[str, str]) -> None:
    table = read_reply(tmp_path, said)
    assert (words(table), *boxes(table)) == ([expected], [MAN], [HORSE])


def test_a_clause_behind_the_second_box_is_no_name_of_a_thing(tmp_path: Path) -> None:
    said = "<loc0100><loc0200><loc0300><loc0400> person <loc0120><loc0220><loc0320><loc0420> fly kite"
    assert words(read_reply(tmp_path, said, width=640, height=480)) == [("fly", "kite")]
