"""Lines of a reply that name a pair of boxes, with the verb before or after the pair, and drafts above final lists."""

from pathlib import Path

import pytest

from tests.predictions.reading import read_reply, words

PERSON, CHAIR, BOOK = "person [0, 0, 90, 90]", "chair [10, 10, 50, 50]", "book [60, 60, 80, 80]"
SIT, HOLD = ("sitting on", "chair", 50.0), ("holding", "book", 80.0)


def read(tmp_path: Path, reply: str) -> list[tuple[str, str, float]]:
    table = read_reply(tmp_path, reply)
    assert (table.human_boxes[:, 2] == 90).all()
    return [(verb.lower(), thing, x2) for (verb, thing), x2 in zip(words(table), table.object_boxes[:, 2], strict=True)]


@pytest.mark.parametrize(
    "line",
    [
        "- **{verb}** – {person}, {thing}",
        "{verb}: {person} and {thing}",
        "{verb}: {thing}, {person}",
        "{verb} → {person} → {thing}",
        "{verb} = ({person}, {thing})",
        "- {verb} ({person}, {thing})",
        "({person}, {thing}): {verb}",
        "1. {person}, {thing} - {verb}",
        "Pair 1: {person}, {thing} -> {verb}",
        "{person} & {thing}\n- {verb}\n",
        "Pair 1: {person}, {thing}\nInteraction: {verb}\n",
    ],
)
def test_the_verb_of_a_pair_is_read_before_behind_and_below_the_pair(tmp_path: Path, line: str) -> None:
    pairs = [("sitting on", CHAIR), ("holding", BOOK)]
    reply = "\n".join(line.format(verb=verb, person=PERSON, thing=thing) for verb, thing in pairs)
    assert read(tmp_path, reply) == [SIT, HOLD]


DRAFT, FINAL = f"\n1. {PERSON} - kicking - {CHAIR}\n\n", f"\n1. {PERSON} - sitting on - {CHAIR}"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # labels with colons in parentheses
        (f"- sitting on ({PERSON}, {CHAIR})\n- holding ({PERSON}, {BOOK})".replace(" [", ": ["), [SIT, HOLD]),
        # "it" is the object that starts the line
        (f"- {CHAIR}: the {PERSON} is sitting on it.\n- {BOOK}: the {PERSON} is holding it.", [SIT, HOLD]),
        # several verbs of a pair
        (f"{PERSON}, {CHAIR}\n- sitting on\n- holding", [SIT, ("holding", "chair", 50)]),
        (f"sitting on, holding: {PERSON}, {CHAIR}", [SIT, ("holding", "chair", 50)]),
        # a phrase before a pair keeps its object
        (f"- holding book: {PERSON}, {BOOK}", [HOLD]),
        # a draft above a final list is not read
        (f"Draft:{DRAFT}After checking, the correct list:{FINAL}", [SIT]),
        (f"**Initial guess:**{DRAFT}**Final answer:**{FINAL}", [SIT]),
        (f"First pass:{DRAFT}Refined:{FINAL}", [SIT]),
        # unless the final answer has no boxes
        (f"Initial list:\n{PERSON} - sitting on - {CHAIR}\n\nFinal answer: one person sits.", [SIT]),
    ],
)
def test_lines_of_pairs_are_read_completely(tmp_path: Path, reply: str, expected: list[tuple[str, str, float]]) -> None:
    assert read(tmp_path, reply) == expected


def test_a_number_behind_a_pair_is_its_score(tmp_path: Path) -> None:
    reply = f"holding: {PERSON}, {BOOK} (0.9)\n({PERSON}, {CHAIR}): sitting on (0.4)"
    assert read_reply(tmp_path, reply).score.tolist() == [0.9, 0.4]
