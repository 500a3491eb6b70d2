"""Who comes first: predictions by score, and the best of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.ragged import first_of_each


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Predictions by descending score; of equals the first comes first.

    Attributes:
        by_rank: (p,) the predictions in that order.
        rank: (p,) place of each prediction in it, from 0.
    """

    by_rank: Indices
    rank: Indices

    @classmethod
    def of(cls, score: Floats) -> Order:
        """Sort predictions."""
        by_rank = np.argsort(-score, kind="stable")
        rank = np.empty(len(score), np.int64)
        rank[by_rank] = np.arange(len(score))
        return cls(by_rank, rank)

    def best_of(self, prediction: Indices, truth: Indices, present: Indices) -> Indices:
        """Find the best-scored prediction of each truth.

        Args:
            prediction: (c,) candidates.
            truth: (c,) the truth that each is a candidate for.
            present: (t,) a further candidate of each truth; -1 for none.

        Returns:
            (t,) the best of all; -1 where there is none.
        """
        nobody = len(self.rank)
        rank = np.append(self.rank, nobody)[present]
        np.minimum.at(rank, truth, self.rank[prediction])
        best: Indices = np.append(self.by_rank, -1)[rank]
        return best


def runs(sorted_groups: Indices) -> tuple[Indices, Indices]:
    """First element and length of each run of equal values."""
    start = np.flatnonzero(first_of_each(sorted_groups))
    return start, np.diff(start, append=len(sorted_groups))


def largest_of_each(sorted_groups: Indices, value: Floats) -> Indices:
    """Index of the largest value of each run of equal groups; the first of equals."""
    start, size = runs(sorted_groups)
    if len(start) == 0:
        return start
    largest = np.flatnonzero(value == np.repeat(np.maximum.reduceat(value, start), size))
    return largest[first_of_each(sorted_groups[largest])]
