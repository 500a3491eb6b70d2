"""Rated pairs of senses in memory, and the tab-separated tables that hold them.

::

    class_synset <tab> synset <tab> RATER <tab> RATER ...
    ride.v.01    <tab> straddle.v.01 <tab> 3 <tab> <tab> 2

One row per pair, sorted by the two names; a rating is 0 to 4, empty where the rater has not rated the pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, first_of_each
from shoe.core.errors import InputError, quote
from shoe.lexicon.store import ids_in, ids_of, lexicon, name_ranks, names_of
from shoe.similarity.ensemble import HIGHEST, MISSING, RATINGS, Ratings

_NAMES = ("class_synset", "synset")
_TAB, _NEWLINE, _ZERO, _LAST = (ord(character) for character in "\t\n0~")
_STRIDE = 32


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """m rated pairs of senses of one part of speech, each pair once.

    A map's pairs are sorted by both names (:meth:`by_name`), so that those of a class stand together.

    Attributes:
        class_sense: (m,) id of the class's sense in the compiled lexicon.
        sense: (m,) id of the sense that it is compared with.
        ratings: (m, R) int8, 0..4; -1 where the rater has not rated the pair.
    """

    class_sense: Ints
    sense: Ints
    ratings: Ratings

    @classmethod
    def none(cls, raters: int) -> RatedPairs:
        """Return a table without pairs, for R raters."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, raters), np.int8))

    @classmethod
    def of_names(cls, pairs: Mapping[tuple[str, str], Sequence[int | None]], raters: int) -> RatedPairs:
        """Make a table of {(class synset, synset): R ratings or None}, sorted by both names."""
        senses = ids_of(name for pair in pairs for name in pair).reshape(-1, 2)
        given = [[MISSING if rating is None else rating for rating in ratings] for ratings in pairs.values()]
        return cls(senses[:, 0], senses[:, 1], np.array(given, np.int8).reshape(len(pairs), raters)).by_name()

    def __len__(self) -> int:
        return len(self.ratings)

    def __getitem__(self, rows: slice | NDArray[np.integer] | NDArray[np.bool_]) -> RatedPairs:
        return RatedPairs(self.class_sense[rows], self.sense[rows], self.ratings[rows])

    def by_name(self) -> RatedPairs:
        """Return the pairs sorted by both names."""
        return self[np.lexsort((name_ranks(self.sense), name_ranks(self.class_sense)))]

    def names(self) -> list[tuple[str, str]]:
        """The (class synset, synset) of each pair."""
        return list(zip(names_of(self.class_sense), names_of(self.sense), strict=True))

    def beside(self, other: RatedPairs) -> RatedPairs:
        """Return the pairs of both tables, by name, with the raters of both: these R columns, then the other's S."""
        keys = np.unique(np.concatenate([self.keys, other.keys]))
        class_sense, sense = (senses.astype(np.int32) for senses in np.divmod(keys, len(lexicon())))
        raters = self.ratings.shape[1]
        ratings = np.full((len(keys), raters + other.ratings.shape[1]), MISSING, np.int8)
        ratings[np.searchsorted(keys, self.keys), :raters] = self.ratings
        ratings[np.searchsorted(keys, other.keys), raters:] = other.ratings
        return RatedPairs(class_sense, sense, ratings).by_name()

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Return (m,) whether any rater rated the pair."""
        rated: NDArray[np.bool_] = (self.ratings != MISSING).any(axis=1)
        return rated

    @cached_property
    def keys(self) -> Indices:
        """Return (m,) one number for each pair, as :func:`pair_keys` does."""
        return pair_keys(self.class_sense, self.sense)

    @cached_property
    def classes(self) -> dict[int, slice]:
        """Return the rows of each class's sense, in order; pairs must be sorted by name."""
        starts = np.flatnonzero(first_of_each(self.class_sense)).tolist()
        bounds = map(slice, starts, [*starts[1:], len(self)])
        return dict(zip(self.class_sense[starts].tolist(), bounds, strict=True))

    @cached_property
    def _order(self) -> Indices:
        return np.argsort(self.keys, kind="stable")

    def rows_of(self, class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
        """Return (n,) the row of each given pair; -1 for a pair that is not in the table."""
        wanted = pair_keys(class_sense, sense)
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        index = np.searchsorted(self.keys, wanted, sorter=self._order)
        rows = self._order[np.minimum(index, len(self) - 1)]
        return np.where(self.keys[rows] == wanted, rows, -1)


def pair_keys(class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
    """Return (n,) one number for each pair of senses; different pairs have different numbers."""
    keys: Indices = class_sense * np.int64(len(lexicon())) + sense
    return keys


def read_table(path: Path, raters: Sequence[str], digest: str | None = None) -> tuple[RatedPairs, str]:
    """Read a table of a map.

    A file whose content is the one that ``digest`` was made of was checked when it was written; any other is checked
    line by line, and may have its rows in any order.

    Returns:
        The pairs, sorted by name, and the SHA-256 of the table that holds them.

    Raises:
        InputError: naming the line and the field that break the format; or if the content is not that of ``digest``.
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
        hint = "bring the file back, or make the map again"
        raise InputError(path, found=changed, expected="those that map.json describes", hint=hint)
    return pairs, sorted_digest


def format_table(pairs: RatedPairs, raters: Sequence[str]) -> bytes:
    """Write pairs that are sorted by name as a table with R raters."""
    # The text of each distinct sense and of each distinct row of ratings is made once.
    rows: list[bytes] = np.ascontiguousarray(pairs.ratings).view(f"V{len(raters)}")[:, 0].tolist()
    distinct = {row: np.frombuffer(row, np.int8).tolist() for row in set(rows)}
    texts = {row: "".join(f"\t{'' if r == MISSING else r}" for r in of) + "\n" for row, of in distinct.items()}
    columns = (names_of(pairs.class_sense), names_of(pairs.sense), rows)
    return _header(raters) + "".join(f"{a}\t{b}{texts[row]}" for a, b, row in zip(*columns, strict=True)).encode()


def parse_table(text: bytes, source: Path, raters: Sequence[str] | None) -> RatedPairs:
    """Read a table whose rows are in any order, and check each; ``raters`` are the expected columns, any if None.

    Returns:
        The pairs in the order of their lines: row i is line i + 2.

    Raises:
        InputError: naming the first line that breaks the format, and the field.
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
    known: dict[str, int] = {}
    pairs: dict[tuple[int, int], list[int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != len(header):
            found = f"{len(fields)} fields"
            raise InputError(source, record=f"line {number}", found=found, expected=str(len(header)))
        for column, name in zip(_NAMES, fields, strict=False):
            if name not in known:
                known[name] = _sense(name, source, number, column)
        pair = known[fields[0]], known[fields[1]]
        if pair in pairs:
            found = f"{fields[0]} and {fields[1]} a second time"
            raise InputError(source, record=f"line {number}", found=found, expected="each pair once")
        try:
            pairs[pair] = [RATINGS[field] for field in fields[2:]]
        except KeyError:
            rater, field = next((r, f) for r, f in zip(header[2:], fields[2:], strict=True) if f not in RATINGS)
            expected = f"a rating 0 to {HIGHEST}, or nothing"
            where = f"line {number}"
            raise InputError(source, record=where, field=rater, found=quote(field), expected=expected) from None
    senses = np.array(list(pairs), np.int32).reshape(-1, 2)
    ratings = np.array(list(pairs.values()), np.int8).reshape(-1, len(header) - 2)
    return RatedPairs(senses[:, 0], senses[:, 1], ratings)


def _sense(name: str, source: Path, number: int, column: str) -> int:
    """Return the id of the sense with exactly this name in WordNet."""
    store = lexicon()
    sense = store.synset(name)
    proper = store.name(sense) if sense >= 0 else ""
    if name != proper:
        expected = f"the name of a {store.title} synset, as {store.example()}"
        expected = f"{proper}, {store.title.split()[0]}'s first name for it" if proper else expected
        raise InputError(source, record=f"line {number}", field=column, found=quote(name), expected=expected)
    return sense


def _header(raters: Sequence[str]) -> bytes:
    return ("\t".join((*_NAMES, *raters)) + "\n").encode()


def _split(text: bytes, raters: Sequence[str]) -> RatedPairs | None:
    """Split a sorted table at its separators; None if its layout is not as written by shoe."""
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
    names = np.concatenate(([0], ends[:-1, -1] + 1))[: len(ends)] + len(header)
    middle, after = ends[:, 0] + len(header), ends[:, 1] + len(header)
    class_sense, sense = _class_senses(text, names, middle), ids_in(text, middle + 1, after)
    if (sense < 0).any() or (class_sense < 0).any():
        return None
    ratings = np.where(present, digits.view(np.int8), np.int8(MISSING))
    return RatedPairs(class_sense, sense, ratings)


def _class_senses(text: bytes, starts: Indices, ends: Indices) -> Ints:
    """Return (m,) class senses of sorted rows; rows of one class are adjacent, so each name is looked up once."""
    marks = np.append(np.arange(0, len(starts), _STRIDE), len(starts) - 1)[: len(starts)]
    at_marks = ids_in(text, starts[marks], ends[marks])
    senses = np.append(np.repeat(at_marks[:-1], np.diff(marks)), at_marks[-1:])
    rows = np.flatnonzero(np.repeat(at_marks[:-1] != at_marks[1:], np.diff(marks)))
    senses[rows] = ids_in(text, starts[rows], ends[rows])
    return senses
