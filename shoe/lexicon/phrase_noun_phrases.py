"""Noun phrases, with the nouns that "of", "and" and a possessive join to them, and the prepositions before them."""

from __future__ import annotations

import re

from shoe.lexicon import text
from shoe.lexicon.phrase_classes import NOMINAL
from shoe.lexicon.phrase_nouns import is_of_body, senses_of
from shoe.lexicon.phrase_parts import Attached, Clause, Noun
from shoe.lexicon.phrase_words import base_of, is_expression, table

_DESCRIBES = ("J", "NN", "RJ")  # after "and" between words that describe a noun: "fluffy and rather old dog"
_END = "..."  # more than a reader looks ahead
# Things after the first: ", a handbag and a suitcase".
_LIST = re.compile(r"(?:K[DJ]*N+)*K?C[DJ]*N+(?=[.IKSC])")


class NounReader:
    """Stands at one letter of a sentence, and takes the noun phrase that begins there."""

    def __init__(self, words: list[str], tags: str) -> None:
        self.words, self.tags, self.at = words, tags + _END, 0
        self.open: Clause | None = None

    def _tag(self, offset: int = 0) -> str:
        return self.tags[self.at + offset]

    def noun_phrase(self) -> Noun | None:
        """Take a noun phrase, with what "of" and "and" join to it; None where there is no noun."""
        words: list[str] = []
        owner: Noun | None = None
        headed = none = person = its = False
        while self.at < len(self.words):
            word, tag, after = self.words[self.at], self._tag(), self._tag(1)
            if tag in "DX" and not headed:
                none = none or tag == "X" or word in table("nobody")
                its = word == "its"
            elif headed and tag == "N" and self._gives(words):
                break
            elif tag in "NP" and not (headed and word in table("pronoun")):
                words.append(word)
                headed, person = True, tag == "P"
                if word in table("pronoun"):
                    self.at += 1
                    break
            elif tag == "J" and (not headed or after in ("N", "P", "J")):
                words.append(word)
            elif tag == "O" and words:
                owner = Noun(words, person=person)
                words, headed = [], False
            elif (tag == "R" and not headed and after in ("J", "N", "P")) or (
                tag == "K" and words and not headed and after in ("J", "N", "R")
            ):
                pass
            elif tag == "C" and words and not headed and self.tags.startswith(_DESCRIBES, self.at + 1):
                words.append(word)
            else:
                break
            self.at += 1
        if self._tag() == "I" and self.words[self.at] == "than" and len(words) > 1:
            words = words[:-1]
        if not words:
            return Noun(["nobody"], person=True, none=True) if none else None
        noun = Noun(words, owner=owner, person=person, none=none or words[-1] in table("nobody"), its=its)
        return self._joined(noun) if headed or self._tag() != "C" else noun

    def _gives(self, words: list[str]) -> bool:
        """Whether an open clause gives an animal the thing whose name comes next: "feeds pigeons bread"."""
        if self.open is None or self.open.object is not None:
            return False
        gives = base_of(self.open.verb[0]) in table("ditransitive") and senses_of(words[-1])[:1] == ("noun.animal",)
        return gives and not is_expression((words[-1], self.words[self.at]), "object")

    def _joined(self, noun: Noun) -> Noun:
        if self._tag() == "I" and self.words[self.at] == "of" and self._tag(1) in NOMINAL:
            self.at += 1
            noun.of = self.noun_phrase()
            if noun.of is not None and noun.head in text.WORD_CLASSES["measures"]:
                noun.person = noun.of.person
        elif (self._tag() == "C" and self._tag(1) in NOMINAL and not self._verb_after()) or (
            self._tag() == "K" and _LIST.match(self.tags, self.at)
        ):
            self.at += 2 if self._tag(1) == "C" else 1
            other = self.noun_phrase()
            if other is not None and other.none and self.open is not None:
                self.open.attached.append(Attached("without", other))
            else:
                noun.also += [other, *other.also] if other is not None else []
        return noun

    def _prepositions(self) -> str:
        """Take prepositions, and nouns that only say on which side ("on top of", "at the edge of")."""
        found: list[str] = []
        while self._tag() == "I":
            found.append(self.words[self.at])
            self.at += 1
            side = self.at + (self._tag() == "D")
            if side + 1 < len(self.words) and self.words[side + 1] == "of":
                if (found[-1], self.words[side]) == ("in", "front") or self.words[side] in table("relation"):
                    found += self.words[self.at : side + 2]
                elif self.words[side] not in table("side"):
                    continue
                self.at = side + 2
        return " ".join(found)

    def _agent(self, at: int) -> bool:
        while at < len(self.words) and self.tags[at] in "DJR":
            at += 1
        while at + 1 < len(self.words) and self.tags[at + 1] in "NP" and self.tags[at] == "N":
            at += 1
        return at < len(self.words) and (self.tags[at] == "P" or is_of_body(Noun([self.words[at]])))

    def _verb_after(self) -> bool:
        """Whether the noun after "and" has a verb of its own, where a clause is open: it begins another clause."""
        at = self.at + 1
        while self.tags[at] in "DJNPO":
            at += 1
        thing = self.open is not None and self.open.object is None and self.tags[self.at - 1] == "N"
        thing = thing or self.words[at - 1] in table("pronominal")
        return self.open is not None and self.tags[at - 1] == "P" and self.tags[at] in ("BHXVG" if thing else "BHXV")
