"""Units that both people and measures score: predictions, or models on an image."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, index_in_group, random_numbers
from shoe.core.statistics import kendall, pearson, spearman
from shoe.similarity.ensemble import Ratings
from shoe.study.agreement import Jackknife, groups_of, mean_ratings

MOST_PAIRED = 50
"""Maximum number of units per image whose pairs are compared; the units are drawn at random."""
_SAME = 1e-9

Correlation = Callable[[Floats, Floats], float | None]
CORRELATIONS: dict[str, Correlation] = {"spearman": spearman, "pearson": pearson, "kendall": kendall}


class UnitPairs(NamedTuple):
    """P pairs of predictions, or of models, on the same image: (P,) indices of the first, the second and the image."""

    first: Indices
    second: Indices
    image: Indices


def pairs_within(image: Indices) -> UnitPairs:
    """Return all pairs of units on the same image, for at most 50 random units per image."""
    place = index_in_group(np.bincount(image))
    order = np.lexsort((random_numbers(11 << 28, image.shape), image))[place < MOST_PAIRED]
    place = place[place < MOST_PAIRED]
    # Each unit is the second unit of a pair with every earlier unit of its image.
    second, before = np.repeat(order, place), index_in_group(place)
    first = order[np.repeat(np.arange(len(order)) - place, place) + before]
    return UnitPairs(first, second, image[second])


def pair_order(values: Floats, pairs: UnitPairs, least: float = 0) -> Indices:
    """Return (P,) 1 if the first unit has a higher value, -1 if a lower one, 0 if they differ by at most ``least``."""
    apart = values[pairs.first] - values[pairs.second]
    return np.asarray(np.sign(apart) * (np.abs(apart) > least + _SAME))


def tie_width(values: Floats, pairs: UnitPairs, people: Indices, known: Mask) -> float:
    """Return the difference up to which values should count as equal, to order the most pairs as people do.

    This is tie calibration (Deutsch, Foster and Freitag 2023); of several equally good results, the smallest is
    returned. ``values`` are the (n,) values of a measure, ``people`` the (P,) order of each pair by people, and
    ``known`` (P,) whether people judged both units.
    """
    apart = (values[pairs.first] - values[pairs.second])[known]
    order = np.argsort(np.abs(apart), kind="stable")
    size, agrees = np.abs(apart)[order], (np.sign(apart) == people[known])[order]
    # Gain of agreeing pairs if the differences up to each position count as ties.
    gained = np.concatenate([[0], np.cumsum((people[known] == 0)[order].astype(np.int64) - agrees)])
    ends = np.flatnonzero(np.append(np.diff(size) > _SAME, True)) + 1 if len(size) else np.zeros(0, np.int64)
    ends = np.concatenate([[int((size <= _SAME).sum())], ends])
    best = ends[int(np.argmax(gained[ends]))]
    return float(size[best - 1]) if best else 0.0


FIGURES = (*CORRELATIONS, "accuracy")

Values = dict[tuple[str, int], float | None]
"""Statistics by (name, index of the measure)."""


@dataclass(frozen=True, eq=False)
class Units:
    """n units to be ranked (predictions, or models on an image), scored by people and by K measures.

    Attributes:
        image: (n,) image of each unit.
        people: (n,) mean rating of each unit by people; NaN if not judged.
        credit: (n, K) score of each unit by each measure.
    """

    image: Indices
    people: Floats
    credit: Floats

    @cached_property
    def pairs(self) -> UnitPairs:
        """Pairs of units on the same image, for at most 50 random units per image."""
        return pairs_within(self.image)

    @cached_property
    def _by_people(self) -> tuple[Indices, Mask]:
        """(P,) order of each pair by people, and (P,) whether people judged both units."""
        known = ~np.isnan(self.people)
        return pair_order(np.nan_to_num(self.people), self.pairs), known[self.pairs.first] & known[self.pairs.second]

    @cached_property
    def widths(self) -> Floats:
        """(K,) :func:`tie_width` of each measure."""
        return np.array([tie_width(values, self.pairs, *self._by_people) for values in self.credit.T])

    def agreeing(self, widths: Floats) -> Mask:
        """Return (K, P) whether each measure, with ties within its (K,) width, orders each pair as people do."""
        columns = zip(self.credit.T, widths, strict=True)
        return np.array([pair_order(values, self.pairs, width) == self._by_people[0] for values, width in columns])

    def figures(self, keep: Mask, agreeing: Mask) -> Values:
        """Return {(statistic, measure index): value}: correlations with people, fraction of pairs in people's order.

        ``keep`` is the (images,) mask of images to use; ``agreeing`` is the (K, P) result of :meth:`agreeing`.
        """
        known = keep[self.image] & ~np.isnan(self.people)
        people, judged = self._by_people[0], self._by_people[1] & keep[self.pairs.image]
        ordered = people[judged].any()
        found: Values = {}
        for k, values in enumerate(self.credit.T):
            for name, correlation in CORRELATIONS.items():
                found[name, k] = correlation(values[known], self.people[known])
            varies = ordered and np.ptp(values[known]) > 0
            found["accuracy", k] = float(agreeing[k, judged].mean()) if varies else None
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """n judged predictions of models, with ratings of N items by R raters.

    Attributes:
        item: (n,) index of each prediction among the N rated items; models may share items.
        image, model: (n,) index of each prediction's image among the judged images, and index of its model.
        credit: (n, K) credit of each prediction by each measure.
    """

    item: Indices
    image: Indices
    model: Indices
    credit: Floats
    ratings: Ratings

    def predictions(self, raters: Mask) -> Units:
        """Return one unit per prediction, with its mean rating by the ``raters`` in an (R,) mask."""
        return Units(self.image, mean_ratings(self.ratings[:, raters])[self.item], self.credit)

    def cells(self, raters: Mask) -> tuple[Units, Indices]:
        """Return one unit per model and image (mean over its predictions rated by ``raters``), and the unit's model."""
        of, images = self.predictions(raters), int(self.image.max(initial=-1)) + 1
        key, cell = np.unique(self.model * images + self.image, return_inverse=True)
        known = ~np.isnan(of.people)
        number = np.bincount(cell[known], minlength=len(key))
        columns = np.column_stack([of.people, self.credit])[known]
        sums = np.column_stack([np.bincount(cell[known], weights=each, minlength=len(key)) for each in columns.T])
        means = np.where(number[:, None] > 0, sums / np.maximum(number, 1)[:, None], np.nan)
        return Units(key % images, means[:, 0], means[:, 1:]), key // images


def figures_of_units(judged: Judged) -> dict[str, tuple[int, dict[tuple[str, int], Jackknife]]]:
    """Return {level: (number of units, statistics)}; units: predictions ("prediction") or models on an image ("image").

    Each statistic is also computed without each group of raters, and of images, which are left out whole, because
    judgements of predictions on one image are correlated.
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
        without = {key: ([of[key] for of in of_images], [of[key] for of in of_raters]) for key in values}
        found[level] = len(whole.image), {key: Jackknife(value, *without[key]) for key, value in values.items()}
    return found
