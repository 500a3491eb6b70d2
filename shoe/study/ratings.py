"""What people answered in a study, from a table with a line an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import InputError, many, quote
from shoe.core.io.delimited import delimited_rows
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

# How many of a population each item of a study stands for, where items were drawn with unequal probability.


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Of N items, by which figures of the items become estimates of figures of the population (Hajek 1971).

    Attributes:
        weight: (N,) 1 / (probability that the item was drawn), above 0.
        stratum: (N,) number of what it was drawn from; the same for all where they were drawn together.
    """

    weight: Floats
    stratum: Indices

    @property
    def population(self) -> float:
        """Estimated size of the population (Horvitz and Thompson 1952)."""
        return float(self.weight.sum())

    @property
    def effective(self) -> float:
        """How many items drawn evenly say as much of a mean, were all weights unrelated to it (Kish 1965)."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    def of(self, items: Indices) -> Floats:
        """Weights of some of the items, with mean 1; those left of a stratum stand for all of it."""
        drawn = np.bincount(self.stratum)
        left = np.bincount(self.stratum[items], minlength=len(drawn))
        weight: Floats = self.weight[items] * (drawn / np.maximum(left, 1))[self.stratum[items]]
        normal: Floats = weight * (len(items) / weight.sum())
        return normal

    def chosen(self, items: Mask | Indices) -> Self:
        """Some of the items."""
        return type(self)(self.weight[items], self.stratum[items])


SENSES = ("verb_a", "object_a", "verb_b", "object_b")
"""Columns that name an item by the senses of two interactions, ``a`` of the class."""
PHASES = ("words", "picture")
_OPTIONAL = ("occasion", "phase", "part", "reference", "gold", "seconds", "weight", "stratum")
_GROUPS = ("part", "stratum")
_OF_ITEMS = (*_GROUPS, "reference", "gold", "weight")
_LEAST_WEIGHT = 1e-15  # with its reciprocal, the greatest, sums of squares stay within numbers


@dataclass(frozen=True, slots=True, eq=False)
class StudyRatings:
    """Ratings 0..4 of N items by R raters.

    Attributes:
        items: their names; the four senses with spaces between them where the table names items so.
        first: (N, R) first rating of each; MISSING where there is none.
        again: (N, R) second rating of the same item by the same rater, a silent repeat.
        picture: (N, R) the rating after the picture was shown.
        seconds: (N, R) time taken for the first rating; NaN where the table does not say.
        part: per item, the stratum it belongs to, as "verb", "object" or "both"; "" where the table does not say.
        reference: (N,) another measure of the same items 0..1, as a map's similarity; NaN where there is none.
        gold: (N,) the rating that an attentive rater gives; MISSING for items that have none.
        weights: how many of a population items stand for; None where the table does not say, or they shall not count.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    first: Ratings
    again: Ratings
    picture: Ratings
    seconds: Floats
    part: tuple[str, ...]
    reference: Floats
    gold: Ratings
    holes: int = 0
    weights: Weights | None = None

    @property
    def measured(self) -> Mask:
        """(N,) items that are no gold items: those that figures are of."""
        free: Mask = self.gold == MISSING
        return free

    def of_items(self, chosen: Mask | Indices) -> StudyRatings:
        """Some of the items."""
        rows = np.arange(len(self.items))[chosen]
        arrays = ("first", "again", "picture", "seconds", "reference", "gold")
        return replace(
            self,
            items=tuple(self.items[i] for i in rows),
            part=tuple(self.part[i] for i in rows),
            weights=self.weights and self.weights.chosen(rows),
            **{name: getattr(self, name)[rows] for name in arrays},
        )

    def of_raters(self, chosen: Mask | Indices) -> StudyRatings:
        """Some of the raters; items stay."""
        columns = np.arange(len(self.raters))[chosen]
        arrays = ("first", "again", "picture", "seconds")
        return replace(
            self,
            raters=tuple(self.raters[j] for j in columns),
            **{name: getattr(self, name)[:, columns] for name in arrays},
        )


def named_by(header: Sequence[str]) -> tuple[str, ...]:
    """Columns that name an item of a rating study."""
    return SENSES if set(SENSES) <= set(header) else ("item",)


def read_study(
    path: Path,
    named_by: Callable[[Sequence[str]], tuple[str, ...]] = named_by,
    expected: str = f"item or {' '.join(SENSES)}",
    between: str = " ",
) -> StudyRatings:
    """Read a table of answers: from ``shoe study``, or made elsewhere.

    Its header, in any order: ``rater``, ``rating``, and ``item`` or ``verb_a object_a verb_b object_b``; then, as far
    as there are: ``occasion`` (1, or 2 for a repeat), ``phase`` (words or picture), ``part``, ``reference`` (0..1),
    ``gold`` (0..4), ``seconds``, ``weight`` (1e-15..1e15), ``stratum``. Other columns are left alone. A line whose
    rating is empty is a hole.

    Args:
        named_by: which columns of a header name an item.
        between: what stands between several in the name of an item.

    Raises:
        InputError: naming file, line and field: a rating that is no whole number 0 to 4, a second rating of an item by
            one rater that is no repeat, two references of one item, weights of but some items, no ratings at all.
    """
    header, *rows = delimited_rows(path)
    header = [name.strip() for name in header]
    named = named_by(header)
    for column in (*named, "rater", "rating"):
        if header.count(column) != 1:
            expected = f"once each: rater, rating, and {expected}"
            raise InputError(path, record="line 1", field=column, found=quote(" ".join(header)), expected=expected)
    columns = {name: header.index(name) for name in (*named, "rater", "rating", *_OPTIONAL) if name in header}
    items: dict[str, int] = {}
    raters: dict[str, int] = {}
    answers: dict[tuple[str, int, int], tuple[int, float, int]] = {}
    item_cells: dict[str, dict[int, tuple[str, int]]] = {name: {} for name in _OF_ITEMS}
    holes = 0
    for line, row in enumerate(rows, start=2):
        cells = dict.fromkeys(_OPTIONAL, "") | {name: row[column].strip() for name, column in columns.items()}
        for name in (*named, "rater"):
            if not cells[name]:
                raise cell_error(path, line, name, "", "a name")
        item = items.setdefault(between.join(cells[name] for name in named), len(items))
        rater = raters.setdefault(cells["rater"], len(raters))
        for name, known in item_cells.items():
            before, earlier = known.setdefault(item, (cells[name], line)) if cells[name] else ("", line)
            if cells[name] != before:
                same = f"{quote(before)} as in line {earlier}, of the same item"
                raise cell_error(path, line, name, cells[name], same)
        if not cells["rating"]:
            holes += 1
            continue
        phase, occasion = cells["phase"] or "words", cells["occasion"] or "1"
        if phase not in PHASES:
            raise cell_error(path, line, "phase", phase, "words or picture")
        if occasion not in ("1", "2"):
            raise cell_error(path, line, "occasion", occasion, "1, or 2 for a repeat")
        key = ("picture" if phase == "picture" else "first" if occasion == "1" else "again"), item, rater
        rating = _level(path, line, "rating", cells["rating"])
        if key in answers:
            found = f"a second rating by {quote(cells['rater'])} of the item in line {answers[key][2]}"
            expected = "one, or occasion 2 in a column occasion"
            raise InputError(path, record=f"line {line}", found=found, expected=expected)
        answers[key] = (rating, number_of(path, line, "seconds", cells["seconds"], np.inf), line)
    tables = {name: np.full((len(items), len(raters)), MISSING, np.int8) for name in ("first", "again", "picture")}
    seconds = np.full((len(items), len(raters)), np.nan)
    for (name, item, rater), (rating, took, _) in answers.items():
        tables[name][item, rater] = rating
        if name == "first":
            seconds[item, rater] = took
    if (tables["first"] == MISSING).all():
        raise InputError(path, found="no rating", expected="ratings 0 to 4")
    reference, gold = np.full(len(items), np.nan), np.full(len(items), MISSING, np.int8)
    for item, (text, line) in item_cells["reference"].items():
        reference[item] = number_of(path, line, "reference", text, 1)
    for item, (text, line) in item_cells["gold"].items():
        gold[item] = _level(path, line, "gold", text)
    part, stratum = ([item_cells[name].get(item, ("",))[0] for item in range(len(items))] for name in _GROUPS)
    strata = np.unique(stratum, return_inverse=True)[1]
    weight = np.ones(len(items))  # that of gold items, which are in no figure, is 1
    for name, item in items.items() if "weight" in columns else ():
        if gold[item] == MISSING:
            text, line = item_cells["weight"].get(item, ("", 0))
            weight[item] = number_of(path, line, "weight", text, np.inf)
            if not _LEAST_WEIGHT <= weight[item] <= 1 / _LEAST_WEIGHT:
                expected = f"a number {_LEAST_WEIGHT:g} to {1 / _LEAST_WEIGHT:g}, as other items have"
                raise InputError(
                    path, record=f"item {quote(name)}", field="weight", found=quote(text), expected=expected
                )
    return StudyRatings(
        items=tuple(items),
        raters=tuple(raters),
        **tables,
        seconds=seconds,
        part=tuple(part),
        reference=reference,
        gold=gold,
        holes=holes,
        weights=Weights(weight, strata.astype(np.int64)) if "weight" in columns else None,
    )


def _level(path: Path, line: int, field: str, text: str) -> int:
    whole = text.removesuffix(".0")  # as tools write whole numbers of a column with holes
    if whole not in map(str, range(HIGHEST + 1)):
        raise cell_error(path, line, field, text, f"a whole number 0 to {HIGHEST}, or nothing")
    return int(whole)


def cell_error(path: Path, line: int, field: str, found: str, expected: str) -> InputError:
    """Return the error of a cell of a table of answers."""
    return InputError(path, record=f"line {line}", field=field, found=quote(found), expected=expected)


def number_of(path: Path, line: int, field: str, text: str, most: float) -> float:
    """Parse a cell that holds a number from 0; NaN if it is empty."""
    try:
        value = float(text) if text else np.nan
    except ValueError:
        value = -1.0
    if value < 0 or value > most or (text and np.isnan(value)):
        raise cell_error(path, line, field, text, "a number 0 to 1" if most == 1 else "a number from 0")
    return value


def shape_of(ratings: StudyRatings) -> str:
    """How much there is, in words: "500 items, 5 raters, 2,500 ratings"."""
    rated = int((ratings.first != MISSING).sum())
    return f"{many(len(ratings.items), 'item')}, {many(len(ratings.raters), 'rater')}, {many(rated, 'rating')}"
