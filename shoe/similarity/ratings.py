"""One table of a map: rated pairs of synsets, read from and written to tab-separated text.

::

    class_synset <tab> synset <tab> RATER <tab> RATER ...
    ride.v.01    <tab> straddle.v.01 <tab> 3 <tab> <tab> 2

One row per pair, sorted by the two names; a rating is 0 to 4, empty where the rater has not rated the pair.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError, quote
from shoe.lexicon.keys import Keys, keys_in
from shoe.lexicon.store import lexicon
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

_NAMES = ("class_synset", "synset")
_TAB, _NEWLINE, _ZERO, _LAST = (ord(character) for character in "\t\n0~")
_DIGITS_AT_ONCE = 12
_DIGITS = frozenset(map(str, range(HIGHEST + 1)))

Pairs = Mapping[tuple[str, str], Sequence[int | None]]


@dataclass(frozen=True, slots=True, eq=False)
class PairColumns:
    """m rated pairs as columns: a million of them take a tenth of the time and memory that ``Pairs`` take.

    Attributes:
        class_synset, synset: (m,) numbers of the two senses in the compiled lexicon, sorted by both names.
        ratings: (m, R) 0..4; -1 where the rater has not rated the pair.
    """

    class_synset: NDArray[np.int32]
    synset: NDArray[np.int32]
    ratings: Ratings

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.ratings)


@dataclass(frozen=True, eq=False)
class RatingTable:
    """n rated pairs of one part of speech, R raters.

    Attributes:
        text: the table as it stands in its file, sorted.
        bounds: (n, 3) byte offsets in ``text``: the row's start, the tab between its names, the tab after them.
        ratings: (n, R) 0..4; -1 where the rater has not rated the pair.
        digest: SHA-256 of ``text``.
    """

    text: bytes
    bounds: NDArray[np.int64]
    ratings: Ratings
    digest: str

    def __len__(self) -> int:
        return len(self.ratings)

    def row(self, class_synset: str, synset: str) -> int:
        """Find one pair; -1 if it is not in the table."""
        names = f"{class_synset}\t{synset}".encode()
        row = bisect_left(range(len(self)), names, key=self._names_of)
        return row if row < len(self) and self._names_of(row) == names else -1

    @cached_property
    def classes(self) -> dict[str, slice]:
        """The rows of each class, in the table's order."""
        found: dict[str, slice] = {}
        start = 0
        while start < len(self):
            name = self._names_of(start).split(b"\t")[0]
            # A newline sorts right after the tab that follows the name in each of its rows.
            end = bisect_left(range(len(self)), name + b"\n", lo=start, key=self._names_of)
            found[name.decode()] = slice(start, end)
            start = end
        return found

    @cached_property
    def keys(self) -> Keys:
        """(n,) key of the second name of each row."""
        starts = self.bounds[:, 1] + 1
        return keys_in(self.text, starts, self.bounds[:, 2] - starts)

    def _names_of(self, row: int) -> bytes:
        start, _, end = self.bounds[row].tolist()
        return self.text[start:end]


def read_table(path: Path, raters: Sequence[str], digest: str | None = None) -> RatingTable:
    """Read a table.

    A file whose content is the one that ``digest`` was made of has been checked when it was written; any other is
    checked line by line, and may have its rows in any order.

    Args:
        path: the file.
        raters: R names of its columns.
        digest: SHA-256 of the file, where the map says it.

    Raises:
        InputError: naming the line and the field that break the form; or if the content is not that of ``digest``.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(path, found=error.strerror or "an error", expected="a table of ratings") from None
    found = hashlib.sha256(text).hexdigest()
    table = _split(text, raters, found) if found == digest else None
    if table is None:
        text = format_table(checked_pairs(text, path, raters), raters)
        sorted_digest = hashlib.sha256(text).hexdigest()
        if digest not in (None, found, sorted_digest):
            raise InputError(
                path,
                found="ratings that were changed after the map was written",
                expected="those that map.json describes",
                hint="remove their sha256 from map.json to use them as they are",
            )
        table = _split(text, raters, sorted_digest)
        assert table is not None, "what format_table writes can be split"  # noqa: S101 - for the type checker
    return table


def format_table(pairs: Pairs | PairColumns, raters: Sequence[str]) -> bytes:
    """Write pairs as a table: {(class synset, synset): R ratings or None}, or the same as columns."""
    if isinstance(pairs, PairColumns):
        return _header(raters) + _format_columns(pairs)
    rows = [
        "\t".join((*names, *("" if rating is None else str(rating) for rating in ratings)))
        for names, ratings in sorted(pairs.items())
    ]
    return _header(raters) + "".join(f"{row}\n" for row in rows).encode()


def _format_columns(pairs: PairColumns) -> bytes:
    """Put the text of each distinct sense and of each distinct row of ratings together."""
    senses = np.unique(np.concatenate([pairs.class_synset, pairs.synset])).tolist()
    name = {sense: lexicon().name(sense) for sense in senses}
    first, row = _distinct_rows(pairs.ratings)
    kinds = pairs.ratings[first].tolist()
    texts = ["".join(f"\t{'' if rating == MISSING else rating}" for rating in kind) + "\n" for kind in kinds]
    columns = (pairs.class_synset.tolist(), pairs.synset.tolist(), row.tolist())
    return "".join(f"{name[a]}\t{name[b]}{texts[r]}" for a, b, r in zip(*columns, strict=True)).encode()


def _distinct_rows(ratings: Ratings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the rows of ratings by their content: where each number occurs first, and (m,) the numbers."""
    number = np.zeros(len(ratings), np.int64)
    for place, column in enumerate(ratings.T):
        if place % _DIGITS_AT_ONCE == 0:  # before a number outgrows its 64 bits
            _, number = np.unique(number, return_inverse=True)
        number = number * (HIGHEST + 2) + column - MISSING
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return first, number


def checked_pairs(text: bytes, source: Path, raters: Sequence[str] | None) -> dict[tuple[str, str], list[int | None]]:
    """Read a table of any row order, checking everything.

    Args:
        text: the file's content.
        source: its name, for messages.
        raters: the expected columns; any if None.

    Raises:
        InputError: naming the first line that breaks the form, and the field.
    """
    try:
        lines = text.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        record = "line " + str(text.count(b"\n", 0, error.start) + 1)
        byte = f"byte {text[error.start]:#04x}"
        raise InputError(source, record=record, found=byte, expected="ASCII text") from None
    header = lines[0].split("\t") if lines else []
    if tuple(header[:2]) != _NAMES or len(header) < 3 or (raters is not None and header[2:] != list(raters)):
        expected = " ".join((*_NAMES, *(raters or ["RATER..."]))) + ", separated by tabs"
        raise InputError(source, record="line 1", found=quote(lines[0] if lines else ""), expected=expected)
    refused: dict[str, str | None] = {}
    pairs: dict[tuple[str, str], list[int | None]] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != len(header):
            found = f"{len(fields)} fields"
            raise InputError(source, record=f"line {number}", found=found, expected=str(len(header)))
        for column, name in zip(_NAMES, fields, strict=False):
            if name not in refused:
                refused[name] = _why_not_a_synset(name)
            if proper := refused[name]:
                raise InputError(source, record=f"line {number}", field=column, found=quote(name), expected=proper)
        pair = fields[0], fields[1]
        if pair in pairs:
            found = f"{pair[0]} and {pair[1]} a second time"
            raise InputError(source, record=f"line {number}", found=found, expected="each pair once")
        pairs[pair] = [
            _rating(field, source, number, rater) for field, rater in zip(fields[2:], header[2:], strict=True)
        ]
    return pairs


def _why_not_a_synset(name: str) -> str | None:
    """Say what a name should be instead; None for the name by which WordNet knows a synset."""
    synset = lexicon().synset(name)
    if synset < 0:
        return "the name of a WordNet 3.0 synset, as ride.v.01"
    proper = lexicon().name(synset)
    return None if name == proper else f"{proper}, WordNet's first name for it"


def _header(raters: Sequence[str]) -> bytes:
    return ("\t".join((*_NAMES, *raters)) + "\n").encode()


def _rating(field: str, source: Path, number: int, rater: str) -> int | None:
    if field == "":
        return None
    if field not in _DIGITS:
        expected = f"a rating 0 to {HIGHEST}, or nothing"
        raise InputError(source, record=f"line {number}", field=rater, found=quote(field), expected=expected)
    return int(field)


def _split(text: bytes, raters: Sequence[str], digest: str) -> RatingTable | None:
    """Take a sorted table apart by its separators; None if anything is not where it should be."""
    header = _header(raters)
    fields = len(_NAMES) + len(raters)
    codes = np.frombuffer(text, np.uint8)[len(header) :]
    separators = np.flatnonzero(codes < ord(" "))
    if not text.startswith(header) or not text.endswith(b"\n") or len(separators) % fields or (codes > _LAST).any():
        return None
    ends = separators.reshape(-1, fields)
    expected = np.full(fields, _TAB)
    expected[-1] = _NEWLINE
    lengths = np.diff(ends[:, 1:], axis=1) - 1
    present = lengths == 1
    digits = codes[ends[:, 1:-1] + 1] - np.uint8(_ZERO)
    if (codes[ends] != expected).any() or (lengths > 1).any() or (digits[present] > HIGHEST).any():
        return None
    ratings = np.where(present, digits.view(np.int8), np.int8(MISSING))
    starts = np.concatenate(([0], ends[:-1, -1] + 1))[: len(ends)]
    bounds = np.column_stack((starts, ends[:, 0], ends[:, 1])) + len(header)
    return RatingTable(text, bounds, ratings, digest)
