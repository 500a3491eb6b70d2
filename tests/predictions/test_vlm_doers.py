"""Which box is the person's if both are persons, and replies that name no interaction at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.predictions import read_predictions, read_predictions_with_notes

FIRST, SECOND = [328, 83, 974, 989], [12, 94, 593, 984]


def reply_file(folder: Path, *replies: Any) -> Path:
    path = folder / "replies.jsonl"
    texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
    path.write_text("".join(json.dumps({"image": f"{i}.jpg", "response": text}) + "\n" for i, text in enumerate(texts)))
    return path


@pytest.mark.parametrize("key", ["bbox", "box", "bbox_2d"])
@pytest.mark.parametrize("thing", ["person", "woman", "child"])
@pytest.mark.parametrize("outer", [{"persons": None}, {"people": None}, {"label": "person"}, {"label": "woman"}])
def test_the_outer_person_acts_on_the_inner_one(tmp_path: Path, key: str, thing: str, outer: dict[str, Any]) -> None:
    inner = {key: FIRST, "interactions": [{"verb": "hugging", "object": thing, key: SECOND}]}
    reply = [outer | inner] if "label" in outer else {next(iter(outer)): [inner]}
    table = read_predictions(reply_file(tmp_path, reply), boxes="xyxy")
    assert table.objects == (thing,)
    assert table.human_boxes.tolist() == [FIRST]
    assert table.object_boxes.tolist() == [SECOND]


@pytest.mark.parametrize(
    ("reply", "verb", "thing"),
    [
        ([{"subject": "child", "subject_box": FIRST, "predicate": "held by", "object": "woman", "object_box": SECOND}],
         "held", "child"),
        ([{"person": "boy", "person_bbox": FIRST, "verb": "being fed by", "object": "mother", "object_bbox": SECOND}],
         "fed", "boy"),
        ([{"human_box": FIRST, "object_box": SECOND, "verb": "is kissed by", "object": "woman"}], "kissed", "person"),
        ([{"human_box": FIRST, "object_box": SECOND, "phrase": "a man is hugged by a woman"}], "hugged", "man"),
        (f"child {FIRST} carried by man {SECOND}", "carried", "child"),
    ],
)  # fmt: skip
def test_a_passive_between_persons_is_turned(tmp_path: Path, reply: Any, verb: str, thing: str) -> None:
    table, notes = read_predictions_with_notes(reply_file(tmp_path, reply), boxes="xyxy")
    assert (table.verbs, table.objects) == ((verb,), (thing,))
    assert table.human_boxes.tolist() == [SECOND]
    assert table.object_boxes.tolist() == [FIRST]
    assert notes.count("turned") == 1


@pytest.mark.parametrize(
    ("words", "thing"),
    [
        ({"verb": "standing by", "object": "woman"}, "woman"),
        ({"phrase": "child is held by woman", "object": "child"}, "child"),
        ({"verb": "holding", "object": "child"}, "child"),
    ],
)
def test_other_relations_between_persons_are_not_turned(tmp_path: Path, words: dict[str, str], thing: str) -> None:
    table = read_predictions(reply_file(tmp_path, [{"human_box": FIRST, "object_box": SECOND, **words}]), boxes="xyxy")
    assert table.objects == (thing,)
    assert table.human_boxes.tolist() == [FIRST]


@pytest.mark.parametrize(
    "form",
    [
        "person<loc_100><loc_50><loc_300><loc_400>{}<loc_200><loc_150><loc_420><loc_470>",
        "<ref>person</ref><box>[[100,50,300,400]]</box><ref>{}</ref><box>[[200,150,420,470]]</box>",
        "person[100,50,300,400] {}[200,150,420,470]",
        "person [100,50,300,400], {} [200,150,420,470]",
        "There is a person [100,50,300,400] and a {} [200,150,420,470].",
        "person: [100,50,300,400]\n{}: [200,150,420,470]",
        '[{{"bbox_2d": [100,50,300,400], "label": "person"}}, {{"bbox_2d": [200,150,420,470], "label": "{}"}}]',
        '[{{"human_box": [100,50,300,400], "object_box": [200,150,420,470], "object": "{}"}}]',
        '[{{"human_box": [100,50,300,400], "object_box": [200,150,420,470], "interaction": "person {0}"}}]',
        '[{{"human_box": [100,50,300,400], "object_box": [200,150,420,470], "verb": "{0}", "object": "{0}"}}]',
        '[{{"human_box": [100,50,300,400], "object_box": [200,150,420,470], "verb": "person {0}", "object": "{0}"}}]',
        '[{{"human_box": [100,50,300,400], "object_box": [200,150,420,470], "phrase": "No, a man.", "object": "man"}}]',
    ],
)
def test_detections_are_refused(tmp_path: Path, form: str) -> None:
    things = ["bicycle", "motorcycle", "horse", "boat", "couch", "skateboard", "cup", "dog", "bench", "bus", "kite"]
    path = reply_file(tmp_path, *map(form.format, things))
    with pytest.raises(InputError) as refused:
        read_predictions(path, sizes={f"{i}.jpg": (640, 480) for i in range(len(things))})
    assert "\n" not in str(refused.value)


def test_a_cut_reply_loses_one_item(tmp_path: Path) -> None:
    box = {"bbox": {"x1": 10, "y1": 20, "x2": 300, "y2": 400}}
    item = {"person": box, "action": "riding", "object": {"label": "horse", **box}}
    whole = json.dumps({"interactions": [item, item]}, indent=2)
    cuts = [whole[: whole.rindex('"y2"') + 4], whole[: whole.rindex('"label"')], whole[: whole.index('"y2"')]]
    _, notes = read_predictions_with_notes(reply_file(tmp_path, whole, *cuts))
    assert notes.examples("left_out") == {"incomplete": 3}
