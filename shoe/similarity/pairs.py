"""Rated pairs of senses in memory, and their tab-separated tables.

::

    class_synset <tab> synset <tab> RATER <tab> RATER ...
    ride.v.01    <tab> straddle.v.01 <tab> 3 <tab> <tab> 2

One row per pair, sorted by the two names. A rating is 0 to 4, or empty if the rater has not rated the pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, first_of_each
from shoe.core.errors import InputError, quote
from shoe.lexicon.store import ids_in, lexicon, name_ranks, names_of
from shoe.similarity.ensemble import HIGHEST, MISSING, RATINGS, Ratings

_NAMES = ("class_synset", "synset")
_TAB, _NEWLINE, _ZERO, _LAST = (ord(character) for character in "\t\n0~")


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """m rated pairs of senses of one part of speech, each pair once.

    In a map, pairs are sorted by the names of class sense and sense (:meth:`by_name`), so that all pairs of a class
    sense are consecutive rows.
    """

    class_sense: Ints  # (m,) ID of the class sense of each pair in the compiled lexicon
    sense: Ints  # (m,) ID of the other sense of each pair
    ratings: Ratings  # (m, R) int8 ratings 0..4 by R raters; -1 if the rater has not rated the pair

    @classmethod
    def empty(cls, raters: int) -> RatedPairs:
        """Return a table without pairs; ``raters`` is the number of raters."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, raters), np.int8))

    def __len__(self) -> int:
        return len(self.ratings)

    def __getitem__(self, rows: slice | NDArray[np.integer] | NDArray[np.bool_]) -> RatedPairs:
        return RatedPairs(self.class_sense[rows], self.sense[rows], self.ratings[rows])

    def by_name(self) -> RatedPairs:
        """Return the pairs sorted by the name of the class sense, then by the name of the other sense."""
        return self[np.lexsort((name_ranks(self.sense), name_ranks(self.class_sense)))]

    def names(self) -> list[tuple[str, str]]:
        """Return the names of the class sense and of the other sense of each pair."""
        return list(zip(names_of(self.class_sense), names_of(self.sense), strict=True))

    def join_raters(self, other: RatedPairs) -> RatedPairs:
        """Return the pairs of both tables, sorted by name; the raters of ``other`` follow the raters of this table.

        Ratings are -1 for pairs that the table of the rater does not contain.
        """
        keys = np.unique(np.concatenate([self.keys, other.keys]))
        class_sense, sense = (senses.astype(np.int32) for senses in np.divmod(keys, len(lexicon())))
        raters = self.ratings.shape[1]
        ratings = np.full((len(keys), raters + other.ratings.shape[1]), MISSING, np.int8)
        ratings[np.searchsorted(keys, self.keys), :raters] = self.ratings
        ratings[np.searchsorted(keys, other.keys), raters:] = other.ratings
        return RatedPairs(class_sense, sense, ratings).by_name()

    def add_reversed(self, classes: Ints) -> RatedPairs:
        """Return the pairs, sorted by name, with a reversed pair for each pair whose other sense is in ``classes``.

        A reversed pair has the ratings of the original pair. Pairs that are already in the table are not changed.
        """
        back = RatedPairs(self.sense, self.class_sense, self.ratings)[np.isin(self.sense, classes)]
        new = back[self.rows_of(back.class_sense, back.sense) < 0]
        class_sense, sense = np.append(self.class_sense, new.class_sense), np.append(self.sense, new.sense)
        return RatedPairs(class_sense, sense, np.concatenate([self.ratings, new.ratings])).by_name()

    @property
    def rated(self) -> NDArray[np.bool_]:
        """(m,) mask of pairs with at least one rating."""
        return np.asarray((self.ratings != MISSING).any(axis=1))

    @cached_property
    def keys(self) -> Indices:
        """(m,) integer keys of the pairs; see :func:`pair_keys`."""
        return pair_keys(self.class_sense, self.sense)

    @cached_property
    def classes(self) -> dict[int, slice]:
        """{class sense ID: slice of its rows in the table}; pairs must be sorted by name."""
        starts = np.flatnonzero(first_of_each(self.class_sense)).tolist()
        senses = self.class_sense[starts].tolist()
        return dict(zip(senses, map(slice, starts, [*starts[1:], len(self)]), strict=True))

    @cached_property
    def _order(self) -> Indices:
        return np.argsort(self.keys, kind="stable")

    def rows_of(self, class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
        """Return the (n,) row index of each of n pairs of senses; -1 for a pair that is not in the table."""
        wanted = pair_keys(class_sense, sense)
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        index = np.searchsorted(self.keys, wanted, sorter=self._order)
        rows = self._order[np.minimum(index, len(self) - 1)]
        return np.where(self.keys[rows] == wanted, rows, -1)


def pair_keys(class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
    """Return (n,) integers that identify n pairs of senses: class sense ID * size of the lexicon + sense ID."""
    return np.asarray(class_sense * np.int64(len(lexicon())) + sense)


def read_table(path: Path, raters: Sequence[str], digest: str | None = None) -> tuple[RatedPairs, str]:
    """Read the table at ``path``; return its pairs, sorted by name, and the SHA-256 of the sorted table.

    Args:
        raters: names of the expected rating columns.
        digest: SHA-256 of the sorted table according to map.json; None if unknown. If the SHA-256 of the file is
            different or ``digest`` is None, the lines are checked one by one, and may be in any order.

    Raises InputError for an invalid line, with line and field; or if the sorted content does not match ``digest``.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(path, found=error.strerror or "an error", expected="a table of ratings") from None
    found = hashlib.sha256(text).hexdigest()
    pairs = _split(text, raters) if found == digest else None
    if pairs is not None:
        return pairs, found
    pairs = parse_table(text, path, raters).by_name()
    sorted_digest = hashlib.sha256(format_table(pairs, raters)).hexdigest()
    if digest not in (None, found, sorted_digest):
        changed = "ratings that were changed after the map was written"
        hint = "restore the file, or build the map again"
        raise InputError(path, found=changed, expected="ratings that match the SHA-256 in map.json", hint=hint)
    return pairs, sorted_digest


def format_table(pairs: RatedPairs, raters: Sequence[str]) -> bytes:
    """Return a table as bytes; ``pairs`` must be sorted by name, ``raters`` are the names of the rating columns."""
    # The text of each distinct sense and row of ratings is built once.
    rows: list[bytes] = np.ascontiguousarray(pairs.ratings).view(f"V{len(raters)}")[:, 0].tolist()
    distinct = {row: np.frombuffer(row, np.int8).tolist() for row in set(rows)}
    texts = {row: "".join(f"\t{'' if r == MISSING else r}" for r in of) + "\n" for row, of in distinct.items()}
    columns = (names_of(pairs.class_sense), names_of(pairs.sense), rows)
    return _header(raters) + "".join(f"{a}\t{b}{texts[row]}" for a, b, row in zip(*columns, strict=True)).encode()


def parse_table(text: bytes, source: Path, raters: Sequence[str] | None) -> RatedPairs:
    """Parse and check the ``text`` of a table, and return its pairs in their order: pair i (from 0) is on line i + 2.

    ``source`` is the path of the table, for messages; ``raters`` are the names of the expected rating columns, None for
    any names. Raise InputError for the first invalid line, with line and field.
    """
    try:
        lines = text.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        record, byte = "line " + str(text.count(b"\n", 0, error.start) + 1), f"byte {text[error.start]:#04x}"
        raise InputError(source, record=record, found=byte, expected="ASCII text") from None
    header = lines[0].split("\t") if lines else []
    if tuple(header[:2]) != _NAMES or len(header) < 3 or (raters is not None and header[2:] != list(raters)):
        expected = " ".join((*_NAMES, *(raters or ["RATER..."]))) + ", separated by tabs"
        raise InputError(source, record="line 1", found=quote(lines[0] if lines else ""), expected=expected)
    known: dict[str, int] = {}
    pairs: dict[tuple[int, int], list[int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields, where = line.split("\t"), f"line {number}"
        if len(fields) != len(header):
            raise InputError(source, record=where, found=f"{len(fields)} fields", expected=f"{len(header)} fields")
        for column, name in zip(_NAMES, fields, strict=False):
            if name not in known:
                known[name] = _sense(name, source, where, column)
        pair = known[fields[0]], known[fields[1]]
        if pair in pairs:
            found = f"a second line for {fields[0]} and {fields[1]}"
            raise InputError(source, record=where, found=found, expected="one line per pair")
        if not RATINGS.keys() >= set(fields[2:]):
            rater, field = next((r, f) for r, f in zip(header[2:], fields[2:], strict=True) if f not in RATINGS)
            expected = f"a rating 0 to {HIGHEST}, or an empty field"
            raise InputError(source, record=where, field=rater, found=quote(field), expected=expected)
        pairs[pair] = [RATINGS[field] for field in fields[2:]]
    senses = np.array(list(pairs), np.int32).reshape(-1, 2)
    ratings = np.array(list(pairs.values()), np.int8).reshape(-1, len(header) - 2)
    return RatedPairs(senses[:, 0], senses[:, 1], ratings)


def _sense(name: str, source: Path, where: str, column: str) -> int:
    store, sense = lexicon(), lexicon().synset(name)
    proper = store.name(sense) if sense >= 0 else ""
    if name != proper:
        expected = f"the name of a {store.title} synset, such as {store.example()}"
        expected = f"{proper}, the first name of this synset in {store.title.split()[0]}" if proper else expected
        raise InputError(source, record=where, field=column, found=quote(name), expected=expected)
    return sense


def _header(raters: Sequence[str]) -> bytes:
    return ("\t".join((*_NAMES, *raters)) + "\n").encode()


def _split(text: bytes, raters: Sequence[str]) -> RatedPairs | None:
    """Parse a sorted table quickly; return None for a table not written by :func:`format_table` with these raters."""
    header, fields = _header(raters), len(_NAMES) + len(raters)
    codes = np.frombuffer(text, np.uint8)[len(header) :]
    separators = np.flatnonzero(codes < ord(" "))
    if not text.startswith(header) or not text.endswith(b"\n") or len(separators) % fields or (codes > _LAST).any():
        return None
    ends = separators.reshape(-1, fields)
    expected = np.append(np.full(fields - 1, _TAB), _NEWLINE)
    lengths = np.diff(ends[:, 1:], axis=1) - 1
    present = lengths == 1
    digits = codes[ends[:, 1:-1] + 1] - np.uint8(_ZERO)
    if (codes[ends] != expected).any() or (lengths > 1).any() or (digits[present] > HIGHEST).any():
        return None
    names = np.concatenate(([0], ends[:-1, -1] + 1))[: len(ends)] + len(header)
    middle, after = ends[:, 0] + len(header), ends[:, 1] + len(header)
    class_sense, sense = _class_senses(text, names, middle), ids_in(text, middle + 1, after)
    if (sense < 0).any() or (class_sense < 0).any():
        return None
    return RatedPairs(class_sense, sense, np.where(present, digits.view(np.int8), np.int8(MISSING)))


def _class_senses(text: bytes, starts: Indices, ends: Indices) -> Ints:
    # If sorted rows 32 apart have the same class sense, so have the rows between them, whose names are not looked up.
    marks = np.append(np.arange(0, len(starts), 32), len(starts) - 1)[: len(starts)]
    at_marks = ids_in(text, starts[marks], ends[marks])
    senses = np.append(np.repeat(at_marks[:-1], np.diff(marks)), at_marks[-1:])
    rows = np.flatnonzero(np.repeat(at_marks[:-1] != at_marks[1:], np.diff(marks)))
    senses[rows] = ids_in(text, starts[rows], ends[rows])
    return senses
