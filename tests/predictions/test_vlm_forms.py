"""Every form of an answer holds the same two interactions, and rows name the record and item that they come from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions, read_predictions_with_notes
from shoe.predictions.formats.vlm import read_vlm
from shoe.predictions.source import open_source
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


def test_rows_name_their_records_and_items(tmp_path: Path) -> None:
    """Replies of several items each, between a structured record, a sentence and a reply that is cut."""
    pairs = [{"human_box": [i, 10, 90, 80], "object_box": [20, i, 99, 70]} for i in range(4)]
    said: list[dict[str, Any]] = [
        *({"verb": "riding", "object": "horse"}, {"verb": "being used by", "object": "person"}),
        *({"verb": "not riding", "object": "horse"}, {"verb": "wash and hold", "object": "cup", "score": 0.5}),
    ]
    items: list[dict[str, Any]] = [{**box, **verb} for box, verb in zip(pairs, said, strict=True)]
    things = [{"verb": "hold", "object": "cup", "bbox": [5, 6, 70, 80]}] * 2
    tokens = "<ref>man</ref><box>[[1, 2, 3, 4]]</box> on <ref>bed</ref><box>[[5, 6, 7, 8]]</box>"
    records: list[dict[str, Any]] = [
        {"image": f"{i % 9}.jpg", "response": orjson.dumps(items[: 1 + i % 4]).decode()} for i in range(60)
    ]
    records[30:30] = [
        {"image": "a.jpg", **items[0]},
        {"image": "b.jpg", "human_box": [1, 2, 30, 40], "objects": things},
        {"image": "c.jpg", "response": tokens},
        {"image": "d.jpg", "response": orjson.dumps(items).decode()[:240]},
    ]
    path = write_lines(tmp_path / "replies.jsonl", *records)
    rows = read_vlm(open_source(path, benchmark("hico-det")))
    assert rows.place is not None
    places = [rows.place(row) for row in range(len(rows.image))]
    assert places[:3] == ["line 1, item 1", "line 2, item 1", "line 2, item 2"]
    assert [place for place in places if place[:7] in ("line 28", "line 31", "line 32")] == [
        *("line 28, item 1", "line 28, item 2", "line 28, item 4", "line 28, item 4"),
        *("line 31", "line 32, item 1", "line 32, item 2"),
    ]
    assert places == sorted(places, key=lambda place: int(place.split(",")[0][5:]))


# Which box is the person's if both are persons, and replies that name no interaction at all

FIRST, SECOND = [328, 83, 974, 989], [12, 94, 593, 984]
BOXES = {"human_box": FIRST, "object_box": SECOND}
ROLES = {"subject_box": FIRST, "object_box": SECOND}
PERSONS = {"person_bbox": FIRST, "object_bbox": SECOND}


def read_texts(folder: Path, *replies: Any, **options: Any) -> tuple[Interactions, ReadNotes]:
    texts = (reply if isinstance(reply, str) else json.dumps(reply) for reply in replies)
    return read_replies(folder, *texts, **options)


@pytest.mark.parametrize("key", ["bbox", "box", "bbox_2d"])
@pytest.mark.parametrize("thing", ["person", "woman", "child"])
@pytest.mark.parametrize("outer", [{"persons": None}, {"people": None}, {"label": "person"}, {"label": "woman"}])
def test_the_outer_person_acts_on_the_inner_one(tmp_path: Path, key: str, thing: str, outer: dict[str, Any]) -> None:
    inner = {key: FIRST, "interactions": [{"verb": "hugging", "object": thing, key: SECOND}]}
    reply = [outer | inner] if "label" in outer else {next(iter(outer)): [inner]}
    table, _ = read_texts(tmp_path, reply, boxes="xyxy")
    assert (table.objects, *boxes(table)) == ((thing,), [FIRST], [SECOND])


@pytest.mark.parametrize(
    ("reply", "verb", "thing"),
    [
        ([{"subject": "child", **ROLES, "predicate": "held by", "object": "woman"}], "held", "child"),
        ([{"person": "boy", **PERSONS, "verb": "being fed by", "object": "mother"}], "fed", "boy"),
        ([{**BOXES, "verb": "is kissed by", "object": "woman"}], "kissed", "person"),
        ([{**BOXES, "phrase": "a man is hugged by a woman"}], "hugged", "man"),
        (f"child {FIRST} carried by man {SECOND}", "carried", "child"),
    ],
)
def test_a_passive_between_persons_is_turned(tmp_path: Path, reply: Any, verb: str, thing: str) -> None:
    table, notes = read_texts(tmp_path, reply, boxes="xyxy")
    assert (words(table), *boxes(table), notes.count("turned")) == ([(verb, thing)], [SECOND], [FIRST], 1)


@pytest.mark.parametrize(
    ("said", "thing"),
    [
        ({"verb": "standing by", "object": "woman"}, "woman"),
        ({"phrase": "child is held by woman", "object": "child"}, "child"),
        ({"verb": "holding", "object": "child"}, "child"),
    ],
)
def test_other_relations_between_persons_are_not_turned(tmp_path: Path, said: dict[str, str], thing: str) -> None:
    table, _ = read_texts(tmp_path, [BOXES | said], boxes="xyxy")
    assert (table.objects, table.human_boxes.tolist()) == ((thing,), [FIRST])


OF_TEXT = '"human_box": [100,50,300,400], "object_box": [200,150,420,470]'


@pytest.mark.parametrize(
    "form",
    [
        "person<loc_100><loc_50><loc_300><loc_400>THING<loc_200><loc_150><loc_420><loc_470>",
        "<ref>person</ref><box>[[100,50,300,400]]</box><ref>THING</ref><box>[[200,150,420,470]]</box>",
        *("person[100,50,300,400] THING[200,150,420,470]", "person [100,50,300,400], THING [200,150,420,470]"),
        "There is a person [100,50,300,400] and a THING [200,150,420,470].",
        "person: [100,50,300,400]\nTHING: [200,150,420,470]",
        '[{"bbox_2d": [100,50,300,400], "label": "person"}, {"bbox_2d": [200,150,420,470], "label": "THING"}]',
        *(f'[{{{OF_TEXT}, "object": "THING"}}]', f'[{{{OF_TEXT}, "interaction": "person THING"}}]'),
        f'[{{{OF_TEXT}, "verb": "THING", "object": "THING"}}]',
        f'[{{{OF_TEXT}, "verb": "person THING", "object": "THING"}}]',
        f'[{{{OF_TEXT}, "phrase": "No, a man.", "object": "man"}}]',
    ],
)
def test_detections_are_refused(tmp_path: Path, form: str) -> None:
    things = ["bicycle", "motorcycle", "horse", "boat", "couch", "skateboard", "cup", "dog", "bench", "bus", "kite"]
    replies, sizes = (form.replace("THING", thing) for thing in things), {f"{i}.jpg": (640, 480) for i in range(11)}
    with pytest.raises(InputError) as refused:
        read_texts(tmp_path, *replies, sizes=sizes)
    assert "\n" not in str(refused.value)


def test_a_cut_reply_loses_one_item(tmp_path: Path) -> None:
    box = {"bbox": {"x1": 10, "y1": 20, "x2": 300, "y2": 400}}
    item = {"person": box, "action": "riding", "object": {"label": "horse", **box}}
    whole = json.dumps({"interactions": [item, item]}, indent=2)
    cuts = [whole[: whole.rindex('"y2"') + 4], whole[: whole.rindex('"label"')], whole[: whole.index('"y2"')]]
    assert read_texts(tmp_path, whole, *cuts)[1].examples("left_out") == {"incomplete": 3}
