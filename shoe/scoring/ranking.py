"""Ranked lists of many classes, and their average precision with a policy for ties.

Entries (class, score, credit) of all classes come in one array. Each class's list is sorted by descending score; where
scores tie, a policy says what the order is (:class:`Ties`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoe.scoring.average_precision import Interpolation, average_precision
from shoe.scoring.tied_orders import TiedList

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_LISTED_ORDERS = 5040


class Ties(StrEnum):
    """What happens to entries of equal score."""

    INPUT = "input"
    """They keep the order in which they are given (a stable sort)."""
    REVERSED = "reversed"
    """They take the opposite order, as ``argsort()[::-1]`` gives it (THID)."""
    EXPECTED = "expected"
    """All their orders are equally likely and AP is its expectation: exact while the orders can be listed (5,040 a
    class), beyond that the mean over orders drawn with a fixed seed, whose standard error is reported."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Average precision per class; K classes.

    Attributes:
        ap: (K,) values in 0..1; 0 where a class has no truths (the caller leaves it out).
        worst, best: (K,) AP in the worst and the best order of tied entries (``Ties.EXPECTED``; else equal to ``ap``).
        error: (K,) standard error of ``ap`` from drawn orders; 0 where exact.
        recall: (K,) credit of the whole list by truths, 0..1.
        entries: (K,) number of entries.
        tied: number of entries that share class and score with another entry.
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
    for k in np.flatnonzero(entries):
        part = slice(ends[k] - entries[k], ends[k])
        ascending = np.sort(score[part])
        tied += _number_tied(ascending)
        positive = np.flatnonzero(credit[part])
        if truths[k] == 0 or len(positive) == 0:
            continue
        recall[k] = credit[part][positive].sum() / truths[k]
        gained = score[part][positive]
        right = np.searchsorted(ascending, gained, "right")
        equal = right - np.searchsorted(ascending, gained, "left")
        if ties is not Ties.EXPECTED or equal.max() == 1:
            if equal.max() == 1:
                rank, gains = _by_score(len(ascending) - right + 1, credit[part][positive])
            else:
                rank, gains = _by_position(score[part], credit[part], ties)
            ap[k] = average_precision(rank, gains, int(truths[k]), interpolation, epsilon)[0]
            worst[k] = best[k] = ap[k]
            continue
        order = np.lexsort((-credit[part][positive], -gained))
        ranked = TiedList.of(len(ascending) - right[order], equal[order], credit[part][positive[order]])
        listable = ranked.orders <= _MOST_LISTED_ORDERS
        values = average_precision(
            *(ranked.listed() if listable else ranked.drawn()), int(truths[k]), interpolation, epsilon
        )
        ap[k] = worst[k] = best[k] = values.mean()
        if ranked.groups:
            worst[k], best[k] = average_precision(*ranked.extremes(), int(truths[k]), interpolation, epsilon)
        if not listable:
            mirrored = values.reshape(-1, 2).mean(axis=1)
            error[k] = mirrored.std(ddof=1) / math.sqrt(len(mirrored))
    return ClassScores(ap, worst, best, error, recall, entries, tied)


def _number_tied(ascending: Floats) -> int:
    equal = ascending[1:] == ascending[:-1]
    if not equal.any():
        return 0
    runs = int(equal[0]) + int((equal[1:] & ~equal[:-1]).sum())
    return int(equal.sum()) + runs


def _by_score(rank: Indices, credit: Floats) -> tuple[Floats, Floats]:
    """(1, r) ranks and credits of positives whose scores nothing else has."""
    order = np.argsort(rank)
    return rank[order].astype(np.float64)[None], credit[order][None]


def _by_position(score: Floats, credit: Floats, ties: Ties) -> tuple[Floats, Floats]:
    """(1, r) ranks and credits of the positives where ties keep, or reverse, the order of the entries."""
    order = np.argsort(score, kind="stable")[::-1] if ties is Ties.REVERSED else np.argsort(-score, kind="stable")
    ranked = credit[order]
    rank = np.flatnonzero(ranked)
    return (rank + 1).astype(np.float64)[None], ranked[rank][None]
