"""The same interactions in other notations are read alike: any layout of a reply, with any harmless change to it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from shoe.predictions import read_predictions

VERBS = {
    "riding": "ride", "holding": "hold", "washing": "wash", "eating": "eat", "sitting on": "sit on",
    "walking": "walk", "kicking": "kick", "feeding": "feed", "drinking with": "drink with", "talking on": "talk on",
}  # fmt: skip
OBJECTS = ["horse", "cup", "car", "pizza", "bench", "dog", "sports ball", "giraffe", "bottle", "cell phone"]
Box = list[int]


class Said(NamedTuple):
    human: Box
    object_box: Box
    verb: str
    thing: str


Scene = list[Said]
BOX = st.tuples(*[st.integers(0, 200)] * 2, *[st.integers(40, 200)] * 2).map(
    lambda at: [at[0], at[1], at[0] + at[2], at[1] + at[3]]
)
SCENES = st.lists(
    st.builds(Said, BOX, BOX, st.sampled_from(sorted(VERBS)), st.sampled_from(OBJECTS)),
    min_size=1,
    max_size=3,
    unique_by=(lambda said: said.thing, lambda said: tuple(said.human), lambda said: tuple(said.object_box)),
)
KEYS = [
    "human_box object_box verb object",
    "person_bbox object_bbox action object_name",
    "subject_box object_box predicate object_label",
    "humanBox objectBox interaction objectCategory",
    "bbox_human bbox_object relationship object_class",
    "h_box o_box act obj_name",
    "subject_bbox target_bbox action_verb target_object",
]


def records(keys: str) -> Callable[[Scene], Any]:
    return lambda scene: [dict(zip(keys.split(), said, strict=True)) for said in scene]


def nested(scene: Scene) -> Any:
    found = []
    for said in scene:
        human, thing = {"label": "person", "box": said.human}, {"label": said.thing, "box": said.object_box}
        found.append({"subject": human, "relation": said.verb, "object": thing})
    return {"interactions": found}


def by_index(scene: Scene) -> Any:
    boxes = [
        {"id": 2 * i + k, "label": ["person", said.thing][k], "bbox": said[k]}
        for i, said in enumerate(scene)
        for k in (0, 1)
    ]
    relations = [{"subject": 2 * i, "predicate": said.verb, "object": 2 * i + 1} for i, said in enumerate(scene)]
    return {"objects": boxes, "relations": relations}


def rows(scene: Scene) -> Any:
    return [["person", said.human, said.verb, said.thing, said.object_box] for said in scene]


def numbered(scene: Scene) -> Any:
    return {
        f"{key}_{i}": value for i, said in enumerate(scene, 1) for key, value in records(KEYS[0])([said])[0].items()
    }


TEXTS: dict[str, str] = {
    "sentence": "A man {0} is {2} a {3} {1}.",
    "fragment": "person {0} {2} {3} {1}",
    "triplet": "<person>{0} - {2} - <{3}>{1}",
    "fields": "Person: {0}\nAction: {2}\nObject: {3}\nObject box: {1}\n",
    "list": "- The person {0} is {2} the {3} {1}.",
    "tags": "<interaction><human_box>{0}</human_box><verb>{2}</verb><object>{3}</object><object_box>{1}</object_box>"
    "</interaction>",
    "yaml": "- human_box: {0}\n  object_box: {1}\n  verb: {2}\n  object: {3}",
}
DATA = {key.split()[2]: records(key) for key in KEYS} | {f.__name__: f for f in (nested, by_index, rows, numbered)}

# Changes that leave the meaning as it is: of data, then of text


def in_other_order(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: in_other_order(data[key]) for key in sorted(data)}
    return [*map(in_other_order, data)] if isinstance(data, list) else data


def with_other_fields(data: Any) -> Any:
    is_list = isinstance(data, list) and isinstance(data[0], dict)
    return [each | {"visibility": "clear"} for each in data] if is_list else data


OF_DATA: dict[str, Callable[[Any], Any]] = {
    "wrapped": lambda data: {"result": data},
    "keys in another order": in_other_order,
    "with other fields": with_other_fields,
}
OF_TEXT: dict[str, Callable[[str], str]] = {
    "underscores": lambda text: re.sub(r"(sports|cell|sitting|talking|drinking) (?=\w)", r"\1_", text),
    "capitals": lambda text: re.sub(r"\b(horse|cup|cell|riding|walking)", lambda word: word[0].capitalize(), text),
    "no blanks": lambda text: re.sub(r"(\d), (\d)", r"\1,\2", text),
    "decimals": lambda text: re.sub(r"(?<=[\[ ])(\d+)(?=[,\]])", r"\1.0", text),
    "fenced": lambda text: f"```\n{text}\n```",
    "introduced": lambda text: f"Here are the human-object interactions in the image:\n\n{text}",
    "thought": lambda text: f"<think>\nThe image shows people. What do they do?\n</think>\n{text}",
    "followed": lambda text: f"{text}\n\nLet me know if you need anything else.",
    "line ends": lambda text: text.replace("\n", "\r\n"),
}


def read(path: Path, reply: str) -> set[tuple[str, str, tuple[float, ...], tuple[float, ...]]]:
    path.write_text(json.dumps({"image": "a.jpg", "response": reply}))
    table = read_predictions(path, boxes="xyxy")
    verbs, things = ([word.lower().replace("_", " ") for word in words] for words in (table.verbs, table.objects))
    boxes = zip(table.human_boxes.tolist(), table.object_boxes.tolist(), strict=True)
    found = zip(table.verb.tolist(), table.object.tolist(), boxes, strict=True)
    return {(VERBS.get(verbs[v], verbs[v]), things[o], tuple(human), tuple(thing)) for v, o, (human, thing) in found}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300, deadline=None)
@given(
    scene=SCENES,
    layout=st.sampled_from([*DATA, *TEXTS]),
    indent=st.sampled_from([None, 2]),
    of_data=st.lists(st.sampled_from(sorted(OF_DATA)), max_size=2, unique=True),
    of_text=st.lists(st.sampled_from(list(OF_TEXT)), max_size=3, unique=True),
)
def test_notations_do_not_change_what_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    scene: Scene,
    layout: str,
    indent: int | None,
    of_data: list[str],
    of_text: list[str],
) -> None:
    if layout in DATA:
        data = DATA[layout](scene)
        for name in of_data:
            data = OF_DATA[name](data)
        reply = json.dumps(data, indent=indent)
    else:
        reply = "\n".join(TEXTS[layout].format(*said) for said in scene)
    for name in sorted(of_text, key=list(OF_TEXT).index):
        reply = OF_TEXT[name](reply)
    expected = {(VERBS[s.verb], s.thing, tuple(map(float, s.human)), tuple(map(float, s.object_box))) for s in scene}
    assert read(tmp_path_factory.getbasetemp() / "reply.json", reply) == expected, reply
