"""Which box is the person's if both are persons, and replies that name no interaction at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from tests.predictions.reading import boxes, read_replies as read, words

FIRST, SECOND = [328, 83, 974, 989], [12, 94, 593, 984]
BOXES = {"human_box": FIRST, "object_box": SECOND}
ROLES = {"subject_box": FIRST, "object_box": SECOND}
PERSONS = {"person_bbox": FIRST, "object_bbox": SECOND}


@pytest.mark.parametrize("key", ["bbox", "box", "bbox_2d"])
@pytest.mark.parametrize("thing", ["person", "woman", "child"])
@pytest.mark.parametrize("outer", [{"persons": None}, {"people": None}, {"label": "person"}, {"label": "woman"}])
def test_the_outer_person_acts_on_the_inner_one(tmp_path: Path, key: str, thing: str, outer: dict[str, Any]) -> None:
    inner = {key: FIRST, "interactions": [{"verb": "hugging", "object": thing, key: SECOND}]}
    reply = [outer | inner] if "label" in outer else {next(iter(outer)): [inner]}
    table, _ = read(tmp_path, reply, boxes="xyxy")
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
    table, notes = read(tmp_path, reply, boxes="xyxy")
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
    table, _ = read(tmp_path, [BOXES | said], boxes="xyxy")
    assert (table.objects, table.human_boxes.tolist()) == ((thing,), [FIRST])


PAIR = '"human_box": [100,50,300,400], "object_box": [200,150,420,470]'


@pytest.mark.parametrize(
    "form",
    [
        "person<loc_100><loc_50><loc_300><loc_400>THING<loc_200><loc_150><loc_420><loc_470>",
        "<ref>person</ref><box>[[100,50,300,400]]</box><ref>THING</ref><box>[[200,150,420,470]]</box>",
        "person[100,50,300,400] THING[200,150,420,470]",
        "person [100,50,300,400], THING [200,150,420,470]",
        "There is a person [100,50,300,400] and a THING [200,150,420,470].",
        "person: [100,50,300,400]\nTHING: [200,150,420,470]",
        '[{"bbox_2d": [100,50,300,400], "label": "person"}, {"bbox_2d": [200,150,420,470], "label": "THING"}]',
        f'[{{{PAIR}, "object": "THING"}}]',
        f'[{{{PAIR}, "interaction": "person THING"}}]',
        f'[{{{PAIR}, "verb": "THING", "object": "THING"}}]',
        f'[{{{PAIR}, "verb": "person THING", "object": "THING"}}]',
        f'[{{{PAIR}, "phrase": "No, a man.", "object": "man"}}]',
    ],
)
def test_detections_are_refused(tmp_path: Path, form: str) -> None:
    things = ["bicycle", "motorcycle", "horse", "boat", "couch", "skateboard", "cup", "dog", "bench", "bus", "kite"]
    with pytest.raises(InputError) as refused:
        read(
            tmp_path,
            *(form.replace("THING", thing) for thing in things),
            sizes={f"{i}.jpg": (640, 480) for i in range(len(things))},
        )
    assert "\n" not in str(refused.value)


def test_a_cut_reply_loses_one_item(tmp_path: Path) -> None:
    box = {"bbox": {"x1": 10, "y1": 20, "x2": 300, "y2": 400}}
    item = {"person": box, "action": "riding", "object": {"label": "horse", **box}}
    whole = json.dumps({"interactions": [item, item]}, indent=2)
    cuts = [whole[: whole.rindex('"y2"') + 4], whole[: whole.rindex('"label"')], whole[: whole.index('"y2"')]]
    assert read(tmp_path, whole, *cuts)[1].examples("left_out") == {"incomplete": 3}
