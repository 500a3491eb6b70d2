"""Parser of a tagged sentence into clauses, with verbs, subjects and objects."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shoe.lexicon import text
from shoe.lexicon.phrases.noun_phrases import (
    MODIFIERS,
    Attached,
    Clause,
    Kind,
    Noun,
    NounReader,
    Sentence,
    is_body_part,
    is_scenery,
    may_act,
)
from shoe.lexicon.phrases.words import (
    DET_NOUNS,
    FULL_STOP,
    NOMINAL,
    VERB_FORMS,
    Tag,
    base_of,
    is_expression,
    is_incorporated,
    table,
)

_FINITE_BE = frozenset(["is", "are", "was", "were", "am", "'s", "'re", "'m", *text.NEGATIONS])
_WITHIN_CLAUSE = frozenset({Tag.PREP, Tag.ADV, Tag.DET, Tag.ADJ, Tag.NOUN, Tag.POSS})
_HELD = re.compile(r"(?:[VE]?[JRN]?|I[DJ]*N+)(?=[K.])")  # position of a body part: "spread wide", "on his hips"


@dataclass(slots=True)
class _ClauseContext:
    """Properties of the next clause that the words before it determine, with names as in :class:`Clause`."""

    kind: Kind | None = None
    linked: str = ""
    apart: bool = False
    without: bool = False  # whether "without" precedes the clause


def _is_phrasal(clause: Clause, preposition: str) -> bool:
    """Return whether the preposition is a particle of the verb, so that a direct object follows: "picking up a box"."""
    return preposition not in ("on", "in", "over") and is_expression((clause.verb[0], preposition), "verb")


class _Reader(NounReader):
    """Reader of a sentence in one pass over its tags."""

    def __init__(self, words: list[str], tags: str) -> None:
        super().__init__(words, tags)
        self.found, self.start, self.sentence = Sentence([], [], []), _ClauseContext(), 0
        self.subject: Noun | None = None  # of the next clause
        self.topic: Noun | None = None  # antecedent of the current relative clause
        self.dangling = ""  # preposition before "which" ("on which he sits")
        self.whose: Noun | None = None  # noun before "whose"
        self.aboard: tuple[Noun, Noun] | None = None  # a person, and the thing on which the person is

    def _verb_of(self, word: str) -> list[str]:
        """Return the words of the verb that starts with ``word``, and advance past a verb such as "letting go of"."""
        together = self.words[self.at - 1 : self.at + 2]
        whole = (
            self._tag() in (Tag.NOUN, Tag.VERB)
            and self._tag(1) == Tag.PREP
            and base_of(word) not in table("light_verb")
        )
        if whole and is_expression(tuple(together), "verb"):
            self.at += 2
            return together
        return word.split("_")

    def _after_adverbs(self, at: int) -> int:
        while self.tags[at] == Tag.ADV:
            at += 1
        return at

    def _is_auxiliary_like(self, at: int, be: bool) -> bool:
        """Return whether word ``at`` only introduces the verb: "trying to", "seen" in "can be seen", "keeps".

        ``be`` is whether a form of "be" precedes.
        """
        word, tag = self.words[at], self.tags[at]
        follower = self._after_adverbs(at + 1)
        after = self.tags[follower]
        if word in table("seen") and (be or tag not in VERB_FORMS):
            return after in (Tag.TO, Tag.ING)
        if tag in VERB_FORMS and base_of(word) in table("copula") and self.tags[at + 1 : at + 3] == "EI":
            return True
        if tag in VERB_FORMS and base_of(word) in table("filler") and not (be and word == "used"):
            seen = follower < len(self.words) and self.words[follower] in table("seen")
            passive = base_of(word) == "get" and after == Tag.PAST
            return after in (Tag.TO, Tag.ING) or passive or (seen and self._is_auxiliary_like(follower, True))
        return tag == Tag.ADJ and be and after in (Tag.TO, Tag.ING)

    def _is_of_noun(self, at: int) -> bool:
        """Return whether the negation at word ``at`` applies to a noun after it: "not a person", "isn't anyone"."""
        return self.tags[at + 1] == Tag.DET or self.words[at + 1 : at + 2] in (["anyone"], ["anybody"])

    def _take_stranded_prepositions(self) -> str:
        """Return the prepositions between a passive verb and "by" ("typed on by"), or "", and advance past them."""
        end = self.at
        while self.tags[end] in (Tag.PREP, Tag.ADV) and self.words[end] != "by":
            end += 1
        if self.words[end : end + 1] != ["by"] or not (end + 1 == len(self.words) or self._agent(end + 1)):
            return ""
        start, self.at = self.at, end
        return " ".join(self.words[i] for i in range(start, end) if self.tags[i] == Tag.PREP)

    def _passive(self, be: bool) -> bool:
        """Return whether the participle just read is a passive; ``be`` is whether a form of "be" precedes."""
        end = self.at
        while self.tags[end] in _WITHIN_CLAUSE and self.words[end] != "by":
            end += 1
        by = self.words[end : end + 1] == ["by"] and (end + 1 == len(self.words) or self._agent(end + 1))
        if by or (be and self.subject is None and self.words[max(0, self.at - 2) : self.at - 1] == ["been"]):
            return True
        if self.subject is None or (not be and self._tag() in NOMINAL):
            return False
        word, place = [*self.words[self.at - 1 : self.at + 1], ""][:2]  # "toddler lifted onto shoulders"
        borne = word in table("passive") and place in table("carried_by") and not is_expression((word, place), "verb")
        return borne or not self.subject.person or "being" in self.words[max(0, self.at - 4) : self.at]

    def _is_causative(self) -> bool:
        """Return whether the participle just read ends a causative clause: "has its fur brushed"."""
        if self.open is None or self.open.object is None or self.open.attached or self.open.second:
            return False
        return self._tag() in (Tag.PREP, ".") and base_of(self.open.verb[0]) in ("get", "have")

    def read(self) -> Sentence:
        steps: dict[str, Callable[[], None]] = {Tag.REL: self._read_relative_pronoun, Tag.SUB: self._read_subordinator}
        steps |= {Tag.AND: self._read_conjunction, Tag.COMMA: self._read_conjunction}
        steps |= {Tag.PREP: self._read_preposition, FULL_STOP: self._end_sentence}
        while self.at < len(self.words):
            tag = self.tags[self.at]
            if tag in NOMINAL or tag == Tag.POSS or (tag == Tag.NEG and self._is_of_noun(self.at)):
                self._read_noun()
            elif tag in (Tag.BE, Tag.AUX, Tag.TO, Tag.NEG, Tag.ADV, Tag.VERB, Tag.ING, Tag.PAST):
                self._read_verb()
            else:
                steps[tag]()
        for clause in self.found.clauses:
            clause.negated |= any(noun is not None and noun.none for noun in (clause.object, clause.second))
        return self.found

    def _read_relative_pronoun(self) -> None:
        if self.open is not None and self.open.object is not None:
            last = [self.open.object, *(attached.noun for attached in self.open.attached)][-1]
            thing = self.words[self.at] in ("that", "which") and not last.person
            self.subject = last if thing or self._tag(1) in NOMINAL else self.subject
        self.whose = self.subject if self.words[self.at] == "whose" else None
        self.start.without |= self.subject is not None and self.subject.none  # "no evidence that he rides"
        self.start.kind, self.open, self.at = "relative", None, self.at + 1

    def _end_sentence(self) -> None:
        self.open = self.subject = self.topic = None
        self.dangling, self.start = "", _ClauseContext(apart=True)
        self.at, self.sentence = self.at + 1, self.sentence + 1

    def _read_subordinator(self) -> None:
        clause, word, self.at = self.open, self.words[self.at], self.at + 1
        but, self.start.apart = word == "but", word in table("meanwhile")
        if but and "both" in self.words[: self.at]:
            self.open, self.start.linked = None, "and"
        elif but and self._tag() in NOMINAL and clause is not None and clause.object is not None and clause.object.none:
            clause.object = None
        elif but and clause and self._tag() == Tag.NEG and self._tag(1) in NOMINAL and (noun := self.noun_phrase()):
            clause.attached.append(Attached("without", noun))  # "holding a fork but not a knife"
        else:
            self.open, self.start.kind, self.start.linked = None, None if but else "subordinate", "but" if but else ""

    def _read_conjunction(self) -> None:
        clause, comma = self.open, self._tag() == Tag.COMMA
        lists = comma and self._tag(1) in NOMINAL and clause and clause.object is None and clause.linked
        if lists and clause and (len(clause.verb) > 1 or base_of(clause.verb[0]) not in table("posture")):
            self.at += 1
            return
        self.start.linked = self.start.linked or "," if comma else "or" if self.words[self.at] == "or" else "and"
        self.open, self.at = None, self.at + 1

    def _read_noun(self) -> None:
        lone = self._tag() == Tag.ADJ != self._tag(1) != Tag.AND and not MODIFIERS.match(self.tags, self.at)
        start, clause = self.at, self.open
        noun = self.noun_phrase()
        if noun is None:
            self.at = max(self.at, start + 1)
            return
        if clause is not None and clause.object is not None and (noun.none or lone):
            clause.verb += noun.words if lone and noun.of is None and not noun.none else []
            clause.negated |= noun.none
        elif clause is None and self.subject is not None and (lone or self._is_held_body_part(noun)):
            return
        elif clause is None:
            self.topic = self.subject if self._is_relative_subject(start) else None
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

    def _is_held_body_part(self, noun: Noun) -> bool:
        """Return whether a body part is described between commas (", his arms spread wide,"), and advance past it."""
        held = _HELD.match(self.tags, self.at) if self.start.linked == "," and is_body_part(noun) else None
        self.at = held.end() if held else self.at
        return held is not None

    def _is_relative_subject(self, start: int) -> bool:
        """Return whether the noun at ``start`` is the subject of a relative clause: "he" in "the bike he rides"."""
        if self.subject is None or start == 0 or self.tags[start - 1] not in (Tag.NOUN, Tag.REL, Tag.COMMA):
            return False
        relative = self.tags[start - 1] == Tag.REL and self.words[start - 1] != "whose" and not self.dangling
        return relative or not self.subject.person

    def _read_preposition(self) -> None:
        start, clause = self.at, self.open
        particle = clause is not None and clause.direct and not clause.attached and self._tag(1) == Tag.PREP
        if clause and particle and self.words[self.at + 1] != "of" and _is_phrasal(clause, self.words[self.at]):
            clause.verb.append(self.words[self.at])  # "turns the TV off in the evening"
            self.at += 1
        preposition = self._prepositions()
        if self._tag() == Tag.REL:
            self.dangling = preposition
            return
        if self._tag() == Tag.ING:
            self.open, self.start.kind, self.start.without = None, "subordinate", preposition == "without"
            return
        self.at = self._after_adverbs(self.at)
        noun = self.noun_phrase() if self._tag() in NOMINAL else None
        if noun is not None:
            noun.none |= preposition == "without"
        if clause is None and noun is not None:
            self.found.loose.append(Attached(preposition, noun))
            if self.subject is not None and self.subject.person and preposition in table("astride"):
                self.aboard = self.subject, noun
            doer = noun.person and self._tag() in ("BHVGE" if preposition in table("at_time") else "GE")
            self.subject = noun if doer else self.subject
            self.start.kind = "subordinate" if doer and self._tag() in (Tag.BE, Tag.AUX, Tag.VERB) else self.start.kind
        if clause is None:
            return
        by_hand = noun is not None and noun.owner is None and noun.of is None and is_body_part(noun)
        by_hand = by_hand and (clause.passive or clause.subject is None or clause.subject.person)
        by_hand = by_hand and preposition.split()[-1] in table("by_hand")
        beside = [attached for attached in clause.attached if not is_body_part(attached.noun)]
        adjacent = clause.object is None and not beside and not by_hand and preposition != "without"
        if noun is None:
            particle = start + 1 == self.at and not clause.attached
            if adjacent or (particle and is_expression((clause.verb[0], preposition), "verb")):
                clause.verb += preposition.split()
            else:
                clause.dangling = preposition
        elif adjacent and not (noun.none and noun.head not in table("pronoun")):  # "jumping over no obstacle"
            if preposition != "of" or is_expression((clause.verb[0], "of"), "verb"):
                clause.verb += preposition.split()
            clause.object, clause.direct = noun, preposition in text.PARTICLES and _is_phrasal(clause, preposition)
        else:
            clause.attached.append(Attached(preposition, noun))
            if clause.direct and clause.object is not None and is_body_part(noun):
                clause.object.also += [other for other in noun.also if not is_body_part(other)]

    def _read_verb(self) -> None:
        be = negated = finite = infinitive = False
        at = self.at
        while at < len(self.words):
            word, tag = self.words[at], self.tags[at]
            if tag in (Tag.BE, Tag.AUX):
                be |= tag == Tag.BE
                finite |= word in _FINITE_BE or (tag == Tag.AUX and word != "having")
                negated |= word in text.NEGATIONS
            elif tag == Tag.NEG:
                if self._is_of_noun(at):
                    break
                negated = True
            elif tag == Tag.TO:
                infinitive = not finite
            elif tag != Tag.ADV:
                if not self._is_auxiliary_like(at, be):
                    break
                negated ^= self.tags[at + 1] in table("unreal").get(base_of(word), "-")  # "cannot stop hugging"
                finite = finite or (tag == Tag.VERB and not infinitive)
                be = be or (base_of(word) == "get" and self.tags[at + 1 : at + 2] == Tag.PAST)
            at += 1
        start, self.at = self.at, at
        if self._tag() in VERB_FORMS:
            self._read_main_verb(be, negated, finite, infinitive, own=self.tags[start - 1 : start] == Tag.REL)
        elif be and self._tag() == Tag.PREP:
            self._add(Clause(["being"], self._kind("finite"), self.subject, negated=negated))
        elif be:
            self.open = self.start.kind = None
            self._read_predicate_noun(self.noun_phrase())
        elif at == start:
            self.at += 1

    def _read_predicate_noun(self, noun: Noun | None) -> None:
        """Process the noun after a form of "be": "it is the horse that he rides", "the object he rides is a horse"."""
        if noun is None:
            return
        it = self.subject is None or self.subject.words[0] in table("anaphor")
        if noun.none or self.subject is None:
            self.found.nouns.append(noun)
        if noun.none or self.subject is None or (it and self._tag() in (Tag.REL, Tag.DET, Tag.PERSON)):
            self.subject = noun
        for clause in self.found.clauses[-1:]:
            if self.words[0] == "what" and clause.object is None:
                clause.object, clause.direct, clause.kind = noun, len(clause.verb) == 1, "finite"
        for thing in self.found.nouns:
            if thing.head in table("key_object"):
                thing.words, thing.of, thing.also = noun.words, noun.of, noun.also

    def _read_main_verb(self, be: bool, negated: bool, finite: bool, infinitive: bool, own: bool) -> None:
        word, tag = self.words[self.at], self._tag()
        self.at += 1
        if tag == Tag.VERB and base_of(word) in table("copula"):
            end = self._after_adverbs(self.at)
            if self.tags[end] in (Tag.PAST, Tag.ADJ):
                self.open, self.at = None, end + 1
                return
        main = tag == Tag.VERB and not infinitive
        if tag == Tag.ING and not be and self.open is not None and self.open.passive and self.open.verb[-1] == "by":
            self.subject = self.open.object
        elif (finite or main) and self.start.kind is None and self.start.linked in ("", ","):
            last = self.found.clauses[-1] if self.found.clauses else None
            if last and last.kind == "relative" and last.subject is self.subject:
                self.subject = last.topic or self.whose or self.subject  # "bus" in "the bus he boards is red"
        subject = self.subject
        stranded = self._take_stranded_prepositions() if tag == Tag.PAST else ""
        if tag == Tag.PAST and self._is_causative():
            subject, be = self.found.clauses.pop().object, True
            self.subject = subject
        if subject is not None and tag != Tag.PAST:
            subject.person |= may_act(subject.head)
        passive = tag == Tag.PAST and self._passive(be)
        past = tag == Tag.PAST and not be and subject is not None and subject.person and self._tag() in DET_NOUNS
        helped = main and not finite and self.open is not None and base_of(self.open.verb[0]) in table("causative")
        kind: Kind = self.open.kind if helped and self.open else "finite" if finite or past or main else "participle"
        kind = "infinitive" if infinitive and self.found.clauses else kind
        verb = self._verb_of(word)
        clause = Clause(verb, self._kind(kind), subject, negated=negated, passive=passive, dangling=stranded)
        same = subject is not None and subject.head in ("he", "she", "they") and self.sentence > 0
        if self.aboard is not None and (same or self.aboard[0] is subject):
            clause.aboard = self.aboard[1]
        told = tag == Tag.PAST and self.start.kind == "relative"
        within = own or (kind == "participle" and not told and not {Tag.BE, Tag.VERB}.isdisjoint(self.tags[self.at :]))
        if tag == Tag.ING and self.tags[self.at - 2] == Tag.ADV and is_incorporated(self.words, self.at - 2):
            clause.inner = self.words[self.at - 2]
        if self.topic is not None and not within:
            clause.topic, clause.dangling, self.topic, self.dangling = self.topic, self.dangling, None, ""
        self._add(clause)
        if subject is None and self.found.loose and len(self.found.clauses) == 1 and base_of(word) in table("posture"):
            person = self.noun_phrase() if self._tag() in NOMINAL else None
            if person is not None:  # "on the bench sits a man"
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
        self.open, self.start = clause, _ClauseContext()


def sentence_of(words: list[str], tags: str) -> Sentence:
    """Parse words into clauses; ``tags`` has one letter per word (:class:`~shoe.lexicon.phrases.words.Tag`)."""
    return _Reader(words, tags).read()
