"""Assignment rules: which candidate pairs of ground truths and predictions become matches (protocols.md A1, A2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoe.benchmarks.scoring_options import Assign
from shoe.core.arrays import Floats, Indices, argmax_per_run, distinct, expand, first_of_each, runs, stable_order
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
    """Choose pairs so that each ground truth and each prediction is in at most one pair.

    Args:
        truth, prediction: (c,) ground truth and prediction of each candidate pair, ascending in this order.
        sigma: (c,) similarity of each pair.
        preference: (c,) tie-break of ``greedy-gt`` between pairs of equal sigma: the highest value wins, then the
            prediction that comes first.
        image: (t,) image of each ground truth, ascending.
        turn: (t,) index of each ground truth in its image; ground truths choose in this order in ``greedy-gt``.
        score: (c,) confidence of each pair's prediction.
        method: ``greedy-gt`` (Algorithm 1, line 9: ground truths choose in file order), ``hungarian`` (most pairs, then
            the largest total sigma), or ``confidence`` (predictions choose, the most confident first). For
            ``best-first`` see :func:`best_first`.

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
        start, size = runs(image[order])
        number = np.cumsum(first_of_each(chooser))
        turn = number - np.repeat(number[start], size)  # index of each choosing prediction in its image, from 0
        return np.sort(order[_in_turns(chooser, chosen, turn, sigma[order], np.zeros(len(order)))])
    return _optimal(truth, prediction, sigma, image)


def _in_turns(chooser: Indices, chosen: Indices, turn: Indices, sigma: Floats, preference: Floats) -> Indices:
    # Each chooser in turn takes its best free partner, at once the k-th choosers of all images, for k = 0, 1, ...
    order = stable_order(turn)
    chooser, chosen, sigma, preference = chooser[order], chosen[order], sigma[order], preference[order]
    free = np.ones(chosen.max() + 1, bool)
    sizes = np.bincount(turn)
    ends = np.cumsum(sizes)
    picked: list[Indices] = []
    for begin, end in zip((ends - sizes)[sizes > 0], ends[sizes > 0], strict=True):
        open_ = np.flatnonzero(free[chosen[begin:end]]) + begin
        winners = open_[argmax_per_run(chooser[open_], sigma[open_], preference[open_])]
        free[chosen[winners]] = False
        picked.append(order[winners])
    return np.sort(np.concatenate(picked))


def _optimal(truth: Indices, prediction: Indices, sigma: Floats, image: Indices) -> Indices:
    from scipy.optimize import linear_sum_assignment

    picked: list[Indices] = []
    for start, size in zip(*runs(image), strict=True):
        part = slice(start, start + size)
        truths, row = np.unique(truth[part], return_inverse=True)
        predictions, column = np.unique(prediction[part], return_inverse=True)
        gain = np.zeros((len(truths), len(predictions)))
        # One more pair must outweigh any gain in similarity.
        gain[row, column] = sigma[part] + len(truths)
        index = np.full(gain.shape, -1)
        index[row, column] = np.arange(start, start + size)
        chosen = index[linear_sum_assignment(gain, maximize=True)]
        picked.append(chosen[chosen >= 0])
    return np.sort(np.concatenate(picked))


# ``best-first`` takes the best pair of all, then the next of the remaining pairs. Pairs are compared by their criteria,
# and equal pairs by the content of the two triplets: words, then box coordinates. Pairs that are still equal are of
# equal, exchangeable triplets. No order of lines, ground truths or images therefore decides anything.

Order = Callable[[Indices], Indices]
_PASSES = 4  # average number of comparisons per pair in rounds; pairs that are open afterwards are matched one by one


@dataclass(frozen=True, eq=False)
class ByContent:
    """Callable that ranks triplets of one image by words, then boxes, so that the order of the file does not matter."""

    table: Interactions

    def __call__(self, rows: Indices) -> Indices:
        """Return the (r,) rank of each of the ``rows``, 0 for the first; equal triplets are ranked by row."""
        among = distinct(rows)
        table, (verbs, objects) = self.table, self._word_ranks
        boxes = (*table.object_boxes[among].T, *table.human_boxes[among].T)
        order = np.lexsort((*boxes, objects[table.object[among]], verbs[table.verb[among]]))
        return np.argsort(order)[np.searchsorted(among, rows)]

    @cached_property
    def _word_ranks(self) -> tuple[Indices, Indices]:
        # Alphabetic ranks, because the order of a vocabulary depends on the file.
        words = self.table.verbs, self.table.objects
        verbs, objects = (np.argsort(sorted(range(len(each)), key=each.__getitem__)) for each in words)
        return verbs, objects


def best_first(
    truth: Indices, prediction: Indices, criteria: Sequence[Floats], truth_order: Order, prediction_order: Order
) -> Indices:
    """Choose pairs so that each ground truth and each prediction is in at most one pair, the best pair first.

    The result is that of choosing the best remaining pair again and again. It is computed faster, in rounds: each
    ground truth requests its best prediction, each prediction keeps its best ground truth, and the other ground truths
    request their next prediction. The result is the same because both sides rank pairs by the same criteria. Pairs that
    remain after some rounds are chosen one by one, because equal triplets would need a round each.

    Args:
        truth, prediction: (c,) ground truth, ascending, and prediction of each candidate pair.
        criteria: one or more (c,) arrays, higher is better; the first array in which two pairs differ decides.
        truth_order: callable that ranks ground truths of one image; decides between equal pairs of one prediction.
        prediction_order: callable that ranks predictions of one image; decides between equal pairs of one ground truth.

    Returns:
        Ascending indices of the chosen pairs.
    """
    held = np.empty(int(prediction.max(initial=-1)) + 1, np.int64)
    held[prediction] = -1
    first, count = runs(truth)
    group = np.repeat(np.arange(len(first)), count)
    refused = np.zeros(len(truth), bool)
    left, budget = np.arange(len(truth)), _PASSES * len(truth)
    while len(left) and budget > 0:
        budget -= len(left)
        requests = _best(left, truth, prediction, criteria, prediction_order)
        before = distinct(held[prediction[requests]])
        rivals = np.concatenate([requests, before[before >= 0]])
        rivals = rivals[np.argsort(prediction[rivals], kind="stable")]
        won = _best(rivals, prediction, truth, criteria, truth_order)
        held[prediction[won]] = won
        refused[rivals], refused[won] = True, False
        again = np.sort(group[rivals[refused[rivals]]])
        left = expand(first[again], count[again])[1]
        left = left[~refused[left]]
        holders = held[prediction[left]]
        # Pairs that are worse, by criteria alone, than the pair that holds the prediction.
        worse, equal = np.zeros(len(left), bool), holders >= 0
        for values in criteria:
            own, held_value = values[left], values[holders]
            worse |= equal & (own < held_value)
            equal &= own == held_value
        left = left[~worse]
    requesting, known = distinct(group[left]), 0
    while known < len(requesting):  # owners of the requested predictions may have to request again
        known = len(requesting)
        left = expand(first[requesting], count[requesting])[1]
        left = left[~refused[left]]
        before = held[prediction[left]]
        requesting = distinct(np.concatenate([requesting, group[before[before >= 0]]]))
    held[prediction[left]] = -1
    matched = np.zeros(len(first), bool)
    order = in_order([v[left] for v in criteria], truth[left], prediction[left], truth_order, prediction_order)
    for pair in left[order].tolist():
        if held[prediction[pair]] < 0 and not matched[group[pair]]:
            held[prediction[pair]], matched[group[pair]] = pair, True
    return np.flatnonzero(held[prediction] == np.arange(len(prediction)))


def in_order(
    criteria: Sequence[Floats], truth: Indices, prediction: Indices, truth_order: Order, prediction_order: Order
) -> Indices:
    """Return the (c,) indices of the pairs from best to worst, as :func:`best_first` chooses them (same arguments)."""
    order = np.lexsort([-values for values in reversed(criteria)])
    new = np.logical_or.reduce([first_of_each(values[order]) for values in criteria])
    tied = order[~new | ~np.append(new[1:], True)]
    of_truth, of_prediction = np.zeros((2, len(truth)), np.int64)
    of_truth[tied], of_prediction[tied] = truth_order(truth[tied]), prediction_order(prediction[tied])
    return order[np.lexsort((of_prediction[order], of_truth[order], np.cumsum(new)))]


def _best(pairs: Indices, judge: Indices, judged: Indices, criteria: Sequence[Floats], order: Order) -> Indices:
    start, size = runs(judge[pairs])
    for values in criteria:
        if len(pairs) == len(start):
            return pairs
        value = values[pairs]
        # Twice as fast as indexing with the mask.
        pairs = pairs.take(np.flatnonzero(value == np.repeat(np.maximum.reduceat(value, start), size)))
        start, size = runs(judge[pairs])
    tied = np.flatnonzero(np.repeat(size, size) > 1)
    if len(tied):
        last = np.zeros(len(pairs), np.int64)
        last[tied] = order(judged[pairs[tied]])
        pairs = pairs[np.lexsort((last, judge[pairs]))[start]]
    return pairs
