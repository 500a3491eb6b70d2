"""Captions without articles, passives between persons, and persons as objects: phrases written before the rules."""

import pytest

from shoe.lexicon.phrases.parse import interactions
from tests.lexicon.wordings import by_hand, misread, wordings

# A noun in -ing after an adjective, or as head of a compound; passives that begin with a compound or an adjective, or
# that have a preposition; the action of the subject, not of the person who is helped or given something.
KINDS = (
    "without articles",
    "noun in -ing",
    "passive without articles",
    "action of the subject",
    "words that are no verbs",
)


@pytest.mark.parametrize("kind", ["to-noun", "ing-verb", "ing-prep", "passive-persons", "person-object"])
def test_phrases_without_articles_are_understood_or_doubtful(kind: str) -> None:
    number, wrong, unnoticed = misread(each for each in wordings("telegraphic") if each.kind == kind)
    assert number >= 230
    assert wrong <= 0.03 * number
    assert unnoticed <= 0.01 * number


@pytest.mark.parametrize(("phrase", "said"), by_hand(*KINDS))
def test_phrases_without_articles(phrase: str, said: str) -> None:
    (found,) = interactions(phrase).interactions
    assert " + ".join(words.split(" / ")[0] for words in found) == said


def test_the_action_of_a_person_who_is_helped_is_a_second_interaction() -> None:
    phrase = "helping old lady cross street"
    assert interactions(phrase).interactions == (("helping", "old lady"), ("cross", "street"))
