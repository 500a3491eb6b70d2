"""Correlation, agreement of raters, and tests of significance.

Most functions are vectorised over rows, because intervals and tests evaluate them on thousands of draws, and take
weights of items, because items of a study may be drawn with unequal probability; SciPy's functions do neither.
``scipy.stats`` takes 0.6 s to import, so only functions that need its distributions import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoe.core.arrays import Floats, Mask, random_numbers

MeasurementLevel = Literal["ordinal", "interval", "nominal"]
ROUNDING = 1e-12
_DRAW_STREAM, _SHUFFLE_STREAM, _NEAREST_STREAM = (3 << 28) + 1, (3 << 28) + (1 << 20), 9 << 28
_CELLS = 1 << 20
"""Numbers that one step of a permutation test ranks: 8 MB."""


class Interval(NamedTuple):
    """Interval of a statistic."""

    low: float
    high: float


# Correlation of two columns


def pearson(a: ArrayLike, b: ArrayLike) -> float | None:
    """Return Pearson's correlation of two columns; None for fewer than two values, or if one column is constant."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return _known(pearson_of_rows(x[None], y[None])[0]) if len(x) > 1 else None


def spearman(a: ArrayLike, b: ArrayLike, weight: Floats | None = None) -> float | None:
    """Return Spearman's correlation of two columns of n items, with (n,) weights; None as for :func:`pearson`."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return _known(spearman_of_rows(x[None], y[None], weight)[0]) if len(x) > 1 else None


def kendall(a: Floats, b: Floats) -> float | None:
    """Return Kendall's tau-b of two columns; None as for :func:`pearson`."""
    from scipy.stats import kendalltau

    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(kendalltau(a, b).statistic)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def pearson_of_rows(a: Floats, b: Floats) -> Floats:
    """Return (B,) Pearson's correlations of rows of (B, n) or (1, n) numbers; NaN if either row is constant."""
    x, y = (values - values[:, :1] for values in (a, b))  # exactly 0 if the row is constant
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return correlation((x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1))


def spearman_of_rows(
    a: NDArray[Any], b: NDArray[Any], weight: Floats | None = None, valid: Mask | None = None
) -> Floats:
    """Return (B,) Spearman's correlations of rows; NaN if either row is constant.

    Without weights these are the correlations of mean ranks. With weights 1 / (probability that the item was drawn) an
    item has the rank that it would have in the population, as far as the sample says.

    Args:
        a: (B, n) or (1, n) numbers.
        b: (B, n) or (1, n) numbers.
        weight: (B, n) or (n,) weights of items, above 0.
        valid: (B, n) mask of the items to include; None for all.
    """
    shape = np.broadcast_shapes(a.shape, b.shape)
    weight = np.broadcast_to(1.0 if weight is None else weight, shape)
    weight = weight if valid is None else np.where(valid, weight, 0.0)
    x, y = middle_ranks(a, weight), middle_ranks(b, weight)
    return correlation(*((weight * product).sum(axis=1) for product in (x * y, x * x, y * y)))


def middle_ranks(values: NDArray[Any], weight: Floats) -> Floats:
    """Return (B, n) ranks of (B, n) or (1, n) values: weight below, and half of that of ties, less half of all."""
    sorted_by = np.argsort(values, axis=1, kind="stable" if values.dtype.itemsize < 4 else "quicksort")  # by radix
    order = np.broadcast_to(sorted_by, weight.shape)
    ordered = np.take_along_axis(np.broadcast_to(values, weight.shape), order, axis=1)
    below = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    total = below[:, -1:]
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # The weight below a run of ties, and below its end: spread over the run from its first item, and from its last.
    start = np.where(first, np.concatenate([np.zeros((len(below), 1)), below[:, :-1]], axis=1), 0.0)
    start = np.maximum.accumulate(start, axis=1)
    last = np.concatenate([first[:, 1:], np.ones((len(first), 1), bool)], axis=1)
    end = np.minimum.accumulate(np.where(last, below, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(weight.shape)
    np.put_along_axis(ranks, order, (start + end - total) / 2, axis=1)
    return ranks


def correlation(both: Floats, first: Floats, second: Floats) -> Floats:
    """Return (B,) correlations from sums of products, and of squares of either side; NaN if one of these is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.clip(both / np.sqrt(first * second), -1, 1)
    return np.where((first > 0) & (second > 0), ratio, np.nan)


def differences(values: ArrayLike, same: float = ROUNDING) -> Floats:
    """Return (..., n (n - 1) / 2) differences of every two of (..., n) values; 0 if they are at most ``same`` apart."""
    of = np.asarray(values, np.float64)
    first, second = np.triu_indices(of.shape[-1], 1)
    apart = of[..., first] - of[..., second]
    return np.where(np.abs(apart) > same, apart, 0)


def kendall_of_differences(x: Floats, y: Floats) -> Floats:
    """Return (...,) Kendall's tau-b of (..., P) :func:`differences`; NaN if all of a row are 0 (Kendall 1945)."""
    x, y = np.sign(x), np.sign(y)
    untied = np.abs(x).sum(axis=-1) * np.abs(y).sum(axis=-1)
    return np.where(untied > 0, (x * y).sum(axis=-1) / np.sqrt(np.maximum(untied, 1)), np.nan)


# Agreement of raters; ratings are whole numbers from 0, or negative if missing


def alpha(ratings: NDArray[np.integer], level: MeasurementLevel, weight: Floats | None = None) -> float | None:
    """Return Krippendorff's alpha of (N, R) ratings, with (N,) weights.

    Items with a single rating do not count. The interval metric is what the SHOE supplement prints for its "ordinal"
    alpha, ((i - j) / (k - 1))^2, because the constant cancels; the ordinal metric counts the ratings between i and j
    (Krippendorff 2018, 12.3.4).

    Returns:
        At most 1; None if fewer than two items were rated twice (then alpha is 0 whatever the ratings), or if all
        ratings are equal.
    """
    shared = (ratings >= 0).sum(axis=1) > 1
    counts = counts_of_levels(ratings[shared], int(ratings.max(initial=0)) + 1)
    if len(counts) < 2 or (counts.sum(axis=0) > 0).sum() < 2:
        return None
    share = 1 / (counts.sum(axis=1) - 1)
    if weight is not None:
        share = share * (weight[shared] / weight[shared].mean())
    coincidences = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    of_level = coincidences.sum(axis=1)
    expected = np.outer(of_level, of_level) - np.diag(of_level)
    place = np.arange(counts.shape[1], dtype=np.float64)
    if level == "ordinal":
        place = np.cumsum(of_level) - of_level / 2  # ratings below a level, and half of those at it
    apart = np.subtract.outer(place, place) ** 2
    distance = apart > 0 if level == "nominal" else apart
    return 1 - float((of_level.sum() - 1) * (coincidences * distance).sum() / (expected * distance).sum())


def counts_of_levels(ratings: NDArray[np.integer], levels: int) -> Floats:
    """Return (N, levels) counts of the raters who gave each item each rating."""
    return np.stack([np.count_nonzero(ratings == level, axis=1) for level in range(levels)], axis=1) * 1.0


class PairSums(NamedTuple):
    """(R, R) sums over the items that both of two raters rated, the row's beside the column's.

    Attributes:
        total, squares: sum of the row's ratings, and of their squares.
        products: sum of the products of both raters' ratings.
    """

    items: Floats
    number: Floats
    total: Floats
    squares: Floats
    products: Floats

    @classmethod
    def from_ratings(cls, ratings: NDArray[np.integer], weight: Floats | None = None) -> PairSums:
        """Sum up (N, R) ratings, with (N,) weights."""
        given = (ratings >= 0).astype(np.float64)
        value = np.where(given > 0, ratings, 0).astype(np.float64)
        items = given.T @ given
        factors = [given, value, value**2]
        if weight is not None:  # each of the two factors of a product has the root of the weight
            factors = [np.sqrt(weight)[:, None] * factor for factor in factors]
        given, value, square = factors
        return cls(items, given.T @ given, value.T @ given, square.T @ given, value.T @ value)

    def minus(self, other: PairSums) -> PairSums:
        """Return the sums without some items' sums; exact for whole numbers."""
        return PairSums(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def kappas(self) -> Floats:
        """(R, R) quadratic weighted kappas; NaN if undefined, as for one shared item, for which kappa is always 0."""
        observed = self.squares + self.squares.T - 2 * self.products
        expected = self.number * (self.squares + self.squares.T) - 2 * self.total * self.total.T
        with np.errstate(invalid="ignore", divide="ignore"):
            # If all ratings are equal, weighted sums may differ by rounding.
            known = (self.items > 1) & (expected > ROUNDING * self.number**2)
            kappas: Floats = np.where(known, 1 - self.number * observed / expected, np.nan)
        np.fill_diagonal(kappas, np.nan)
        return kappas


def quadratic_weighted_kappa(a: NDArray[Any], b: NDArray[Any], weight: Floats | None = None) -> float | None:
    """Return Cohen's kappa with squared distances of two columns of ratings (SHOE supplement, section 5.3).

    Args:
        a: (n,) ratings.
        b: (n,) ratings of the same pairs.
        weight: (n,) weights of pairs.

    Returns:
        At most 1; None if all ratings are equal, or for fewer than two pairs: of one, kappa is 0 whatever the ratings.

    Example:
        >>> quadratic_weighted_kappa(np.array([0, 4], np.int8), np.array([0, 4], np.int8))
        1.0
    """
    return _known(PairSums.from_ratings(np.stack([a, b], axis=1), weight).kappas[0, 1])


# Tests and intervals


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(p), 0.0
    for number, which in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        highest = max(highest, min(1.0, (len(p) - number) * p[which]))
        adjusted[which] = highest
    return adjusted


def p_value(value: float, null: Floats) -> float:
    """Return the two-sided p of a value, from (R,) values under the null hypothesis: (1 + as large ones) / (1 + R).

    It is never 0, because the value is among those possible (Phipson and Smyth 2010). NaN values are left out.
    """
    known = null[~np.isnan(null)]
    return float((1 + (np.abs(known) >= abs(value) - ROUNDING).sum()) / (1 + len(known)))


def deviations(draws: Floats) -> Floats:
    """Return the deviations of the draws that are not NaN from their mean."""
    known = draws[~np.isnan(draws)]
    return known - known.mean() if len(known) else known


def percentiles(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the two percentiles of some draws between which the central ``level`` of them lies."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def interval_around(value: float, apart: Floats, level: float = 0.95) -> Interval:
    """Return the interval that the percentiles of (R,) :func:`deviations` make around a value, which it holds."""
    low, high = percentiles(apart, level)
    return Interval(value + min(low, 0.0), value + max(high, 0.0))


def fisher_interval(correlation: float, n: float, level: float = 0.95) -> Interval | None:
    """Return the interval of a correlation of n items by Fisher's z with standard error 1 / sqrt(n - 3).

    >>> [round(x, 3) for x in fisher_interval(0.799, 500)]
    [0.765, 0.829]
    """
    return _z_interval(correlation, 1.0, n, level)


def bonett_wright_interval(correlation: float, n: float, level: float = 0.95) -> Interval | None:
    """Return the interval of Spearman's correlation by Fisher's z with variance (1 + rho^2 / 2) / (n - 3).

    Bonett and Wright 2000: ranks vary more than the numbers that Fisher's standard error is for.
    """
    return _z_interval(correlation, 1 + correlation**2 / 2, n, level)


def _z_interval(correlation: float, factor: float, n: float, level: float) -> Interval | None:
    from scipy.stats import norm

    if n <= 3:
        return None
    if abs(correlation) == 1:
        return Interval(correlation, correlation)
    reach = float(norm.ppf((1 + level) / 2)) * np.sqrt(factor / (n - 3))
    low, high = np.tanh(np.arctanh(correlation) + np.array([-reach, reach]))
    return Interval(float(low), float(high))


def spearman_bootstrap(
    a: Floats, b: Floats, weight: Floats | None = None, resamples: int = 2_000, level: float = 0.95
) -> Interval | None:
    """Return the percentile interval of Spearman's correlation over items drawn with replacement, with their weights.

    None if the correlation is undefined in more than half of the draws.
    """
    n = len(a)
    drawn = (random_numbers(_DRAW_STREAM, (resamples, n)) % np.uint64(n)).astype(np.int64)
    values = spearman_of_rows(a[drawn], b[drawn], None if weight is None else weight[drawn])
    values = values[~np.isnan(values)]
    return None if len(values) < resamples / 2 else Interval(*percentiles(values, level))


def spearman_permutation_p(
    a: Floats, b: Floats, weight: Floats | None = None, permutations: int = 10_000
) -> float | None:
    """Return the two-sided p of Spearman's correlation from random pairings; None if the correlation is undefined.

    Weights stay with ``a``, by which items were drawn: if ``b`` were independent of ``a``, it would be independent of
    the weights, too.
    """
    observed = spearman(a, b, weight)
    if observed is None:
        return None
    shuffled = np.argsort(random_numbers(_SHUFFLE_STREAM, (permutations, len(b))), axis=1)
    if weight is None:  # permuted values have permuted ranks
        ranks_a, ranks_b = (middle_ranks(values[None], np.ones((1, len(a)))) for values in (a, b))
        return p_value(observed, pearson_of_rows(ranks_a, ranks_b[0][shuffled]))
    parts = np.array_split(shuffled, max(1, shuffled.size // _CELLS))
    return p_value(observed, np.concatenate([spearman_of_rows(a[None], b[rows], weight) for rows in parts]))


def nearest_measures(closeness: Floats, weight: Floats | None = None, resamples: int = 2_000) -> tuple[Floats, Mask]:
    """Compare K measures by their mean closeness to people; the best of many is partly luck.

    A measure is worse than the best if its distance exceeds the 95 % quantile of the largest studentized deviation of
    all such distances, over items drawn with replacement: Hansen's model confidence set, in one step.

    Args:
        closeness: (N, K) 1 - absolute difference from people, per item.
        weight: (N,) weights of items, with mean 1; None for equal weights.

    Returns:
        (K,) weighted mean closeness, and (K,) whether the measure cannot be told from the best one.
    """
    n = len(closeness)
    means = np.average(closeness, axis=0, weights=weight)
    drawn = (random_numbers(_NEAREST_STREAM, (resamples, n)) % np.uint64(n)).astype(np.int64)
    often = np.stack([np.bincount(row, minlength=n) for row in drawn]) / n
    if weight is not None:
        often = often * weight / (often @ weight)[:, None]
    behind = closeness[:, [int(means.argmax())]] - closeness
    mean_behind = np.average(behind, axis=0, weights=weight)
    again = often @ behind
    error = again.std(axis=0)
    varies = error > 0
    away = np.zeros_like(again)
    away[:, varies] = (again - mean_behind)[:, varies] / error[varies]
    reach = np.quantile(away.max(axis=1), 0.95)
    return means, np.where(varies, mean_behind <= reach * error, mean_behind == 0)
