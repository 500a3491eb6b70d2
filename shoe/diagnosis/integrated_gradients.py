"""Which match explains how much of the SHOE-mAP that a map adds to exact matches of words: integrated gradients.

All similarities grow together, in a straight line, from those of exact matches to the map's, and each match is given
what its own growth adds to the area under its class's curve on the way (Aumann and Shapley's rule of sharing a cost).
So the shares of all add up to the whole, matches that play the same part have the same share, and one whose similarity
does not grow has none. Scores stay, and with them the order of a class's entries.
"""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.seeded import random_numbers
from shoe.protocols.options import Interpolation, Ties
from shoe.scoring.average_precision import EPSILON
from shoe.scoring.scorer import Matches, Scorer

_STEPS = 4
"""Points of the way at which the gradient is taken: it is linear but for where an envelope changes hands."""
_ORDERS = 32
_NUMBERS = 1 << 19
"""Numbers in a work array at most, where orders of ties are drawn: 4 MB."""


def shares_of(scorer: Scorer, matches: Matches, start: Floats) -> Floats:
    """What each match adds to SHOE-mAP between two sets of similarities.

    Args:
        scorer: of the predictions; under rules with a grid of recalls, shares are those of all points of the curve.
        matches: who is matched with whom, and the similarities at the end; t ground truths.
        start: (t,) the similarities at the start, none above that at the end.

    Returns:
        (t,) gains; their sum is the difference up to the error of the integral, and of the orders of ties that are
        drawn.
    """
    gains = np.zeros(len(start))
    truth, false = np.flatnonzero(matches.prediction >= 0), np.flatnonzero(matches.false_positive_of >= 0)
    by_class = np.argsort(scorer.hoi[truth], kind="stable"), np.argsort(matches.false_positive_of[false], kind="stable")
    truth, false = truth[by_class[0]], false[by_class[1]]
    classes = np.arange(len(scorer.truths) + 1)
    of_truth = np.searchsorted(scorer.hoi[truth], classes)
    of_false = np.searchsorted(matches.false_positive_of[false], classes)
    for k in np.flatnonzero(scorer.in_mean & (scorer.truths > 0)).tolist():
        own = truth[of_truth[k] : of_truth[k + 1]]
        if (matches.sigma[own] > start[own]).any():
            rank = _ranks(scorer, own, matches, matches.unmatched[false[of_false[k] : of_false[k + 1]]], k)
            slope = gradients(rank, start[own], matches.sigma[own], int(scorer.truths[k]), scorer.options.ap)
            gains[own] = (matches.sigma[own] - start[own]) * slope
    total: Floats = gains / max(1, scorer.in_mean.sum())
    return total


def _ranks(scorer: Scorer, truth: Indices, matches: Matches, false: Indices, number: int) -> Floats:
    """(orders, m) ranks of a class's matches among its entries; several where scores tie and orders are drawn."""
    rows = np.concatenate([matches.prediction[truth], false])
    score = scorer.task.predictions.score[rows]
    ascending = np.sort(score)
    above = len(rows) - np.searchsorted(ascending, score, "right")
    equal = len(rows) - np.searchsorted(ascending, score, "left") - above
    m = len(truth)
    if equal[:m].max() == 1:
        certain: Floats = above[None, :m] + 1.0
        return certain
    if scorer.options.ties is Ties.INPUT:
        image = np.concatenate([scorer.truth_image[truth], scorer.task.image[false]])
        row = np.concatenate([truth, len(scorer.hoi) + false])
        order = np.lexsort((row, image, above))[None, :]
    else:
        half = min(_ORDERS, max(8, _NUMBERS // (_STEPS * len(rows)))) // 2
        drawn = random_numbers(number, (half, len(rows))) / 2.0**64
        order = np.argsort(above + np.concatenate([drawn, 1 - drawn]), axis=1)
    rank = np.empty(order.shape)
    np.put_along_axis(rank, order, np.arange(1.0, len(rows) + 1)[None], axis=1)
    return rank[:, :m]


def gradients(rank: Floats, start: Floats, end: Floats, truths: int, interpolation: Interpolation) -> Floats:
    """How the area under a curve answers to each credit, averaged over orders and over a straight way.

    Args:
        rank: (orders, m) 1-based ranks of a class's matches in its ranking.
        start: (m,) their credits where the way starts.
        end: (m,) where it ends.
        truths: ground truths of the class.
        interpolation: ``TRAPEZOID``, the curve itself; by any other rule, its envelope.

    Returns:
        (m,) mean derivatives of AP (``TRAPEZOID`` or ``ALL_POINTS``).
    """
    order = np.argsort(rank, axis=1)
    ranks = np.take_along_axis(rank, order, axis=1)
    steps = (np.arange(_STEPS) + 0.5)[:, None] / _STEPS
    credit = (start + steps * (end - start))[:, order]
    slopes = (_of_curve if interpolation is Interpolation.TRAPEZOID else _of_envelope)(ranks, credit)
    by_rank = slopes.mean(axis=0) / (truths + EPSILON)
    found = np.empty_like(by_rank)
    np.put_along_axis(found, order, by_rank, axis=1)
    mean: Floats = found.mean(axis=0)
    return mean


def _of_envelope(ranks: Floats, credit: Floats) -> Floats:
    """(steps, orders, m) derivatives of the area under the envelope, times the number of ground truths.

    Args:
        ranks: (orders, m) ascending.
        credit: (steps, orders, m) of the entries at these ranks.
    """
    m = ranks.shape[1]
    backwards = (np.cumsum(credit, axis=2) / (ranks + EPSILON))[:, :, ::-1]
    envelope = np.maximum.accumulate(backwards, axis=2)
    # The entry, at this rank or after it, whose precision is the envelope's.
    peak = np.maximum.accumulate(np.where(backwards == envelope, np.arange(m), 0), axis=2)
    peak, envelope = m - 1 - peak[:, :, ::-1], envelope[:, :, ::-1]
    # A credit counts in the recall that it adds, and in the precision of every entry whose peak it stands before.
    weight = credit / np.take_along_axis(np.broadcast_to(ranks + EPSILON, peak.shape), peak, axis=2)
    row = np.arange(peak.shape[0] * peak.shape[1])[:, None] * m
    onto = np.bincount((peak.reshape(-1, m) + row).ravel(), weight.ravel(), minlength=peak.size).reshape(peak.shape)
    return envelope + _from_here_on(onto)


def _of_curve(ranks: Floats, credit: Floats) -> Floats:
    """The same of the area under the straight lines between the points of the curve."""
    # Precision at an entry and at the one before it, each half; the first entry's counts for both.
    first = ranks == 1
    here = np.where(first, 1, 0.5) / (ranks + EPSILON)
    before = np.where(first, 0, 0.5) / (np.maximum(ranks - 1, 1) + EPSILON)
    found = np.cumsum(credit, axis=2)
    height = found * here + (found - credit) * before
    # A credit counts in the recall that it adds, in its own precision, and in both of every entry after it.
    return height + _from_here_on(credit * (here + before)) - credit * before


def _from_here_on(values: Floats) -> Floats:
    """Sums of each value and those after it."""
    return np.cumsum(values[:, :, ::-1], axis=2)[:, :, ::-1]
