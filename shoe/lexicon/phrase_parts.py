"""What a phrase consists of: noun phrases, clauses, and what prepositions attach to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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
        subject: the noun before it.
        object: the noun after it, directly or by a preposition.
        direct: whether the object follows without a preposition.
        second: a second noun right after the object ("giving the dog a bath").
        attached: further nouns with their prepositions.
        dangling: a preposition that has no noun: after the object ("hits the ball with"), before "by" ("typed on by").
        negated: whether it is denied.
        passive: whether its subject undergoes it.
        linked: "and", "or", "but" or a comma where that joins it to the clause before.
        sentence: number of its sentence.
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
