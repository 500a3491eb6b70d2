"""Which ground truth an error becomes a true positive of, when an oracle mends it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoe.arrays import Indices, Mask
from shoe.diagnosis.fixes import Claims, State
from shoe.diagnosis.flow import NO_PART, ErrorType
from shoe.diagnosis.overlaps import Overlaps
from shoe.diagnosis.scope import Scope
from shoe.matching.assign import assign
from shoe.matching.spatial import Candidates
from shoe.ragged import first_of_each
from shoe.scoring.tied_orders import _random

FIXABLE = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX, ErrorType.ASSOCIATION, ErrorType.INTERACTION)
"""The types whose oracle fixes; the others' removes."""


def possible(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], type_: ErrorType) -> tuple[Indices, Indices]:
    """List the truths that errors of a type could be about: predictions, ascending, and their truths, ascending.

    They are those that share what the prediction has right: the object box of a human box error, the human box of an
    object box error, both boxes of an interaction error. An association error has to change one box, and perhaps its
    verb: where some truth needs no change of the verb, only such truths are possible ("the minimal changes", IJCV paper
    3.2.1). Other types have none.
    """
    shares: Mask = {
        ErrorType.HUMAN_BOX: pairs.object,
        ErrorType.OBJECT_BOX: pairs.human,
        ErrorType.ASSOCIATION: pairs.human | pairs.object,
        ErrorType.INTERACTION: pairs.pair,
    }[type_]
    chosen = np.flatnonzero(shares & (types == type_)[pairs.prediction])
    prediction, truth = pairs.prediction[chosen], pairs.truth[chosen]
    if type_ is ErrorType.ASSOCIATION:
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        has_same_verb = np.zeros(len(types), bool)
        has_same_verb[prediction[same_verb]] = True
        least = same_verb | ~has_same_verb[prediction]
        prediction, truth = prediction[least], truth[least]
    return prediction, truth


def drawn(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], seed: int) -> Claims:
    """Each error picks one of its possible truths at random, whoever else has it (IJCV paper 3.2.1).

    The pick hangs on the seed and the prediction's row in its table alone.
    """
    numbers = _random(seed, (len(scope.task.predictions), 1))[scope.prediction, 0]

    def picks(type_: ErrorType) -> tuple[Indices, Indices]:
        prediction, truth = possible(scope, pairs, types, type_)
        start = np.flatnonzero(first_of_each(prediction))
        count = np.diff(start, append=len(prediction))
        chooser = prediction[start]
        pick = (numbers[chooser] % count.astype(np.uint64)).astype(np.int64)
        return chooser, truth[start + pick]

    picked = {type_: picks(type_) for type_ in FIXABLE}
    return lambda _, type_: picked[type_]


def best_case(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], rank: Indices) -> Claims:
    """Errors pick in the order of descending scores, each what gains most at its turn.

    That is a truth without a true positive, else one whose true positive has a lower score; not one that an error
    before it has picked; of equally good ones the first in the file.
    """
    place = np.zeros(len(scope.truth), np.int64)

    def claims(state: State, type_: ErrorType) -> tuple[Indices, Indices]:
        prediction, truth = possible(scope, pairs, types, type_)
        former = state.found_by[truth]
        useful = (former < 0) | (rank[prediction] < rank[former])
        prediction, truth = prediction[useful], truth[useful]
        gain = np.where(state.found_by[truth] < 0, 1.0, 0.0)
        candidates = Candidates(truth, prediction, gain)
        order = -rank[prediction].astype(np.float64)
        won = assign(candidates, gain, np.zeros(len(gain)), scope.truth_image, place, order, "confidence")
        return prediction[won], truth[won]

    return claims


def shared_map(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], rank: Indices, found_by: Indices) -> Indices:
    """Find the toolbox's best map: (t,) the prediction that could be each truth's, of any type; -1 where none.

    Truths take turns in the order of the file. Each takes the best-scored prediction that is no true positive, is not
    taken, has a higher score than the truth's own true positive, and shares the truth's human box - or, if its human
    box is correct nowhere, the truth's object box (protocols.md 8.4).
    """
    human = pairs.human_correct[pairs.prediction]
    former = found_by[pairs.truth]
    free = np.flatnonzero(
        np.where(human, pairs.human, pairs.object)
        & (types[pairs.prediction] != ErrorType.TRUE_POSITIVE)
        & ((former < 0) | (rank[pairs.prediction] < rank[former]))
    )
    free = free[np.argsort(pairs.truth[free], kind="stable")]
    prediction, truth = pairs.prediction[free], pairs.truth[free]
    first = np.searchsorted(scope.truth_image, scope.truth_image)
    place = np.arange(len(first)) - first
    equal = np.zeros(len(free))
    candidates = Candidates(truth, prediction, equal)
    preference = -rank[prediction].astype(np.float64)
    won = assign(candidates, equal, preference, scope.truth_image, place, equal, "greedy-gt")
    owner = np.full(len(found_by), NO_PART, np.int64)
    owner[truth[won]] = prediction[won]
    return owner


def by_map(owner: Indices, types: NDArray[np.int8]) -> Claims:
    """Each error becomes what the map says; one that the map does not name becomes nothing (protocols.md 8.4)."""
    truth = np.flatnonzero(owner >= 0)

    def claims(_: State, type_: ErrorType) -> tuple[Indices, Indices]:
        ours = truth[types[owner[truth]] == type_]
        return owner[ours], ours

    return claims
