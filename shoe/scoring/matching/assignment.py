"""Who is matched with whom where the order of rows has a say: the printed loop of SHOE, and others (A1, A2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoe.benchmarks.protocol_options import Assign
from shoe.core.arrays import Floats, Indices, distinct, expand, first_of_each, runs, stable_order
from shoe.core.interactions import Interactions


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
            is in :mod:`shoe.scoring.matching.assignment`.

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


# The most similar pair of all first, then the next of what is left: what is matched depends on content alone.
#
# Pairs are compared by what is given of them, similarity first, and where all of that is equal by the content of the
# two
# triplets: words, then numbers of boxes. Pairs that are still equal are of equal triplets, which may be exchanged. So
# no
# order of lines, of ground truths or of images decides anything.

Order = Callable[[Indices], Indices]
_LOOKS = 4
"""How often each pair is looked at in rounds, on average, before what is left is matched pair by pair."""


@dataclass(frozen=True, eq=False)
class ByContent:
    """An order of a table's triplets, of one image, that depends on their words and boxes alone."""

    table: Interactions

    def __call__(self, rows: Indices) -> Indices:
        """(r,) rank of each row among those given; lower comes first, and equal triplets by row."""
        among = distinct(rows)
        table = self.table
        verbs, objects = self._word_ranks
        boxes = (*table.object_boxes[among].T, *table.human_boxes[among].T)
        order = np.lexsort((*boxes, objects[table.object[among]], verbs[table.verb[among]]))
        rank = np.empty(len(among), np.int64)
        rank[order] = np.arange(len(among))
        return rank[np.searchsorted(among, rows)]

    @cached_property
    def _word_ranks(self) -> tuple[Indices, Indices]:
        """Rank of each word in the alphabet: its place in the vocabulary is an accident of the file."""
        return _ranks(self.table.verbs), _ranks(self.table.objects)


def _ranks(words: Sequence[str]) -> Indices:
    rank = np.empty(len(words), np.int64)
    rank[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return rank


def best_first(
    truth: Indices, prediction: Indices, merits: Sequence[Floats], truth_order: Order, prediction_order: Order
) -> Indices:
    """Choose pairs so that each ground truth and each prediction is in at most one.

    Each ground truth asks for its best prediction; one that several ask for keeps its best, and the others ask for
    their next: as both sides judge a pair alike, that ends where taking the best pair of all again and again would.
    A crowd that wants the same one after the other, as equal triplets do, takes a round each: it goes pair by pair.

    Args:
        truth: (c,) ground truth of each candidate pair, ascending.
        prediction: (c,) its prediction.
        merits: (c,) numbers that say which pair is better, the higher; the first that differs decides.
        truth_order: rank of ground truths of one image, by which pairs of one prediction differ that have equal merits.

    Returns:
        Ascending indices of the chosen pairs.
    """
    held = np.full(int(prediction.max(initial=-1)) + 1, -1)
    first, count = runs(truth)
    group = np.repeat(np.arange(len(first)), count)
    refused = np.zeros(len(truth), bool)
    left, looks = np.arange(len(truth)), _LOOKS * len(truth)
    while len(left) and looks > 0:
        looks -= len(left)
        ask = _best(left, truth, prediction, merits, prediction_order)
        before = distinct(held[prediction[ask]])
        rivals = np.concatenate([ask, before[before >= 0]])
        rivals = rivals[np.argsort(prediction[rivals], kind="stable")]
        won = _best(rivals, prediction, truth, merits, truth_order)
        held[prediction[won]] = won
        refused[rivals], refused[won] = True, False
        again = np.sort(group[rivals[refused[rivals]]])
        left = expand(first[again], count[again])[1]
        left = left[~refused[left]]
        holders = held[prediction[left]]
        worse, equal = (
            np.zeros(len(left), bool),
            holders >= 0,
        )  # by merits alone, than the pair that holds the prediction
        for merit in merits:
            mine, theirs = merit[left], merit[holders]
            worse |= equal & (mine < theirs)
            equal &= mine == theirs
        left = left[~worse]
    asking, known = distinct(group[left]), 0
    while known < len(asking):  # whoever holds what they ask for may have to ask again
        known = len(asking)
        left = expand(first[asking], count[asking])[1]
        left = left[~refused[left]]
        before = held[prediction[left]]
        asking = distinct(np.concatenate([asking, group[before[before >= 0]]]))
    held[prediction[left]] = -1
    matched = np.zeros(len(first), bool)
    order = in_order([merit[left] for merit in merits], truth[left], prediction[left], truth_order, prediction_order)
    for pair in left[order].tolist():
        if held[prediction[pair]] < 0 and not matched[group[pair]]:
            held[prediction[pair]], matched[group[pair]] = pair, True
    return np.sort(held[held >= 0])


def in_order(
    merits: Sequence[Floats], truth: Indices, prediction: Indices, truth_order: Order, prediction_order: Order
) -> Indices:
    """(c,) pairs, the best first; arguments as in :func:`best_first`."""
    order = np.lexsort([-merit for merit in reversed(merits)])
    new = np.logical_or.reduce([first_of_each(merit[order]) for merit in merits])
    tied = order[~new | ~np.append(new[1:], True)]
    of_truth, of_prediction = np.zeros((2, len(truth)), np.int64)
    of_truth[tied], of_prediction[tied] = truth_order(truth[tied]), prediction_order(prediction[tied])
    return order[np.lexsort((of_prediction[order], of_truth[order], np.cumsum(new)))]


def _best(pairs: Indices, judge: Indices, judged: Indices, merits: Sequence[Floats], order: Order) -> Indices:
    start, size = runs(judge[pairs])
    for merit in merits:
        if len(pairs) == len(start):
            return pairs
        value = merit[pairs]
        pairs = pairs[value == np.repeat(np.maximum.reduceat(value, start), size)]
        start, size = runs(judge[pairs])
    tied = np.flatnonzero(np.repeat(size, size) > 1)
    if len(tied):
        last = np.zeros(len(pairs), np.int64)
        last[tied] = order(judged[pairs[tied]])
        pairs = pairs[np.lexsort((last, judge[pairs]))[start]]
    return pairs
