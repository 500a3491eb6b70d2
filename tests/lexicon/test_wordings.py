"""How many of the wordings of ``tests/data/phrases`` are understood; most of them were not used for the parser."""

from pathlib import Path

import pytest

from shoe.lexicon.phrases.parse import interactions
from shoe.lexicon.phrases.tagger import tagging_of
from shoe.lexicon.senses import bases
from shoe.predictions.vlm.box_marks import Entity
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import Verb
from shoe.predictions.vlm.parsed_reply import Pair
from shoe.predictions.vlm.words import parse_pair_words
from tests.lexicon.wordings import misread, rows, wordings
from tests.present import present

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "phrases.md"
TERSE = ("to-noun", "ing-verb", "ing-prep", "passive-persons", "person-object")


@pytest.mark.parametrize(
    ("name", "kind", "least", "right", "silent"),
    [
        *(("tuned", "", 435, 0.99, 0.01), ("unseen", "", 386, 0.95, 0.04), ("captions", "", 750, 0.96, 0.03)),
        *(("telegraphic", kind, 230, 0.97, 0.01) for kind in TERSE),
    ],
)
def test_wordings_are_understood_or_doubtful(name: str, kind: str, least: int, right: float, silent: float) -> None:
    number, wrong, unnoticed = misread(each for each in wordings(name) if kind in ("", each.kind))
    assert number >= least
    assert wrong <= (1 - right) * number
    assert unnoticed <= silent * number


def test_examples_of_the_documents_are_read_so() -> None:
    table = PAGE.read_text("utf-8").split("\n\n")[2].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    for phrase, *said in rows:
        found = interactions(phrase).interactions
        words = [", and ".join(dict.fromkeys(part)) for part in zip(*found, strict=True)]
        assert words == said, phrase


def result(row: dict[str, str]) -> str:
    """Return "right" if the heads of the first verb and object are the row's, "unread" for a doubt, else "wrong"."""
    human, thing = (Entity(present(box_of(edges, "bbox"))) for edges in ([10, 10, 110, 210], [60, 80, 300, 300]))
    words = parse_pair_words(Pair(human, thing, "", "", (Verb(row["text"]),), ""))
    if words is None or not words.interactions:
        return "unread"
    verb = words.interactions[0].verb.split()[0].lower()
    noun = words.interactions[0].object.split(" / ")[0].split(" of ")[0].lower()
    heads = {noun, noun.split()[-1], *bases(noun.split()[-1], "object")}
    same_verb = row["verb"].split()[0] in {verb, *bases(verb, "verb"), *bases(verb.rpartition("-")[2], "verb")}
    same_noun = not heads.isdisjoint({row["object"], row["object"].split()[-1]})
    return "right" if same_verb and same_noun else "unread" if words.doubtful else "wrong"


@pytest.mark.parametrize("kind", ["telegraphic", "ing-noun", "to-noun", "passive", "person-object"])
def test_phrases_of_hard_kinds_are_right_or_doubtful(kind: str) -> None:
    found = [result(row) for row in rows("kinds") if row["kind"] == kind]
    assert len(found) >= 390
    assert found.count("right") >= 0.98 * len(found)
    assert found.count("wrong") <= 0.01 * len(found)


def test_the_shipped_weights_are_those_of_the_tagged_phrases() -> None:
    tagged = rows("tagged")[::20]
    same = [row["tags"] in tagging_of(row["words"].split()) for row in tagged]
    assert sum(same) >= 0.98 * len(same)
