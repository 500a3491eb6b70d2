"""Agreement of raters (SHOE supplement, 5.2, 5.3 and 6.3), from (N, R) ``ratings`` and (N,) item weights ``weight``."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from shoe.core.arrays import Floats, Indices, random_numbers
from shoe.core.documents import Document
from shoe.core.statistics import Interval, PairSums, counts_of_levels, spearman_of_rows
from shoe.scoring.entries import minus
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

LEVELS = HIGHEST + 1


def mean_kappa(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Return the mean quadratic weighted kappa of all pairs of raters for which it is defined, or None."""
    return mean_of_pairs(PairSums.from_ratings(ratings, weight).kappas)


def mean_of_pairs(kappas: Floats) -> float | None:
    """Return the mean of an (R, R) matrix of kappas without NaN; None if all are NaN."""
    return None if np.isnan(kappas).all() else float(np.nanmean(kappas))


def mean_ratings(ratings: Ratings) -> Floats:
    """Return the (N,) mean rating of each item, or NaN for an item without ratings."""
    given = ratings != MISSING
    number, total = given.sum(axis=1), np.where(given, ratings, 0).sum(axis=1, dtype=np.float64)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def ceiling(ratings: Ratings, weight: Floats | None = None) -> Floats:
    """Return the (R,) Spearman correlation of each rater's ratings with the other raters' mean; NaN if undefined."""
    given = ratings.T != MISSING
    number, total = given.sum(axis=0), np.where(given, ratings.T, 0).sum(axis=0, dtype=np.int64)
    others = (total - ratings.T) / np.maximum(number - 1, 1)
    return spearman_of_rows(ratings.T, others, weight, given & (number > 1))


def mean_ceiling(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Return the mean of :func:`ceiling`, or None if undefined; a measure that reaches it is as good as a rater."""
    known = ceiling(ratings, weight)
    return mean_of_pairs(known[~np.isnan(known)])


def within_item_spread(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Return the standard deviation (ddof=1) of an item's ratings, averaged over items with several, or None.

    The SHOE supplement computes its sigma of .761 this way.
    """
    given = ratings != MISSING
    number = given.sum(axis=1)
    if not (keep := number > 1).any():
        return None
    away = np.where(given, ratings - mean_ratings(ratings)[:, None], 0)[keep]
    spread = np.sqrt((away**2).sum(axis=1) / (number[keep] - 1))
    return float(np.average(spread, weights=None if weight is None else weight[keep]))


def majority(ratings: Ratings) -> Ratings:
    """Return the (N,) most frequent rating of each item, on a tie the lowest, or MISSING."""
    counts = counts_of_levels(ratings, LEVELS)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), MISSING).astype(np.int8)


Statistic = Callable[[Indices, Indices], float | None]
"""Value of a statistic, None if undefined, from item indices and rater indices."""
Scale = Literal["as it is", "correlation", "agreement", "share"]
"""Scale on which a statistic is nearly normal: as it is, Fisher's z = artanh(r), or log(1 - agreement).

Intervals end at the minimum: -1 for agreement beyond chance (kappa, alpha), 0 for a fraction."""

_GROUPS = 50
_SCALES: dict[Scale, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "as it is": (lambda x: x, lambda x: x),
    "correlation": (lambda x: np.arctanh(np.clip(x, -1 + 1e-12, 1 - 1e-12)), np.tanh),
    "agreement": (lambda x: -np.log(np.maximum(1 - x, 1e-12)), lambda x: 1 - np.exp(np.minimum(-x, np.log(2)))),
    "share": (lambda x: -np.log(np.maximum(1 - x, 1e-12)), lambda x: 1 - np.exp(np.minimum(-x, 0))),
}
"""Transformation to each scale, and back."""
Ends = Annotated[Sequence[float], Meta(min_length=2, max_length=2, description="low and high")]


class Figure(Document, frozen=True):
    """A value and its 95 % interval over items and raters; None if undefined."""

    value: float | None = None
    interval: Ends | None = None


class Jackknife(NamedTuple):
    """A statistic, and its jackknife values: without each group of items, and without each group of raters."""

    whole: float | None
    items: list[float | None]
    raters: list[float | None]

    def figure(self, scale: Scale = "as it is") -> Figure:
        """Return the value with its 95 % interval over items and raters; see :func:`figure_of` for ``scale``."""
        from scipy.stats import t

        if self.whole is None or (found := self._spread(scale)) is None:
            return Figure(self.whole, None)
        error, freedom = found
        reach = float(t.ppf(0.975, freedom)) * error
        to_scale, back = _SCALES[scale]
        low, high = back(to_scale(np.array(self.whole)) + np.array([-reach, reach]))
        return Figure(self.whole, Interval(float(low), float(high)))

    def minus(self, other: "Jackknife") -> "Jackknife":
        """Return this statistic minus ``other`` of the same items and raters."""
        pairs = zip(self[1:], other[1:], strict=True)
        items, raters = ([minus(a, b) for a, b in zip(*both, strict=True)] for both in pairs)
        return Jackknife(minus(self.whole, other.whole), items, raters)

    @property
    def p(self) -> float | None:
        """Two-sided p-value of a t test that the true value is 0; None if undefined, or if the standard error is 0."""
        from scipy.stats import t

        if self.whole is None or (found := self._spread("as it is")) is None:
            return None
        error, freedom = found
        return float(2 * t.sf(abs(self.whole) / error, freedom))

    def _spread(self, scale: Scale) -> tuple[float, float] | None:
        """Return standard error and degrees of freedom, or None if the error is 0 or undefined."""
        of_items, of_raters = (_variance(without, scale) for without in self[1:])
        if of_items is None or of_raters is None or (variance := of_items + of_raters) == 0:
            return None
        parts = of_items**2 / (len(self.items) - 1) + of_raters**2 / (len(self.raters) - 1)
        return float(np.sqrt(variance)), float(variance**2 / parts)


def figure_of(statistic: Statistic, shape: tuple[int, ...], scale: Scale = "as it is") -> Figure:
    """Return a statistic with its 95 % interval over items and raters, whose numbers are ``shape``.

    Two jackknives leave out one item, and one rater, at a time, or one of 50 groups if there are more than 50. Their
    variances are added, and the quantile is Student's t with Satterthwaite's degrees of freedom. With as few as five
    raters, a bootstrap interval would be too narrow. There is no interval if the value or a jackknife value is
    undefined (for example with fewer than two raters or items), or if all jackknife values are equal.

    ``statistic`` is called with the indices of the items and raters that are not left out; it applies weights, if any.
    """
    items, raters = map(np.arange, shape)
    whole = statistic(items, raters)
    if whole is None or min(shape) < 2:
        return Figure(whole, None)
    group = groups_of(len(items))
    of_items = [statistic(items[group != g], raters) for g in range(group.max() + 1)]
    group = raters if len(raters) <= _GROUPS else groups_of(len(raters))
    of_raters = [statistic(items, raters[group != g]) for g in range(group.max() + 1)]
    return Jackknife(whole, of_items, of_raters).figure(scale)


def groups_of(items: int) -> Indices:
    """Return the (N,) group index of each of N ``items``: at most 50 nearly equal groups, the same in every call."""
    group = np.empty(items, np.int64)
    group[np.argsort(random_numbers(3 << 28, (items,)), kind="stable")] = np.arange(items) % _GROUPS
    return group


def _variance(without: list[float | None], scale: Scale) -> float | None:
    """Return the jackknife variance of leave-one-out values, or None if it is undefined."""
    if len(without) < 2 or any(value is None for value in without):
        return None
    values = _SCALES[scale][0](np.array(without, np.float64))
    return float((len(values) - 1) * values.var())
