"""Yes/no replies judge the candidate of their record, and lists may deny what they list."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.predictions import read_predictions_with_notes

BOXES = {"human_box": [0, 0, 90, 90], "object_box": [0, 0, 50, 50]}
CANDIDATE = {"image": "a.jpg", **BOXES, "verb": "ride", "object": "bicycle"}
PERSON, BICYCLE = "person [0, 0, 90, 90]", "bicycle [0, 0, 50, 50]"


def read(folder: Path, record: dict[str, Any]) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Return the interactions of a record beside a readable one, and the counts of notes."""
    path = folder / "answers.jsonl"
    other = {"image": "b.jpg", "response": [{**BOXES, "verb": "hold", "object": "cup"}]}
    path.write_text("\n".join(map(json.dumps, [other, record])))
    table, notes = read_predictions_with_notes(path)
    rows = zip(table.image, table.verb, table.object, strict=True)
    found = [(table.verbs[v], table.objects[o]) for i, v, o in rows if table.images[i] == "a.jpg"]
    return found, {code: note.count for code, note in notes.remarks.items()}


def message(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


WRAPPERS: list[Any] = [
    lambda text: {"choices": [{"index": 0, "message": message(text), "finish_reason": "stop"}]},
    lambda text: {"choices": [{"text": text}]},
    lambda text: {"outputs": [{"text": text}]},
    lambda text: {"answers": [text]},
    lambda text: {"resps": [[text]]},
    lambda text: {"message": message(text)},
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
    assert read(tmp_path, CANDIDATE | wrap("Yes."))[0] == [("ride", "bicycle")]
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
    *("{'answer': 'No'}", '{"present": false}', '{"interaction": false, "reason": "he walks"}'),
]  # fmt: skip
UNCLEAR = [
    *("maybe", "Not sure", "It is unclear.", "I am not sure.", "I can't tell from the image.", "Yes and no.", "yes/no"),
    *("It cannot be determined.", "Possibly", "Unclear", "B", "???", '["yes", "no"]', '{"answer": "maybe"}'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "kept", "note"),
    [*((reply, 1, "") for reply in YES), *((r, 0, "denied") for r in NO), *((r, 0, "unread") for r in UNCLEAR)],
)
def test_an_unclear_answer_is_counted_as_unread_and_no_answer_is_a_verb(
    tmp_path: Path, reply: str, kept: int, note: str
) -> None:
    found, notes = read(tmp_path, CANDIDATE | {"response": reply})
    assert found == [("ride", "bicycle")] * kept
    assert {code for code in ("denied", "unread") if notes.get(code)} == {note} - {""}


@pytest.mark.parametrize(
    "record",
    [
        {**BOXES, "object": "boat", "response": "Yes"},
        {**BOXES, "object": "boat", "response": "Final answer: no"},
        {"question": "Is the person rowing the boat?", "response": "No"},
        {"verb": "row", "object": "boat", "response": "yes"},
    ],
)
def test_an_answer_without_a_candidate_is_named(tmp_path: Path, record: dict[str, Any]) -> None:
    found, notes = read(tmp_path, {"image": "a.jpg", **record})
    assert (found, notes["unread"]) == ([], 1)


LISTS = [
    "- [x] {riding}\n- [ ] {holding}",
    "✅ {riding}\n❌ {holding}",
    "{riding} ✓\n{holding} ✗",
    "{riding}\n~~{holding}~~",
    "{riding}? yes\n{holding}? no",
    "1. {riding}: Yes\n2. {holding}: No",
    "{riding} (true)\n{holding} (false)",
    "{riding} (present)\n{holding} (not present)",
    "{riding} - yes\n{holding} - no",
    "{riding}\nNo evidence that {holding}",
    "Interactions present:\n- {riding}\n\nInteractions NOT present:\n- {holding}",
    "The following interactions are not present:\n- {holding}\n\n{riding}",
    "## Not present\n- {holding}\n## Present\n- {riding}",
    "Not visible: {holding}\nVisible: {riding}",
    "absent: {holding}\n{riding}",
]


@pytest.mark.parametrize("text", LISTS)
def test_lists_and_prose_deny_what_they_mark(tmp_path: Path, text: str) -> None:
    marked = text.format(riding="riding bicycle", holding="holding bicycle")
    found, notes = read(tmp_path, {"image": "a.jpg", **BOXES, "object": "bicycle", "response": marked})
    assert (found, notes["denied"]) == ([("riding", "bicycle")], 1)
    boxed = text.format(riding=f"{PERSON} is riding {BICYCLE}", holding=f"{PERSON} is holding {BICYCLE}")
    found, notes = read(tmp_path, {"image": "a.jpg", "response": boxed})
    assert (found, notes["denied"]) == ([("riding", "bicycle")], 1)


@pytest.mark.parametrize("heading", ["Interactions:", "**Interaction**", "## Interactions", "Here is what he does:"])
def test_a_heading_above_a_list_is_no_interaction(tmp_path: Path, heading: str) -> None:
    record = {"image": "a.jpg", **BOXES, "object": "bicycle", "response": f"{heading}\n- riding bicycle"}
    assert read(tmp_path, record)[0] == [("riding", "bicycle")]


@pytest.mark.parametrize(
    ("item", "kept"),
    [
        ({"interaction": "riding bicycle (false)"}, 0),
        ({"interaction": "~~riding bicycle~~"}, 0),
        ({"object": "bicycle", "interaction": "riding no bicycle"}, 0),
        ({"object": "bicycle", "verbs": ["✅ riding", "❌ holding"]}, 1),
        ({"object": "bicycle", "verbs": ["riding: yes", "holding: no"]}, 1),
        ({"object": "bicycle", "verb": "riding", "present": "no"}, 0),
        ({"object": "bicycle", "verb": "riding", "answer": "absent"}, 0),
        ({"object": "bicycle yes", "verb": "riding"}, 1),
        ({"object": "bicycle no", "verb": "riding"}, 0),
        ({"object": "bicycle", "verb": "riding yes"}, 1),
        ({"target_action": "riding", "action": "no", "object": "bicycle"}, 0),
        ({"target_action": "riding", "action": "yes", "object": "bicycle"}, 1),
        ({"target_action": "feed", "action": "riding", "object": "bicycle"}, 1),
        ({"target_object": "horse", "object": "bicycle", "verb": "riding"}, 1),
    ],
)
def test_items_with_a_mark_beside_or_within_their_words(tmp_path: Path, item: dict[str, Any], kept: int) -> None:
    for record in ({"image": "a.jpg", **BOXES, **item}, {"image": "a.jpg", "response": [{**BOXES, **item}]}):
        found, notes = read(tmp_path, record)
        assert found == [("riding", "bicycle")] * kept
        assert kept or notes["denied"] == 1


def test_fields_in_text_may_deny_their_item(tmp_path: Path) -> None:
    fields = "human: [0, 0, 90, 90]\nobject: [0, 0, 50, 50]\nverb: riding\nlabel: bicycle\npresent: "
    assert read(tmp_path, {"image": "a.jpg", "response": f"{fields}no"})[0] == []
    assert read(tmp_path, {"image": "a.jpg", "response": f"{fields}yes"})[0] == [("riding", "bicycle")]


@pytest.mark.parametrize("word", ["no", "nein", "否"])
def test_a_verb_field_that_only_says_no_is_no_verb(tmp_path: Path, word: str) -> None:
    found, notes = read(tmp_path, CANDIDATE | {"verb": word})
    assert (found, notes["denied"]) == ([], 1)


def test_a_verb_field_that_only_says_yes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a phrase, or a verb and an object"):
        read(tmp_path, CANDIDATE | {"verb": "yes"})


@pytest.mark.parametrize(
    "words", [("present", "gift"), ("say no to", "cake"), ("found", "key"), ("spot", "no-entry sign")]
)
def test_words_that_only_look_like_verdicts_are_read(tmp_path: Path, words: tuple[str, str]) -> None:
    verb, object_ = words
    assert read(tmp_path, CANDIDATE | {"verb": verb, "object": object_})[0] == [words]


def test_numbers_of_items_deny_nothing(tmp_path: Path) -> None:
    text = f"Interaction No. 1: {PERSON} is riding {BICYCLE}\nNo. 2: {PERSON} is holding {BICYCLE}"
    found, notes = read(tmp_path, {"image": "a.jpg", "response": text})
    assert (found, notes.get("denied", 0)) == ([("riding", "bicycle"), ("holding", "bicycle")], 0)


DENYING = [
    "{riding}\nCandidates I dismissed:\n- {holding}",
    "{riding}\n**Excluded:** {holding}",
    "{riding}\n{holding} (ruled out)",
    "{riding}: correct\n{holding}: incorrect",
    "{riding}\n{holding}: ruled out because of the hands",
    "{riding}\n{holding} (0%)",
    "What I do not see:\n- {holding}\nWhat I see:\n- {riding}",
    "{riding}\n{holding} - not yet",
    "{riding}\n{holding}: no sign",
    "Unsupported by the image:\n- {holding}\n\nSupported by the image:\n- {riding}",
    "{riding}\nWrong candidates: {holding}",
    "{riding}\nNone of these happen:\n- {holding}",
    "{riding}\n**Rejected candidates**\n- {holding}",
    "{riding}\n{holding} => wrong",
    "Confirmed: {riding}\nRefuted: {holding}",
    "{riding}\n{holding}. That is incorrect.",
    "{riding}\n{holding} -- doesn't apply",
    "{riding}\nIt is ruled out that {holding}.",
    "{riding}\nThere is no indication that {holding}.",
]


@pytest.mark.parametrize("text", DENYING)
def test_other_words_of_denial(tmp_path: Path, text: str) -> None:
    test_lists_and_prose_deny_what_they_mark(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        *("{}. Correct.", "Confirmed: {}", "Interactions that I confirmed:\n- {}", "{} (likely)", "{} (not unlikely)"),
        *("Man with no helmet:\n- {}", "{} (no helmet)", "{}, not holding a cup", "{} (the rider removed the helmet)"),
    ],
)
def test_other_words_deny_nothing(tmp_path: Path, text: str) -> None:
    answer = text.format(f"{PERSON} is riding {BICYCLE}")
    found, notes = read(tmp_path, {"image": "a.jpg", "response": answer})
    assert (found, notes.get("denied", 0)) == ([("riding", "bicycle")], 0)


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        *[({key: value}, value) for key in ("selected", "accepted", "kept") for value in (False, True)],
        *(({"votes": 0}, 0), ({"votes": "0/5"}, 0), ({"votes": 3}, 1), ({"verdict": "incorrect"}, 0)),
        *(({"status": "rejected"}, 0), ({"status": "accepted"}, 1), ({"relation": "none"}, 0)),
    ],
)
def test_keys_of_choices_deny_their_item(tmp_path: Path, field: dict[str, Any], kept: int) -> None:
    for record in ({**CANDIDATE, **field}, {"image": "a.jpg", "response": [CANDIDATE | field]}):
        found, notes = read(tmp_path, record)
        assert (len(found), notes.get("denied", 0)) == (kept, 1 - kept)


def test_an_action_that_has_not_begun_is_denied(tmp_path: Path) -> None:
    for words in ("is not yet riding", "isn't yet riding"):
        found, notes = read(tmp_path, {"image": "a.jpg", "response": f"{PERSON} {words} {BICYCLE}."})
        assert (found, notes["denied"]) == ([], 1)


def test_a_missing_reply_does_not_confirm_the_candidate(tmp_path: Path) -> None:
    found, notes = read(tmp_path, CANDIDATE | {"response": None})
    assert (found, notes["unread"]) == ([], 1)


@pytest.mark.parametrize("reply", ["Ruled out.", "Denied.", "This interaction is rejected.", "Not yet.", "0%"])
def test_other_words_answer_no(tmp_path: Path, reply: str) -> None:
    found, notes = read(tmp_path, CANDIDATE | {"response": reply})
    assert (found, notes["denied"]) == ([], 1)
