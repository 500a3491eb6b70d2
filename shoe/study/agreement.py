"""How far raters agree with each other, and with themselves (SHOE supplement, sections 5.2, 5.3 and 6.3)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import MissingExtraError
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.study.ranks import rank_moments

Level = Literal["ordinal", "interval", "nominal"]
LEVELS = HIGHEST + 1
_ROUNDING = 1e-12


def counts_of_levels(ratings: Ratings) -> Floats:
    """(N, 5) how many raters gave each item each rating."""
    counts: Floats = np.stack([np.count_nonzero(ratings == level, axis=1) for level in range(LEVELS)], axis=1) * 1.0
    return counts


def alpha(ratings: Ratings, level: Level, weight: Floats | None = None) -> float | None:
    """Krippendorff's alpha over (N, R) ratings; items with one rating say nothing; (N,) weights multiply.

    The supplement prints the distance ((i - j) / (k - 1))^2 for its "ordinal" alpha: that is the interval metric, since
    the constant cancels. The ordinal one counts the ratings between i and j (Krippendorff 2018, 12.3.4).

    Returns:
        At most 1; None where fewer than two items were rated twice, of which alpha is 0 whatever was said, or all
        ratings are equal.

    Raises:
        MissingExtraError: without the package krippendorff.
    """
    try:
        import krippendorff
    except ImportError:
        raise MissingExtraError("Krippendorff's alpha", "study") from None
    counts = counts_of_levels(ratings)
    shared = counts.sum(axis=1) > 1
    counts = counts[shared]
    if len(counts) < 2 or (counts.sum(axis=0) > 0).sum() < 2:
        return None
    if weight is not None:
        return _weighted_alpha(counts, level, weight[shared] / weight[shared].mean())
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement=level))


def _weighted_alpha(counts: Floats, level: Level, weight: Floats) -> float:
    """Alpha of the coincidences of ratings, each item's as often as it stands for others; weights have mean 1."""
    share = weight / (counts.sum(axis=1) - 1)
    coincidences = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    of_level = coincidences.sum(axis=1)
    expected = np.outer(of_level, of_level) - np.diag(of_level)
    scale = {
        "nominal": None,
        "interval": np.arange(LEVELS, dtype=np.float64),
        "ordinal": np.cumsum(of_level) - of_level / 2,  # ratings below a level, and half of those at it
    }[level]
    away = 1 - np.eye(LEVELS) if scale is None else np.subtract.outer(scale, scale) ** 2
    return 1 - float((of_level.sum() - 1) * (coincidences * away).sum() / (expected * away).sum())


class PairSums(NamedTuple):
    """(R, R) sums over the items that both of two raters rated, the row's beside the column's.

    Attributes:
        items: how many there are.
        number: of items, or of what they stand for.
        total, squares: of the row's ratings, and of their squares.
        products: of both.
    """

    items: Floats
    number: Floats
    total: Floats
    squares: Floats
    products: Floats

    @classmethod
    def of(cls, ratings: Ratings, weight: Floats | None = None) -> PairSums:
        """Sum up (N, R) ratings."""
        given = (ratings != MISSING).astype(np.float64)
        value = np.where(given > 0, ratings, 0).astype(np.float64)
        items = given.T @ given
        factors = [given, value, value**2]
        if weight is not None:  # of two factors each has the root of it
            factors = [np.sqrt(weight)[:, None] * factor for factor in factors]
        given, value, square = factors
        return cls(items, given.T @ given, value.T @ given, square.T @ given, value.T @ value)

    def minus(self, other: PairSums) -> PairSums:
        """The sums over the items that are left without others; exact for whole numbers."""
        return PairSums(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def kappas(self) -> Floats:
        """(R, R) quadratic weighted kappas; NaN where undefined, as of one item, of which it is 0 whatever was said."""
        observed = self.squares + self.squares.T - 2 * self.products
        expected = self.number * (self.squares + self.squares.T) - 2 * self.total * self.total.T
        with np.errstate(invalid="ignore", divide="ignore"):
            # Of equal ratings weighted sums may leave what rounding leaves.
            known = (self.items > 1) & (expected > _ROUNDING * self.number**2)
            kappas: Floats = np.where(known, 1 - self.number * observed / expected, np.nan)
        np.fill_diagonal(kappas, np.nan)
        return kappas


def pairwise_kappa(ratings: Ratings, weight: Floats | None = None) -> Floats:
    """(R, R) quadratic weighted kappa of every two raters over the items that both rated; NaN where undefined."""
    return PairSums.of(ratings, weight).kappas


def mean_kappa(ratings: Ratings, weight: Floats | None = None) -> float | None:
    """Mean of the kappas of all pairs of raters that have one."""
    return mean_of_pairs(pairwise_kappa(ratings, weight))


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
    weights = np.ones((1, len(ratings))) if weight is None else weight[None]
    found: Floats = rank_moments(ratings.T, others, weights, both).correlation
    return found


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
    counts = counts_of_levels(ratings)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), MISSING).astype(np.int8)
