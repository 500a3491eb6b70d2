"""Correlation, agreement of raters, and tests of significance.

Unlike SciPy's functions, most functions compute many rows at once (resamples), and accept weights of items, for items
sampled with unequal probability. ``scipy.stats`` takes 0.6 s to import, so it is imported inside functions.
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
_CELLS = 1 << 20  # numbers that a permutation test ranks at once (8 MB)


class Interval(NamedTuple):
    """Confidence interval."""

    low: float
    high: float


# Correlation of two columns


def pearson(a: ArrayLike, b: ArrayLike) -> float | None:
    """Return Pearson's correlation of two columns; None for fewer than two values, or if one column is constant."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return _none_if_nan(pearson_of_rows(x[None], y[None])[0]) if len(x) > 1 else None


def spearman(a: ArrayLike, b: ArrayLike, weight: Floats | None = None) -> float | None:
    """Return the weighted Spearman correlation of (n,) columns; None for n < 2, or if one column is constant."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return _none_if_nan(spearman_of_rows(x[None], y[None], weight)[0]) if len(x) > 1 else None


def kendall(a: Floats, b: Floats) -> float | None:
    """Return Kendall's tau-b of two columns; None for fewer than two values, or if one column is constant."""
    from scipy.stats import kendalltau

    return None if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0 else float(kendalltau(a, b).statistic)


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def pearson_of_rows(a: Floats, b: Floats) -> Floats:
    """Return the (B,) Pearson correlations of rows i of ``a`` and ``b``, (B, n) or (1, n); NaN for a constant row."""
    x, y = (values - values[:, :1] for values in (a, b))  # exactly 0 if the row is constant
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return correlation((x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1))


def spearman_of_rows(
    a: NDArray[Any], b: NDArray[Any], weight: Floats | None = None, valid: Mask | None = None
) -> Floats:
    """Return the (B,) Spearman correlations of row i of ``a`` and row i of ``b``; NaN if either row is constant.

    Both are (B, n) numbers, or (1, n) for the same row each time. Ties have their mean rank. ``weight`` are (B, n) or
    (n,) weights above 0: if items were sampled with unequal probability, weights of 1 / probability give estimates for
    all items. ``valid`` is the (B, n) mask of the items to include; None for all.
    """
    weight = np.broadcast_to(1.0 if weight is None else weight, np.broadcast_shapes(a.shape, b.shape))
    weight = weight if valid is None else np.where(valid, weight, 0.0)
    x, y = middle_ranks(a, weight), middle_ranks(b, weight)
    return correlation(*((weight * product).sum(axis=1) for product in (x * y, x * x, y * y)))


def middle_ranks(values: NDArray[Any], weight: Floats) -> Floats:
    """Return the (B, n) weighted ranks of values within their row, centred at 0; ties have their mean rank.

    The rank is the weight of all lower values + half the weight of equal values - half the weight of all values.
    ``values`` are (B, n) or (1, n), ``weight`` (B, n).
    """
    sorted_by = np.argsort(values, axis=1, kind="stable" if values.dtype.itemsize < 4 else "quicksort")  # by radix
    order = np.broadcast_to(sorted_by, weight.shape)
    ordered = np.take_along_axis(np.broadcast_to(values, weight.shape), order, axis=1)
    below = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    total = below[:, -1:]
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # Weight below each run of ties (copied forward from its first item) and up to its end (backward from its last).
    start = np.where(first, np.concatenate([np.zeros((len(below), 1)), below[:, :-1]], axis=1), 0.0)
    start = np.maximum.accumulate(start, axis=1)
    last = np.concatenate([first[:, 1:], np.ones((len(first), 1), bool)], axis=1)
    end = np.minimum.accumulate(np.where(last, below, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(weight.shape)
    np.put_along_axis(ranks, order, (start + end - total) / 2, axis=1)
    return ranks


def correlation(both: Floats, first: Floats, second: Floats) -> Floats:
    """Return (B,) correlations from sums of x * y, x * x and y * y, all with mean 0; NaN if a column is constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.clip(both / np.sqrt(first * second), -1, 1)
    return np.where((first > 0) & (second > 0), ratio, np.nan)


def differences(values: ArrayLike, same: float = ROUNDING) -> Floats:
    """Return the (..., n (n - 1) / 2) differences x[i] - x[j], i < j, of (..., n) values; 0 within +- ``same``."""
    array = np.asarray(values, np.float64)
    first, second = np.triu_indices(array.shape[-1], 1)
    difference = array[..., first] - array[..., second]
    return np.where(np.abs(difference) > same, difference, 0)


def kendall_of_differences(x: Floats, y: Floats) -> Floats:
    """Return (...,) Kendall's tau-b (1945) from (..., P) :func:`differences` of two columns; NaN if one is constant."""
    x, y = np.sign(x), np.sign(y)
    untied = np.abs(x).sum(axis=-1) * np.abs(y).sum(axis=-1)
    return np.where(untied > 0, (x * y).sum(axis=-1) / np.sqrt(np.maximum(untied, 1)), np.nan)


# Agreement of raters. Ratings are integers from 0; a negative number is a missing rating.


def alpha(ratings: NDArray[np.integer], level: MeasurementLevel, weight: Floats | None = None) -> float | None:
    """Return Krippendorff's alpha of (N, R) ratings of N items by R raters, with (N,) weights of items.

    Negative ratings are missing; items with a single rating do not count. Level "ordinal" is Krippendorff's ordinal
    metric (2018, 12.3.4), which depends on how many ratings lie between two values. The SHOE supplement calls its alpha
    "ordinal", but its distance ((i - j) / (k - 1))^2 is that of level "interval": the constant k - 1 cancels. The
    result is at most 1; None if all ratings are equal, or if fewer than two items have two or more ratings.
    """
    shared = (ratings >= 0).sum(axis=1) > 1
    counts = counts_of_levels(ratings[shared], int(ratings.max(initial=0)) + 1)
    if len(counts) < 2 or (counts.sum(axis=0) > 0).sum() < 2:
        return None
    item_weight = 1 / (counts.sum(axis=1) - 1)
    if weight is not None:
        item_weight = item_weight * (weight[shared] / weight[shared].mean())
    coincidences = (counts * item_weight[:, None]).T @ counts - np.diag(item_weight @ counts)
    totals = coincidences.sum(axis=1)
    expected = np.outer(totals, totals) - np.diag(totals)
    position = np.arange(counts.shape[1], dtype=np.float64)
    if level == "ordinal":
        position = np.cumsum(totals) - totals / 2  # ratings below a level, and half of those at it
    squared = np.subtract.outer(position, position) ** 2
    distance = squared > 0 if level == "nominal" else squared
    return 1 - float((totals.sum() - 1) * (coincidences * distance).sum() / (expected * distance).sum())


def counts_of_levels(ratings: NDArray[np.integer], levels: int) -> Floats:
    """Return the (N, levels) number of raters who gave item i the rating j, from 0 to ``levels`` - 1."""
    return np.stack([np.count_nonzero(ratings == level, axis=1) for level in range(levels)], axis=1) * 1.0


class PairSums(NamedTuple):
    """Sums for each pair of R raters, as (R, R) arrays, over the items that both raters rated."""

    # items, number: number of items, and sum of their weights.
    items: Floats
    number: Floats
    # total, squares: weighted sum of the row rater's ratings, and of their squares.
    total: Floats
    squares: Floats
    products: Floats  # weighted sum of the products of both raters' ratings

    @classmethod
    def from_ratings(cls, ratings: NDArray[np.integer], weight: Floats | None = None) -> PairSums:
        """Return the sums of (N, R) ratings of N items by R raters (negative: missing), with (N,) weights of items."""
        rated = (ratings >= 0).astype(np.float64)
        value = np.where(rated > 0, ratings, 0).astype(np.float64)
        items = rated.T @ rated
        factors = [rated, value, value**2]
        if weight is not None:  # each of the two factors of a product has the root of the weight
            factors = [np.sqrt(weight)[:, None] * factor for factor in factors]
        rated, value, square = factors
        return cls(items, rated.T @ rated, value.T @ rated, square.T @ rated, value.T @ value)

    def minus(self, other: PairSums) -> PairSums:
        """Return the sums without the items summed in ``other``; exact if ratings and weights are integers."""
        return PairSums(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def kappas(self) -> Floats:
        """(R, R) quadratic weighted kappa per pair of raters; NaN on the diagonal, for < 2 items, or if undefined."""
        observed = self.squares + self.squares.T - 2 * self.products
        expected = self.number * (self.squares + self.squares.T) - 2 * self.total * self.total.T
        with np.errstate(invalid="ignore", divide="ignore"):
            # If all ratings are equal, weighted sums may differ by rounding.
            known = (self.items > 1) & (expected > ROUNDING * self.number**2)
            kappas: Floats = np.where(known, 1 - self.number * observed / expected, np.nan)
        np.fill_diagonal(kappas, np.nan)
        return kappas


def quadratic_weighted_kappa(a: NDArray[Any], b: NDArray[Any], weight: Floats | None = None) -> float | None:
    """Return Cohen's quadratically weighted kappa of two raters' ratings of n items, with (n,) weights of items.

    Items with a negative (missing) rating are left out. The result is at most 1; None if all ratings of both raters are
    equal, or for fewer than two items (kappa of one item is always 0). Definition: SHOE supplement 5.3.

    >>> quadratic_weighted_kappa(np.array([0, 4], np.int8), np.array([0, 4], np.int8))
    1.0
    """
    return _none_if_nan(PairSums.from_ratings(np.stack([a, b], axis=1), weight).kappas[0, 1])


# Tests and intervals


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure (1979), at most 1, in the given order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(p), 0.0
    for number, which in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        highest = max(highest, min(1.0, (len(p) - number) * p[which]))
        adjusted[which] = highest
    return adjusted


def p_value(value: float, null: Floats) -> float:
    """Return the two-sided p-value of an observed value, given (R,) values under the null hypothesis.

    The p-value is (1 + number of |null| >= |value|) / (1 + R), which is never 0 (Phipson and Smyth 2010). NaN values
    are left out, and not counted in R.
    """
    known = null[~np.isnan(null)]
    return float((1 + (np.abs(known) >= abs(value) - ROUNDING).sum()) / (1 + len(known)))


def deviations(draws: Floats) -> Floats:
    """Return the values of a metric on resamples, minus their mean; NaN values are left out."""
    known = draws[~np.isnan(draws)]
    return known - known.mean() if len(known) else known


def percentiles(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the lower and upper percentile of ``draws`` that enclose the central fraction ``level`` of the values."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def interval_around(value: float, apart: Floats, level: float = 0.95) -> Interval:
    """Return value + [lower, upper percentile] of the (R,) deviations ``apart``, extended to contain ``value``."""
    low, high = percentiles(apart, level)
    return Interval(value + min(low, 0.0), value + max(high, 0.0))


def fisher_interval(correlation: float, n: float, level: float = 0.95, *, ranks: bool = False) -> Interval | None:
    """Return the confidence interval of a correlation over n items by Fisher's z; None for n <= 3.

    The variance of z is 1 / (n - 3), or if ``ranks`` is true, for Spearman's rho, (1 + rho^2 / 2) / (n - 3) (Bonett and
    Wright 2000). The interval of a correlation of 1 or -1 has length 0.

    >>> [round(x, 3) for x in fisher_interval(0.799, 500)]
    [0.765, 0.829]
    """
    from scipy.stats import norm

    if n <= 3:
        return None
    if abs(correlation) == 1:
        return Interval(correlation, correlation)
    variance = (1 + correlation**2 / 2 if ranks else 1) / (n - 3)
    reach = float(norm.ppf((1 + level) / 2)) * np.sqrt(variance)
    low, high = np.tanh(np.arctanh(correlation) + np.array([-reach, reach]))
    return Interval(float(low), float(high))


def spearman_bootstrap(
    a: Floats, b: Floats, weight: Floats | None = None, resamples: int = 2_000, level: float = 0.95
) -> Interval | None:
    """Return the percentile bootstrap interval of Spearman's correlation of (n,) ``a`` and ``b``.

    Items are resampled together with their (n,) weights. None if the correlation is undefined in more than half of the
    resamples.
    """
    n = len(a)
    drawn = (random_numbers(_DRAW_STREAM, (resamples, n)) % np.uint64(n)).astype(np.int64)
    values = spearman_of_rows(a[drawn], b[drawn], None if weight is None else weight[drawn])
    values = values[~np.isnan(values)]
    return None if len(values) < resamples / 2 else Interval(*percentiles(values, level))


def spearman_permutation_p(
    a: Floats, b: Floats, weight: Floats | None = None, permutations: int = 10_000
) -> float | None:
    """Return the two-sided p-value of Spearman's correlation by permutation of ``b``; None if it is undefined.

    ``a`` and the weights are not permuted: under the null hypothesis, ``b`` is independent of ``a`` and of the
    weights.
    """
    if (observed := spearman(a, b, weight)) is None:
        return None
    shuffled = np.argsort(random_numbers(_SHUFFLE_STREAM, (permutations, len(b))), axis=1)
    if weight is None:  # permuted values have permuted ranks
        ranks_a, ranks_b = (middle_ranks(values[None], np.ones((1, len(a)))) for values in (a, b))
        return p_value(observed, pearson_of_rows(ranks_a, ranks_b[0][shuffled]))
    parts = np.array_split(shuffled, max(1, shuffled.size // _CELLS))
    return p_value(observed, np.concatenate([spearman_of_rows(a[None], b[rows], weight) for rows in parts]))


def nearest_measures(closeness: Floats, weight: Floats | None = None, resamples: int = 2_000) -> tuple[Floats, Mask]:
    """Return how close K measures of similarity are to human ratings, and which are not worse than the best measure.

    The test is Hansen's model confidence set in one step. A measure is worse if its studentized distance from the best
    measure exceeds the 95 % quantile, over bootstrap samples of items, of the largest studentized deviation of all
    distances. ``closeness`` is (N, K) 1 - |measure - human rating| of each item; ``weight`` are (N,) weights of items,
    with mean 1. The result is (K,) weighted mean closeness, and the (K,) mask of measures not significantly worse.
    """
    n = len(closeness)
    means = np.average(closeness, axis=0, weights=weight)
    drawn = (random_numbers(_NEAREST_STREAM, (resamples, n)) % np.uint64(n)).astype(np.int64)
    frequency = np.stack([np.bincount(row, minlength=n) for row in drawn]) / n
    if weight is not None:
        frequency = frequency * weight / (frequency @ weight)[:, None]
    distance = closeness[:, [int(means.argmax())]] - closeness
    mean_distance = np.average(distance, axis=0, weights=weight)
    resampled = frequency @ distance
    error = resampled.std(axis=0)
    varies = error > 0
    studentized = np.zeros_like(resampled)
    studentized[:, varies] = (resampled - mean_distance)[:, varies] / error[varies]
    limit = np.quantile(studentized.max(axis=1), 0.95)
    return means, np.where(varies, mean_distance <= limit * error, mean_distance == 0)
