"""Spearman's correlation of many rows at once, where an item may stand for several of a population."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Mask


class RankMoments(NamedTuple):
    """(B,) covariance of the ranks of two rows, and variances of those of the first and of the second."""

    both: Floats
    first: Floats
    second: Floats

    @property
    def correlation(self) -> Floats:
        """(B,) Spearman's; NaN where either row has but one value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = np.clip(self.both / np.sqrt(self.first) / np.sqrt(self.second), -1, 1)
        known: Floats = np.where((self.first > 0) & (self.second > 0), found, np.nan)
        return known


def rank_moments(a: NDArray[Any], b: NDArray[Any], weight: Floats, given: Mask | None = None) -> RankMoments:
    """Rank the items of each row, equal ones at the middle of what they stand for, and compare.

    With weights of 1 these are the usual mean ranks, and their products are exact. With weights 1 / (probability that
    the item was drawn) an item has the rank that it would have, as far as the sample says, among the population.

    Args:
        a: (B, n) or (1, n) numbers.
        b: (B, n) or (1, n) numbers.
        weight: (B, n) or (1, n) of each item, above 0.
        given: (B, n) items that count; None for all.
    """
    weight = np.broadcast_to(weight, np.broadcast_shapes(a.shape, b.shape, weight.shape))
    weight = weight if given is None else np.where(given, weight, 0.0)
    x, y = middle_ranks(a, weight), middle_ranks(b, weight)
    sums = ((weight * product).sum(axis=1) for product in (x * y, x * x, y * y))
    with np.errstate(divide="ignore", invalid="ignore"):  # of one item
        factor = 1 / (np.count_nonzero(weight, axis=1) - 1)
        return RankMoments(*(factor * each for each in sums))


def middle_ranks(values: NDArray[Any], weight: Floats) -> Floats:
    """(B, n) weight of what is less, and half of what is equal, less half of all; values (B, n) or (1, n)."""
    sorted_by = np.argsort(values, axis=1, kind="stable" if values.dtype.itemsize < 4 else "quicksort")  # by radix
    order = np.broadcast_to(sorted_by, weight.shape)
    ordered = np.take_along_axis(np.broadcast_to(values, weight.shape), order, axis=1)
    below = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    total = below[:, -1:]
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # What is below a run of equal values, and what is below its end: carried over the run from its first, or last.
    start = np.where(first, np.concatenate([np.zeros((len(below), 1)), below[:, :-1]], axis=1), 0.0)
    start = np.maximum.accumulate(start, axis=1)
    last = np.concatenate([first[:, 1:], np.ones((len(first), 1), bool)], axis=1)
    end = np.minimum.accumulate(np.where(last, below, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(weight.shape)
    np.put_along_axis(ranks, order, (start + end - total) / 2, axis=1)
    return ranks


def weighted_spearman(a: Floats, b: Floats, weight: Floats) -> float | None:
    """Spearman's correlation of n items that stand for several each; None where one side has but one value."""
    if len(a) < 2:
        return None
    found = float(rank_moments(a[None], b[None], weight[None]).correlation[0])
    return None if np.isnan(found) else found
