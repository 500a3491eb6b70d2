"""What people want to know of a dataset before they have it: what it is, whose, under which terms, and where to get it.

A benchmark's card lies beside it as ``card.json``; how large its splits are, ``published.json`` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shoe.core.documents import Document
from shoe.io.json import read_typed

IMAGE_LABELS = "image labels"
"""What a file of image-level labels holds."""


class CardFile(Document, frozen=True):
    """A file of a dataset as it is handed out.

    Attributes:
        name: what it is called there.
        holds: which published split, or ``IMAGE_LABELS``; files that hold the same take each other's place.
        purpose: what it is needed for.
        place: where to get it, and under which licence if that is another than the dataset's.
    """

    name: str
    holds: str
    purpose: str
    place: str


@dataclass(frozen=True, slots=True)
class Card:
    """A dataset in words.

    Attributes:
        title: its name as papers write it, and what it is.
        papers: who published it, and what it is scored by.
        licence: what may be done with it.
        files: what is to be had; nothing is downloaded by shoe.
        notes: what to know of its figures, one line each.
    """

    title: str
    papers: tuple[str, ...]
    licence: str
    files: tuple[CardFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def holdings(self) -> dict[str, list[CardFile]]:
        """The files by what they hold, in the card's order."""
        found: dict[str, list[CardFile]] = {}
        for file in self.files:
            found.setdefault(file.holds, []).append(file)
        return found


def read_card(path: Path) -> Card:
    """Read a benchmark's ``card.json``."""
    return read_typed(path, path.read_bytes(), Card, lambda _document, number, _record: f"file {number}")
