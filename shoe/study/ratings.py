"""Ratings of a study, read from a table with one row per answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import InputError, pluralize, quote
from shoe.core.io.spreadsheets import delimited_rows
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings


class Weights(NamedTuple):
    """Sampling weights of N items, for estimates of population values (Hajek 1971).

    ``weight`` (N,) is 1 / (inclusion probability), ``stratum`` (N,) the index of the stratum (0 without strata).
    """

    weight: Floats
    stratum: Indices

    @property
    def population(self) -> float:
        """Estimated size of the population, the sum of the weights (Horvitz and Thompson 1952)."""
        return float(self.weight.sum())

    @property
    def effective(self) -> float:
        """Number of uniformly drawn items with the same precision of a mean (Kish 1965)."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    def select(self, items: Indices) -> Floats:
        """Return the weights of ``items``, times (all / selected items of the stratum), scaled to mean 1."""
        drawn = np.bincount(self.stratum)
        left = np.bincount(self.stratum[items], minlength=len(drawn))
        weight: Floats = self.weight[items] * (drawn / np.maximum(left, 1))[self.stratum[items]]
        return np.asarray(weight * (len(items) / weight.sum()))


SENSES = ("verb_a", "object_a", "verb_b", "object_b")
"""Columns that name an item by the senses of two interactions. Interaction ``a`` is the class."""
_OPTIONAL = ("occasion", "phase", "part", "reference", "gold", "seconds", "weight", "stratum")
_LEAST_WEIGHT = 1e-15  # and its reciprocal as maximum, so that sums of squares do not overflow


@dataclass(frozen=True, slots=True, eq=False)
class StudyRatings:
    """Ratings 0..4 of N items by R raters.

    Attributes:
        items: item names, or the four senses joined by spaces if the table names items by senses.
        first, again, picture: (N, R) first ratings, second ratings of the same item (unannounced repeats), and ratings
            after the image was shown, or MISSING (-1).
        seconds: (N, R) time taken for the first rating in seconds, or NaN if not in the table.
        part: word in which the interactions of each item differ: "verb", "object" or "both"; "" if not in the table.
        reference: (N,) another measure of the items, 0..1, such as a map's similarity, or NaN.
        gold: (N,) expected rating of gold items (attention checks); MISSING for other items.
        holes: number of table rows without a rating.
        weights: sampling weights of the items, or None if absent from the table or disabled.
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
        """(N,) mask of the analysed items: all except gold items (attention checks)."""
        return np.asarray(self.gold == MISSING)

    def of_items(self, chosen: Mask | Indices) -> Self:
        """Return a copy with only the chosen items."""
        rows, arrays = np.arange(len(self.items))[chosen], ("first", "again", "picture", "seconds", "reference", "gold")
        return replace(
            self,
            items=tuple(self.items[i] for i in rows),
            part=tuple(self.part[i] for i in rows),
            weights=self.weights and Weights(self.weights.weight[rows], self.weights.stratum[rows]),
            **{name: getattr(self, name)[rows] for name in arrays},
        )

    def of_raters(self, chosen: Mask | Indices) -> Self:
        """Return the study with only the chosen raters and all items."""
        columns, arrays = np.arange(len(self.raters))[chosen], ("first", "again", "picture", "seconds")
        chosen_arrays = {name: getattr(self, name)[:, columns] for name in arrays}
        return replace(self, raters=tuple(self.raters[j] for j in columns), **chosen_arrays)


def named_by(header: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that identify an item: four senses if ``header`` has all of them, else ``item``."""
    return SENSES if set(SENSES) <= set(header) else ("item",)


def read_study(
    path: Path,
    named_by: Callable[[Sequence[str]], tuple[str, ...]] = named_by,
    expected: str = f"item or {' '.join(SENSES)}",
    between: str = " ",
) -> StudyRatings:
    """Read a table of answers, written by ``shoe study`` or by another program.

    Its header, in any order: ``rater``, ``rating``, and ``item`` or ``verb_a object_a verb_b object_b``; and
    optionally ``occasion`` (1, or 2 for a second rating), ``phase`` (words or picture), ``part``, ``reference`` (0..1),
    ``gold`` (0..4), ``seconds``, ``weight`` (1e-15..1e15), ``stratum``. Other columns are ignored. A row with an empty
    rating counts as missing. ``named_by`` maps the header to the columns that identify an item, ``expected`` describes
    these columns for error messages, and ``between`` separates their values in an item name.

    Raise InputError, with file, line and field, if a rating is not an integer from 0 to 4, a rater has two ratings of
    an item without a repeat, an item has two references, only some items have weights, or no ratings exist.
    """
    header, *rows = delimited_rows(path)
    header = [name.strip() for name in header]
    named = named_by(header)
    for column in (*named, "rater", "rating"):
        if header.count(column) != 1:
            expected = f"each of these columns once: rater, rating, and {expected}"
            raise InputError(path, record="line 1", field=column, found=quote(" ".join(header)), expected=expected)
    columns = {name: header.index(name) for name in (*named, "rater", "rating", *_OPTIONAL) if name in header}
    items: dict[str, int] = {}
    raters: dict[str, int] = {}
    answers: dict[tuple[str, int, int], tuple[int, float, int]] = {}
    of_items = ("part", "stratum", "reference", "gold", "weight")
    item_cells: dict[str, dict[int, tuple[str, int]]] = {name: {} for name in of_items}
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
                same = f"{quote(before)} as in line {earlier} for the same item"
                raise cell_error(path, line, name, cells[name], same)
        if not cells["rating"]:
            holes += 1
            continue
        phase, occasion = cells["phase"] or "words", cells["occasion"] or "1"
        if phase not in ("words", "picture"):
            raise cell_error(path, line, "phase", phase, "words or picture")
        if occasion not in ("1", "2"):
            raise cell_error(path, line, "occasion", occasion, "1, or 2 for a repeat")
        key = ("picture" if phase == "picture" else "first" if occasion == "1" else "again"), item, rater
        rating = _level(path, line, "rating", cells["rating"])
        if key in answers:
            found = f"a second rating by {quote(cells['rater'])} of the item in line {answers[key][2]}"
            expected = "one rating, or a column occasion with 2 for a repeat"
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
    reference, gold, weight = np.full(len(items), np.nan), np.full(len(items), MISSING, np.int8), np.ones(len(items))
    for item, (text, line) in item_cells["reference"].items():
        reference[item] = number_of(path, line, "reference", text, 1)
    for item, (text, line) in item_cells["gold"].items():
        gold[item] = _level(path, line, "gold", text)
    part, stratum = ([item_cells[name].get(i, ("",))[0] for i in range(len(items))] for name in ("part", "stratum"))
    strata = np.unique(stratum, return_inverse=True)[1]
    for name, item in items.items() if "weight" in columns else ():
        if gold[item] == MISSING:  # gold items keep the weight 1, because no statistic uses it
            text, line = item_cells["weight"].get(item, ("", 0))
            weight[item] = number_of(path, line, "weight", text, np.inf)
            if not _LEAST_WEIGHT <= weight[item] <= 1 / _LEAST_WEIGHT:
                expected = f"a number from {_LEAST_WEIGHT:g} to {1 / _LEAST_WEIGHT:g}, because other items have weights"
                record = f"item {quote(name)}"
                raise InputError(path, record=record, field="weight", found=quote(text), expected=expected)
    weights = Weights(weight, strata.astype(np.int64)) if "weight" in columns else None
    first, again, picture = tables.values()
    study = StudyRatings(tuple(items), tuple(raters), first, again, picture, seconds, tuple(part), reference, gold)
    return replace(study, holes=holes, weights=weights)


def _level(path: Path, line: int, field: str, text: str) -> int:
    whole = text.removesuffix(".0")  # tools write integers of a column with gaps as 3.0
    if whole not in map(str, range(HIGHEST + 1)):
        raise cell_error(path, line, field, text, f"a whole number 0 to {HIGHEST}, or nothing")
    return int(whole)


def cell_error(path: Path, line: int, field: str, found: str, expected: str) -> InputError:
    """Return an InputError about a cell in a table of answers."""
    return InputError(path, record=f"line {line}", field=field, found=quote(found), expected=expected)


def number_of(path: Path, line: int, field: str, text: str, most: float) -> float:
    """Return the number in a cell, or NaN if empty; InputError unless it is from 0 to ``most``."""
    try:
        value = float(text) if text else np.nan
    except ValueError:
        value = -1.0
    if value < 0 or value > most or (text and np.isnan(value)):
        raise cell_error(path, line, field, text, "a number 0 to 1" if most == 1 else "a number of at least 0")
    return value


def shape_of(ratings: StudyRatings) -> str:
    """Return the size of a study as text: "500 items, 5 raters, 2,500 ratings"."""
    rated = int((ratings.first != MISSING).sum())
    numbers = {"item": len(ratings.items), "rater": len(ratings.raters), "rating": rated}
    return ", ".join(pluralize(number, word) for word, number in numbers.items())
