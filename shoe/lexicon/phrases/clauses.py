"""Verbs of a sentence: what only leads to one, what belongs to it, and whether it is a passive."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoe.lexicon import text
from shoe.lexicon.phrases.noun_phrases import Attached, Clause, Kind, Noun, NounReader, Sentence, is_of_body, is_scenery
from shoe.lexicon.phrases.words import FULL_STOP, NOMINAL, base_of, is_expression, is_incorporated, table


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


# The clauses of a phrase: each verb with its particle, its object and what prepositions bring in beside it.

_FINITE_BE = frozenset(["is", "are", "was", "were", "am", "'s", "'re", "'m", *text.NEGATIONS])
# How a part of the body is held.
_HELD = re.compile(r"(?:[VE]?[JRN]?|I[DJ]*N+)(?=K)")


@dataclass(slots=True)
class _Start:
    """What the words before a clause say of it; the attributes are those of the clause, as far as it has them.

    Attributes:
        without: whether "without" stands before it.
    """

    kind: Kind | None = None
    linked: str = ""
    apart: bool = False
    without: bool = False


class _Reader(VerbReader):
    """Walks once over the letters of a sentence.

    Attributes:
        start: what is known of the next clause.
        topic, dangling: thing that a relative clause tells of, and the preposition before its "which".
        beside: subject before "with" and another's doing; the next clause has it again.
        whose: noun before "whose".
        aboard: a person and what that person is on.
    """

    def __init__(self, words: list[str], tags: str) -> None:
        super().__init__(words, tags)
        self.found, self.start, self.sentence = Sentence([], [], []), _Start(), 0
        self.topic: Noun | None = None
        self.dangling = ""
        self.beside: Noun | None = None
        self.whose: Noun | None = None
        self.aboard: tuple[Noun, Noun] | None = None

    def read(self) -> Sentence:
        steps = {"W": self._relative, "S": self._subordinate, "C": self._link, "K": self._link, "I": self._preposition}
        steps[FULL_STOP] = self._end
        while self.at < len(self.words):
            tag = self.tags[self.at]
            if tag in NOMINAL or tag == "O" or (tag == "X" and self._is_of_noun(self.at)):
                self._noun()
            elif tag in "BHTXRVGE":
                self._verb()
            else:
                steps[tag]()
        for clause in self.found.clauses:
            clause.negated |= any(noun is not None and noun.none for noun in (clause.object, clause.second))
        return self.found

    def _relative(self) -> None:
        if self.open is not None and self.open.object is not None:
            last = [self.open.object, *(attached.noun for attached in self.open.attached)][-1]
            thing = self.words[self.at] in ("that", "which") and not last.person
            self.subject = last if thing or self._tag(1) in NOMINAL else self.subject
        self.whose = self.subject if self.words[self.at] == "whose" else None
        self.start.kind, self.open, self.at = "relative", None, self.at + 1

    def _end(self) -> None:
        self.open = self.subject = self.topic = self.beside = None
        self.dangling, self.start = "", _Start(apart=True)
        self.at, self.sentence = self.at + 1, self.sentence + 1

    def _subordinate(self) -> None:
        clause, self.at = self.open, self.at + 1
        self.start.apart = self.words[self.at - 1] in table("meanwhile")
        but = self.words[self.at - 1] == "but"
        if but and "both" in self.words[: self.at]:
            self.open, self.start.linked = None, "and"
            return
        if but and self._tag() in NOMINAL and clause is not None and clause.object is not None and clause.object.none:
            clause.object = None
            return
        self.start.kind, self.open, self.start.linked = None if but else "subordinate", None, "but" if but else ""

    def _link(self) -> None:
        clause = self.open
        lists = self._tag() == "K" and self._tag(1) in NOMINAL and clause and clause.object is None and clause.linked
        if lists and clause and (len(clause.verb) > 1 or base_of(clause.verb[0]) not in table("posture")):
            self.at += 1
            return
        self.subject, self.beside = self.beside or self.subject, None
        self.start.linked = (
            self.start.linked or "," if self._tag() == "K" else "or" if self.words[self.at] == "or" else "and"
        )
        self.open, self.at = None, self.at + 1

    def _noun(self) -> None:
        lone = self._tag() == "J" and self._tag(1) not in ("N", "P", "J", "C")
        start, clause = self.at, self.open
        noun = self.noun_phrase()
        if noun is None:
            self.at = max(self.at, start + 1)
            return
        if clause is not None and clause.object is not None and (noun.none or lone):
            clause.verb += noun.words if lone and noun.of is None and not noun.none else []
            clause.negated |= noun.none
        elif clause is None and self.subject is not None and (lone or self._is_held(noun)):
            return
        elif clause is None:
            self.topic = self.subject if self._goes_on(start) else None
            self.subject = noun
            self.found.nouns.append(noun)
            if self.start.kind is None and self.start.linked in (",", "but"):
                self.start.linked, self.start.apart = self.start.linked.replace(",", ""), noun.person
        elif clause.object is None:
            clause.object, clause.direct = noun, True
        elif clause.direct and clause.second is None and not clause.attached:
            clause.second = noun if not noun.head.endswith(("self", "selves")) else None
        elif not clause.direct and is_scenery(clause.object) and not noun.person and len(clause.verb) > 1:
            clause.attached.insert(0, Attached(clause.verb.pop(), clause.object))
            clause.object, clause.direct = noun, True
        else:
            self.open, self.subject = None, noun

    def _is_held(self, noun: Noun) -> bool:
        """Take how a person holds the part of the body just taken, between commas: "his arms spread wide,"."""
        held = _HELD.match(self.tags, self.at) if self.start.linked == "," and is_of_body(noun) else None
        self.at = held.end() if held else self.at
        return held is not None

    def _goes_on(self, start: int) -> bool:
        """Whether a noun that begins here has one for a thing just before it: "the bike (that) he rides"."""
        if self.subject is None or start == 0 or self.tags[start - 1] not in "NWK":
            return False
        relative = self.tags[start - 1] == "W" and self.words[start - 1] != "whose" and not self.dangling
        return relative or not self.subject.person

    def _preposition(self) -> None:
        start, clause = self.at, self.open
        particle = clause is not None and clause.direct and not clause.attached and self._tag(1) == "I"
        if clause and particle and self.words[self.at + 1] != "of" and self._phrasal(clause, self.words[self.at]):
            clause.verb.append(self.words[self.at])  # "turns the TV off in the evening"
            self.at += 1
        preposition = self._prepositions()
        if self._tag() == "W":
            self.dangling = preposition
            return
        if self._tag() == "G":
            self.start.without = preposition == "without"
            self.start.kind, self.open = "subordinate", None
            return
        while self._tag() == "R":
            self.at += 1
        noun = self.noun_phrase() if self._tag() in NOMINAL else None
        if noun is not None:
            noun.none = noun.none or preposition == "without"
        if clause is None:
            if noun is not None:
                self.found.loose.append(Attached(preposition, noun))
                if self.subject is not None and self.subject.person and preposition in table("astride"):
                    self.aboard = self.subject, noun
                doer = noun.person and self._tag() in ("BHVGE" if preposition in table("at_time") else "GE")
                if preposition == "with" and self.tags[start - 1 : start] == "K" and self._tag() in "GE":
                    self.beside, doer = self.subject, True
                self.subject = noun if doer else self.subject
                self.start.kind = "subordinate" if doer and self._tag() in "BHV" else self.start.kind
            return
        by_hand = noun is not None and noun.owner is None and noun.of is None and is_of_body(noun)
        by_hand = by_hand and (clause.passive or clause.subject is None or clause.subject.person)
        by_hand = by_hand and preposition.split()[-1] in table("by_hand")
        beside = [attached for attached in clause.attached if not is_of_body(attached.noun)]
        adjacent = clause.object is None and not beside and not by_hand and preposition != "without"
        if noun is None:
            if adjacent or (start + 1 == self.at and is_expression((clause.verb[0], preposition), "verb")):
                clause.verb += preposition.split()
            else:
                clause.dangling = preposition
        elif adjacent:
            if preposition != "of" or is_expression((clause.verb[0], "of"), "verb"):
                clause.verb += preposition.split()
            clause.object, clause.direct = noun, preposition in text.PARTICLES and self._phrasal(clause, preposition)
        else:
            clause.attached.append(Attached(preposition, noun))
            if clause.direct and clause.object is not None and is_of_body(noun):
                clause.object.also += [other for other in noun.also if not is_of_body(other)]

    @staticmethod
    def _phrasal(clause: Clause, preposition: str) -> bool:
        """Whether a verb and its particle take the noun as their direct object ("picking up a box")."""
        return preposition not in ("on", "in", "over") and is_expression((clause.verb[0], preposition), "verb")

    def _verb(self) -> None:
        be = negated = finite = infinitive = False
        at = self.at
        while at < len(self.words):
            word, tag = self.words[at], self.tags[at]
            if tag in "BH":
                be = be or tag == "B"
                finite = finite or word in _FINITE_BE or (tag == "H" and word != "having")
                negated = negated or word in text.NEGATIONS
            elif tag == "X":
                if self._is_of_noun(at):
                    break
                negated = True
            elif tag == "T":
                infinitive = not finite
            elif tag != "R":
                if not self._leads_on(at, be):
                    break
                negated = negated or self.tags[at + 1] in table("unreal").get(base_of(word), "-")
                finite = finite or (tag == "V" and not infinitive)
                be = be or (base_of(word) == "get" and self.tags[at + 1 : at + 2] == "E")
            at += 1
        start, self.at = self.at, at
        if self._tag() in "VGE":
            self._main_verb(be, negated, finite, infinitive, own=self.tags[start - 1 : start] == "W")
        elif be and self._tag() == "I":
            self._add(Clause(["being"], self._kind("finite"), self.subject, negated=negated))
        elif be:
            self.open = self.start.kind = None
            self._told(self.noun_phrase())
        elif at == start:
            self.at += 1

    def _told(self, noun: Noun | None) -> None:
        """Take a noun after a form of be: "it is the horse that he rides", "the object he rides is a horse"."""
        if noun is None:
            return
        cleft = self._tag() in "WDP" and self.subject is not None and self.subject.words[0] in table("anaphor")
        if noun.none or cleft:
            self.subject = noun
            self.found.nouns.extend([noun] if noun.none else [])
        if self.subject is None:
            self.subject = noun
            self.found.nouns.append(noun)
        for clause in self.found.clauses[-1:]:
            if self.words[0] == "what" and clause.object is None:
                clause.object, clause.direct, clause.kind = noun, len(clause.verb) == 1, "finite"
        for thing in self.found.nouns:
            if thing.head in table("key_object"):
                thing.words, thing.of, thing.also = noun.words, noun.of, noun.also

    def _main_verb(self, be: bool, negated: bool, finite: bool, infinitive: bool, own: bool) -> None:
        word, tag = self.words[self.at], self._tag()
        self.at += 1
        if tag == "V" and base_of(word) in table("copula"):
            end = self.at
            while self.tags[end] == "R":
                end += 1
            if self.tags[end] in "EJ":
                self.open, self.at = None, end + 1
                return
        if tag == "G" and not be and self.open is not None and self.open.passive and self.open.verb[-1] == "by":
            self.subject = self.open.object
        elif (finite or (tag == "V" and not infinitive)) and self.start.kind is None and self.start.linked in ("", ","):
            self.subject = self._main_subject()
        subject = self.subject
        stranded = self._stranded() if tag == "E" else ""
        if tag == "E" and self._caused():
            subject, be = self.found.clauses.pop().object, True
        passive = tag == "E" and self._passive(be)
        past = tag == "E" and not be and subject is not None and subject.person and self._tag() in "DPN"
        kind: Kind = "finite" if finite or past or (tag == "V" and not infinitive) else "participle"
        if infinitive and self.found.clauses:
            kind = "infinitive"
        verb = self._verb_of(word)
        clause = Clause(verb, self._kind(kind), subject, negated=negated, passive=passive, dangling=stranded)
        same = subject is not None and subject.head in ("he", "she", "they") and self.sentence > 0
        if self.aboard is not None and (same or self.aboard[0] is subject):
            clause.aboard = self.aboard[1]
        told = tag == "E" and self.start.kind == "relative"
        within = own or (kind == "participle" and not told and not {"B", "V"}.isdisjoint(self.tags[self.at :]))
        if tag == "G" and self.tags[self.at - 2] == "R" and is_incorporated(self.words, self.at - 2):
            clause.inner = self.words[self.at - 2]
        if self.topic is not None and not within:
            clause.topic, clause.dangling, self.topic, self.dangling = self.topic, self.dangling, None, ""
        self._add(clause)
        if subject is None and self.found.loose and len(self.found.clauses) == 1 and base_of(word) in table("posture"):
            self._inverted(clause)

    def _main_subject(self) -> Noun | None:
        """The noun that a clause tells of whose subject a relative clause stands after: "the bus he boards is red"."""
        told = self.found.clauses[-1] if self.found.clauses else None
        if told is None or told.kind != "relative" or told.subject is not self.subject:
            return self.subject
        return told.topic or self.whose or self.subject

    def _inverted(self, clause: Clause) -> None:
        """Take "on the bench sits a man": the place stands before the verb, who does it after."""
        person = self.noun_phrase() if self._tag() in NOMINAL else None
        if person is not None:
            clause.verb += self.found.loose[0].preposition.split()
            clause.object, clause.subject, self.subject, self.open = self.found.loose[0].noun, person, person, None

    def _kind(self, kind: Kind) -> Kind:
        if self.start.linked and self.found.clauses and self.start.kind is None and kind != "finite":
            return next((clause.kind for clause in reversed(self.found.clauses) if not clause.borne), kind)
        return self.start.kind or kind

    def _add(self, clause: Clause) -> None:
        clause.negated |= self.start.without or (clause.subject is not None and clause.subject.none)
        clause.linked, clause.apart = self.start.linked if self.found.clauses else "", self.start.apart
        clause.sentence = self.sentence
        self.found.clauses.append(clause)
        self.open, self.start = clause, _Start()


def sentence_of(words: list[str], tags: str) -> Sentence:
    """Find the clauses of a tagged sentence."""
    return _Reader(words, tags).read()
