"""Who is matched with whom where the order of rows has a say: the printed loop of SHOE, and others (A1, A2)."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.ragged import first_of_each, stable_order
from shoe.protocols.options import Assign


def assign(
    truth: Indices,
    prediction: Indices,
    sigma: Floats,
    preference: Floats,
    image: Indices,
    turn: Indices,
    score: Floats,
    method: Assign,
) -> Indices:
    """Choose pairs so that each ground truth and each prediction is in at most one.

    Args:
        truth: (c,) ground truth of each candidate pair, ascending.
        prediction: (c,) its prediction, ascending for one ground truth.
        sigma: (c,) similarity of each pair.
        preference: (c,) decides between equal sigma: the higher first, then the lower row of the prediction.
        image: (t,) image of each ground truth, ascending.
        turn: (t,) its index among the ground truths of its image.
        score: (c,) confidence of each pair's prediction.
        method: ``greedy-gt`` (Algorithm 1, line 9: ground truths choose in file order), ``hungarian`` (most pairs, then
            the largest total sigma), or ``confidence`` (predictions choose, the most confident first); ``best-first``
            is in :mod:`shoe.matching.best_first`.

    Returns:
        Ascending indices of the chosen pairs.
    """
    if len(sigma) == 0:
        return np.zeros(0, np.int64)
    if method == "greedy-gt":
        return _in_turns(truth, prediction, turn[truth], sigma, preference)
    image = image[truth]
    if method == "confidence":
        order = np.lexsort((truth, prediction, -score, image))
        chooser, chosen = prediction[order], truth[order]
        # Which in its image each chooser is: 0 for the first.
        first = first_of_each(image[order])
        number = np.cumsum(first_of_each(chooser) | first) - 1
        start = np.flatnonzero(first)
        turn = number - np.repeat(number[start], np.diff(start, append=len(image)))
        return np.sort(order[_in_turns(chooser, chosen, turn, sigma[order], np.zeros(len(order)))])
    return _optimal(truth, prediction, sigma, image)


def _in_turns(chooser: Indices, chosen: Indices, turn: Indices, sigma: Floats, preference: Floats) -> Indices:
    """The k-th choosers of all images choose at once, k = 0, 1, ...; they cannot conflict with each other."""
    order = stable_order(turn)
    chooser, chosen, sigma, preference = chooser[order], chosen[order], sigma[order], preference[order]
    free = np.ones(chosen.max() + 1, bool)
    sizes = np.bincount(turn)
    ends = np.cumsum(sizes)
    picked: list[Indices] = []
    for begin, end in zip((ends - sizes)[sizes > 0], ends[sizes > 0], strict=True):
        starts = np.flatnonzero(first_of_each(chooser[begin:end]))
        segment = np.repeat(np.arange(len(starts)), np.diff(starts, append=end - begin))
        value = np.where(free[chosen[begin:end]], sigma[begin:end], -np.inf)
        largest = np.flatnonzero((value == np.maximum.reduceat(value, starts)[segment]) & (value > -np.inf))
        segment, value = segment[largest], preference[begin:end][largest]
        starts = np.flatnonzero(first_of_each(segment))
        if len(starts) == 0:
            continue
        preferred = np.repeat(np.maximum.reduceat(value, starts), np.diff(starts, append=len(largest)))
        winners = largest[value == preferred]
        winners = winners[first_of_each(segment[value == preferred])] + begin
        free[chosen[winners]] = False
        picked.append(order[winners])
    return np.sort(np.concatenate(picked))


def _optimal(truth: Indices, prediction: Indices, sigma: Floats, image: Indices) -> Indices:
    from scipy.optimize import linear_sum_assignment

    starts = np.flatnonzero(first_of_each(image))
    picked: list[Indices] = []
    for begin, end in zip(starts, [*starts[1:], len(image)], strict=True):
        truths, row = np.unique(truth[begin:end], return_inverse=True)
        predictions, column = np.unique(prediction[begin:end], return_inverse=True)
        gain = np.zeros((len(truths), len(predictions)))
        # One more pair must outweigh any gain in similarity.
        gain[row, column] = sigma[begin:end] + len(truths)
        index = np.full(gain.shape, -1)
        index[row, column] = np.arange(begin, end)
        chosen = index[linear_sum_assignment(gain, maximize=True)]
        picked.append(chosen[chosen >= 0])
    return np.sort(np.concatenate(picked))
