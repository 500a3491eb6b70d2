"""Confidences by hand, and predictions that follow from kept answers alone."""

import json
from math import log, sqrt
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.benchmarks import benchmark
from shoe.predict.backends.vllm import chat_of, generated_text
from shoe.predict.questions import LETTERS, WAYS, YES_NO, Question, VisualPrompt, Way, orders, verbs_of
from shoe.predict.records import LEAST, Answer, GeneratedText, Pair, Token, completion, read_completion
from shoe.predict.scored import Scoring, letter_confidences, phrase_confidence, word_shares, write_scored
from tests.errors import input_error, option_error
from tests.predict.asking import Noise

HICO = benchmark("hico-det")
PAIR = Pair((0.0, 0.0, 10.0, 20.0), (5.0, 5.0, 15.0, 20.0), "horse", 0.9, 0.4)
SIZES = {"a.jpg": (40, 30), "b.jpg": (50, 20)}


def token(text: str, *told: tuple[str, float]) -> Token:
    """A token of the likeliest of some probabilities."""
    own = dict(told)[text]
    return Token(text, log(own), -1, tuple(Token(other, log(share)) for other, share in told))


def answer(way: str, text: str, *tokens: Token, **about: object) -> Answer:
    return Answer(key="0", image="a.jpg", pair=PAIR, way=way, text=text, tokens=tokens or None, **about)  # type: ignore[arg-type]


def test_a_phrase_is_as_sure_as_its_tokens() -> None:
    tokens = [token(word, (word, share)) for word, share in (("rid", 0.5), ("ing", 0.98), ("</s>", 0.1))]
    said = answer("phrase", "riding", *tokens)
    by_hand = {"first": 0.5, "product": 0.49, "mean": 0.7, "minimum": 0.5}
    # What ends the text is told by some endpoints and not by others, and counts with none.
    assert {name: phrase_confidence(said, name) for name in by_hand} == pytest.approx(by_hand)
    assert phrase_confidence(answer("phrase", "riding"), "mean") is None


@pytest.mark.parametrize(
    ("told", "share"),
    [
        ([("yes", 0.6), ("no", 0.2)], 0.75),
        ([("Yes", 0.3), (" yes", 0.3), ("No", 0.2), ("maybe", 0.1)], 0.75),
        ([("yes", 0.6), ("maybe", 0.2)], 0.75),  # no is at most as likely as the least that is told
        ([("maybe", 0.6), ("hm", 0.2)], None),
    ],
)
def test_yes_is_its_share_of_yes_and_no(told: list[tuple[str, float]], share: float | None) -> None:
    begins = token(told[0][0], *told)
    found = word_shares(answer("yes-no", told[0][0], token("\n", ("\n", 1.0)), begins), YES_NO)
    assert found == (None if share is None else pytest.approx([share, 1 - share]))


def test_letters_are_averaged_over_orders() -> None:
    first = answer("letters", "A", token("A", ("A", 0.6), ("B", 0.2)), options=("ride", "feed"))
    turned = answer("letters", "A.", token("A", ("A", 0.5), (" B", 0.5)), options=("feed", "ride"))
    assert letter_confidences([first, turned]) == pytest.approx({"ride": (0.75 + 0.5) / 2, "feed": (0.25 + 0.5) / 2})


@given(st.integers(1, 26), st.integers(1, 30), st.integers(0, 5))
def test_orders_hold_each_option_once_at_places_far_apart(options: int, rounds: int, seed: int) -> None:
    names = [f"verb{number}" for number in range(options)]
    found = orders(names, rounds, seed)
    assert len(found) == min(rounds, options)
    assert all(sorted(order) == sorted(names) for order in found)
    for name in names:
        assert len({order.index(name) for order in found}) == len(found)


def test_each_way_asks_for_what_it_is_to_be_told() -> None:
    prompt = VisualPrompt([], "the man in red", "the horse")
    asked = {name: list(Way.read(name).about_pair("a.jpg", PAIR, prompt, HICO)) for name in WAYS[:3]}
    verbs = verbs_of("horse", HICO)
    assert [len(some) for some in asked.values()] == [1, len(verbs) - 1, 2]
    for some in asked.values():
        assert all(prompt.person in one.text and prompt.thing in one.text and "$" not in one.text for one in some)
    assert [one.about["verb"] for one in asked["yes-no"]] == [verb for verb in verbs if verb != "no_interaction"]
    assert "person riding this" in asked["yes-no"][list(verbs).index("ride") - 1].text
    for one in asked["letters"]:
        lines = one.text.splitlines()
        assert [line for line in lines if line[1:3] == ". "] == [
            f"{letter}. {verbs[verb]}" for letter, verb in zip(LETTERS, one.about["options"], strict=False)
        ]


def test_a_prompt_that_lacks_something_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    for text, found in {
        "[question]\nWhat?": ("sections question", "sections", "instructions"),
        "[instructions]\n[question]\nWhat does $person do?": ("[question]: ", "no $thing"),
        "[instructions]\n[question]\n$person $things": ("'$things'", "$person, $thing", "$thing?"),
    }.items():
        path.write_text(text)
        with input_error(*found):
            Way.read("phrase", path)
    with option_error("'letter'", "letters?"):
        Way.read("letter")


def test_the_same_answers_score_by_any_policy(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    said = [
        answer("yes-no", "yes", token("yes", ("yes", 0.75), ("no", 0.25)), verb="ride"),
        answer("yes-no", "no", token("no", ("yes", 0.1), ("no", 0.9)), verb="feed"),
    ]
    written = write_scored(said, path, Scoring("yes", 0.5), SIZES, HICO)
    detected = sqrt(0.9 * 0.4)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["verb"]: row["score"] for row in rows[:-1]} == pytest.approx(
        {"ride": 0.75 * detected, "feed": 0.1 * detected, "no_interaction": 0.25 * 0.9 * detected}
    )
    assert rows[-1] == {"image": "b.jpg", "interactions": [], "width": 50, "height": 20}
    assert (written.predictions, written.tied, written.unread) == (3, 0, 0)
    table = shoe.read_predictions(path)  # no option: boxes and words are shoe's own
    assert (len(table), table.images, table.human_boxes[0].tolist()) == (3, ("a.jpg", "b.jpg"), [0, 0, 10, 20])

    write_scored(said, path, Scoring("none"), SIZES, HICO)
    assert [json.loads(line).get("verb") for line in path.read_text().splitlines()] == ["ride", None]
    with option_error("1 of 3 answers", "token probabilities", "'yes'"):
        write_scored([*said, answer("yes-no", "yes", verb="pet")], path, Scoring("yes"), SIZES, HICO)


@pytest.mark.slow
def test_phrases_letters_and_whole_pictures_are_read_as_they_were_said(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    write_scored([answer("phrase", "riding the horse", token("x", ("x", 0.5)))], path, Scoring("first", 0), SIZES, HICO)
    table = shoe.read_predictions(path)
    assert (table.verbs, table.objects, table.score.tolist()) == (("riding",), ("horse",), [0.5])

    first = answer("letters", "B", token("B", ("A", 0.25), ("B", 0.75)), options=("feed", "ride"))
    write_scored([first], path, Scoring("letter", 0), SIZES, HICO)
    table = shoe.read_predictions(path)
    assert dict(zip(map(table.verbs.__getitem__, table.verb), table.score, strict=True)) == {"feed": 0.25, "ride": 0.75}
    unreadable = answer("letters", "?", token("?", ("?", 0.5)), options=("ride", "feed"))
    written = write_scored([first, unreadable], path, Scoring("letter", 0), SIZES, HICO)
    assert (written.predictions, written.unread) == (2, 1)  # one order of two still counts

    reply = {"human_box": [0, 0, 500, 1000], "object_box": [100, 500, 1000, 1000], "verb": "ride", "object": "horse"}
    text = f"```json\n{json.dumps({'interactions': [reply | {'score': 0.5}]})}\n```"
    whole = Answer(key="0", image="a.jpg", way="image", text=text)
    write_scored([whole], path, Scoring("none"), SIZES, HICO)
    table = shoe.read_predictions(path)
    assert table.human_boxes.tolist() == [[0, 0, 20, 30]]
    assert table.object_boxes.tolist() == [[4, 15, 40, 30]]


def test_what_is_written_of_an_answer_is_read_back() -> None:
    said = GeneratedText("riding", (token("rid", ("rid", 0.5), ("walk", 0.25)), token("ing", ("ing", 1.0))), "length")
    assert read_completion(json.loads(json.dumps(completion(said, 12)))) == said
    assert read_completion({"choices": [{"message": {"content": None, "refusal": "No."}}]}).finish == "refused"
    damaged: list[object] = [None, [], {}, {"logprobs": {"content": [{"token": 1}]}}, {"logprobs": {"content": {}}}]
    for choices in damaged:
        assert read_completion({"choices": [choices]}) == GeneratedText("", None, "stop")


def test_what_vllm_makes_is_read_as_the_others_are() -> None:
    """Objects of the form that vLLM's documentation gives; the engine itself runs nowhere here."""
    likely, not_likely = (("yes", -0.5), (None, float("-inf")))
    place = {i: SimpleNamespace(decoded_token=t, logprob=p, rank=i - 6) for i, (t, p) in ((7, likely), (8, not_likely))}
    output = SimpleNamespace(text="yes", token_ids=[7], logprobs=[place], finish_reason="stop")
    said = generated_text(SimpleNamespace(outputs=[output], prompt_token_ids=[1, 2]))
    assert said == GeneratedText("yes", (Token("yes", -0.5, 7, (Token("yes", -0.5, 7), Token("", LEAST, 8))),), "stop")
    chat = chat_of(Question([Noise(3)], "What?", "Be brief."))
    assert [message["role"] for message in chat] == ["system", "user"]
    picture, text = chat[1]["content"]
    assert (picture["type"], picture["uuid"], picture["image_pil"].size) == ("image_pil", Noise(3).digest, (80, 60))
    assert text == {"type": "text", "text": "What?"}
