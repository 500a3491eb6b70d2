"""What is found in a reply: pairs of boxes with words, and what looks like one and is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoe.core.errors import InputError, printable
from shoe.predictions.source import Source
from shoe.predictions.vlm.box_marks import Entity
from shoe.predictions.vlm.fields import Verb

# A record or an item that breaks the format.


@dataclass(eq=False)
class UnreadableError(Exception):
    """A record or item that breaks the format: where, and the parts of the message."""

    place: str
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        where = [self.place, self.field] if self.field else [self.place]
        return printable(f"{': '.join(where)}: found {self.found}, expected {self.expected}", longest=300)

    def for_user(self, source: Source, hint: str | None = None) -> InputError:
        """The error that the user reads."""
        return InputError(
            source.path, record=self.place, field=self.field, found=self.found, expected=self.expected, hint=hint
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps an item from being an interaction."""

    cause: str
    found: str
    expected: str


class Pair(NamedTuple):
    """A human box, an object box, and what is said of the two.

    Attributes:
        human, object: the two boxes.
        subject, target: their words, "" where there are none.
        verbs: verbs as written.
        phrase: a sentence or triplet, "" where there is none.
        texts: other texts of the item.
        score: as written.
        is_relation: whether the first box is a relation's subject, which need not be a person.
        wrong: where a word should be, and what stands there.
        keys: those of the texts, "" for a text without one.
    """

    human: Entity
    object: Entity
    subject: str
    target: str
    verbs: tuple[Verb, ...]
    phrase: str
    texts: tuple[str, ...] = ()
    score: Any = None
    is_relation: bool = False
    wrong: tuple[str, Any] | None = None
    keys: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether anything says what is done."""
        return bool(self.verbs or self.phrase or self.texts)


@dataclass(slots=True)
class Reading:
    """What a reply's values hold.

    Attributes:
        found: the interactions, and items that look like interactions and are none, in order.
        says_none: whether a list of interactions is there and empty.
        keys: keys seen, in order.
        is_points: whether there are points.
        single: items with one box that no relation speaks of.
    """

    found: list[Pair | Problem] = field(default_factory=list)
    says_none: bool = False
    keys: dict[str, None] = field(default_factory=dict)
    is_points: bool = False
    single: int = 0

    @property
    def pairs(self) -> list[Pair]:
        """The interactions."""
        return [item for item in self.found if isinstance(item, Pair)]

    @property
    def problems(self) -> list[Problem]:
        """The items that are none."""
        return [item for item in self.found if isinstance(item, Problem)]

    def add(self, other: Reading) -> None:
        """Add what other values of the reply hold."""
        self.found += other.found
        self.says_none |= other.says_none
        self.keys.update(other.keys)
        self.is_points |= other.is_points
        self.single += other.single
