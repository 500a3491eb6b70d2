"""Whole interactions that raters compared: a class with a predicted verb and object, word for word.

::

    class_verb <tab> class_object <tab> verb        <tab> object <tab> RATER ...
    ride       <tab> bicycle      <tab> sitting on  <tab> bike   <tab> 4

One row per pair, sorted; words as :func:`said` writes them; a rating is 0 to 4, empty where the rater has not rated it.
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
_MISSING = [""] * len(_NAMES)

Row = tuple[str, str, str, str]
"""Verb and object of the class, and verb and object as they were said."""


def said(word: str) -> str:
    """Write a predicted word as rows have it: in lower case, without accents, with single blanks."""
    return text.spelled(text.plain(word)).replace("_", " ")


@dataclass(frozen=True, eq=False)
class WholeRatings:
    """m rated pairs of a class and a predicted verb and object, each pair once.

    Attributes:
        ratings: (m, R) int8, 0..4; -1 where the rater has not rated the pair.
    """

    rows: Sequence[Row]
    ratings: Ratings

    @cached_property
    def columns(self) -> list[tuple[dict[str, int], Ints]]:
        """Return, per column of names, the index of each distinct name, and (m,) the indices of the rows."""
        found = []
        for names in zip(*self.rows, strict=True) if self.rows else [()] * len(_NAMES):
            number: dict[str, int] = {}
            numbers = np.array([number.setdefault(name, len(number)) for name in names], np.int32)
            found.append((number, numbers))
        return found


@dataclass(frozen=True)
class WholeFile:
    """A map's table of whole interactions, read on first use.

    Attributes:
        kept: indices of the raters that count, in the order of the map's raters.
    """

    path: Path
    sha256: str
    raters: tuple[str, ...]
    kept: tuple[int, ...]

    def with_raters(self, columns: Sequence[int]) -> WholeFile:
        """Return the file with only some of its counting raters, in this order."""
        return replace(self, kept=tuple(self.kept[column] for column in columns))

    @cached_property
    def ratings(self) -> WholeRatings:
        """Ratings of the raters that count.

        Raises:
            InputError: naming the line and the field that break the format, or if the content is not that of the hash.
        """
        content = read_bytes(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            found = "ratings that were changed after the map was written"
            raise InputError(self.path, found=found, expected="those that map.json describes")
        every = parse_whole(content, self.path, self.raters)
        return WholeRatings(every.rows, np.ascontiguousarray(every.ratings[:, list(self.kept)]))

    def __getstate__(self) -> dict[str, Any]:
        """Include the content: another process may run where the file does not exist."""
        return vars(self) | {"ratings": self.ratings}


def format_whole(pairs: WholeRatings, raters: Sequence[str]) -> bytes:
    """Write rated interactions as a table, sorted; R raters."""
    ratings = (["" if rating == MISSING else str(rating) for rating in row] for row in pairs.ratings.tolist())
    lines = sorted("\t".join((*row, *of_row)) for row, of_row in zip(pairs.rows, ratings, strict=True))
    return "".join(f"{line}\n" for line in ["\t".join((*_NAMES, *raters)), *lines]).encode()


def parse_whole(content: bytes, source: Path, raters: Sequence[str]) -> WholeRatings:
    """Read and check a table with R raters; messages name the ``source``.

    Raises:
        InputError: naming the first line that breaks the format.
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
        fields = line.split("\t")
        verb, object_, said_verb, said_object = (fields + _MISSING)[:4]
        row = verb, object_, said_verb, said_object
        if len(fields) != len(names) or not all(row) or row in rows or not RATINGS.keys() >= set(fields[4:]):
            expected = f"four names, once, and {len(raters)} ratings 0 to {HIGHEST} or nothing, between tabs"
            raise InputError(source, record=f"line {number}", found=quote(line), expected=expected)
        rows[row] = [RATINGS[rating] for rating in fields[4:]]
    return WholeRatings(list(rows), np.array(list(rows.values()), np.int8).reshape(len(rows), len(raters)))
