"""Ranked lists of many classes, and their average precision with a policy for ties.

Entries (class, score, credit) of all classes come in one array. Each class's list is sorted by descending score; where
scores tie, a policy says what the order is (:class:`~shoe.protocols.options.Ties`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import expand, runs, stable_order
from shoe.protocols.options import Interpolation, Ties
from shoe.scoring.average_precision import average_precision
from shoe.scoring.tied_orders import TiedList

_MOST_LISTED_ORDERS = 5040


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Average precision of the lists of K classes.

    Attributes:
        ap: (K,) values in 0..1; 0 where a class has no truths.
        error: (K,) standard error of ``ap`` from drawn orders; 0 where exact.
        recall: (K,) credit of the whole list by truths, 0..1.
        entries: (K,) number of entries.
        tied: number of entries that share class and score with another entry, in classes with truths.
        ties_matter: whether entries of different credit are among those that tie, so that orders differ in AP.
    """

    ap: Floats
    error: Floats
    recall: Floats
    entries: Indices
    tied: int
    ties_matter: bool


def ranked_lists(
    category: NDArray[np.integer],
    score: Floats,
    credit: Floats,
    truths: Indices,
    ap: Interpolation,
    ties: Ties,
    epsilon: float = 0.0,
) -> RankedLists:
    """Rank the entries of every class.

    Args:
        category: (n,) class of each entry, 0 to K - 1.
        score: (n,) confidence.
        credit: (n,) 0 to 1; a false positive has 0.
        truths: (K,) ground truths per class.
        ap: how a curve becomes a number.
        ties: the order of equal scores.
        epsilon: see :func:`average_precision`.
    """
    classes = len(truths)
    by_class = stable_order(category)
    entries = np.bincount(category, minlength=classes)
    ends = np.cumsum(entries)
    score, credit = score[by_class], credit[by_class]
    values, error, recall = np.zeros((3, classes))
    tied, ties_matter = 0, False
    certain: list[tuple[int, Floats, Floats]] = []
    for k in np.flatnonzero((entries > 0) & (truths > 0)).tolist():
        part = slice(ends[k] - entries[k], ends[k])
        ascending = np.sort(score[part])
        tied += number_tied(ascending[1:] == ascending[:-1])
        positive = np.flatnonzero(credit[part])
        if len(positive) == 0:
            continue
        gained, gains = score[part][positive], credit[part][positive]
        recall[k] = gains.sum() / truths[k]
        right = np.searchsorted(ascending, gained, "right")
        equal = right - np.searchsorted(ascending, gained, "left")
        if equal.max() == 1:
            order = np.argsort(-right)
            certain.append((k, (len(ascending) - right[order] + 1).astype(np.float64), gains[order]))
            continue
        ties_matter = ties_matter or _differ(right, equal, gains)
        if ties is not Ties.EXPECTED:
            by_score = np.argsort(-score[part], kind="stable")
            if ties is Ties.REVERSED:
                by_score = np.argsort(score[part], kind="stable")[::-1]
            in_order = credit[part][by_score]
            above = np.flatnonzero(in_order)
            certain.append((k, (above + 1).astype(np.float64), in_order[above]))
        else:
            order = np.lexsort((-gains, -gained))
            ranked = TiedList.of(len(ascending) - right[order], equal[order], gains[order])
            listable = ranked.orders <= _MOST_LISTED_ORDERS
            orders = ranked.listed() if listable else ranked.drawn(k)
            of_orders = average_precision(*orders, truths[k : k + 1], ap, epsilon)
            values[k] = of_orders.mean()
            if not listable:
                mirrored = of_orders.reshape(-1, 2).mean(axis=1)
                error[k] = mirrored.std(ddof=1) / math.sqrt(len(mirrored))
    which = [k for k, _, _ in certain]
    longest = max((len(rank) for _, rank, _ in certain), default=0)
    ranks, credits_ = np.full((len(certain), longest), np.inf), np.zeros((len(certain), longest))
    for row, (_, rank, gains) in enumerate(certain):
        ranks[row, : len(rank)], credits_[row, : len(rank)] = rank, gains
    values[which] = average_precision(ranks, credits_, truths[which], ap, epsilon)
    return RankedLists(values, error, recall, entries, tied, ties_matter)


@dataclass(frozen=True, slots=True, eq=False)
class FixedRanking:
    """Entries ranked once, of which some may then go, or earn credit in another class; p entries, K classes.

    Of equal scores the first comes first. What oracles do to predictions is scored so in a fraction of the time.

    Attributes:
        rank: (p,) rank of each entry among all, from 0.
        ranked: (r,) the entries that are of a class, by class and then by rank.
        keys: (r,) class and rank of each as one number, ascending.
        starts: (K + 1,) where each class begins.
    """

    rank: Indices
    ranked: Indices
    keys: Indices
    starts: Indices

    @classmethod
    def of(cls, category: NDArray[np.integer], by_rank: Indices, classes: int) -> FixedRanking:
        """Rank entries.

        Args:
            category: (p,) class of each; -1 for none.
            by_rank: (p,) the entries by descending score.
            classes: K.
        """
        rank = np.empty(len(by_rank), np.int64)
        rank[by_rank] = np.arange(len(by_rank))
        by_rank = by_rank[category[by_rank] >= 0]
        ranked = by_rank[stable_order(category[by_rank])]
        own = category[ranked].astype(np.int64)
        return cls(rank, ranked, own * len(rank) + rank[ranked], np.searchsorted(own, np.arange(classes + 1)))

    def false_before(self, false: Mask) -> NDArray[np.int32]:
        """(r + 1,) number of false positives before each position in ``ranked``, from (p,) which entries are false."""
        before = np.zeros(len(self.ranked) + 1, np.int32)
        np.cumsum(false[self.ranked], out=before[1:])
        return before

    def position(self, category: NDArray[np.integer], rank: Indices) -> Indices:
        """Position in ``ranked`` that entries of some ranks have, or would have, in some classes."""
        return np.searchsorted(self.keys, category * np.int64(len(self.rank)) + rank)

    def lists(
        self, false: Mask, true: Indices, category: NDArray[np.integer], truths: Indices, ap: Interpolation
    ) -> RankedLists:
        """Score what is left.

        Args:
            false: (p,) entries that are false positives of their own class.
            true: (q,) entries with full credit; none of them is false too.
            category: (q,) the class of which each is a true positive.
            truths: (K,) ground truths per class.
            ap: how a curve becomes a number.
        """
        classes = len(truths)
        false_before = self.false_before(false)
        false_per_class = np.diff(false_before[self.starts])
        keys = np.sort(category * np.int64(len(self.rank)) + self.rank[true])
        own = keys // max(len(self.rank), 1)
        true_per_class = np.bincount(own, minlength=classes)
        first = np.cumsum(true_per_class) - true_per_class
        position = np.arange(len(keys)) - first[own] + 1
        ranks = position + false_before[np.searchsorted(self.keys, keys)] - false_before[self.starts[own]]
        values = np.zeros(classes)
        longest, shorter = true_per_class.max(initial=0), 0
        while shorter < longest:  # lists of about one length together, as a matrix that ends in infinities
            limit = max(8, 4 * shorter)
            k = np.flatnonzero((true_per_class > shorter) & (true_per_class <= limit))
            which, place = expand(np.zeros(len(k), np.int64), true_per_class[k])
            lists = np.full((len(k), true_per_class[k].max(initial=0)), np.inf)
            lists[which, place] = ranks[first[k][which] + place]
            values[k] = average_precision(lists, np.isfinite(lists).astype(np.float64), truths[k], ap, 0.0)
            shorter = limit
        recall = true_per_class / np.maximum(truths, 1)
        return RankedLists(values, np.zeros(classes), recall, false_per_class + true_per_class, 0, False)


def _differ(place: Indices, equal: Indices, gains: Floats) -> bool:
    """Whether any of m positives ties with an entry of another credit, by number and entries of its score."""
    order = np.argsort(place, kind="stable")
    start, size = runs(place[order])
    ordered = gains[order]
    even = np.maximum.reduceat(ordered, start) == np.minimum.reduceat(ordered, start)
    return not bool((even & (size == equal[order[start]])).all())


def number_tied(equal: Mask) -> int:
    """Number of entries with ties, from (n - 1,) whether each entry of a sorted list and the next one tie."""
    return int((np.append(equal, False) | np.append(False, equal)).sum())
