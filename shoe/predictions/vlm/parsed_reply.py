"""Content of a parsed reply: pairs of boxes with words, and items that are not valid interactions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

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


class Problem(NamedTuple):
    """Reason why an item is not an interaction."""

    cause: str  # name of the invalid part
    found: str
    expected: str


class Pair(NamedTuple):
    """Human box and object box in an item of a reply, with the words of the item."""

    human: Entity
    object: Entity
    subject: str  # words for the human; "" if there are none
    target: str  # words for the object; "" if there are none
    verbs: tuple[Verb, ...]  # verbs as written
    phrase: str  # a sentence or triplet as text; "" if there is none
    texts: tuple[str, ...] = ()  # texts under keys of the item whose meaning is unknown
    score: Any = None  # score as written
    is_relation: bool = False  # whether the reply calls the human only "subject", so that it may be a thing
    invalid_word: tuple[str, Any] | None = None  # key that should have a word as value, and its invalid value
    keys: tuple[str, ...] = ()  # keys of the texts; "" for a text without a key
    verdicts: tuple[tuple[str, Any], ...] = ()  # keys and values that say whether the interaction is present

    @property
    def has_words(self) -> bool:
        """Whether the interaction has a verb, a phrase or another text, not only boxes."""
        return bool(self.verbs or self.phrase or self.texts)


class Reading(msgspec.Struct):
    """Interactions and problems in a reply."""

    items: list[Pair | Problem] = []  # interactions, and problems of invalid items, in the order of the reply
    says_none: bool = False  # whether the reply has an empty list of interactions
    keys: dict[str, None] = {}  # keys of the JSON objects in the reply, in order (a dict used as an ordered set)
    is_points: bool = False  # whether the reply has points instead of boxes
    single: int = 0  # number of items with only one box
    unread: list[tuple[str, Any]] = []  # keys and plain values that are not read
    joined: list[str] = []  # keys of lists of interactions that one object contains, and that were joined
    replaced: int = 0  # number of JSON objects with drafts of one list ("step1", "step2"), of which the last is used

    @property
    def pairs(self) -> list[Pair]:
        """The elements of ``items`` that are interactions."""
        return [item for item in self.items if isinstance(item, Pair)]
