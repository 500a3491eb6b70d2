"""Average precision (AP) of ranked lists whose entries have credits in 0..1, by all usual interpolation rules.

An entry is a prediction; its credit is 0 for a false positive. AP depends only on entries with credit above 0, because
recall is constant and precision falls between two of them. A list is therefore stored as the ranks and credits of
these entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.core.arrays import AnyInts, Floats, Indices, Mask, expand, random_numbers, runs, stable_order

_PAIRS = 128  # number of random orders of tied entries per list; the mirror image of each order is used too


@dataclass(frozen=True, slots=True, eq=False)
class TiedList:
    """A ranked list of predictions (entries), in which some entries with equal scores have no fixed order.

    The rank of an entry is certain if its score is unique in the list, or if all entries with this score have the same
    credit. All other entries form groups of equal scores, whose members may take any rank of the group.
    """

    # rank, credit: 1-based ranks and credits of the entries with a credit above 0 and a certain rank
    rank: Floats
    credit: Floats
    # tied entries whose order changes AP: number of entries above the group, size of the group, and credits above 0
    groups: list[tuple[int, int, Floats]]

    @classmethod
    def from_counts(cls, above: Indices, equal: Indices, credit: Floats) -> TiedList:
        """Build the ranked list from its r entries (predictions) with a credit above 0.

        ``above`` and ``equal`` are the (r,) numbers of entries with a higher score, ascending, and with the same score,
        the entry included; ``credit`` descends within one score.
        """
        starts = np.flatnonzero(np.diff(above, prepend=-1))
        members = np.diff(starts, append=len(above))
        lowest = credit[starts + members - 1]
        certain = (members == equal[starts]) & (credit[starts] == lowest)
        mask = np.repeat(certain, members)
        position = np.arange(len(above)) - np.repeat(starts, members)
        groups = [
            (int(above[s]), int(equal[s]), credit[s : s + m])
            for s, m in zip(starts[~certain], members[~certain], strict=True)
        ]
        return cls((above + position + 1.0)[mask], credit[mask], groups)

    @property
    def orders(self) -> int:
        """Number of ways to place entries with a credit above 0 on the ranks of their groups; 1 without groups."""
        return math.prod(math.perm(size, len(credit)) for _, size, credit in self.groups)

    def all_orders(self) -> tuple[Floats, Floats]:
        """Return (orders, entries) ranks, ascending, and credits of entries with credit, one row per order of ties."""
        if not self.groups:
            return self.rank[None], self.credit[None]
        positions = [np.array(list(permutations(range(size), len(credit)))) for _, size, credit in self.groups]
        which = np.indices([len(p) for p in positions]).reshape(len(positions), -1)
        return self._matrix([p[w] for p, w in zip(positions, which, strict=True)])

    def random_orders(self, list_number: int) -> tuple[Floats, Floats]:
        """Return ranks and credits as in :meth:`all_orders`, for 256 random orders; ``list_number`` is the seed."""
        positions = []
        for number, (_, size, credit) in enumerate(self.groups):
            drawn = _distinct_positions((list_number << 16) + number, size, len(credit))
            positions.append(np.stack([drawn, size - 1 - drawn], axis=1).reshape(2 * _PAIRS, -1))
        return self._matrix(positions)

    def _matrix(self, positions: list[Indices]) -> tuple[Floats, Floats]:
        of_groups = [above + 1.0 + p for (above, _, _), p in zip(self.groups, positions, strict=True)]
        rank = np.concatenate([np.tile(self.rank, (len(positions[0]), 1)), *of_groups], axis=1)
        credit = np.concatenate([self.credit, *(credit for _, _, credit in self.groups)])
        order = np.argsort(rank, axis=1)
        return np.take_along_axis(rank, order, axis=1), credit[order]


def _distinct_positions(stream: int, size: int, members: int) -> Indices:
    """Return (_PAIRS, members) random positions below ``size``, all different in a row; ``stream`` is the seed."""
    if members * members > 2 * size:
        return np.argsort(random_numbers(stream, (_PAIRS, size)), axis=1)[:, :members]
    # Floyd's algorithm: a position already taken is replaced by the last one of those allowed so far.
    numbers = random_numbers(stream, (_PAIRS, 2 * members))
    chosen = np.empty((_PAIRS, members), np.int64)
    for member in range(members):
        last = size - members + member
        position = (numbers[:, member] % np.uint64(last + 1)).astype(np.int64)
        taken = (chosen[:, :member] == position[:, None]).any(axis=1)
        chosen[:, member] = np.where(taken, last, position)
    return np.take_along_axis(chosen, np.argsort(numbers[:, members:], axis=1), axis=1)


EPSILON = 1e-8  # added to the denominators of precision and recall: Algorithm 1 (SHOE supplement), lines 34-38
_CELLS = 1 << 12  # number of ranks that are computed at once, so that work arrays fit in the processor's cache
GRID_TOLERANCE = 1e-12  # fractional recall reaches a threshold of a grid if it is at most this much below


_STEP = np.arange(11)
GRIDS: dict[Interpolation, Floats] = {
    Interpolation.ELEVEN_ARANGE: np.arange(0, 1.1, 0.1),
    Interpolation.ELEVEN_LINSPACE: np.where(_STEP < 6, _STEP * 0.1, 1 - (10 - _STEP) * 0.1),
    Interpolation.ELEVEN: _STEP / 10,
    Interpolation.HUNDRED_ONE: np.arange(101) / 100,
}
"""Recall thresholds of the interpolations that have a grid."""


def average_precision(
    rank: Floats, label: Floats, truths: Indices, interpolation: Interpolation, epsilon: float
) -> Floats:
    """Return the (lists,) average precision, 0..1, of ranked lists, one per row.

    Args:
        rank: (lists, positives) 1-based ranks of entries with credit, ascending; infinite at the end of short rows.
        label: (lists, positives) credit of the entry at each rank, 0 to 1; 0 for infinite ranks.
        truths: (lists,) number of ground truths, at least 1; (1,) if the number is the same for all lists.
        epsilon: constant added to the denominators of precision and recall. Rules with a grid of recall thresholds
            subtract it from the thresholds instead, because sums of fractional credits are rounded.
    """
    if rank.shape[1] == 0:
        return np.zeros(len(rank))
    if (parts := min(rank.size // _CELLS, len(rank) // 24)) > 1:
        split = (np.array_split(each, parts) for each in (rank, label, np.broadcast_to(truths, len(rank))))
        return np.concatenate(
            [average_precision(r, c, t, interpolation, epsilon) for r, c, t in zip(*split, strict=True)]
        )
    credit = np.cumsum(label, axis=1)
    if interpolation in GRIDS:
        recall, grid = credit / truths[:, None], GRIDS[interpolation] - epsilon
        best = np.concatenate([_envelope(credit / rank), np.zeros((len(rank), 1))], axis=1)
        total, row = np.zeros(len(rank)), np.arange(len(rank))
        for threshold in grid:
            total += best[row, (recall < threshold).sum(axis=1, dtype=np.int32)]
        return total / len(grid)
    precision = credit / (rank + epsilon)
    gain = label / (truths[:, None] + epsilon)
    if interpolation is Interpolation.ALL_POINTS:
        return np.asarray((gain * _envelope(precision)).sum(axis=1))
    before = np.maximum(rank - 1, 1)
    previous = np.concatenate([np.zeros((len(rank), 1)), credit[:, :-1]], axis=1) / (before + epsilon)
    previous = np.where(rank == 1, precision, previous)
    return np.asarray((gain * (precision + previous) / 2).sum(axis=1))


def _envelope(precision: Floats) -> Floats:
    return np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]


_MOST_LISTED_ORDERS = 5040  # largest number of orders of ties for which the expectation is computed exactly: 7!


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Average precision of K ranked lists, one per class."""

    ap: Floats  # (K,) values in 0..1; 0 for classes without ground truth
    error: Floats  # (K,) standard error of ``ap`` if it was estimated from random orders; 0 if exact
    # (K,) total credit of each list divided by the number of ground truths, 0..1; 0 without ground truth
    recall: Floats
    entries: Indices  # (K,) number of entries (predictions) in each list
    tied: int  # number of entries that have the score of another entry of their class, in classes with ground truth
    ties_matter: bool  # whether tied entries differ in credit, so that their order changes AP


def ranked_lists(
    category: AnyInts,
    score: Floats,
    credit: Floats,
    truths: Indices,
    ap: Interpolation,
    ties: Ties,
    epsilon: float = 0.0,
) -> RankedLists:
    """Rank the predictions of each class by score, and return AP and recall per class; both are 0 without ground truth.

    Args:
        category: (n,) class of each prediction (entry), 0 to K - 1.
        credit: (n,) 0 to 1; a false positive has 0.
        truths: (K,) number of ground truths per class.
        ap: interpolation of the precision-recall curve.
        ties: order of equal scores: input order, reversed input order, or the mean AP over all orders, which is
            estimated from random orders if a class has more than 5,040 orders.
        epsilon: constant added to the denominators of precision and recall (:func:`average_precision`).
    """
    classes = len(truths)
    by_class = stable_order(category)
    entries = np.bincount(category, minlength=classes)
    ends = np.cumsum(entries)
    score, credit = score.take(by_class), credit.take(by_class)
    values, error, recall = np.zeros((3, classes))
    tied, ties_matter = 0, False
    certain: list[tuple[int, Floats, Floats]] = []
    for k in np.flatnonzero((entries > 0) & (truths > 0)).tolist():
        part = slice(ends[k] - entries[k], ends[k])
        ascending = np.sort(score[part])
        tied += (tied_here := _number_tied(ascending[1:] == ascending[:-1]))
        positive = np.flatnonzero(credit[part])
        if len(positive) == 0:
            continue
        gained, gains = score[part][positive], credit[part][positive]
        recall[k] = gains.sum() / truths[k]
        right = np.searchsorted(ascending, gained, "right")
        equal = right - np.searchsorted(ascending, gained, "left") if tied_here else np.ones_like(right)
        if equal.max() == 1:
            order = np.argsort(-right)
            certain.append((k, (len(ascending) - right[order] + 1).astype(np.float64), gains[order]))
            continue
        ties_matter = ties_matter or _ties_with_other_credit(right, equal, gains)
        if ties is not Ties.EXPECTED:
            by_score = np.argsort(-score[part], kind="stable")
            if ties is Ties.REVERSED:
                by_score = np.argsort(score[part], kind="stable")[::-1]
            in_order = credit[part][by_score]
            above = np.flatnonzero(in_order)
            certain.append((k, (above + 1).astype(np.float64), in_order[above]))
        else:
            order = np.lexsort((-gains, -gained))
            ranked = TiedList.from_counts(len(ascending) - right[order], equal[order], gains[order])
            listable = ranked.orders <= _MOST_LISTED_ORDERS
            orders = ranked.all_orders() if listable else ranked.random_orders(k)
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
    """Ranking of p predictions (entries) of K classes, to compute AP again after entries are removed or change class.

    The error analysis uses it to compute AP after one type of error is corrected.
    """

    rank: Indices  # (p,) rank of each entry among all p entries, from 0
    ranked: Indices  # (r,) indices of the entries that have a class, by class and then by rank
    keys: Indices  # (r,) sort key of each entry in ``ranked``, ascending: class * p + rank
    starts: Indices  # (K + 1,) position in ``ranked`` where each class begins

    @classmethod
    def from_ranks(cls, category: AnyInts, by_rank: Indices, classes: int) -> FixedRanking:
        """Build the ranking of K classes from the order of all p entries (predictions) by score.

        ``category`` is the (p,) class of each entry, -1 without a class; ``by_rank`` are the (p,) indices of the
        entries by descending score.
        """
        rank = np.empty(len(by_rank), np.int64)
        rank[by_rank] = np.arange(len(by_rank))
        by_rank = by_rank[category[by_rank] >= 0]
        ranked = by_rank[stable_order(category[by_rank])]
        own = category[ranked].astype(np.int64)
        return cls(rank, ranked, own * len(rank) + rank[ranked], np.searchsorted(own, np.arange(classes + 1)))

    def false_before(self, false: Mask) -> NDArray[np.int32]:
        """Return the (r + 1,) number of false positives before each index of ``ranked``; ``false`` is a (p,) mask."""
        before = np.zeros(len(self.ranked) + 1, np.int32)
        np.cumsum(false[self.ranked], out=before[1:])
        return before

    def position(self, category: AnyInts, rank: Indices) -> Indices:
        """Return how many entries in ``ranked``, sorted by class, then rank, come before each given (class, rank)."""
        return np.searchsorted(self.keys, category * np.int64(len(self.rank)) + rank)

    def lists(self, false: Mask, true: Indices, category: AnyInts, truths: Indices, ap: Interpolation) -> RankedLists:
        """Return AP and recall of each class if only the given entries (predictions) are ranked; ties are not counted.

        ``false`` is the (p,) mask of the false positives of their own class. ``true`` are the (q,) indices of the
        entries with credit 1, and ``category`` is the class in which each is a true positive; ``truths`` is the (K,)
        number of ground truths.
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
        while shorter < longest:  # lists of similar length together, as a matrix that ends in infinite ranks
            limit = max(8, 4 * shorter)
            k = np.flatnonzero((true_per_class > shorter) & (true_per_class <= limit))
            which, place = expand(np.zeros(len(k), np.int64), true_per_class[k])
            lists = np.full((len(k), true_per_class[k].max(initial=0)), np.inf)
            lists[which, place] = ranks[first[k][which] + place]
            values[k] = average_precision(lists, np.isfinite(lists).astype(np.float64), truths[k], ap, 0.0)
            shorter = limit
        recall = true_per_class / np.maximum(truths, 1)
        return RankedLists(values, np.zeros(classes), recall, false_per_class + true_per_class, 0, False)


def _ties_with_other_credit(place: Indices, equal: Indices, gains: Floats) -> bool:
    # ``place`` is the same for entries of equal scores; ``equal`` counts entries of this score, also without credit.
    order = np.argsort(place, kind="stable")
    start, size = runs(place[order])
    even = np.maximum.reduceat(gains[order], start) == np.minimum.reduceat(gains[order], start)
    return not bool((even & (size == equal[order[start]])).all())


def number_tied(category: AnyInts, score: Floats) -> int:
    """Return the number of predictions whose score equals the score of another prediction of their class."""
    by_class = np.split(score.take(stable_order(category)), np.cumsum(np.bincount(category, minlength=1))[:-1])
    return sum(_number_tied(np.diff(np.sort(scores)) == 0) for scores in by_class)


def _number_tied(equal: Mask) -> int:
    # ``equal``: whether the sorted entries i and i + 1 are tied; mostly none are.
    return int((np.append(equal, False) | np.append(False, equal)).sum()) if equal.any() else 0
