"""Predictions, and models on an image, as units that people and measures both say something of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, index_in_group, random_numbers
from shoe.core.statistics import kendall, pearson, spearman
from shoe.similarity.ensemble import Ratings
from shoe.study.agreement import LeftOut, groups_of, mean_ratings

# How far two columns of numbers rank alike. What cannot be measured is None, never NaN.

MOST_PAIRED = 50
"""Of so many units of an image, drawn alike, all pairs are looked at."""
_SAME = 1e-9
_STREAM = 11 << 28


CORRELATIONS: dict[str, Callable[[Floats, Floats], float | None]] = {
    "spearman": spearman,
    "pearson": pearson,
    "kendall": kendall,
}


class UnitPairs(NamedTuple):
    """UnitPairs of units of one image.

    Attributes:
        first, second: (P,) the units.
        image: (P,) their image.
    """

    first: Indices
    second: Indices
    image: Indices


def pairs_within(image: Indices) -> UnitPairs:
    """All pairs of units of one image; where an image has more than 50, of 50 of them.

    Args:
        image: (n,) of each unit.
    """
    order = np.lexsort((random_numbers(_STREAM, image.shape), image))
    size = np.bincount(image)
    place = index_in_group(size)
    order = order[place < MOST_PAIRED]
    place = place[place < MOST_PAIRED]
    # Each unit stands second to all before it on its image.
    second, before = np.repeat(order, place), index_in_group(place)
    first = order[np.repeat(np.arange(len(order)) - place, place) + before]
    return UnitPairs(first, second, image[second])


def pair_order(values: Floats, pairs: UnitPairs, least: float = 0) -> Indices:
    """(P,) 1 where the first is the higher, -1 where the second is, 0 where they are no more than ``least`` apart."""
    apart = values[pairs.first] - values[pairs.second]
    found: Indices = np.sign(apart) * (np.abs(apart) > least + _SAME)
    return found


def tie_width(values: Floats, pairs: UnitPairs, people: Indices, known: Mask) -> float:
    """How far apart a measure's values must be to be told apart, so that it orders most pairs as people do.

    Tie calibration (Deutsch, Foster and Freitag 2023): a measure that says 0.71 and 0.72 says no difference where
    people see none. Of several the smallest.

    Args:
        values: (n,) of the measure.
        people: (P,) how people order them, as :func:`pair_order`.
        known: (P,) pairs that people judged.
    """
    apart = (values[pairs.first] - values[pairs.second])[known]
    order = np.argsort(np.abs(apart), kind="stable")
    size, agrees = np.abs(apart)[order], (np.sign(apart) == people[known])[order]
    tied = (people[known] == 0)[order]
    # Up to each place ties, beyond it as the signs say.
    gained = np.concatenate([[0], np.cumsum(tied.astype(np.int64) - agrees)])
    ends = np.flatnonzero(np.append(np.diff(size) > _SAME, True)) + 1 if len(size) else np.zeros(0, np.int64)
    ends = np.concatenate([[int((size <= _SAME).sum())], ends])
    best = ends[int(np.argmax(gained[ends]))]
    return float(size[best - 1]) if best else 0.0


FIGURES = (*CORRELATIONS, "accuracy")

Values = dict[tuple[str, int], float | None]
"""Figures of measures, by name and number of the measure."""


@dataclass(frozen=True, eq=False)
class Units:
    """What is ordered: n predictions, or models on an image; K measures.

    Attributes:
        image: (n,) of each.
        people: (n,) mean rating; NaN where nobody judged it.
        credit: (n, K) what each measure says.
    """

    image: Indices
    people: Floats
    credit: Floats

    @cached_property
    def pairs(self) -> UnitPairs:
        """Pairs of units of one image."""
        return pairs_within(self.image)

    @cached_property
    def _by_people(self) -> tuple[Indices, Mask]:
        """(P,) how people order each pair, and whether they judged both."""
        known = ~np.isnan(self.people)
        return pair_order(np.nan_to_num(self.people), self.pairs), known[self.pairs.first] & known[self.pairs.second]

    @cached_property
    def widths(self) -> Floats:
        """(K,) how far apart values of each measure must be to be told apart."""
        return np.array([tie_width(values, self.pairs, *self._by_people) for values in self.credit.T])

    def agreeing(self, widths: Floats) -> Mask:
        """(K, P) pairs that each measure orders as people do."""
        return np.array(
            [pair_order(v, self.pairs, w) == self._by_people[0] for v, w in zip(self.credit.T, widths, strict=True)]
        )

    def figures(self, keep: Mask, agreeing: Mask) -> Values:
        """Correlations of all units, and the share of pairs of one image that are ordered as people order them.

        Args:
            keep: (images,) that count.
            agreeing: (K, P) as :meth:`agreeing`.
        """
        known = keep[self.image] & ~np.isnan(self.people)
        people, judged = self._by_people
        judged = judged & keep[self.pairs.image]
        ordered = bool(people[judged].any())
        found: Values = {}
        for k, values in enumerate(self.credit.T):
            for name, correlation in CORRELATIONS.items():
                found[name, k] = correlation(values[known], self.people[known])
            varies = ordered and np.ptp(values[known]) > 0
            found["accuracy", k] = float(agreeing[k, judged].mean()) if varies else None
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Predictions of models that people judged; n of them, with ratings of N items by R raters.

    Attributes:
        item: (n,) what the table says of each.
        image: (n,) index of its image among those that were judged.
        model: (n,) index of its model.
        credit: (n, K) what each measure says.
        ratings: (N, R) of the items.
    """

    item: Indices
    image: Indices
    model: Indices
    credit: Floats
    ratings: Ratings

    def predictions(self, raters: Mask) -> Units:
        """Predictions as some raters judged them."""
        return Units(self.image, mean_ratings(self.ratings[:, raters])[self.item], self.credit)

    def cells(self, raters: Mask) -> tuple[Units, Indices]:
        """Models on an image, by the means of their predictions that some raters judged; and (cells,) the models."""
        of = self.predictions(raters)
        images = int(self.image.max(initial=-1)) + 1
        key, cell = np.unique(self.model * images + self.image, return_inverse=True)
        known = ~np.isnan(of.people)
        number = np.bincount(cell[known], minlength=len(key))
        columns = np.column_stack([of.people, self.credit])[known]
        sums = np.column_stack([np.bincount(cell[known], weights=each, minlength=len(key)) for each in columns.T])
        means = np.where(number[:, None] > 0, sums / np.maximum(number, 1)[:, None], np.nan)
        return Units(key % images, means[:, 0], means[:, 1:]), key // images


def figures_of_units(judged: Judged) -> dict[str, tuple[int, dict[tuple[str, int], LeftOut]]]:
    """How many predictions, and models on an image, there are, and every figure of them.

    Each figure is known without each group of images and each group of raters.

    Images are left out whole, as what people say of predictions on one goes together. Both kinds of groups are at most
    50.
    """
    images, raters = int(judged.image.max()) + 1, judged.ratings.shape[1]
    everyone, everything = np.ones(raters, bool), np.ones(images, bool)
    group, rater_group = groups_of(images), groups_of(raters)
    found = {}
    for level in ("prediction", "image"):

        def units(chosen: Mask, level: str = level) -> Units:
            return judged.predictions(chosen) if level == "prediction" else judged.cells(chosen)[0]

        whole = units(everyone)
        agreeing = whole.agreeing(whole.widths)
        values = whole.figures(everything, agreeing)
        of_images = [whole.figures(group != g, agreeing) for g in range(group.max() + 1)] if images > 1 else []
        others = [units(rater_group != g) for g in range(rater_group.max() + 1)]
        of_raters = [each.figures(everything, each.agreeing(whole.widths)) for each in others] if raters > 1 else []
        figures = {
            key: LeftOut(value, [each[key] for each in of_images], [each[key] for each in of_raters])
            for key, value in values.items()
        }
        found[level] = len(whole.image), figures
    return found
