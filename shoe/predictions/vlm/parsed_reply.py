"""Content of a parsed reply: pairs of boxes with words, and items that are not valid interactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoe.core.errors import InputError, printable
from shoe.predictions.source import Source
from shoe.predictions.vlm.box_marks import Entity
from shoe.predictions.vlm.fields import Verb


@dataclass(eq=False)
class UnreadableError(Exception):
    """Error for a record or item that breaks the format, with the parts of the error message."""

    place: str
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        where = [self.place, self.field] if self.field else [self.place]
        return printable(f"{': '.join(where)}: found {self.found}, expected {self.expected}", longest=300)

    def to_input_error(self, source: Source, hint: str | None = None) -> InputError:
        """Return the error as shown to the user: an InputError about ``source``."""
        found, expected = self.found, self.expected
        return InputError(source.path, record=self.place, field=self.field, found=found, expected=expected, hint=hint)


@dataclass(frozen=True, slots=True)
class Problem:
    """Reason why an item is not an interaction: the name of the invalid part, what was found, and what is expected."""

    cause: str
    found: str
    expected: str


class Pair(NamedTuple):
    """Human box and object box in an item of a reply, with the words of the item.

    Attributes:
        subject, target: words for the human and the object; "" if there are none.
        verbs: verbs as written.
        phrase: a sentence or triplet as text; "" if there is none.
        texts: texts under keys of the item whose meaning is unknown.
        score: score as written.
        is_relation: whether the reply calls ``human`` only "subject", so that it may be a thing.
        invalid_word: key that should have a word as value, and its invalid value; None if there is none.
        keys: keys of ``texts``; "" for a text without a key.
        verdicts: (key, value) pairs that say whether the interaction is present.
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
    invalid_word: tuple[str, Any] | None = None
    keys: tuple[str, ...] = ()
    verdicts: tuple[tuple[str, Any], ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether the interaction has a verb, a phrase or another text, not only boxes."""
        return bool(self.verbs or self.phrase or self.texts)


@dataclass(slots=True)
class Reading:
    """Interactions and problems in a reply.

    Attributes:
        items: interactions, and problems of invalid items, in the order of the reply.
        says_none: whether the reply has an empty list of interactions.
        keys: keys of the JSON objects in the reply, in order (a dict used as an ordered set).
        is_points: whether the reply has points instead of boxes.
        single: number of items with only one box.
        unread: keys and plain values that are not read.
        joined: keys of lists of interactions that were joined because one object contains several of them.
        replaced: number of JSON objects with several drafts of one list ("step1", "step2"), of which the last is used.
    """

    items: list[Pair | Problem] = field(default_factory=list)
    says_none: bool = False
    keys: dict[str, None] = field(default_factory=dict)
    is_points: bool = False
    single: int = 0
    unread: list[tuple[str, Any]] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    replaced: int = 0

    @property
    def pairs(self) -> list[Pair]:
        """The elements of ``items`` that are interactions."""
        return [item for item in self.items if isinstance(item, Pair)]

    @property
    def problems(self) -> list[Problem]:
        """The problems in ``items``."""
        return [item for item in self.items if isinstance(item, Problem)]

    def add(self, other: Reading) -> None:
        """Add the items, keys, flags and counts read from another parsed value, such as a list, of the same reply."""
        self.items += other.items
        self.says_none |= other.says_none
        self.keys.update(other.keys)
        self.is_points |= other.is_points
        self.single += other.single
        self.unread += other.unread
        self.joined += other.joined
        self.replaced += other.replaced
