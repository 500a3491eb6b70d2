"""Which ground truth an error becomes a true positive of, when an oracle mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.ragged import first_of_each, index_in_group
from shoe.core.seeded import random_numbers
from shoe.diagnosis.fixes import Aims, Claims, State
from shoe.diagnosis.flow import NO_PART, ErrorType
from shoe.diagnosis.order import Order, largest_of_each, runs
from shoe.diagnosis.overlaps import Overlaps
from shoe.diagnosis.scope import Scope
from shoe.matching.assign import assign

FIXABLE = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX, ErrorType.ASSOCIATION, ErrorType.INTERACTION)
"""The types whose oracle fixes; the others' removes."""


def possible(pairs: Overlaps, types: NDArray[np.int8], type_: ErrorType) -> tuple[Indices, Indices]:
    """List the truths that errors of a type could be about: predictions, ascending, and their truths, ascending.

    They are those that share what the prediction has right: the object box of a human box error, the human box of an
    object box error, either box of an association error, both of an interaction error (IJCV paper 3.2.1, 3.2.2).
    """
    shares: Mask = {
        ErrorType.HUMAN_BOX: pairs.object,
        ErrorType.OBJECT_BOX: pairs.human,
        ErrorType.ASSOCIATION: pairs.human | pairs.object,
        ErrorType.INTERACTION: pairs.pair,
    }[type_]
    chosen = np.flatnonzero(shares & (types == type_)[pairs.prediction])
    return pairs.prediction[chosen], pairs.truth[chosen]


def own_picks(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], order: Order, choose: Choose) -> Claims:
    """Let each error pick one of the truths that it could be about, as the papers say.

    Errors pick in the order of descending scores, each among all its truths, whoever finds them already. Association
    errors have two more rules ("the minimal changes", "each pair is fixed only once", IJCV paper 3.2.1): truths at
    which an error has aimed before, of this oracle or an earlier one of the progression, are out; and where a truth is
    left that needs no change of the verb, so are those that need one.
    """
    lists = {type_: possible(pairs, types, type_) for type_ in FIXABLE}
    turns = {
        type_: list(_turns(scope.image, order.rank, prediction))
        for type_, (prediction, _) in lists.items()
        if choose.looks or type_ is ErrorType.ASSOCIATION
    }
    loss = np.append(-scope.task.predictions.score[scope.prediction], np.inf)

    def claims(state: State, type_: ErrorType) -> Aims:
        prediction, truth = lists[type_]
        gain = loss[state.found_by]
        if type_ not in turns:
            picked = choose.pick(prediction, gain[truth])
            return prediction[picked], truth[picked]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        aimed = np.zeros(len(gain), bool)
        for _, truths in state.aims:
            aimed[truths] = True
        chosen = [np.zeros(0, np.int64)]
        for now in turns[type_]:
            if type_ is ErrorType.ASSOCIATION:
                now = now[~aimed[truth[now]]]
                now = now[_least_changed(prediction[now], same_verb[now])]
            now = now[choose.pick(prediction[now], gain[truth[now]])]
            chosen.append(now)
            gain[truth[now]] = np.minimum(gain[truth[now]], loss[prediction[now]])
            aimed[truth[now]] = True
        picked = np.concatenate(chosen)
        return prediction[picked], truth[picked]

    return claims


@dataclass(frozen=True, slots=True)
class Choose:
    """How one of several possible truths is picked.

    Attributes:
        looks: whether a pick hangs on what better-scored predictions have picked.
        pick: chooses one pair of each prediction. Arguments: (c,) predictions of pairs, equal ones together and then
            in the order of truths; (c,) what a pair gains: the score of the truth's true positive with its sign
            changed, infinity where it has none.
    """

    looks: bool
    pick: Callable[[Indices, Floats], Indices]


def seeded(scope: Scope, seed: int) -> Choose:
    """Pick any truth, with equal chances; a pick hangs on the seed and the prediction's row in its table alone."""
    numbers = random_numbers(seed, (len(scope.task.predictions), 1))[scope.prediction, 0]

    def pick(prediction: Indices, _: Floats) -> Indices:
        start, size = runs(prediction)
        place: Indices = start + (numbers[prediction[start]] % size.astype(np.uint64)).astype(np.int64)
        return place

    return Choose(looks=False, pick=pick)


BEST = Choose(looks=True, pick=largest_of_each)
"""Pick a truth without a true positive, else the one whose true positive scores least; the first of equals."""


def _turns(image: Ints, rank: Indices, prediction: Indices) -> Iterator[Indices]:
    """Yield the pairs whose prediction is the best-scored of its image, then those of the second best, and so on."""
    chooser = prediction[first_of_each(prediction)]
    order = chooser[np.argsort(image[chooser] * np.int64(len(rank)) + rank[chooser])]
    turn = np.zeros(len(image), np.int64)
    turn[order] = index_in_group(np.bincount(image[chooser], minlength=1))
    turns = turn[prediction]
    by_turn = np.argsort(turns.astype(np.uint16) if turns.max(initial=0) < 1 << 16 else turns, kind="stable")
    end = 0
    for size in np.bincount(turns).tolist():
        begin, end = end, end + size
        yield by_turn[begin:end]


def _least_changed(prediction: Indices, same_verb: Mask) -> Mask:
    """Which pairs keep the verb, or are of a prediction that has no pair which does."""
    start, size = runs(prediction)
    if len(start) == 0:
        return same_verb
    least: Mask = same_verb | np.repeat(~np.logical_or.reduceat(same_verb, start), size)
    return least


def shared_map(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], order: Order, found_by: Indices) -> Indices:
    """Find the toolbox's best map: (t,) the prediction that could be each truth's, of any type; -1 where none.

    Truths take turns in the order of the file. Each takes the best-scored prediction that is no true positive, is not
    taken, has a higher score than the truth's own true positive, and shares the truth's human box - or, if its human
    box is correct nowhere, the truth's object box (protocols.md 8.4).
    """
    rank = order.rank
    former = found_by[pairs.truth]
    free = np.flatnonzero(
        np.where(pairs.human_correct[pairs.prediction], pairs.human, pairs.object)
        & (types[pairs.prediction] != ErrorType.TRUE_POSITIVE)
        & ((former < 0) | (rank[pairs.prediction] < rank[former]))
    )
    free = free[np.argsort(pairs.truth[free], kind="stable")]
    prediction, truth = pairs.prediction[free], pairs.truth[free]
    place = np.arange(len(found_by)) - np.searchsorted(scope.truth_image, scope.truth_image)
    equal = np.zeros(len(free))
    preference: Floats = -rank[prediction].astype(np.float64)
    won = assign(truth, prediction, equal, preference, scope.truth_image, place, equal, "greedy-gt")
    owner = np.full(len(found_by), NO_PART, np.int64)
    owner[truth[won]] = prediction[won]
    return owner


def by_map(owner: Indices, types: NDArray[np.int8]) -> Claims:
    """Each error becomes what the map says; one that the map does not name becomes nothing (protocols.md 8.4)."""
    truth = np.flatnonzero(owner >= 0)

    def claims(_: State, type_: ErrorType) -> Aims:
        ours = truth[types[owner[truth]] == type_]
        return owner[ours], ours

    return claims
