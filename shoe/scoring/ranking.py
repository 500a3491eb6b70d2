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
from shoe.protocols.options import Interpolation, Ties
from shoe.scoring.average_precision import average_precision
from shoe.scoring.tied_orders import TiedList

_MOST_LISTED_ORDERS = 5040


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Average precision per class; K classes.

    Attributes:
        ap: (K,) values in 0..1; 0 where a class has no truths, which is not looked at.
        worst, best: (K,) AP in the worst and the best order of tied entries (``Ties.EXPECTED``; else equal to ``ap``).
        error: (K,) standard error of ``ap`` from drawn orders; 0 where exact.
        recall: (K,) credit of the whole list by truths, 0..1.
        entries: (K,) number of entries.
        tied: number of entries that share class and score with another entry, in classes with truths.
    """

    ap: Floats
    worst: Floats
    best: Floats
    error: Floats
    recall: Floats
    entries: Indices
    tied: int


def class_scores(
    category: NDArray[np.integer],
    score: Floats,
    credit: Floats,
    truths: Indices,
    *,
    interpolation: Interpolation,
    ties: Ties,
    epsilon: float = 0.0,
) -> ClassScores:
    """Average precision of every class.

    Args:
        category: (n,) class of each entry, 0 to K - 1.
        score: (n,) confidence.
        credit: (n,) 0 to 1; a false positive has 0.
        truths: (K,) ground truths per class.
        interpolation: how a curve becomes a number.
        ties: the order of equal scores.
        epsilon: see :func:`average_precision`.
    """
    classes = len(truths)
    by_class = np.argsort(category.astype(np.uint16) if classes <= 1 << 16 else category, kind="stable")
    entries = np.bincount(category, minlength=classes)
    ends = np.cumsum(entries)
    score, credit = score[by_class], credit[by_class]
    ap, worst, best, error, recall = np.zeros((5, classes))
    tied = 0
    certain: list[tuple[int, Floats, Floats]] = []
    for k in np.flatnonzero((entries > 0) & (truths > 0)).tolist():
        part = slice(ends[k] - entries[k], ends[k])
        ascending = np.sort(score[part])
        tied += _number_tied(ascending)
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
        elif ties is not Ties.EXPECTED:
            certain.append((k, *_by_position(score[part], credit[part], ties)))
        else:
            order = np.lexsort((-gains, -gained))
            ranked = TiedList.of(len(ascending) - right[order], equal[order], gains[order])
            ap[k], worst[k], best[k], error[k] = _over_orders(ranked, k, truths[k : k + 1], interpolation, epsilon)
    which = [k for k, _, _ in certain]
    ap[which] = average_precision(*_padded(certain), truths[which], interpolation, epsilon)
    worst[which] = best[which] = ap[which]
    return ClassScores(ap, worst, best, error, recall, entries, tied)


def mean_over(values: Floats, mask: Mask) -> float | None:
    """Mean of the masked values; None, not 0 or NaN, where there are none."""
    return float(values[mask].mean()) if mask.any() else None


def _over_orders(
    ranked: TiedList, number: int, truths: Indices, interpolation: Interpolation, epsilon: float
) -> tuple[float, float, float, float]:
    """Mean of AP over the orders of a list, AP in the worst and the best order, and the mean's standard error."""
    listable = ranked.orders <= _MOST_LISTED_ORDERS
    orders = ranked.listed() if listable else ranked.drawn(number)
    values = average_precision(*orders, truths, interpolation, epsilon)
    worst = best = values.mean()
    if ranked.groups:
        worst, best = average_precision(*ranked.extremes(), truths, interpolation, epsilon)
    if listable:
        return values.mean(), worst, best, 0.0
    mirrored = values.reshape(-1, 2).mean(axis=1)
    return values.mean(), worst, best, mirrored.std(ddof=1) / math.sqrt(len(mirrored))


def _padded(lists: list[tuple[int, Floats, Floats]]) -> tuple[Floats, Floats]:
    """Ranks and credits of lists as matrices, shorter lists filled with places at infinity."""
    longest = max((len(rank) for _, rank, _ in lists), default=0)
    ranks, credits_ = np.full((len(lists), longest), np.inf), np.zeros((len(lists), longest))
    for row, (_, rank, credit) in enumerate(lists):
        ranks[row, : len(rank)] = rank
        credits_[row, : len(rank)] = credit
    return ranks, credits_


def _number_tied(ascending: Floats) -> int:
    equal = ascending[1:] == ascending[:-1]
    if not equal.any():
        return 0
    runs = int(equal[0]) + int((equal[1:] & ~equal[:-1]).sum())
    return int(equal.sum()) + runs


def _by_position(score: Floats, credit: Floats, ties: Ties) -> tuple[Floats, Floats]:
    """(r,) ranks and credits of the positives where ties keep, or reverse, the order of the entries."""
    order = np.argsort(score, kind="stable")[::-1] if ties is Ties.REVERSED else np.argsort(-score, kind="stable")
    ranked = credit[order]
    rank = np.flatnonzero(ranked)
    return (rank + 1).astype(np.float64), ranked[rank]
