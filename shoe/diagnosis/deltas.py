"""mAP of a state, fast: predictions are ranked once, and a fix only moves or removes some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.ragged import expand
from shoe.diagnosis.oracles import State
from shoe.diagnosis.scope import Scope
from shoe.protocols.options import StrictOptions
from shoe.scoring.average_precision import average_precision
from shoe.scoring.ranking import mean_over


class Means(NamedTuple):
    """Means over classes, or differences of such, as fractions; None where there is no class to average."""

    map: float | None
    map_rare: float | None
    map_non_rare: float | None

    def minus(self, other: Means) -> Means:
        """The differences; None where either is."""
        return Means(*(None if a is None or b is None else a - b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """All predictions that are of a class, by class and then by descending score.

    Attributes:
        scope, options: what is ranked, and how classes are averaged.
        ranked: (r,) the predictions that are of a class.
        keys: (r,) class and rank of each as one number, ascending.
        starts: (K + 1,) where each class begins.
    """

    scope: Scope
    options: StrictOptions
    ranked: Indices
    keys: Indices
    starts: Indices

    @classmethod
    def of(cls, scope: Scope, options: StrictOptions) -> Ranking:
        """Rank the predictions of a scope."""
        by_score = scope.by_rank[scope.hoi[scope.by_rank] >= 0]
        ranked = by_score[np.argsort(scope.hoi[by_score].astype(np.uint16), kind="stable")]
        hoi = scope.hoi[ranked].astype(np.int64)
        keys = hoi * len(scope.rank) + scope.rank[ranked]
        starts = np.searchsorted(hoi, np.arange(len(scope.task.truth.classes) + 1))
        return cls(scope, options, ranked, keys, starts)

    def means(self, state: State) -> Means:
        """Score a state (protocols.md 8.5; IJCV paper 2.3)."""
        scope, options, classes = self.scope, self.options, self.scope.task.truth.classes
        false = state.kept.copy()
        false[state.true_positives] = False
        false_before = np.concatenate([[0], np.cumsum(false[self.ranked], dtype=np.int32)])
        false_per_class = np.diff(false_before[self.starts])

        found = np.flatnonzero(state.found_by >= 0)
        rank = self.scope.rank
        keys = np.sort(scope.truth_hoi[found] * np.int64(len(rank)) + rank[state.found_by[found]])
        hoi = keys // max(len(rank), 1)
        true_per_class = np.bincount(hoi, minlength=len(classes))
        first = np.cumsum(true_per_class) - true_per_class
        place = np.arange(len(keys)) - first[hoi] + 1
        ranks = place + false_before[np.searchsorted(self.keys, keys)] - false_before[self.starts[hoi]]

        truths = np.bincount(scope.truth_hoi[state.counted], minlength=len(classes))
        ap = np.zeros(len(classes))
        for k, lists in _padded(ranks, first, true_per_class):
            ap[k] = average_precision(lists, np.isfinite(lists).astype(np.float64), truths[k], options.ap, 0.0)
        in_mean = truths > 0
        entries = false_per_class + true_per_class
        if options.zero_tp == "skip":
            in_mean = in_mean & ((entries == 0) | (true_per_class > 0))
        in_parts = in_mean & (entries > 0) if options.unpredicted == "full-only" else in_mean
        return Means(
            mean_over(ap, in_mean), mean_over(ap, in_parts & classes.rare), mean_over(ap, in_parts & ~classes.rare)
        )


def _padded(ranks: Indices, first: Indices, count: Indices) -> Iterator[tuple[Indices, Floats]]:
    """Lists of about one length together: their classes, and their ranks as a matrix that ends in infinities."""
    longest = count.max(initial=0)
    shorter = 0
    while shorter < longest:
        limit = max(8, 4 * shorter)
        k = np.flatnonzero((count > shorter) & (count <= limit))
        which, place = expand(np.zeros(len(k), np.int64), count[k])
        lists = np.full((len(k), count[k].max(initial=0)), np.inf)
        lists[which, place] = ranks[first[k][which] + place]
        yield k, lists
        shorter = limit
