"""What a source of words says: concepts with names, and what it says of the words themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.compiled import Pos

NOUN: Pos = "n"
VERB: Pos = "v"
KINDS: dict[str, Pos] = {"": NOUN, "n": NOUN, "noun": NOUN, "object": NOUN, "v": VERB, "verb": VERB}
"""Parts of speech as tables write them; without any, a concept is a noun's."""


class Concept(NamedTuple):
    """A concept of a source.

    Attributes:
        id: what the source calls it; the name of the concept in maps.
        names: as words have it, the preferred one first.
        gloss: its definition; "" where it has none.
        parents: ids of what it is a kind of.
        kind: what sort of thing it is, in the source's words: a lexicographer file, a semantic type; "" for none.
        links: ids that other lexicons know it by ("ili:i35545", "key:ride%2:38:00::", "wn30:01955984-v").
        where: the record that says so, for messages.
    """

    id: str
    names: tuple[str, ...]
    pos: Pos = NOUN
    gloss: str = ""
    parents: tuple[str, ...] = ()
    kind: str = ""
    links: tuple[str, ...] = ()
    where: str = ""


@dataclass(slots=True)
class Source:
    """All that a file says.

    Attributes:
        path: of the file, for messages.
        title: of the lexicon, with version.
        language: of the words, as the file has it.
        licence: what may be done with it; "" if the file does not say.
        forms: inflected forms by part of speech, each with its bases.
        order: ids of the senses of (name, part of speech), the most usual first, where the file tells.
        left_out: how many records of each sort were not taken.
    """

    path: str
    title: str
    concepts: list[Concept]
    language: str = "en"
    licence: str = ""
    forms: dict[Pos, dict[str, list[str]]] = field(default_factory=lambda: {"n": {}, "v": {}})
    order: dict[tuple[str, Pos], list[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count what was not taken."""
        if number:
            self.left_out[what] = self.left_out.get(what, 0) + number

    def with_verbs(self, kinds: frozenset[str]) -> Source:
        """The same with all concepts of some kinds as verbs.

        Raises:
            OptionError: for a kind that no concept is of.
        """
        for unknown in sorted(kinds - {c.kind for c in self.concepts}):
            raise OptionError(f"--verbs: found {quote(unknown)}, expected kinds that concepts of {self.path} are of")
        concepts = [c._replace(pos=VERB) if c.kind in kinds else c for c in self.concepts]
        return replace(self, concepts=concepts)


def text_lines(path: str, data: bytes) -> list[str]:
    """The lines of a text in UTF-8; what else str.splitlines takes for the end of one, a definition may hold.

    Raises:
        InputError: for bytes that are no such text.
    """
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        record = f"line {1 + data.count(10, 0, error.start)}"
        raise InputError(path, record=record, found="bytes that are not UTF-8", expected="text in UTF-8") from None
    return text.split("\n") if text else []
