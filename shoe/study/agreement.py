"""How far raters agree with each other, and with themselves (SHOE supplement, sections 5.2, 5.3 and 6.3)."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.statistics import PairSums, counts_of_levels, spearman_of_rows
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

LEVELS = HIGHEST + 1


def mean_kappa(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Mean of the kappas of all pairs of raters that have one."""
    return mean_of_pairs(PairSums.from_ratings(ratings, weight).kappas)


def mean_of_pairs(kappas: Floats) -> float | None:
    """Mean of (R, R) kappas that are defined."""
    return None if np.isnan(kappas).all() else float(np.nanmean(kappas))


def mean_ratings(ratings: Ratings) -> Floats:
    """(N,) mean rating of each item; NaN where nobody rated it."""
    given = ratings != MISSING
    number = given.sum(axis=1)
    total = np.where(given, ratings, 0).sum(axis=1, dtype=np.float64)
    mean: Floats = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean


def ceiling(ratings: Ratings, weight: Floats | None = None) -> Floats:
    """(R,) Spearman's correlation of each rater with the mean of the others over the items that have both; or NaN."""
    given = ratings.T != MISSING
    number, total = given.sum(axis=0), np.where(given, ratings.T, 0).sum(axis=0, dtype=np.int64)
    both = given & (number > 1)
    others = (total - ratings.T) / np.maximum(number - 1, 1)
    return spearman_of_rows(ratings.T, others, weight, both)


def mean_ceiling(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Mean of :func:`ceiling`: how well one person predicts the others, which no measure need exceed."""
    known = ceiling(ratings, weight)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else None


def within_item_spread(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Standard deviation of the ratings of one item, with n - 1, averaged over the items with two or more.

    The supplement's sigma of .761 is a spread of this kind; the standard error of an item's mean is it divided by the
    square root of the number of raters.
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
    """(N,) the rating that most raters gave, of ties the lowest; MISSING where nobody rated."""
    counts = counts_of_levels(ratings, LEVELS)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), MISSING).astype(np.int8)
