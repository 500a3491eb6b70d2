"""Data classes for the source of a lexicon: concepts with names, and inflected forms of words."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.compiled import Pos

NOUN: Pos = "n"
VERB: Pos = "v"
KINDS: dict[str, Pos] = {"": NOUN, "n": NOUN, "noun": NOUN, "object": NOUN, "v": VERB, "verb": VERB}
"""Part of speech for each text in tables; empty text is a noun."""


class Concept(NamedTuple):
    """A concept of a source.

    Attributes:
        id: ID in the source, and name of the concept in maps.
        names: words for the concept, the preferred word first.
        pos: part of speech.
        gloss: definition; "" without a definition.
        parents: IDs of the direct hypernyms.
        kind: lexicographer file or semantic type in the source; "" for none.
        links: IDs in other lexicons ("ili:i35545", "key:ride%2:38:00::", "wn30:01955984-v").
        where: record of the concept in the file, for messages.
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
    """Words and concepts read from a file.

    Attributes:
        path: path of the file, for messages.
        title: title of the lexicon, with version.
        concepts: concepts of the file.
        language: language code of the names.
        licence: licence of the content; "" if the file does not state a licence.
        forms: base forms of each inflected form, per part of speech.
        order: concept IDs of each (name, part of speech), most frequent sense first; {} if the file states no order.
        left_out: number of records left out, by reason.
    """

    path: str
    title: str
    concepts: list[Concept]
    language: str = "en"
    licence: str = ""
    forms: dict[Pos, dict[str, list[str]]] = field(default_factory=lambda: {"n": {}, "v": {}})
    order: dict[tuple[str, Pos], list[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str, number: int = 1) -> None:
        """Add ``number`` to the count of records left out for a reason."""
        if number:
            self.left_out[reason] = self.left_out.get(reason, 0) + number

    def with_verbs(self, kinds: frozenset[str]) -> Self:
        """Return a copy of the source in which all concepts with a kind in ``kinds`` are verbs.

        Raises:
            OptionError: for a kind that does not occur in the source.
        """
        for unknown in sorted(kinds - {c.kind for c in self.concepts}):
            expected = f"a lexicographer file or semantic type that occurs in {self.path}"
            raise OptionError(f"--verbs: found {quote(unknown)}, expected {expected}")
        return replace(self, concepts=[c._replace(pos=VERB) if c.kind in kinds else c for c in self.concepts])


def text_lines(path: str, data: bytes) -> list[str]:
    """Return the lines of UTF-8 text, without empty lines at the end; [] for empty text.

    Lines end only at LF or CRLF, because definitions may contain other line separators.

    Raises:
        InputError: if the bytes are not UTF-8.
    """
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        record = f"line {1 + data.count(10, 0, error.start)}"
        raise InputError(path, record=record, found="bytes that are not UTF-8", expected="text in UTF-8") from None
    return text.split("\n") if text else []
