"""What tools put around answers is opened, and every record is read or counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError
from shoe.predictions import read_predictions, read_predictions_with_notes
from tests.damage import damaged_bytes
from tests.errors import input_error
from tests.examples import examples
from tests.predictions.reading import codes, missing, read_lines, read_replies, words

ITEMS = [{"human_box": [10, 20, 110, 220], "object_box": [30, 40, 230, 240], "verb": "riding", "object": "horse"}]
SAID = orjson.dumps(ITEMS).decode()
ASKED = SAID.replace("riding", "eating")
"""An example in a prompt, or what would be right: never to be read."""
GOOD = [{"image": f"{name}.jpg", "response": SAID} for name in "ab"]


def chat(content: Any, reason: str = "stop", **message: Any) -> dict[str, Any]:
    spoken = {"role": "assistant", "content": content, "refusal": None, **message}
    choice = {"index": 0, "message": spoken, "logprobs": None, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": {"n": 1}}


def turns(*said: str) -> list[dict[str, str]]:
    return [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(said)]


@pytest.mark.parametrize(
    "response",
    [
        *(chat(SAID), chat([{"type": "text", "text": SAID}]), chat(SAID, reasoning_content=ASKED)),
        chat("", tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {"interactions": ITEMS}}}]),
        {"status_code": 200, "body": {"object": "response", "instructions": ASKED, "tool_choice": "none", "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": ASKED}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}]}},
        {"type": "message", "content": [{"type": "thinking", "thinking": ASKED}, {"type": "text", "text": SAID}]},
        {"content": [{"type": "text", "text": "I report."}, {"type": "tool_use", "input": {"interactions": ITEMS}}]},
        {"candidates": [{"content": {"parts": [{"text": ASKED, "thought": True}, {"text": SAID[:40]},
                                               {"text": SAID[40:]}], "role": "model"}, "finishReason": "STOP"}]},
        turns(ASKED, ASKED, ASKED, SAID),
        [{"generated_text": [*turns(ASKED), {"role": "assistant", "content": SAID}]}],
        *({"run": {"my_words": {"text_out": SAID}}}, SAID.replace('"', "&quot;")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["response", "something_else"])
def test_the_answer_is_found_in_a_wrapper(tmp_path: Path, response: Any, key: str) -> None:
    table, _ = read_lines(tmp_path, {"image": "a.jpg", "prompt": ASKED, "label": ASKED, key: response})
    assert words(table) == [("riding", "horse")]


@pytest.mark.parametrize(
    "document",
    [
        *([["a.jpg", SAID], ["b.jpg", SAID]], {"a.jpg": SAID, "b.jpg": chat(SAID)}),
        {"model": "m", "predictions": {"a.jpg": [SAID], "b.jpg": {"response": SAID}}},
        {"image": {"0": "a.jpg", "1": "b.jpg"}, "response": {"0": SAID, "1": SAID}},
        {"status": "success", "samples": [{"id": name, "input": [{"image": f"data/{name}.jpg"}],
                                           "output": {"completion": SAID}} for name in "ab"]},
        {"columns": ["image", "response"], "index": [0, 1], "data": [["a.jpg", SAID], ["b.jpg", SAID]]},
    ],
)  # fmt: skip
def test_records_are_found_in_a_document(tmp_path: Path, document: Any) -> None:
    (tmp_path / "answers").write_bytes(orjson.dumps(document))
    table = read_predictions(tmp_path / "answers")
    assert (table.images, len(table)) == (("a.jpg", "b.jpg"), 2)


@pytest.mark.parametrize(
    ("record", "code", "examples"),
    [
        ({"response": chat(SAID, "length")}, "cut_off", []),
        ({"response": None, "error": {"code": "rate_limit", "message": "x"}}, "failed", ["rate_limit"]),
        ({"result": {"type": "errored", "error": {"error": {"type": "overloaded_error"}}}}, "failed",
         ["overloaded_error"]),
        ({"response": {"promptFeedback": {"blockReason": "SAFETY"}}}, "refused", []),
        ({"response": "I cannot help with that picture."}, "refused", []),
        ({"response": "No interactions."}, "none", ["No interactions."]),
        *(({"response": ""}, "unread", []), ({}, "unread", [])),
    ],
)  # fmt: skip
def test_what_ended_otherwise_is_counted_and_named(
    tmp_path: Path, record: dict[str, Any], code: str, examples: list[str]
) -> None:
    _, notes = read_lines(tmp_path, *GOOD, {"image": "x.jpg", **record})
    assert (code in codes(notes), notes.count(code), list(notes.examples(code))) == (True, 1, examples)
    assert "1 of 3 re" in notes.sentence(code)


@pytest.mark.parametrize("key", ["label", "gt", "ground_truth", "solution", "annotations"])
@pytest.mark.parametrize("beside", [{}, {"predict": "[]"}])
def test_what_would_be_right_is_no_prediction(tmp_path: Path, key: str, beside: dict[str, str]) -> None:
    with input_error("ground truth,"):
        read_lines(tmp_path, *[{"image": "a.jpg", **beside, key: SAID}] * 2)


THREE = [{**ITEMS[0], "human_box": [10 + i, 20, 110, 220]} for i in range(3)]
FORMS: dict[str, Callable[[], str]] = {
    "JSON": lambda: orjson.dumps(THREE).decode(),
    "Python": lambda: repr(THREE),
    "fence": lambda: f"Here:\n```json\n{orjson.dumps(THREE).decode()}\n```",
    "sentences": lambda: "\n".join(f"A man {i['human_box']} is riding a horse {i['object_box']}." for i in THREE),
    "lines": lambda: "\n\n".join("\n".join(f"{key}: {value}" for key, value in item.items()) for item in THREE),
}


@pytest.mark.parametrize("form", FORMS)
@given(st.integers(0, 2**32))
@examples(0.5)
def test_every_damaged_reply_is_read_or_counted(tmp_path_factory: pytest.TempPathFactory, form: str, seed: int) -> None:
    whole = FORMS[form]()
    said = [whole] * 3 + [damaged_bytes(whole.encode(), seed + i).decode("utf-8", "replace") for i in range(2)]
    try:
        table, notes = read_replies(tmp_path_factory.mktemp("damaged"), *said)
    except InputError:
        return
    without = len(said) - len(set(table.image.tolist()))
    counted = sum(map(notes.count, ("unread", "none", "failed")))
    assert notes.replies == len(said)
    assert counted <= without <= counted + notes.count("flat_boxes")


def test_boxes_of_a_sentence_that_breaks_off_are_counted(tmp_path: Path) -> None:
    _, notes = read_replies(tmp_path, FORMS["sentences"]()[:-25])
    assert ("unused_boxes" in codes(notes), notes.count("unused_boxes")) == (True, 1)


@pytest.mark.parametrize("record", [{"prompt": "p", "predict": "[]", "label": "[]"}, {"interactions": []}])
def test_answers_without_an_image_are_told_what_they_lack(tmp_path: Path, record: dict[str, Any]) -> None:
    for count in (1, 2):
        with input_error("column 'image'"):
            read_lines(tmp_path, *[record] * count)


def test_a_number_that_counts_records_is_no_image(tmp_path: Path) -> None:
    said = SAID.replace("riding", "none")
    with input_error("image"):
        read_lines(tmp_path, *({"id": number, "response": said} for number in (1, 2, 3)))
    table, _ = read_lines(tmp_path, {"question_id": 25, "response": said})
    assert (table.images, table.verbs) == (("HICO_test2015_00000025.jpg",), ("no_interaction",))


def test_each_kind_of_unread_reply_is_shown_once(tmp_path: Path) -> None:
    said = ("Aucune interaction.", "Keine.", "Aucune interaction.", "Nessuna.")
    _, notes = read_replies(tmp_path, *[SAID] * 5, *said)
    assert "unread" in codes(notes)
    line = notes.sentence("unread")
    assert [line.count(text) for text in ("4 of 9 replies", "Aucune", "Keine", "Nessuna")] == [1] * 4


def test_refusals_are_predictions_of_none_unless_there_is_nothing_else(tmp_path: Path) -> None:
    refused = ["I'm sorry, but I can't help with identifying people."] * 3
    table, notes = read_replies(tmp_path, SAID, *refused)
    assert (len(table), len(table.images), codes(notes)[0], notes.count("refused")) == (1, 4, "refused", 3)
    assert missing(notes.lines()[0], "3 of 4 replies", ": \"I'm sorry") == []
    with input_error("3 of 3 replies refuse"):
        read_replies(tmp_path, *refused)


def test_answers_that_differ_in_one_record_are_counted(tmp_path: Path) -> None:
    """Three choices, or two answers that say something else; not the same one twice."""
    choices = {"choices": [*chat(SAID)["choices"], *chat(ASKED)["choices"]]}
    two = [{"answer_text": SAID}, {"answer_text": ASKED}]
    table, notes = read_replies(tmp_path, choices, two, {"draft": ASKED, "last": SAID}, {"a": SAID, "b": SAID})
    assert (table.verbs, len(table), notes.count("several_answers")) == (("riding",), 4, 3)


def test_an_answer_may_be_of_several_images(tmp_path: Path) -> None:
    """By their names, as an object or a list; of several images without names it cannot be told."""
    by_name = orjson.dumps({"a.jpg": ITEMS, "b.jpg": ITEMS}).decode()
    listed = [{"file": "a.jpg", "interactions": ITEMS}, {"file": "b.jpg", "interactions": []}]
    for record in (
        {"image": ["a.jpg", "b.jpg"], "response": by_name},
        {"id": 1, "response": f"Both:\n{by_name}"},
        {"id": 1, "response": listed},
    ):
        assert read_lines(tmp_path, record)[0].images == ("a.jpg", "b.jpg")
    with input_error("2 images", field="image"):
        read_lines(tmp_path, {"image": ["a.jpg", "b.jpg"], "response": SAID})


def test_all_of_several_people_do_it(tmp_path: Path) -> None:
    several = {**ITEMS[0], "human_box": None, "human_boxes": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]}
    table, _ = read_replies(tmp_path, orjson.dumps([several]).decode())
    assert table.human_boxes.tolist() == several["human_boxes"]


def test_a_table_may_have_no_header(tmp_path: Path) -> None:
    path = tmp_path / "answers.tsv"
    path.write_text(f"images/a.jpg\t{SAID}\nimages/b.jpg\t{SAID}\n")
    assert read_predictions_with_notes(path)[0].images == ("a.jpg", "b.jpg")
