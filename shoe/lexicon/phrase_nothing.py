"""Phrases that say that nothing is done with a thing: "no interaction between the man and the dog"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoe.lexicon.expressions import bases
from shoe.lexicon.phrase_clauses import sentence_of
from shoe.lexicon.phrase_given import Given
from shoe.lexicon.phrase_nouns import is_of_body, is_scenery, names
from shoe.lexicon.phrase_parts import Candidate, Noun
from shoe.lexicon.phrase_tags import tags_of, words_of
from shoe.lexicon.phrase_words import patterns, table, word_of

NO_INTERACTION = "no_interaction"

_DENIES_ALL = re.compile(patterns("denial"))
# What names no thing that something could be done with: "in this image", "between people and objects".
_UNNAMED = re.compile(rf"\b(?:{patterns('unnamed')})")
# Letters of a verb after a form of be.
_DOES = re.compile(r"B[RX]*[GE]")


def says_nothing(part: str) -> bool:
    """Whether a part of a phrase says that there is no interaction."""
    may_deny = any(word in part for word in table("denying"))
    return part.strip() in table("nothing") or (may_deny and bool(_DENIES_ALL.search(part.replace("_", " "))))


def no_interaction(part: str, given: Given, beside: Sequence[str] = ()) -> list[list[Candidate]]:
    """Read "no interaction between the man and the dog": a thing after these words, before them, or a person after.

    Where it names none, that of a sentence beside it is meant: "None. The chair is in the background."
    """
    if given.object:
        return [[Candidate([NO_INTERACTION], [given.object])]]
    part = _UNNAMED.sub("", part)
    sides = (
        [] if part.strip() in table("nothing") else [words_of(s) for s in _DENIES_ALL.sub("| the ", part).split("|")]
    )
    told = []
    for words in sides:
        tags = _DOES.sub(lambda does: "I" * len(does[0]), tags_of(words))
        told.append(nouns_of(words, tags.replace("G", "J").replace("E", "J")))
    after = [noun for nouns in told[1:] for noun in nouns]
    near = nouns_of(list(beside), tags_of(list(beside)))
    things = [noun for noun in (*near, *(n for nouns in told for n in nouns)) if not noun.person]
    others = [noun for noun in things if not is_scenery(noun) and not is_of_body(noun)] or things or after
    return [[Candidate([NO_INTERACTION], names(others[-1]))]] if others else []


def nouns_of(words: list[str], tags: str) -> list[Noun]:
    """Every noun phrase of tagged words that names something."""
    sentence = sentence_of(words, tags)
    found = [*sentence.nouns, *(attached.noun for attached in sentence.loose)]
    for clause in sentence.clauses:
        listed = (clause.object, clause.second, *(attached.noun for attached in clause.attached))
        found += [noun for noun in listed if noun is not None]
    return [each for noun in found for each in (noun, *noun.also) if not _is_general(each)]


def _is_general(noun: Noun) -> bool:
    """Whether a noun names nothing by itself: "no interaction with any object"."""
    heads = {noun.head, *bases(noun.head, "object")}
    told = word_of(noun.head)
    general = not heads.isdisjoint(table("nothing").keys() | table("key_object").keys() | table("reciprocal").keys())
    return general or (bool(told.forms) and not told.noun)
