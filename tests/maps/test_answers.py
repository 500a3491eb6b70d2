import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from shoe.llm.ledger import State
from shoe.maps.rating_answers import read_chat, read_text

ONE = ["417"]
THREE = ["417", "233", "540"]
NONE, REFUSED, TOGETHER = State.UNPARSED_ONCE, State.REFUSED, State.REFUSED_TOGETHER
ANY = (0, 1, 2, 3, 4, NONE, REFUSED, TOGETHER)


def test_each_form_of_the_table_has_its_rating() -> None:
    """An answer counts if it is on the scale 0 to 4, alone, and marked; the first 116 forms are older than the parser.

    A refusal is one unless a rating stands beside it.
    """
    lines = Path(__file__).parents[1].joinpath("data", "answer_forms.tsv").read_text("utf-8").splitlines()[1:]
    states = {"none": NONE, "refused": REFUSED} | {str(rating): rating for rating in range(5)}
    forms = [(orjson.loads(text), states[reading]) for reading, text in (line.split("\t") for line in lines)]
    assert len(forms) >= 300
    found = [(text, read_text(text, ONE)) for text, _ in forms]
    assert found == [(text, [state]) for text, state in forms]


@pytest.mark.parametrize(
    ("text", "ratings"),
    [
        ('{"ratings": {"417": 3, "233": 0, "540": 4}}', [3, 0, 4]),
        ('{"ratings": {"540": 3, "233": 0}}', [NONE, 0, 3]),
        ('{"540": 4, "417": 3, "233": 0}', [3, 0, 4]),
        ('```json\n{"417": 3,\n"233": 1}```', [3, 1, NONE]),
        ('{"ratings": [{"id": "417", "rating": 3}, {"rating": 1, "id": "233"}]}', [3, 1, NONE]),
        ('{"417": {"rating": 3, "why": "2 hands"}, "233": {"why": "x", "rating": 1}}', [3, 1, NONE]),
        ("417: 3\n233: 1\n540: 0", [3, 1, 0]),
        ("- 417: 3\n- 233: 1\n- 540: 0", [3, 1, 0]),
        ("417 - 3\n233 - 1", [3, 1, NONE]),
        ("id 417: 3; id 233: 1; id 540: 2", [3, 1, 2]),
        ("| id | rating |\n|---|---|\n| 417 | 3 |\n| 233 | 1 |", [3, 1, NONE]),
        ("417: rating 3\nPair 233: Rating: 1", [3, 1, NONE]),
        ("**417**: 3", [3, NONE, NONE]),
        ('{"417": 3, "417": 2, "233": 9, "540": 1}', [NONE, NONE, 1]),
        ('{"417": 3, "900": 4, "901": 4, "902": 4}', [3, NONE, NONE]),
        ("3, 0, 4", [NONE] * 3),
        ("[3, 0, 4]", [NONE] * 3),
        ('{"rating": 3}', [NONE] * 3),
        ('{"1": 3, "2": 0, "3": 4}', [NONE] * 3),
        ("I'm sorry, but I can't help with that.", [TOGETHER] * 3),
        ("I am sorry, I cannot say more than 417: 3", [3, NONE, NONE]),
    ],
)
def test_ratings_are_joined_by_id_alone(text: str, ratings: list[int]) -> None:
    assert read_text(text, THREE) == ratings


def chat(content: Any, reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": reason, "message": {"content": content, **more}}]}


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        (chat('{"rating": 3}'), 3),
        (chat([{"type": "text", "text": '{"rating"'}, {"type": "text", "text": ": 3}"}]), 3),
        (chat('{"rating": 3}', refusal=None), 3),
        (chat(None, refusal="I won't"), REFUSED),
        (chat("", "content_filter"), REFUSED),
        ({"error": {"code": "content_filter", "message": "filtered"}}, REFUSED),
        (chat(None), NONE),
        (chat(""), NONE),
        (chat({"rating": 3}), NONE),
        (chat('{"rating": 3', "length"), NONE),
        (chat('{"rating": 3, "why": "bo', "length"), 3),
        (chat("<think>rating: 3, or", "length"), NONE),
        ({"choices": []}, NONE),
        ({"choices": None}, NONE),
        ({"choices": ["3"]}, NONE),
        ({"choices": [{"message": "3"}]}, NONE),
        ({}, NONE),
    ],
)
def test_chat_completions(raw: dict[str, Any], state: int) -> None:
    assert read_chat(raw, ONE) == [state]
    if state == REFUSED:
        assert read_chat(raw, THREE) == [TOGETHER] * 3


def test_of_an_answer_that_was_cut_off_the_last_number_does_not_count() -> None:
    assert read_chat(chat('{"ratings": {"417": 3, "233": 1', "length"), THREE) == [3, NONE, NONE]


def test_a_long_answer_that_was_cut_off_takes_no_longer_than_it_is() -> None:
    assert read_chat(chat("a" * 1_000_000 + "!", "length"), THREE) == [NONE] * 3


FULL_WIDTH = {ord("０") + digit: str(digit) for digit in range(10)}
SCRAPS = [
    *("rating", "Rating: ", '"rating": ', "score", "417", "233", "0", "3", "4", "7", "2.5", "{", "}", "[", "]", '"'),
    *(",", ":", " ", "\n", "-", "/4", " or ", "id", "```", "**", "<think>", "</think>", "(", ")", "|", "three", "%"),
]


@given(st.lists(st.sampled_from(SCRAPS) | st.text(max_size=3), max_size=25).map("".join), st.sampled_from([ONE, THREE]))
def test_any_text_gives_states_and_no_rating_that_it_does_not_hold(text: str, ids: list[str]) -> None:
    states = read_text(text, ids)
    assert len(states) == len(ids)
    for state in states:
        assert state in (0, 1, 2, 3, 4, NONE, REFUSED if len(ids) == 1 else TOGETHER)
        assert state < 0 or re.search(rf"(?<![\d.]){state}(?!\d)", text.translate(FULL_WIDTH))


@given(st.text(alphabet=st.characters(exclude_characters="01234０１２３４")))
def test_text_without_the_digits_holds_no_rating(text: str) -> None:
    assert all(state in (NONE, REFUSED, TOGETHER) for state in read_text(text, ONE) + read_text(text, THREE))


KEYS = ("choices", "message", "content", "refusal", "finish_reason", "error", "code", "text")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["choices", "error", "usage"]), JSON))
def test_any_body_gives_states(raw: dict[str, Any]) -> None:
    assert all(state in ANY for state in read_chat(raw, THREE) + read_chat(raw, ONE))


@given(st.dictionaries(st.sampled_from(["417", "233", "540", "999"]), st.integers(-2, 6)), st.permutations(THREE))
def test_json_by_id_is_read_whatever_its_order(given_: dict[str, int], ids: list[str]) -> None:
    text = '{"ratings": {' + ", ".join(f'"{name}": {rating}' for name, rating in given_.items()) + "}}"
    expected = [given_.get(name, -1) for name in ids]
    assert read_text(text, ids) == [rating if 0 <= rating <= 4 else NONE for rating in expected]


@pytest.mark.parametrize(
    "scrap", ["{", "rating ", "<think>", '"', "1", "417:", "I'm sorry ", "3 - ", "3 or ", " ", "417: {a"]
)
def test_long_answers_take_no_longer_than_they_are(scrap: str) -> None:
    text = scrap * (50_000 // len(scrap))
    assert all(state in ANY for state in read_text(text, ONE) + read_text(text, THREE))
