"""What a phrase consists of: noun phrases, clauses, and what prepositions attach to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrases.words import NOMINAL, base_of, gerund, is_expression, is_known_verb, table, word_of
from shoe.lexicon.store import lexicon

# What a reply says beside a phrase: its object in a field of its own, or the things that it has boxes of.


class Given(NamedTuple):
    """What a reply gives beside the phrase: the object, or nouns of its boxes.

    Attributes:
        object: the object, "" where it is not given.
        heads: forms of the heads of these nouns.
        only: the only noun of a thing, "" where there are several.
    """

    object: str = ""
    heads: frozenset[str] = frozenset()
    only: str = ""


@lru_cache(maxsize=20_000)
def given_of(object_: str | None, known: tuple[str, ...]) -> Given:
    """Put together what a reply gives; persons among the known count only where nothing else is known."""
    words = [object_] if object_ else list(dict.fromkeys(known))
    heads = {word: tokens[-1] for word in words if (tokens := text.tokens(text.plain(word)))}
    things = [word for word, head in heads.items() if not word_of(head).person] or list(heads)
    forms = (form for word in things for form in (heads[word], *bases(heads[word], "object")))
    return Given(object_ or "", frozenset(forms), things[0] if len(things) == 1 else "")


def is_given(noun: Noun, given: Given) -> bool:
    """Whether a noun, a part of it or one that "and" joins to it is given."""
    parts = [noun, noun.of, noun.owner, *noun.also]
    return any(is_named(part, given) for part in parts if part is not None)


def is_named(noun: Noun, given: Given) -> bool:
    """Whether the head of a noun is given."""
    head = noun.head.rpartition("-")[2]
    return not given.heads.isdisjoint((head, *bases(head, "object")))


def names_known(noun: Noun, given: Given) -> list[str]:
    """Names of a thing, first the part of it that the reply knows ("wing of an aircraft")."""
    known = [part for part in (noun.of, noun.owner) if part is not None and is_named(part, given)]
    whole = is_named(noun, given) or noun.head in text.WORD_CLASSES["measures"]
    return [*([] if whole else [" ".join(part.words) for part in known]), *names(noun)]


Kind = Literal["finite", "participle", "relative", "infinitive", "subordinate"]


@dataclass(slots=True)
class Noun:
    """A noun phrase without determiners.

    Attributes:
        words: its words up to the head, with adjectives; "bottle".
        of: the noun phrase that "of" brings in; "wine".
        owner: the noun before a possessive 's.
        also: nouns joined to it by "and".
        person: whether the head is a word for a person or a pronoun.
        none: whether it says "no" or "nobody".
        its: whether it is of a thing named before ("its mane").
    """

    words: list[str]
    of: Noun | None = None
    owner: Noun | None = None
    also: list[Noun] = field(default_factory=list)
    person: bool = False
    none: bool = False
    its: bool = False

    @property
    def head(self) -> str:
        """Its last word."""
        return self.words[-1]


class Attached(NamedTuple):
    """A noun phrase that a preposition brings in."""

    preposition: str
    noun: Noun


@dataclass(slots=True)
class Clause:
    """A verb and what belongs to it.

    Attributes:
        verb: the verb as it is written; its particles and the preposition that leads to its object follow it.
        kind: what holds it in the sentence.
        object: the noun after it, directly or by a preposition.
        direct: whether the object follows without a preposition.
        second: a second noun right after the object ("giving the dog a bath").
        attached: further nouns with their prepositions.
        dangling: a preposition that has no noun: after the object ("hits the ball with"), before "by" ("typed on by").
        passive: whether its subject undergoes it.
        linked: "and", "or", "but" or a comma where that joins it to the clause before.
        apart: whether it begins another sentence, or says what happens meanwhile.
        topic: the thing that it tells something of ("the bike that he rides").
        use: what its object is used for ("using a knife to cut a cake").
        inner: the noun that its -ing form begins with ("horse riding").
        aboard: what its subject is on ("a man on a horse jumps").
    """

    verb: list[str]
    kind: Kind
    subject: Noun | None = None
    object: Noun | None = None
    direct: bool = False
    second: Noun | None = None
    attached: list[Attached] = field(default_factory=list)
    dangling: str = ""
    negated: bool = False
    passive: bool = False
    linked: str = ""
    apart: bool = False
    sentence: int = 0
    topic: Noun | None = None
    use: Clause | None = None
    inner: str = ""
    aboard: Noun | None = None

    @property
    def borne(self) -> bool:
        """Whether it says what something has around it or on it: "covered by a blanket"."""
        return self.kind == "participle" and not self.passive and self.verb[1:] == ["by"]


class Sentence(NamedTuple):
    """Clauses in order, nouns that no clause has, what prepositions bring in beside them."""

    clauses: list[Clause]
    nouns: list[Noun]
    loose: list[Attached]


class Candidate(NamedTuple):
    """Alternative verbs and alternative objects of one interaction, best first, and whether they are unsure."""

    verbs: list[str]
    objects: list[str]
    doubtful: bool = False


# What the nouns of a phrase name: things, parts of a body, where something happens.

# What means none of these belongs to the verb: "reading the time on a clock".
MATERIAL = frozenset(f"noun.{name}" for name in ("artifact", "food", "animal", "plant", "Tops"))


def names(noun: Noun) -> list[str]:
    """Ways to name a thing: "slice of pizza" or "pizza"; "bottle of wine", "bottle" or "wine"; "cow's ear"."""
    own = table("implied_by_noun").get(noun.head) or " ".join(noun.words)
    if noun.of is not None:
        inner = " ".join(noun.of.words)
        whole = f"{own} of {inner}"
        return [whole, inner] if noun.head in text.WORD_CLASSES["measures"] else [whole, own, inner]
    if noun.owner is not None:
        owner = " ".join(noun.owner.words)
        return [f"{owner}'s {own}", own, owner]
    return [own]


def all_of(*nouns: Noun) -> list[Noun]:
    """Nouns with those that "and" joins to each."""
    return [each for noun in nouns for each in (noun, *noun.also)]


def is_scenery(noun: Noun) -> bool:
    """Whether a noun only says where something happens ("street"), as far as the table lists it."""
    return _is_scenery(noun.head)


@lru_cache(maxsize=20_000)
def _is_scenery(word: str) -> bool:
    return not table("scenery").keys().isdisjoint((word, *bases(word, "object")))


def is_of_body(noun: Noun) -> bool:
    """Whether a noun is a part of the body in its first sense."""
    return _is_of_body(noun.head)


@lru_cache(maxsize=20_000)
def _is_of_body(word: str) -> bool:
    return any(senses_of(base)[:1] == ("noun.body",) for base in bases(word, "object"))


def is_inner(noun: Noun) -> bool:
    """Whether a direct object is part of what is done rather than a thing that it is done to."""
    measure = noun.head in text.WORD_CLASSES["measures"]
    senses = senses_of(noun.head)
    immaterial = bool(senses) and MATERIAL.isdisjoint(senses) and not is_scenery(noun)
    return noun.owner is None and not measure and (immaterial or is_of_body(noun))


@lru_cache(maxsize=20_000)
def senses_of(word: str) -> tuple[str, ...]:
    """Lexicographer files of a noun's senses."""
    base = next(iter(bases(word, "object")), "")
    return tuple(lexicon().lexname(sense) for sense in lexicon().senses(base, "n").tolist())


def light_verb(noun: Noun) -> str:
    """Return the verb that a noun stands for after "take", "have" or "give": sip for "a sip"; "" for others."""
    lights = table("light_noun")
    names_ = ("_".join(noun.words[-2:]), noun.head, *bases(noun.head, "object"))
    found = next((lights[name] or name for name in names_ if name in lights), "")
    doing = not found and noun.head.endswith("ing") and senses_of(noun.head)[:1] in ((), ("noun.act",))
    return base_of(noun.head) if doing and is_known_verb(noun.head) else found


def verb_of_noun(noun: Noun) -> str:
    """The verb in a noun for who does it ("rider") or for doing it ("use", "repair"); "" where there is none."""
    head = noun.head
    if head in table("nominal"):
        return gerund(table("nominal")[head])
    stems = [head.removesuffix("s").removesuffix("r"), head.removesuffix("s").removesuffix("er")]
    stems += [stems[1][:-1]] if stems[1][-2:-1] == stems[1][-1:] else []
    if head.removesuffix("s").endswith("er"):
        verb = next((stem for stem in stems if len(stem) > 2 and "b" in word_of(stem).forms), "")
        return gerund(verb) if verb else ""
    if senses_of(head)[:1] != ("noun.act",):
        return ""
    verb = head if "b" in word_of(head).forms else table("light_noun").get(head, "")
    return gerund(verb) if verb else ""


# Noun phrases, with the nouns that "of", "and" and a possessive join to them, and the prepositions before them.

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
