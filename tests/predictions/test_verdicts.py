"""Yes/no replies judge the candidate of their record, and lists may deny what they list."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.errors import input_error
from tests.predictions.reading import read_lines, words

BOXES = {"human_box": [0, 0, 90, 90], "object_box": [0, 0, 50, 50]}
CANDIDATE = {**BOXES, "verb": "ride", "object": "bicycle"}
PERSON, BICYCLE = "person [0, 0, 90, 90]", "bicycle [0, 0, 50, 50]"
RIDE, RIDING = [("ride", "bicycle")], [("riding", "bicycle")]


def read(folder: Path, record: dict[str, Any]) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Return the interactions of a record beside a readable one, and the counts of notes."""
    other = {"image": "b.jpg", "response": [{**BOXES, "verb": "hold", "object": "cup"}]}
    table, notes = read_lines(folder, other, {"image": "a.jpg"} | record)
    assert (table.images, words(table)[0]) == (("b.jpg", "a.jpg"), ("hold", "cup"))
    return words(table)[1:], {code: note.count for code, note in notes.remarks.items()}


def message(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


WRAPPERS: list[Any] = [
    lambda text: {"choices": [{"index": 0, "message": message(text), "finish_reason": "stop"}]},
    *(lambda text: {"choices": [{"text": text}]}, lambda text: {"outputs": [{"text": text}]}),
    *(lambda text: {"answers": [text]}, lambda text: {"resps": [[text]]}, lambda text: {"message": message(text)}),
    lambda text: {"conversations": [{"from": "human", "value": "Does he ride?"}, {"from": "gpt", "value": text}]},
    lambda text: {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]},
    lambda text: {"content": [{"type": "thinking", "thinking": "Maybe yes."}, {"type": "text", "text": text}]},
    lambda text: {"response": json.dumps({"answer": text, "reason": "as shown"})},
    lambda text: {"response": f"```json\n{json.dumps({'answer': text})}\n```"},
    lambda text: {"response": f"<think>Yes or no?</think><answer>{text}</answer>"},
    *(
        lambda text, key=key: {key: text}
        for key in ("text", "predict", "prediction", "pred", "model_answer", "answer", "result", "output_text")
    ),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_yes_keeps_and_no_removes_the_candidate_in_every_wrapper(tmp_path: Path, wrap: Any) -> None:
    assert read(tmp_path, CANDIDATE | wrap("Yes."))[0] == RIDE
    found, notes = read(tmp_path, CANDIDATE | wrap("No."))
    assert (found, notes["denied"]) == ([], 1)


YES = [
    *("Yes", "(A) Yes", "Answer: yes", "Final answer: yes.", "**Answer:** Yes", "$\\boxed{\\text{Yes}}$"),
    *("Surely, yes", "No lamp, but the answer is yes", "Oui, la personne le fait.", "Sí", "Ja", "是", "是的。", "はい"),
    *('{"present": true}', "Conclusion: yes", "Yes — he rides it with no hands", "Yes, he does.", "1", "`yes`"),
]  # fmt: skip
NO = [
    *("No", "B. No", "\\boxed{No}", "so the answer is no", "The answer is: **No**.", "### Answer\nNo", "no he is not"),
    *("Based on the image, no.", "I would say no.", "No: she walks", "Nein.", "Non", "Não", "Nope.", "0"),
    *("否", "不是。", "没有", "いいえ、乗っていません。", "Probably not.", "The person is not riding the bicycle."),
    *("{'answer': 'No'}", '{"present": false}', '{"interaction": false, "reason": "he walks"}', "Ruled out."),
    *("Denied.", "This interaction is rejected.", "Not yet.", "0%"),
]  # fmt: skip
UNCLEAR = [
    *("maybe", "Not sure", "It is unclear.", "I am not sure.", "I can't tell from the image.", "Yes and no.", "yes/no"),
    *("It cannot be determined.", "Possibly", "Unclear", "B", "???", '["yes", "no"]', '{"answer": "maybe"}', None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "kept", "note"),
    [*((reply, 1, "") for reply in YES), *((r, 0, "denied") for r in NO), *((r, 0, "unread") for r in UNCLEAR)],
)
def test_an_unclear_answer_is_counted_as_unread_and_no_answer_is_a_verb(
    tmp_path: Path, reply: str | None, kept: int, note: str
) -> None:
    found, notes = read(tmp_path, CANDIDATE | {"response": reply})
    assert (found, {code for code in ("denied", "unread") if notes.get(code)}) == (RIDE * kept, {note} - {""})


LISTS = Path(__file__).parents[1].joinpath("data", "denying_lists.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("text", LISTS)
def test_lists_and_prose_deny_what_they_mark(tmp_path: Path, text: str) -> None:
    text = text.replace("\\n", "\n")
    marked = text.format(riding="riding bicycle", holding="holding bicycle")
    boxed = text.format(riding=f"{PERSON} is riding {BICYCLE}", holding=f"{PERSON} is holding {BICYCLE}")
    for record in ({**BOXES, "object": "bicycle", "response": marked}, {"response": boxed}):
        found, notes = read(tmp_path, record)
        assert (found, notes["denied"]) == (RIDING, 1)


FIELDS = "human: [0, 0, 90, 90]\nobject: [0, 0, 50, 50]\nverb: riding\nlabel: bicycle\npresent: "


NOT_YET = [{"response": f"{PERSON} {words} {BICYCLE}."} for words in ("is not yet riding", "isn't yet riding")]
SURE: dict[str, Any] = {"verb": "riding", "object": "bicycle"}
HEADINGS = ("Interactions:", "**Interaction**", "## Interactions", "Here is what he does:")
LIKE_VERDICTS = [("present", "gift"), ("say no to", "cake"), ("found", "key"), ("spot", "no-entry sign")]


@pytest.mark.parametrize(
    ("record", "expected", "code"),
    [
        *((record, [], "denied") for record in ({"response": f"{FIELDS}no"}, *NOT_YET)),
        *((CANDIDATE | {"verb": word}, [], "denied") for word in ("no", "nein", "否")),
        # An answer without a candidate is no prediction.
        ({**BOXES, "object": "boat", "response": "Yes"}, [], "unread"),
        ({**BOXES, "object": "boat", "response": "Final answer: no"}, [], "unread"),
        ({"question": "Is the person rowing the boat?", "response": "No"}, [], "unread"),
        ({"verb": "row", "object": "boat", "response": "yes"}, [], "unread"),
        # A heading above a list is no interaction, and some words only look like verdicts.
        *(({**BOXES, "object": "bicycle", "response": f"{text}\n- riding bicycle"}, RIDING, "") for text in HEADINGS),
        *((CANDIDATE | {"verb": verb, "object": thing}, [(verb, thing)], "") for verb, thing in LIKE_VERDICTS),
    ],
)
def test_what_answers_and_fields_deny(tmp_path: Path, record: dict[str, Any], expected: Any, code: str) -> None:
    found, notes = read(tmp_path, record)
    assert found == expected
    assert not code or notes[code] == 1


@pytest.mark.parametrize(
    ("item", "kept"),
    [
        *(({"interaction": "riding bicycle (false)"}, 0), ({"interaction": "~~riding bicycle~~"}, 0)),
        ({"object": "bicycle", "interaction": "riding no bicycle"}, 0),
        ({"object": "bicycle", "verbs": ["✅ riding", "❌ holding"]}, 1),
        ({"object": "bicycle", "verbs": ["riding: yes", "holding: no"]}, 1),
        ({"object": "bicycle", "verb": "riding", "present": "no"}, 0),
        ({"object": "bicycle", "verb": "riding", "answer": "absent"}, 0),
        *(({"object": "bicycle yes", "verb": "riding"}, 1), ({"object": "bicycle no", "verb": "riding"}, 0)),
        ({"object": "bicycle", "verb": "riding yes"}, 1),
        ({"target_action": "riding", "action": "no", "object": "bicycle"}, 0),
        ({"target_action": "riding", "action": "yes", "object": "bicycle"}, 1),
        ({"target_action": "feed", "action": "riding", "object": "bicycle"}, 1),
        ({"target_object": "horse", "object": "bicycle", "verb": "riding"}, 1),
        # Keys of choices
        *[(SURE | {key: value}, value) for key in ("selected", "accepted", "kept") for value in (False, True)],
        *((SURE | {"votes": votes}, kept) for votes, kept in ((0, 0), ("0/5", 0), (3, 1))),
        *((SURE | {"status": word}, word == "accepted") for word in ("rejected", "accepted")),
        *((SURE | denial, 0) for denial in ({"verdict": "incorrect"}, {"relation": "none"})),
    ],
)
def test_items_with_a_mark_beside_or_within_their_words(tmp_path: Path, item: dict[str, Any], kept: int) -> None:
    for record in (BOXES | item, {"response": [BOXES | item]}):
        found, notes = read(tmp_path, record)
        assert found == RIDING * kept
        assert notes.get("denied", 0) == (1 if "verbs" in item else 1 - kept)


def test_a_verb_field_that_only_says_yes_is_refused(tmp_path: Path) -> None:
    with input_error("no such key", record="line 2", field="phrase"):
        read(tmp_path, CANDIDATE | {"verb": "yes"})


@pytest.mark.parametrize(
    "text",
    [
        *("{}. Correct.", "Confirmed: {}", "Interactions that I confirmed:\n- {}", "{} (likely)", "{} (not unlikely)"),
        *("Man with no helmet:\n- {}", "{} (no helmet)", "{}, not holding a cup", "{} (the rider removed the helmet)"),
        *(f"{FIELDS}yes", f"No. 2: {PERSON} is holding {BICYCLE}\nInteraction No. 1: {{}}"),
    ],
)
def test_other_words_deny_nothing(tmp_path: Path, text: str) -> None:
    found, notes = read(tmp_path, {"response": text.format(f"{PERSON} is riding {BICYCLE}")})
    assert (found, notes.get("denied", 0)) == ([("holding", "bicycle")] * ("No. 2" in text) + RIDING, 0)
