"""Fix targets: which ground truth an error becomes a true positive of when an oracle fixes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.iou import iou
from shoe.core.ragged import expand, first_largest, first_of_each, index_in_group, runs
from shoe.core.seeded import random_numbers
from shoe.diagnosis.oracles import FIXABLE, Fixes, FixTargets, State
from shoe.diagnosis.scope import Overlaps, Scope
from shoe.diagnosis.types import NO_PART, ErrorType
from shoe.matching.assign import assign
from shoe.matching.overlaps import Boxes
from shoe.protocols.options import StrictOptions

BOXES = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX)


def possible(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8]) -> dict[ErrorType, Fixes]:
    """List the truths that errors of each type could be about: predictions, ascending, and their truths, ascending.

    They are those that share what the prediction has right: the object box of a human box error, the human box of an
    object box error, either box of an association error, both of an interaction error (IJCV paper 3.2.1, 3.2.2). Where
    one of them has the verb of a box error, that action is right, and the others are out.
    """
    shares = (overlaps.object, overlaps.human, overlaps.human | overlaps.object, overlaps.pair)
    of_prediction = types[overlaps.prediction]
    lists = {}
    for type_, share in zip(FIXABLE, shares, strict=True):
        at = np.flatnonzero(share & (of_prediction == type_))
        prediction, truth = overlaps.prediction[at], overlaps.truth[at]
        if type_ in BOXES:
            least = least_changed(prediction, scope.verb[prediction] == scope.truth_verb[truth])
            prediction, truth = prediction[least], truth[least]
        lists[type_] = prediction, truth
    return lists


@dataclass(frozen=True, slots=True, eq=False)
class TruePairs:
    """Which ground truths are of one person and object: boxes are drawn anew for each verb (protocols.md 8.7).

    Attributes:
        first, count: (t,) where the truths of each one's pair begin, and how many there are; it is one of them.
        truth: all these lists, one after the other.
    """

    first: Indices
    count: Indices
    truth: Indices

    @classmethod
    def of(cls, scope: Scope, strict: StrictOptions) -> TruePairs:
        """Find truths whose boxes both overlap as those of a prediction must, and whose objects have one label."""
        index = index_in_group(np.bincount(scope.truth_image))
        later, earlier = expand(np.arange(len(index)) - index, index)
        close = np.flatnonzero(scope.truth_object[later] == scope.truth_object[earlier])
        later, earlier = later[close], earlier[close]
        boxes = Boxes(scope.task.truth.interactions, strict.coordinates)
        for each in (boxes.human(scope.truth), boxes.object(scope.truth)):
            close = np.flatnonzero(strict.rule.holds(iou(each[later], each[earlier], strict.rule.overlap)))
            later, earlier = later[close], earlier[close]
        all_ = np.arange(len(index))
        one, other = np.concatenate([all_, later, earlier]), np.concatenate([all_, earlier, later])
        count = np.bincount(one, minlength=len(index))
        return cls(np.cumsum(count) - count, count, other[np.argsort(one, kind="stable")])

    def whole(self, truths: Indices) -> Indices:
        """All truths of the pairs of some."""
        return self.truth[expand(self.first[truths], self.count[truths])[1]]


def targets_of_each(scope: Scope, lists: dict[ErrorType, Fixes], pairs: TruePairs, seed: int | None) -> FixTargets:
    """Let each error choose one of the truths that it could be about, as the papers say.

    Errors choose in the order of descending scores, each among its truths, whoever finds them already. Where one of
    them has the prediction's verb, that action is right, and the others are out. For association errors "each pair is
    fixed only once" (IJCV paper 3.2.1): truths of a pair that was a target before, of this oracle or an earlier one of
    the progression, are out.

    With a seed, any truth is chosen, with equal chances, by the seed and the prediction's row in its table alone;
    without a seed a truth without a true positive, else the one whose true positive scores least, the first of equals.
    """
    in_turn = {
        type_: list(turns(scope, prediction))
        for type_, (prediction, _) in lists.items()
        if seed is None or type_ is ErrorType.ASSOCIATION
    }
    loss = np.append(-scope.score, np.inf)
    rows = len(scope.task.predictions)
    numbers = None if seed is None else random_numbers(seed, (rows, 1))[scope.prediction, 0]

    def choose(prediction: Indices, gain: Floats) -> Indices:
        if numbers is None:
            return first_largest(prediction, gain)
        start, size = runs(prediction)
        chosen: Indices = start + (numbers[prediction[start]] % size.astype(np.uint64)).astype(np.int64)
        return chosen

    def targets(state: State, type_: ErrorType) -> Fixes:
        prediction, truth = lists[type_]
        # What a fix gains: the score of the true positive with its sign changed, infinity where there is none.
        gain = loss[state.found_by]
        if type_ not in in_turn:
            chosen = choose(prediction, gain[truth])
            return prediction[chosen], truth[chosen]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        used = np.zeros(len(gain), bool)
        for _, truths in state.fixes:
            used[pairs.whole(truths)] = True
        parts = [np.zeros(0, np.int64)]
        for now in in_turn[type_]:
            if type_ is ErrorType.ASSOCIATION:
                now = now[~used[truth[now]]]
                now = now[least_changed(prediction[now], same_verb[now])]
            now = now[choose(prediction[now], gain[truth[now]])]
            parts.append(now)
            taken = truth[now]
            gain[taken] = np.minimum(gain[taken], loss[prediction[now]])
            used[pairs.whole(taken)] = True
        chosen = np.concatenate(parts)
        return prediction[chosen], truth[chosen]

    return targets


def turns(scope: Scope, prediction: Indices) -> Iterator[Indices]:
    """Yield the pairs whose prediction is the best-scored of its image, then those of the second best, and so on."""
    chooser = prediction[first_of_each(prediction)]
    image, rank = scope.image, scope.rank
    order = chooser[np.argsort(image[chooser] * np.int64(len(rank)) + rank[chooser])]
    turn = np.zeros(len(image), np.int64)
    turn[order] = index_in_group(np.bincount(image[chooser], minlength=1))
    turns = turn[prediction]
    by_turn = np.argsort(turns.astype(np.uint16) if turns.max(initial=0) < 1 << 16 else turns, kind="stable")
    end = 0
    for size in np.bincount(turns).tolist():
        begin, end = end, end + size
        yield by_turn[begin:end]


def least_changed(prediction: Indices, same_verb: Mask) -> Mask:
    """Which pairs keep the verb, or are of a prediction that has no pair which does."""
    start, size = runs(prediction)
    if len(start) == 0:
        return same_verb
    least: Mask = same_verb | np.repeat(~np.logical_or.reduceat(same_verb, start), size)
    return least


def shared_map(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8], found_by: Indices) -> Indices:
    """Find the toolbox's best map: (t,) the prediction that could be each truth's, of any type; -1 where none.

    Truths take turns in the order of the file. Each takes the best-scored prediction that is no true positive, is not
    taken, has a higher score than the truth's own true positive, and shares the truth's human box - or, if its human
    box is correct nowhere, the truth's object box (protocols.md 8.4).
    """
    rank = scope.rank
    former = found_by[overlaps.truth]
    free = np.flatnonzero(
        np.where(overlaps.human_correct[overlaps.prediction], overlaps.human, overlaps.object)
        & (types[overlaps.prediction] != ErrorType.TRUE_POSITIVE)
        & ((former < 0) | (rank[overlaps.prediction] < rank[former]))
    )
    free = free[np.argsort(overlaps.truth[free], kind="stable")]
    prediction, truth = overlaps.prediction[free], overlaps.truth[free]
    turn = np.arange(len(found_by)) - np.searchsorted(scope.truth_image, scope.truth_image)
    equal, preference = np.zeros(len(free)), -rank[prediction].astype(np.float64)
    won = assign(truth, prediction, equal, preference, scope.truth_image, turn, equal, "greedy-gt")
    best = np.full(len(found_by), NO_PART, np.int64)
    best[truth[won]] = prediction[won]
    return best


def targets_by_map(best: Indices, types: NDArray[np.int8]) -> FixTargets:
    """Each error becomes what the map says; one that the map does not name becomes nothing (protocols.md 8.4)."""
    truth = np.flatnonzero(best >= 0)

    def targets(_: State, type_: ErrorType) -> Fixes:
        ours = truth[types[best[truth]] == type_]
        return best[ours], ours

    return targets
