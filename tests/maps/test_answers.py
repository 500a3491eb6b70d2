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
    """The table was written before the parser: an answer counts if it is on the scale 0 to 4, alone, and marked."""
    lines = Path(__file__).parents[1].joinpath("data", "answer_forms.tsv").read_text("utf-8").splitlines()[1:]
    forms = [(reading, orjson.loads(text)) for reading, text in (line.split("\t") for line in lines)]
    assert len(forms) >= 100
    wrong = [
        (text, expected, found)
        for expected, text in forms
        if (found := read_text(text, ONE)) != [NONE if expected == "none" else int(expected)]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        '{"rating": 3}',
        "{'rating': 3}",
        '{"rating": "3"}',
        '{"rating": 3.0}',
        '{"rating": 3',
        '{"rating": 3,}',
        '{"rating": 3, "reason": "both need 2 hands"}',
        '{"rating": "3 - highly alike"}',
        '{"ratings": [3]}',
        '{"ratings": {"417": 3}}',
        '{"ratings": [{"id": "417", "rating": 3}]}',
        '{"ratings": [{"id": 417, "rating": 3}]}',
        '{"417": 3}',
        "417: 3",
        '```json\n{"rating": 3}\n```',
        'Here it is:\n\n```\n{"rating": 3}\n```\nBoth need 2 hands.',
        "Rating: 3",
        "**Rating:** 3",
        "Rating: **3**",
        "Rating:\n\n3",
        "Rating (0-4): 3",
        "Rating: 3/4",
        "Rating: 3 out of 4.",
        "rating=3",
        "The rating is 3.",
        "My answer is 3.",
        "I would give a rating of 3, as both need 2 hands.",
        "\\boxed{3}",
        "3",
        " 3\n",
        "3.",
        "I'd say 3.",
        "I'd say: 3.",
        "I would say it's a 3.",
        "I would say **3**, as both need 2 hands.",
        "I would give it a 3 out of 4.",
        '"3"',
        "**3**",
        "3 - highly alike",
        "3: highly alike",
        "3 (highly alike)",
        "The 2 actions are close.\n\n3",
        "<think>rating: 2? No, rating: 4.</think>\n3",
        "rating: 2 or 4?</think>\n3",
        '{"rating": 3}\n{"rating": 3}',
    ],
)
def test_one_rating_is_found_in_any_form(text: str) -> None:
    assert read_text(text, ONE) == [3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "-1",
        "3%",
        "٣",
        "3 or 4",
        "3-4",
        "three or four",
        "between 2 and 3",
        '{"rating": 7}',
        '{"rating": -1}',
        '{"rating": 2.5}',
        '{"rating": 40}',
        '{"rating": 3e1}',
        '{"rating": 03}',
        '{"rating": null}',
        '{"rating": true}',
        '{"rating": "three"}',
        '{"rating": [3, 4]}',
        '{"rating": 3} or {"rating": 4}',
        '{"rating": 3, "rating": 1}',
        '{"ratings": {"999": 3}}',
        '{"ratings": [{"id": "999", "rating": 3}]}',
        "Rating: 3 or 4",
        "Rating: 3, or maybe 4",
        "Rating: 3 to 4",
        "Rating: 3-4",
        "Rating: 2,5",
        "Rating: 4/5",
        "rating: 3%",
        "These 2 actions are alike",
        "1. Both are actions.",
        "0 - unlike\n1 - slightly\n4 - the same",
        "<think>rating: 3",
        "I can rate these",
    ],
)
def test_what_is_no_rating_is_none(text: str) -> None:
    assert read_text(text, ONE) == [NONE]


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


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "Sorry, I can’t rate these.",
        "As an AI language model, I cannot judge violent acts.",
        "Unfortunately, I am unable to comply.",
        "I must decline.",
        "This request violates our policy.",
        "<think>Is it allowed? 3?</think> I won't answer that.",
    ],
)
def test_a_refusal_is_a_refusal(text: str) -> None:
    assert read_text(text, ONE) == [REFUSED]


def test_a_rating_beside_an_apology_is_a_rating() -> None:
    assert read_text("I'm sorry, I can't give reasons. Rating: 2", ONE) == [2]
    assert read_text("I cannot see any difference: rating 4", ONE) == [4]


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
SCRAPS = ["rating", "Rating: ", '"rating": ', "score", "417", "233", "0", "3", "4", "7", "2.5", "{", "}", "[", "]", '"']
SCRAPS += [
    ",",
    ":",
    " ",
    "\n",
    "-",
    "/4",
    " or ",
    "id",
    "```",
    "**",
    "<think>",
    "</think>",
    "(",
    ")",
    "|",
    "three",
    "%",
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "refusal", "finish_reason", "error", "code", "text"]),
            inner,
            max_size=4,
        )
    ),
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
    text = scrap * (150_000 // len(scrap))
    assert all(state in ANY for state in read_text(text, ONE) + read_text(text, THREE))
