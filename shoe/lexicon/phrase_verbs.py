"""Verbs of a sentence: what only leads to one, what belongs to it, and whether it is a passive."""

from __future__ import annotations

from shoe.lexicon.phrase_classes import NOMINAL
from shoe.lexicon.phrase_noun_phrases import NounReader
from shoe.lexicon.phrase_parts import Noun
from shoe.lexicon.phrase_words import base_of, is_expression, table


class VerbReader(NounReader):
    """Stands at a verb of a sentence."""

    def __init__(self, words: list[str], tags: str) -> None:
        super().__init__(words, tags)
        self.subject: Noun | None = None

    def _verb_of(self, word: str) -> list[str]:
        """Take what makes one verb with the word just taken: "letting go of"."""
        together = self.words[self.at - 1 : self.at + 2]
        whole = self._tag() in "NV" and self._tag(1) == "I" and base_of(word) not in table("light_verb")
        if whole and is_expression(tuple(together), "verb"):
            self.at += 2
            return together
        return word.split("_")

    def _leads_on(self, at: int, be: bool) -> bool:
        """Whether a word only leads to the verb: "is trying to", "can be seen", "keeps"."""
        word, tag = self.words[at], self.tags[at]
        follower = at + 1
        while self.tags[follower] == "R":
            follower += 1
        after = self.tags[follower]
        if word in table("seen") and (be or tag not in "VGE"):
            return after in "TG"
        if tag in "VGE" and base_of(word) in table("copula") and self.tags[at + 1 : at + 3] == "EI":
            return True
        if tag in "VGE" and base_of(word) in table("filler") and not (be and word == "used"):
            seen = follower < len(self.words) and self.words[follower] in table("seen")
            passive = base_of(word) == "get" and after == "E"
            return after in "TG" or passive or (seen and self._leads_on(follower, True))
        return tag == "J" and be and after in "TG"

    def _is_of_noun(self, at: int) -> bool:
        """Whether a negation is of the noun after it: "not a person", "isn't anyone"."""
        return self.tags[at + 1] == "D" or self.words[at + 1 : at + 2] in (["anyone"], ["anybody"])

    def _stranded(self) -> str:
        """Take the prepositions that a passive leaves with its verb: "typed on by a person", "picked up by"."""
        end = self.at
        while self.tags[end] in "IR" and self.words[end] != "by":
            end += 1
        if self.words[end : end + 1] != ["by"] or not (end + 1 == len(self.words) or self._agent(end + 1)):
            return ""
        start, self.at = self.at, end
        return " ".join(self.words[i] for i in range(start, end) if self.tags[i] == "I")

    def _passive(self, be: bool) -> bool:
        """Whether the participle just taken says what its subject undergoes."""
        if self.words[self.at : self.at + 1] == ["by"] and (self.at + 1 == len(self.words) or self._agent(self.at + 1)):
            return True
        if be and self.subject is None and self.words[max(0, self.at - 2) : self.at - 1] == ["been"]:
            return True
        if self.subject is None or (not be and self._tag() in NOMINAL):
            return False
        return not self.subject.person or "being" in self.words[max(0, self.at - 4) : self.at]

    def _caused(self) -> bool:
        """Whether a participle ends a clause that has something done: "has its fur brushed", "gets a bath taken by"."""
        if self.open is None or self.open.object is None or self.open.attached or self.open.second:
            return False
        ends = self._tag() == "." or self.words[self.at] == "by"
        return ends and base_of(self.open.verb[0]) in ("get", "have")
