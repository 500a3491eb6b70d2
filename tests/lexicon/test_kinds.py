"""Phrases of five hard kinds, as a reply states them about one pair; their author did not know the parser."""

import pytest

from shoe.lexicon.phrases.tagger import tagging_of
from shoe.lexicon.senses import bases
from shoe.predictions.vlm.box_marks import Entity
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import Verb
from shoe.predictions.vlm.parsed_reply import Pair
from shoe.predictions.vlm.words import parse_pair_words
from tests.lexicon.wordings import rows


def result(row: dict[str, str]) -> str:
    """Return "right" if the heads of the first verb and object are the row's, "unread" for a doubt, else "wrong"."""
    human, thing = box_of([10, 10, 110, 210], "bbox"), box_of([60, 80, 300, 300], "bbox")
    assert human
    assert thing
    words = parse_pair_words(Pair(Entity(human), Entity(thing), "", "", (Verb(row["text"]),), ""))
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
    assert len(found) >= 200
    assert found.count("right") >= 0.98 * len(found)
    assert found.count("wrong") <= 0.01 * len(found)


def test_the_shipped_weights_are_those_of_the_tagged_phrases() -> None:
    tagged = rows("tagged")[::20]
    same = [row["tags"] in tagging_of(row["words"].split()) for row in tagged]
    assert sum(same) >= 0.98 * len(same)
