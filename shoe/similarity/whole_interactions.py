"""Ratings of whole interactions: raters compare a predicted (verb, object) pair with a class.

::

    class_verb <tab> class_object <tab> verb        <tab> object <tab> RATER ...
    ride       <tab> bicycle      <tab> sitting on  <tab> bike   <tab> 4

One row per pair, sorted; words are normalized (:func:`normalize_word`). A rating is 0 to 4, or empty if missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoe.core.arrays import Ints
from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes
from shoe.lexicon import text
from shoe.similarity.ensemble import HIGHEST, MISSING, RATINGS, Ratings

FILE = "interactions.tsv"
_NAMES = ("class_verb", "class_object", "verb", "object")

Row = tuple[str, str, str, str]
"""Verb and object of the class, and predicted verb and object."""


def normalize_word(word: str) -> str:
    """Return a word as written in tables of whole interactions, without accents: "sit on" for "Sit_on", "Sit  on"."""
    return text.spelled(text.plain(word)).replace("_", " ")


@dataclass(frozen=True, eq=False)
class WholeRatings:
    """Ratings of m pairs of a class and a predicted interaction, each rated as a whole; each pair occurs once."""

    rows: Sequence[Row]  # m tuples (class verb, class object, predicted verb, predicted object)
    ratings: Ratings  # (m, R) int8 ratings 0..4 by R raters; -1 if the rater has not rated the pair

    @cached_property
    def columns(self) -> list[tuple[dict[str, int], Ints]]:
        """For each of the four columns of ``rows``: {word: index} of its distinct words, and (m,) index per row."""
        found: list[tuple[dict[str, int], Ints]] = []
        for names in zip(*self.rows, strict=True) if self.rows else [()] * len(_NAMES):
            number = {name: index for index, name in enumerate(dict.fromkeys(names))}
            found.append((number, np.array([number[name] for name in names], np.int32)))
        return found


@dataclass(frozen=True)
class WholeFile:
    """File with a similarity map's ratings of whole interactions, read on first use."""

    path: Path
    sha256: str
    raters: tuple[str, ...]  # names of all rating columns of the file
    kept: tuple[int, ...]  # indices in ``raters`` of the raters in use, in the order of the map's raters

    def with_raters(self, columns: Sequence[int]) -> WholeFile:
        """Return the file with only the raters at the indices ``columns`` of the raters in use, in that order."""
        return replace(self, kept=tuple(self.kept[column] for column in columns))

    @cached_property
    def ratings(self) -> WholeRatings:
        """Ratings of whole interactions by the raters in use, read from the file on first access.

        Raises InputError for an invalid line, with its number, or if the content does not match the hash.
        """
        content = read_bytes(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            found = "ratings that were changed after the map was written"
            raise InputError(self.path, found=found, expected="ratings that match the SHA-256 in map.json")
        every = parse_whole(content, self.path, self.raters)
        return WholeRatings(every.rows, np.ascontiguousarray(every.ratings[:, list(self.kept)]))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the ratings, because another process may not have the file."""
        return vars(self) | {"ratings": self.ratings}


def format_whole(pairs: WholeRatings, raters: Sequence[str]) -> bytes:
    """Return ratings of (class, predicted interaction) pairs as a sorted TSV table with rating columns ``raters``."""
    ratings = (["" if rating == MISSING else str(rating) for rating in row] for row in pairs.ratings.tolist())
    lines = sorted("\t".join((*row, *of_row)) for row, of_row in zip(pairs.rows, ratings, strict=True))
    return "".join(f"{line}\n" for line in ["\t".join((*_NAMES, *raters)), *lines]).encode()


def parse_whole(content: bytes, source: Path, raters: Sequence[str]) -> WholeRatings:
    """Parse and check a table of whole interactions from the path ``source``, with rating columns ``raters``.

    Raises InputError for the first invalid line, with its number.
    """
    try:
        header, *lines = content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise InputError(source, found="bytes that are not UTF-8", expected="a table of ratings") from None
    names = [*_NAMES, *raters]
    if header.split("\t") != names:
        raise InputError(source, record="line 1", found=quote(header), expected="\t".join(names))
    rows: dict[Row, list[int]] = {}
    for number, line in enumerate(lines, start=2):
        *row, ratings = line.split("\t", 4) if line.count("\t") == len(names) - 1 else [""] * 5
        fields = ratings.split("\t")
        if not all(row) or tuple(row) in rows or not RATINGS.keys() >= set(fields):
            expected = f"{len(raters)} ratings (0 to {HIGHEST} or empty)"
            expected = f"4 names (each combination once) and {expected}, separated by tabs"
            raise InputError(source, record=f"line {number}", found=quote(line), expected=expected)
        rows[(row[0], row[1], row[2], row[3])] = [RATINGS[rating] for rating in fields]
    return WholeRatings(list(rows), np.array(list(rows.values()), np.int8).reshape(len(rows), len(raters)))
