"""How far raters agree with each other, and with themselves (SHOE supplement, sections 5.2, 5.3 and 6.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import MissingExtraError
from shoe.maps.agreement import spearman
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

Level = Literal["ordinal", "interval", "nominal"]
LEVELS = HIGHEST + 1


def counts_of_levels(ratings: Ratings) -> Floats:
    """(N, 5) how many raters gave each item each rating."""
    counts: Floats = (ratings[:, :, None] == np.arange(LEVELS)).sum(axis=1).astype(np.float64)
    return counts


def alpha(ratings: Ratings, level: Level) -> float | None:
    """Krippendorff's alpha over (N, R) ratings; items with one rating say nothing.

    The supplement prints the distance ((i - j) / (k - 1))^2 for its "ordinal" alpha: that is the interval metric, since
    the constant cancels. The ordinal one counts the ratings between i and j (Krippendorff 2018, 12.3.4).

    Returns:
        At most 1; None where nothing was rated twice, or all ratings are equal.

    Raises:
        MissingExtraError: without the package krippendorff.
    """
    try:
        import krippendorff
    except ImportError:
        raise MissingExtraError("Krippendorff's alpha", "study") from None
    counts = counts_of_levels(ratings)
    counts = counts[counts.sum(axis=1) > 1]
    if (counts.sum(axis=0) > 0).sum() < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement=level))


def pairwise_kappa(ratings: Ratings) -> Floats:
    """(R, R) quadratic weighted kappa of every two raters over the items that both rated; NaN where undefined."""
    given = (ratings != MISSING).astype(np.float64)
    value = np.where(given > 0, ratings, 0).astype(np.float64)
    number, total, squares = given.T @ given, value.T @ given, (value**2).T @ given  # of the row's rater, beside each
    observed = squares + squares.T - 2 * value.T @ value
    expected = number * (squares + squares.T) - 2 * total * total.T
    with np.errstate(invalid="ignore", divide="ignore"):
        kappas: Floats = np.where(expected > 0, 1 - number * observed / expected, np.nan)
    np.fill_diagonal(kappas, np.nan)
    return kappas


def mean_kappa(ratings: Ratings) -> float | None:
    """Mean of the kappas of all pairs of raters that have one."""
    kappas = pairwise_kappa(ratings)
    return None if np.isnan(kappas).all() else float(np.nanmean(kappas))


def mean_ratings(ratings: Ratings) -> Floats:
    """(N,) mean rating of each item; NaN where nobody rated it."""
    given = ratings != MISSING
    number = given.sum(axis=1)
    total = np.where(given, ratings, 0).sum(axis=1, dtype=np.float64)
    mean: Floats = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean


def ceiling(ratings: Ratings) -> list[float | None]:
    """Per rater, Spearman's correlation with the mean of the others, over the items that have both."""
    given = ratings != MISSING
    number, total = given.sum(axis=1), np.where(given, ratings, 0).sum(axis=1, dtype=np.int64)
    found = []
    for j in range(ratings.shape[1]):
        both = given[:, j] & (number > 1)
        others = (total - ratings[:, j])[both] / (number[both] - 1)
        found.append(spearman(ratings[both, j], others) if both.sum() > 1 else None)
    return found


def mean_ceiling(ratings: Ratings) -> float | None:
    """Mean of :func:`ceiling`: how well one person predicts the others, which no measure need exceed."""
    known = [value for value in ceiling(ratings) if value is not None]
    return float(np.mean(known)) if known else None


def within_item_spread(ratings: Ratings) -> float | None:
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
    return float(np.sqrt((away**2).sum(axis=1) / (number[keep] - 1)).mean())


def majority(ratings: Ratings) -> Ratings:
    """(N,) the rating that most raters gave, of ties the lowest; MISSING where nobody rated."""
    counts = counts_of_levels(ratings)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), MISSING).astype(np.int8)
