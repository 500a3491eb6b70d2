"""Agreement of raters with each other and with themselves (SHOE supplement, sections 5.2, 5.3 and 6.3)."""

from __future__ import annotations

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
    """Return the mean kappa of all pairs of raters for which it is defined."""
    return mean_of_pairs(PairSums.from_ratings(ratings, weight).kappas)


def mean_of_pairs(kappas: Floats) -> float | None:
    """Return the mean of the defined values of (R, R) kappas."""
    return None if np.isnan(kappas).all() else float(np.nanmean(kappas))


def mean_ratings(ratings: Ratings) -> Floats:
    """Return (N,) mean rating of each item; NaN where nobody rated it."""
    given = ratings != MISSING
    number = given.sum(axis=1)
    total = np.where(given, ratings, 0).sum(axis=1, dtype=np.float64)
    mean: Floats = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean


def ceiling(ratings: Ratings, weight: Floats | None = None) -> Floats:
    """Return (R,) Spearman correlation of each rater with the mean of the others, over items that have both; or NaN."""
    given = ratings.T != MISSING
    number, total = given.sum(axis=0), np.where(given, ratings.T, 0).sum(axis=0, dtype=np.int64)
    both = given & (number > 1)
    others = (total - ratings.T) / np.maximum(number - 1, 1)
    return spearman_of_rows(ratings.T, others, weight, both)


def mean_ceiling(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Return the mean of :func:`ceiling`: how well one person predicts the others. No measure need exceed it."""
    known = ceiling(ratings, weight)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else None


def within_item_spread(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Return the standard deviation (n - 1) of an item's ratings, averaged over items with two or more.

    The supplement's sigma of .761 is a spread of this kind. The standard error of an item's mean is the spread divided
    by the square root of the number of raters.
    """
    given = ratings != MISSING
    number = given.sum(axis=1)
    keep = number > 1
    if not keep.any():
        return None
    away = np.where(given, ratings - mean_ratings(ratings)[:, None], 0)[keep]
    spread = np.sqrt((away**2).sum(axis=1) / (number[keep] - 1))
    return float(spread.mean() if weight is None else np.average(spread, weights=weight[keep]))


def majority(ratings: Ratings) -> Ratings:
    """Return (N,) the most frequent rating, of ties the lowest; MISSING where nobody rated."""
    counts = counts_of_levels(ratings, LEVELS)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), MISSING).astype(np.int8)


# How far a figure of a study may be from what other people and other items would have given.

Statistic = Callable[[Indices, Indices], float | None]
"""A figure of some items and some raters, given by their indices; None where it is undefined."""

Scale = Literal["as it is", "correlation", "agreement", "share"]
"""On which scale a figure is nearly normal: as it is; Fisher's z = artanh of a correlation; log(1 - agreement).

Agreement beyond chance is -1 or more, as kappa and alpha, a share of agreement 0 or more; no interval goes below."""

_GROUPS = 50
_TO: dict[Scale, Callable[[Floats], Floats]] = {
    "as it is": lambda x: x,
    "correlation": lambda x: np.arctanh(np.clip(x, -1 + 1e-12, 1 - 1e-12)),
    "agreement": lambda x: -np.log(np.maximum(1 - x, 1e-12)),
    "share": lambda x: -np.log(np.maximum(1 - x, 1e-12)),
}
_BACK: dict[Scale, Callable[[Floats], Floats]] = {
    "as it is": lambda x: x,
    "correlation": np.tanh,
    "agreement": lambda x: 1 - np.exp(np.minimum(-x, np.log(2))),
    "share": lambda x: 1 - np.exp(np.minimum(-x, 0)),
}
_ITEM_STREAM = 3 << 28


Ends = Annotated[Sequence[float], Meta(min_length=2, max_length=2, description="low and high")]


class Figure(Document, frozen=True):
    """A value and its 95 % interval over items and raters; None if undefined."""

    value: float | None = None
    interval: Ends | None = None


class LeftOut(NamedTuple):
    """A statistic, and its value without each group of items and without each rater; None where it is undefined."""

    whole: float | None
    items: list[float | None]
    raters: list[float | None]

    def figure(self, scale: Scale = "as it is", level: float = 0.95) -> Figure:
        """Return the value and its interval; see :func:`figure_of`."""
        from scipy.stats import t

        found = self._spread(scale)
        if self.whole is None or found is None or found[0] == 0:
            return Figure(self.whole, None)
        error, freedom = found
        reach = float(t.ppf((1 + level) / 2, freedom)) * error
        low, high = _BACK[scale](_TO[scale](np.array(self.whole)) + np.array([-reach, reach]))
        return Figure(self.whole, Interval(float(low), float(high)))

    def minus(self, other: LeftOut) -> LeftOut:
        """Subtract another statistic of the same items and raters, whose deletions are paired."""
        pairs = zip(self[1:], other[1:], strict=True)
        items, raters = ([minus(a, b) for a, b in zip(*both, strict=True)] for both in pairs)
        return LeftOut(minus(self.whole, other.whole), items, raters)

    @property
    def p(self) -> float | None:
        """Return the two-sided p of a value of 0, by Student's t; None without an interval, or with an error of 0."""
        from scipy.stats import t

        found = self._spread("as it is")
        if self.whole is None or found is None or found[0] == 0:
            return None
        error, freedom = found
        return float(2 * t.sf(abs(self.whole) / error, freedom))

    def _spread(self, scale: Scale) -> tuple[float, float] | None:
        """Return standard error and degrees of freedom."""
        of_items, of_raters = (_variance(without, scale) for without in self[1:])
        if of_items is None or of_raters is None:
            return None
        if (variance := of_items + of_raters) == 0:
            return 0.0, np.inf
        parts = of_items**2 / (len(self.items) - 1) + of_raters**2 / (len(self.raters) - 1)
        return float(np.sqrt(variance)), float(variance**2 / parts)


def figure_of(statistic: Statistic, shape: tuple[int, ...], scale: Scale = "as it is", level: float = 0.95) -> Figure:
    """Compute a statistic and its interval over items and raters, both of which are samples.

    The interval is a delete-one jackknife over raters and over items, each in at most 50 groups drawn alike. The two
    variances are added, and the quantile is Student's t with Satterthwaite's degrees of freedom. A bootstrap of five
    raters would be too narrow. Where items have population weights, the statistic weights the items that remain.

    Args:
        shape: (items, raters).
        scale: transformation under which the statistic is nearly normal.
        level: coverage of the interval, 0..1.

    Returns:
        The value; without an interval where it or one of its deletions is undefined (as with fewer than two raters or
        items), or where all deletions are equal (as without a change in any answer).
    """
    items, raters = map(np.arange, shape)
    whole = statistic(items, raters)
    if whole is None or min(shape) < 2:
        return Figure(whole, None)
    group = groups_of(len(items))
    of_items = [statistic(items[group != g], raters) for g in range(group.max() + 1)]
    group = raters if len(raters) <= _GROUPS else groups_of(len(raters))
    of_raters = [statistic(items, raters[group != g]) for g in range(group.max() + 1)]
    return LeftOut(whole, of_items, of_raters).figure(scale, level)


def groups_of(items: int) -> Indices:
    """Return (N,) group of each item, from 0: at most 50 groups of nearly equal size, drawn alike each time."""
    group = np.empty(items, np.int64)
    group[np.argsort(random_numbers(_ITEM_STREAM, (items,)), kind="stable")] = np.arange(items) % _GROUPS
    return group


def _variance(without: list[float | None], scale: Scale) -> float | None:
    """Return the jackknife variance of the values without one part each; None with fewer than two parts."""
    if len(without) < 2 or any(value is None for value in without):
        return None
    values = _TO[scale](np.array(without, np.float64))
    return float((len(values) - 1) * values.var())
