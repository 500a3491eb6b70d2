"""Data classes of a parsed phrase (noun phrase, clause, sentence), and the reader of noun phrases."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from shoe.lexicon import text
from shoe.lexicon.phrases.words import (
    NOMINAL,
    NOUNS,
    NOUNS_ADJ,
    Tag,
    base_of,
    gerund,
    is_expression,
    table,
    verb_bases,
    word_of,
)
from shoe.lexicon.senses import bases
from shoe.lexicon.store import lexicon


class ReplyObjects(NamedTuple):
    """Objects that a model's reply names outside the parsed phrase: in an object field, or as labels of boxes."""

    object: str = ""  # text of the object field
    heads: frozenset[str] = frozenset()  # head words of the named objects, and their base forms
    only: str = ""  # name of the object if the reply names exactly one


@lru_cache(maxsize=20_000)
def reply_objects(object_: str | None, known: tuple[str, ...]) -> ReplyObjects:
    """Return the objects that a reply names: in its object field ``object_`` or, if empty, in box labels ``known``.

    Persons are left out if other objects remain.
    """
    words = [object_] if object_ else list(dict.fromkeys(known))
    heads = {word: tokens[-1] for word in words if (tokens := text.tokens(text.plain(word)))}
    things = [word for word, head in heads.items() if not word_of(head).person] or list(heads)
    forms = (form for word in things for form in (heads[word], *bases(heads[word], "object")))
    return ReplyObjects(object_ or "", frozenset(forms), things[0] if len(things) == 1 else "")


def is_in_reply(noun: Noun, reply: ReplyObjects) -> bool:
    """Return whether a reply names a noun, the noun after "of", the owner ("plane's"), or a noun joined by "and"."""
    parts = [noun, noun.of, noun.owner, *noun.also]
    return any(has_head_in_reply(part, reply) for part in parts if part is not None)


def has_head_in_reply(noun: Noun, reply: ReplyObjects) -> bool:
    """Return whether the model's reply names the head word of a noun phrase, in any inflection."""
    head = noun.head.rpartition("-")[2]
    return not reply.heads.isdisjoint((head, *bases(head, "object")))


def names_known(noun: Noun, reply: ReplyObjects) -> list[str]:
    """Return alternative names of a thing, best first: "bottle of wine", "bottle", "wine".

    If the model's reply names the owner, or the noun after "of", but not the thing, this noun comes first: "aircraft"
    for "wing of an aircraft"; except after words for amounts, such as "slice".
    """
    known = [part for part in (noun.of, noun.owner) if part is not None and has_head_in_reply(part, reply)]
    whole = has_head_in_reply(noun, reply) or noun.head in text.WORD_CLASSES["measures"]
    return [*([] if whole else [" ".join(part.words) for part in known]), *names(noun)]


Kind = Literal["finite", "participle", "relative", "infinitive", "subordinate"]


@dataclass(slots=True)
class Noun:
    """A noun phrase without determiners."""

    words: list[str]  # adjectives and nouns up to the head ("bottle")
    of: Noun | None = None  # noun phrase after "of" ("wine" in "bottle of wine")
    owner: Noun | None = None  # noun before a possessive 's
    also: list[Noun] = field(default_factory=list)  # further nouns joined by "and"
    person: bool = False  # whether the head is a word for a person or a pronoun
    none: bool = False  # whether the phrase contains "no", or is "nobody"
    its: bool = False  # whether the determiner is "its" ("its mane")

    @property
    def head(self) -> str:
        """Last word of the noun phrase."""
        return self.words[-1]


class Attached(NamedTuple):
    """Preposition with the noun phrase after it."""

    preposition: str
    noun: Noun


@dataclass(slots=True)
class Clause:
    """Verb with its subject, objects and prepositional phrases."""

    verb: list[str]  # words as written, with particles and the preposition before the object
    kind: Kind
    subject: Noun | None = None
    object: Noun | None = None  # noun after the verb, with or without a preposition
    direct: bool = False  # whether the object follows without a preposition
    second: Noun | None = None  # second object, directly after the first: "bath" in "giving the dog a bath"
    attached: list[Attached] = field(default_factory=list)  # further prepositions with their nouns
    dangling: str = ""  # stranded preposition, after the object ("hits the ball with") or before "by" ("typed on by")
    negated: bool = False
    passive: bool = False
    linked: str = ""  # "and", "or", "but" or "," between this clause and the clause before
    apart: bool = False  # whether the clause starts a later sentence, or starts with "while", "as", "when" or "whereas"
    sentence: int = 0  # index of the sentence
    topic: Noun | None = None  # antecedent of a relative clause: "bike" in "the bike that he rides"
    use: Clause | None = None  # purpose of the verb "use": "to cut a cake" in "using a knife to cut a cake"
    inner: str = ""  # noun before the -ing form: "horse" in "horse riding"
    aboard: Noun | None = None  # thing that carries the subject: "horse" in "a man on a horse jumps"

    @property
    def borne(self) -> bool:
        """Whether the clause is a participle with "by" before a thing that is no agent: "covered by a blanket"."""
        return self.kind == "participle" and not self.passive and self.verb[1:] == ["by"]


class Sentence(NamedTuple):
    """Parse of a sentence: its clauses in order; nouns, and prepositional phrases (``loose``), outside clauses."""

    clauses: list[Clause]
    nouns: list[Noun]
    loose: list[Attached]


class Candidate(NamedTuple):
    """Interaction that a phrase may state: alternative verbs and objects, best first; whether the parse is doubtful."""

    verbs: list[str]
    objects: list[str]
    doubtful: bool = False


# Lexicographer files of physical things; other nouns belong to the verb ("reading the time on a clock").
MATERIAL = frozenset(f"noun.{name}" for name in ("artifact", "food", "animal", "plant", "Tops"))


def names(noun: Noun) -> list[str]:
    """Return alternative names of a thing, best first: "bottle of wine", "bottle", "wine"."""
    own = table("implied_by_noun").get(noun.head) or " ".join(noun.words)
    if noun.of is not None:
        inner = " ".join(noun.of.words)
        if noun.head in table("side"):  # "the front of the giraffe" is the giraffe
            return [inner]
        return [f"{own} of {inner}", *([] if noun.head in text.WORD_CLASSES["measures"] else [own]), inner]
    if noun.owner is None or (noun.owner.person and not is_body_part(noun)):  # "the man's giraffe" is not the man
        return [own]
    owner = " ".join(noun.owner.words)
    return [f"{owner}'s {own}", own, owner]


def with_conjuncts(*nouns: Noun) -> list[Noun]:
    """Return the nouns, each followed by the nouns that "and" joins to it."""
    return [each for noun in nouns for each in (noun, *noun.also)]


def is_scenery(noun: Noun) -> bool:
    """Return whether ``phrase_words.tsv`` lists a noun as scenery: a place of actions, such as "street"."""
    return not table("scenery").keys().isdisjoint((noun.head, *bases(noun.head, "object")))


def is_body_part(noun: Noun) -> bool:
    """Return whether a noun's first sense is a body part, unless an equally frequent second is an artifact ("nail")."""
    return any(
        senses_of(base)[:1] == ("noun.body",)
        and (senses_of(base)[1:2] != ("noun.artifact",) or np.diff(lexicon().tag_count(base, "n")[:2]).item() < 0)
        for base in bases(noun.head, "object")
    )


def is_inner(noun: Noun) -> bool:
    """Return whether a noun, as direct object, is part of the action: "reads the time", "waves a hand"."""
    if noun.owner is not None or noun.person or noun.head in text.WORD_CLASSES["measures"]:
        return False
    senses = senses_of(noun.head)
    return (bool(senses) and MATERIAL.isdisjoint(senses) and not is_scenery(noun)) or is_body_part(noun)


@lru_cache(maxsize=20_000)
def may_act(word: str) -> bool:
    """Return whether a common sense of a noun, among its first three, is a person or group: "fan", "medic", "crew"."""
    base = next(iter(bases(word, "object")), "")
    uses = lexicon().tag_count(base, "n").tolist()[:3]
    acting = [n for n, file in zip(uses, senses_of(word), strict=False) if file in ("noun.person", "noun.group")]
    return any(10 * n >= uses[0] for n in acting)


@lru_cache(maxsize=20_000)
def senses_of(word: str) -> tuple[str, ...]:
    """Return the lexicographer file ("noun.animal") of each sense of a noun, most frequent sense first; () if none."""
    base = next(iter(bases(word, "object")), "")
    return tuple(lexicon().lexname(sense) for sense in lexicon().senses(base, "n").tolist())


def light_verb(noun: Noun) -> str:
    """Return the verb that a noun after "take", "have" or "give" stands for ("sip" in "take a sip"); else ""."""
    lights = table("light_noun")
    names_ = ("_".join(noun.words[-2:]), noun.head, *bases(noun.head, "object"))
    found = next((lights[name] or name for name in names_ if name in lights), "")
    doing = not found and noun.head.endswith("ing") and senses_of(noun.head)[:1] in ((), ("noun.act",))
    return base_of(noun.head) if doing and verb_bases(noun.head) else found


def verb_of_noun(noun: Noun) -> str:
    """Return the -ing form of the verb of an agent or action noun: "riding" for "rider"; "" for other nouns."""
    head = noun.head
    if head in table("nominal"):
        return gerund(table("nominal")[head])
    verb, agent = "", head.removesuffix("s")
    if agent.endswith("er"):
        stems = [agent[:-1], agent[:-2], *([agent[:-3]] if agent[-4:-3] == agent[-3:-2] else [])]
        verb = next((stem for stem in stems if len(stem) > 2 and "b" in word_of(stem).forms), "")
    elif senses_of(head)[:1] == ("noun.act",):
        verb = head if "b" in word_of(head).forms else table("light_noun").get(head, "")
    return gerund(verb) if verb else ""


_DESCRIBES = (Tag.ADJ, "NN", "RJ")  # after "and" between words that describe a noun: "fluffy and rather old dog"
MODIFIERS = re.compile("J+[NP]")  # adjectives that a noun follows: unlike "toenails bright pink"
_END = "..."  # longer than any look-ahead
_LIST = re.compile(r"(?:K[DJ]*N+)*K?C[DJ]*N+(?=[.IKSC])")  # things after the first: ", a handbag and a suitcase"


class NounReader:
    """Reader of noun phrases in a tagged sentence."""

    def __init__(self, words: list[str], tags: str) -> None:
        self.words, self.tags, self.at = words, tags + _END, 0  # at: index of the next word to read
        self.open: Clause | None = None  # clause that is being read

    def _tag(self, offset: int = 0) -> str:
        return self.tags[self.at + offset]

    def noun_phrase(self) -> Noun | None:
        """Return the noun phrase at the current word, and advance past it; None if there is no noun.

        A word such as "no" that no noun follows is read as "nobody", and returned as a person.
        """
        words: list[str] = []
        owner: Noun | None = None
        headed = none = person = its = False
        while self.at < len(self.words):
            word, tag, after = self.words[self.at], self._tag(), self._tag(1)
            if tag in (Tag.DET, Tag.NEG) and not headed:
                compared = self.words[self.at + 2 : self.at + 3] == ["than"]  # "no less than two people"
                none = none or ((tag == Tag.NEG or word in table("nobody")) and not compared)
                its, self.at = word == "its", self.at + 2 * compared
            elif headed and tag == Tag.NOUN and self._is_ditransitive(words):
                break
            elif tag in NOUNS and not (headed and word in table("pronoun")):
                words.append(word)
                headed, person = True, tag == Tag.PERSON
                if word in table("pronoun"):
                    self.at += 1
                    break
            elif tag == Tag.ADJ and (not headed or MODIFIERS.match(self.tags, self.at)):
                words.append(word)
            elif tag == Tag.POSS and words:
                owner = Noun(words, person=person)
                words, headed = [], False
            elif (tag == Tag.ADV and not headed and after in NOUNS_ADJ) or (
                tag == Tag.COMMA and words and not headed and after in (Tag.ADJ, Tag.NOUN, Tag.ADV)
            ):
                pass
            elif tag == Tag.AND and words and not headed and self.tags.startswith(_DESCRIBES, self.at + 1):
                words.append(word)
            else:
                break
            self.at += 1
        if self._tag() == Tag.PREP and self.words[self.at] == "than" and len(words) > 1:
            words = words[:-1]
        if not words:
            return Noun(["nobody"], person=True, none=True) if none else None
        noun = Noun(words, owner=owner, person=person, none=none or words[-1] in table("nobody"), its=its)
        return self._with_complements(noun) if headed or self._tag() != Tag.AND else noun

    def _is_ditransitive(self, words: list[str]) -> bool:
        """Return whether ``words`` name the receiver of the next noun, a person or animal: "feeds pigeons bread"."""
        if self.open is None or self.open.object is not None or base_of(self.open.verb[0]) not in table("ditransitive"):
            return False
        taker = senses_of(words[-1])[:1] == ("noun.animal",) or (word_of(words[-1]).person and words[-1] != "baby")
        return taker and not is_expression((words[-1], self.words[self.at]), "object")

    def _with_complements(self, noun: Noun) -> Noun:
        if self._tag() == Tag.PREP and self.words[self.at] == "of" and self._tag(1) in NOMINAL:
            self.at += 1
            noun.of = self.noun_phrase()
            if noun.of is not None and noun.head in text.WORD_CLASSES["measures"]:
                noun.person = noun.of.person
        elif (self._tag() == Tag.AND and self._tag(1) in NOMINAL and not self._verb_after()) or (
            self._tag() == Tag.COMMA and _LIST.match(self.tags, self.at)
        ):
            self.at += 2 if self._tag(1) == Tag.AND else 1
            other = self.noun_phrase()
            if other is not None and other.none and self.open is not None:
                self.open.attached.append(Attached("without", other))
            else:
                noun.also += [other, *other.also] if other is not None else []
        return noun

    def _prepositions(self) -> str:
        """Return the prepositions at the current word, joined by blanks, and advance past them; also "on top of"."""
        found: list[str] = []
        while self._tag() == Tag.PREP and not (found and self.words[self.at] == "without"):
            found.append(self.words[self.at])
            self.at += 1
            side = self.at + (self._tag() == Tag.DET)
            if side + 1 < len(self.words) and self.words[side + 1] == "of":
                if (found[-1], self.words[side]) == ("in", "front") or self.words[side] in table("relation"):
                    found += self.words[self.at : side + 2]
                elif self.words[side] not in table("side"):
                    continue
                self.at = side + 2
        return " ".join(found)

    def _agent(self, at: int) -> bool:
        while at < len(self.words) and self.tags[at] in (Tag.DET, Tag.ADJ, Tag.ADV):
            at += 1
        while at + 1 < len(self.words) and self.tags[at + 1] in NOUNS and self.tags[at] == Tag.NOUN:
            at += 1
        word = "".join(self.words[at : at + 1])
        senses = senses_of(word)[: 2 if word_of(word).plural else 1]
        acts = may_act(word) or not {"noun.person", "noun.animal"}.isdisjoint(senses or {"noun.person"})
        return self.tags[at] == Tag.PERSON or acts or is_body_part(Noun([word]))

    def _verb_after(self) -> bool:
        """Return whether the noun after "and" has its own verb, and therefore starts another clause."""
        at = self.at + 1
        while self.tags[at] in (Tag.DET, Tag.ADJ, Tag.NOUN, Tag.PERSON, Tag.POSS):
            at += 1
        thing = self.open is not None and self.open.object is None and self.tags[self.at - 1] == Tag.NOUN
        thing = thing or self.words[at - 1] in table("pronominal")
        doer = self.open is not None and self.tags[at - 1] == Tag.PERSON
        return doer and self.tags[at] in ("BHXVG" if thing else "BHXV")
