"""A word where it stands in its phrase: what it can be, and what stands around it."""

from __future__ import annotations

from typing import NamedTuple

from shoe.lexicon.phrase_classes import BEFORE_NOUNS, VERB_FORMS, coming, only_describes
from shoe.lexicon.phrase_words import Word, is_expression

# What may follow an adjective in a list, after a comma or "and".
_DESCRIBED = {"K": ("N", "J", "E", "G"), "C": ("J",)}
_ANAPHORS = frozenset(["it", "them", "him"])


class Place(NamedTuple):
    """A word in its phrase; letters as in :mod:`shoe.lexicon.phrase_tags`.

    Attributes:
        words: all words of the phrase.
        i: index of this one.
        tags: letters of the words before it.
        known: what it can be.
        before: letter before it, adverbs aside.
        after: letter that the next word has by itself.
        noun: its letter if it is a noun.
    """

    words: list[str]
    i: int
    tags: list[str]
    known: Word
    before: str
    after: str
    noun: str

    def is_compound(self, start: int) -> bool:
        """Whether two words from an index on are one noun in the lexicon ("dining table")."""
        return is_expression(tuple(self.words[start : start + 2]), "object")

    @property
    def describes(self) -> bool:
        """Whether a noun follows, or another adjective, in a list of them."""
        following = self.i + 2
        while coming(self.words, following) == "R":
            following += 1
        if self.after in ("N", "P", "J") or self.before not in BEFORE_NOUNS:
            return self.after in ("N", "P", "J")
        then = coming(self.words, following)
        made = self.after == "E" and then in ("N", "P")
        adjective = self.after == "C" and following < len(self.words) and only_describes(self.words[following])
        return made or adjective or then in _DESCRIBED.get(self.after, "")

    @property
    def ends_pronoun(self) -> bool:
        """Whether it stands at the end, after "it" that has a verb before: "he eats it raw"."""
        told = not self.after and self.i > 1 and self.words[self.i - 1] in _ANAPHORS
        return told and self.tags[-2] in VERB_FORMS

    def of_anaphor(self) -> bool:
        """Whether "it" follows, by a preposition or not."""
        following = self.words[self.i + 1 : self.i + (3 if self.after == "I" else 2)]
        return not _ANAPHORS.isdisjoint(following)
