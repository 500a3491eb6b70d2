"""Replies of known shapes: read sooner, and never otherwise than the general reader reads them."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe.core.errors import InputError
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.vlm import answers, reader
from shoe.predictions.vlm.quick import Quick
from shoe.predictions.vlm.records import record_of
from tests.examples import examples

SAMPLES = sorted((Path(__file__).resolve().parent.parent / "data" / "vlm").glob("*.jsonl"))
VERBS = ["riding", "sitting on", "hold", "being used by", "no_interaction", "walking with", "jump_over", "wash"]
OBJECTS = ["horse", "bench", "dog", "boy", "sports ball", "cell_phone", "pizza box", "woman"]
SIZES = {f"{i}.jpg": (640, 480) for i in range(40)}

Item = tuple[str, str, int]


def box(seed: int) -> list[int]:
    return [seed * 7 % 300, seed * 13 % 200, 320 + seed % 300, 240 + seed % 200]


def in_marks(items: list[Item]) -> str:
    marked = "<ref>{}</ref><box>[{}]</box>"
    lines = [
        f"{marked.format('person', box(i))} {verb} {marked.format(thing, box(i + 50))}" for verb, thing, i in items
    ]
    return "\n".join(lines)


def by_entity(items: list[Item]) -> Any:
    return [
        {
            "person": {"box_2d": box(i), "label": "person"},
            "action": verb,
            "object": {"box_2d": box(i + 50), "label": thing},
        }
        for verb, thing, i in items
    ]


def as_asked(items: list[Item]) -> Any:
    return {
        "interactions": [
            {"human_box": box(i), "object_box": box(i + 50), "verb": verb, "object": thing, "score": 0.5 + i / 1000}
            for verb, thing, i in items
        ]
    }


def by_person(items: list[Item]) -> Any:
    return [
        {"person": {"bbox": box(i)}, "interactions": [{"verb": verb, "object": thing, "bbox": box(i + 50)}]}
        for verb, thing, i in items
    ]


def as_phrase(items: list[Item]) -> Any:
    return [
        {"subject": {"bbox_2d": box(i)}, "object": {"bbox_2d": box(i + 50)}, "phrase": f"{verb} a {thing}"}
        for verb, thing, i in items
    ]


STRUCTURED: list[Callable[[list[Item]], Any]] = [by_entity, as_asked, by_person, as_phrase]


def fenced(value: Any) -> str:
    return f"Here it is:\n```json\n{json.dumps(value)}\n```\nThat is all."


def written(folder: Path, replies: list[Any]) -> Path:
    path = folder / "replies.jsonl"
    records = [{"image": f"{i % len(SIZES)}.jpg", "response": reply} for i, reply in enumerate(replies)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def outcome(path: Path) -> Any:
    try:
        table, notes = read_predictions_with_notes(path, sizes=SIZES)
    except InputError as error:
        return str(error)
    numbers = [column.tolist() for column in (table.image, table.verb, table.object, table.score)]
    boxes = [table.human_boxes.tolist(), table.object_boxes.tolist()]
    return table.images, table.verbs, table.objects, numbers, boxes, notes.lines(), repr(notes.boxes_of), notes.replies


def both_ways(path: Path) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Quick, "hits", lambda *_: None)
        patch.setattr(Quick, "record_hits", lambda *_: None)
        general = outcome(path)
    return outcome(path), general


def batch_line(name: str, reply: str, i: int) -> Any:
    choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
    body = {"id": f"chatcmpl-{i}", "created": 1_700_000_000 + i, "choices": [choice], "usage": {"total_tokens": 90 + i}}
    return {"id": f"b_{i}", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def result_line(name: str, reply: str, i: int) -> Any:
    message = {"id": f"msg_{i}", "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn"}
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def candidates(name: str, reply: str, i: int) -> Any:
    content = {"parts": [{"text": reply}], "role": "model"}
    return {"image": name, "response": {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}}


def chat(name: str, reply: str, i: int) -> Any:
    asked = {"role": "user", "content": "What do people do?"}
    return {"messages": [asked, {"role": "assistant", "content": reply}], "image": name}


def alone(name: str, reply: str, i: int) -> Any:
    return {
        "image": name,
        "human_box": box(i),
        "object_box": box(i + 50),
        "phrase": f"{VERBS[i % 8]} a {OBJECTS[i % 7]}",
    }


def by_sides(name: str, reply: str, i: int) -> Any:
    things = {"subject": {"bbox": box(i), "name": "person"}, "object": {"bbox": box(i + 50), "name": OBJECTS[i % 7]}}
    return {"file_name": name, **things, "predicate": VERBS[i % 8], "confidence": 0.5 + i / 1000}


WRAPPED: list[Callable[[str, str, int], Any]] = [batch_line, result_line, candidates, chat, alone, by_sides]


def clean(count: int) -> list[list[Item]]:
    """Items for some replies: one or two each."""
    pick = [(VERBS[i * 5 % 8], OBJECTS[i * 3 % 8], i) for i in range(2 * count)]
    return [pick[2 * i : 2 * i + 1 + i % 2] for i in range(count)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_repeated_say_the_same(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes((sample.read_bytes().rstrip() + b"\n") * 6)
    quick, general = both_ways(path)
    assert quick == general


@pytest.mark.parametrize("form", [in_marks, *STRUCTURED])
def test_most_replies_take_the_short_way(form: Callable[[list[Item]], Any], tmp_path: Path) -> None:
    seen = []

    def general(*given: Any) -> Any:
        seen.append(given)
        return read_answer(*given)

    replies = [form(items) for items in clean(150)]
    path = written(tmp_path, [reply if isinstance(reply, str) else fenced(reply) for reply in replies])
    read_answer = answers.read_answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "read_answer", general)
        quick = outcome(path)
    assert quick == both_ways(path)[1]
    assert len(seen) < 0.6 * len(replies)


def sides_in_order(first: str, second: str) -> Callable[[list[Item]], Any]:
    """Items in which only the order of the keys tells whose box is whose; that of the verb is the first of all."""

    def form(items: list[Item]) -> Any:
        return [{"verb": verb, first: box(i), second: box(i + 50), "object": thing} for verb, thing, i in items]

    return form


def two_people(items: list[Item]) -> Any:
    def person(seed: int) -> Any:
        return {"bbox": box(seed), "label": "person"}

    return [{"relation": verb, "a": person(i), "b": person(i + 50)} for verb, _, i in items]


@pytest.mark.parametrize(
    "form", [sides_in_order("box_a", "box_b"), sides_in_order("first", "second"), two_people, by_entity, as_asked]
)
def test_keys_in_another_order_say_what_they_say_in_it(form: Callable[[list[Item]], Any], tmp_path: Path) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            first, *others = [(key, turned(inner)) for key, inner in value.items()]
            return dict([first, *reversed(others)])
        return [turned(inner) for inner in value] if isinstance(value, list) else value

    replies = [form(items) for items in clean(40)]
    path = written(tmp_path, [json.dumps(reply) for reply in [*replies, *map(turned, replies), *replies]])
    quick, general = both_ways(path)
    assert quick == general


ODD: list[Any] = [
    *(None, "", "12", "a horse", "Person_2", True, 5, 0.25, -3, 1e308, [], {}, [1, 2, 3, 4], [1, 2, 3], [[1, 2, 3, 4]]),
    *({"bbox": [5, 6, 70, 80]}, "horse [1, 2, 30, 40]", "[1, 2, 30, 40]", "95%", "high", "no interaction", "nan"),
    *("man", "not riding a horse", "riding and holding a horse", "x" * 150, [0.1, 0.2, 0.3, 0.4], ["ride", "hold"]),
    *(
        [1, 2, "3", 4],
        [1, 2, None, 4],
        [1, 2, 3, 4, 0.5],
        [1, 2, 10**30, 4],
        "horse\n",
        "chevaux «blancs»",
        "\0" + "0\0",
    ),
]
EXTRA = ["score", "id", "label", "reason", "bbox", "points", "verb", "phrase", "object", "relation", "target", "width"]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every dict or list in a value with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in ((value, key), *places(inner))]


def disturb(draw: Callable[..., Any], value: Any) -> Any:
    value = deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from(places(value)))
        what = draw(st.sampled_from(["odd", "odd", "drop", "extra", "twice", "turn"]))
        if what == "odd":
            holder[key] = deepcopy(draw(st.sampled_from(ODD)))
        elif what == "drop":
            del holder[key]
        elif what == "turn" and isinstance(holder, dict):
            holder[key] = holder.pop(key)
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(EXTRA))] = deepcopy(draw(st.sampled_from(ODD)))
        else:
            holder.append(deepcopy(holder[key]))
        if not places(value):
            break
    return value


@st.composite
def disturbed(draw: Callable[..., Any]) -> list[str]:
    """Replies of one form that are clean, between others that are not."""
    form = draw(st.sampled_from(STRUCTURED))
    write = draw(st.sampled_from([fenced, json.dumps]))
    replies = [form(items) for items in clean(24)]
    odd = [disturb(draw, draw(st.sampled_from(replies))) for _ in range(6)]
    first = odd[0] if draw(st.booleans()) else replies[0]
    return [write(reply) for reply in [*([first] * 4), *replies, *odd, *replies[:6], *odd]]


@examples(1)
@given(disturbed())
def test_disturbed_items_say_the_same(tmp_path_factory: pytest.TempPathFactory, replies: list[str]) -> None:
    quick, general = both_ways(written(tmp_path_factory.mktemp("a"), replies))
    assert quick == general


@st.composite
def disturbed_records(draw: Callable[..., Any]) -> list[Any]:
    """Records of one form, between others that are not."""
    wrap = draw(st.sampled_from(WRAPPED))
    replies = [fenced(as_asked(items)) for items in clean(24)]
    records = [wrap(f"{i}.jpg", reply, i) for i, reply in enumerate(replies)]
    odd = [disturb(draw, draw(st.sampled_from(records))) for _ in range(6)]
    first = odd[0] if draw(st.booleans()) else records[0]
    return [*([first] * 4), *records, *odd, *records[:6], *odd]


@examples(1)
@given(disturbed_records())
def test_disturbed_records_say_the_same(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    path = tmp_path_factory.mktemp("a") / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    quick, general = both_ways(path)
    assert quick == general


@pytest.mark.parametrize("wrap", WRAPPED)
def test_most_records_take_the_short_way(wrap: Callable[[str, str, int], Any], tmp_path: Path) -> None:
    seen = []

    def general(record: Any) -> Any:
        seen.append(record)
        return record_of(record)

    replies = [fenced(as_asked(items)) for items in clean(100)]
    path = tmp_path / "records.jsonl"
    records = [wrap(f"{i % len(SIZES)}.jpg", reply, i) for i, reply in enumerate(replies)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "record_of", general)
        quick = outcome(path)
    assert quick == both_ways(path)[1]
    assert len(seen) < 0.6 * len(replies)


PIECES = [
    *("person", " holding ", "<ref>", "</ref>", "[1, 2, 3, 4]", "<box>[[5, 6, 70, 80]]</box>", "\n", "  ", ". ", ": "),
    *(" (score: 0.9)", "1. ", "the ", "a ", " and ", "|", "<answer>", "</answer>", "</think>", " is at ", "Person_2"),
    *('"', "{", " high confidence", "He ", "\nmodel\n", " - ", "boy", "they", "0.5", "é", " not"),
]


@pytest.mark.slow
@examples(1)
@given(st.data())
def test_disturbed_texts_say_the_same(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from([in_marks, *STRUCTURED]))
    replies = [text if isinstance(text := form(items), str) else json.dumps(text) for items in clean(30)]
    odd = []
    for _ in range(8):
        text = data.draw(st.sampled_from(replies))
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.sampled_from([0, 0, 1, 5, 12]))
        odd.append(text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:])
    quick, general = both_ways(written(tmp_path_factory.mktemp("a"), [*replies, *odd, *replies, *odd]))
    assert quick == general


@pytest.mark.parametrize(
    "beside", [{"ob\tject": "horse"}, {'a "key"': ""}, {"a\\b": ""}, {"other": [10**400, 2, 3, 4]}]
)
def test_keys_and_numbers_that_fit_no_shape_are_read_all_the_same(tmp_path: Path, beside: dict[str, Any]) -> None:
    item = {"human_box": box(1), "object_box": box(2), "verb": "riding", "object": "horse", **beside}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"image": "1.jpg", "response": json.dumps([item])}))
    assert len(read_predictions_with_notes(path)[0]) == 1
