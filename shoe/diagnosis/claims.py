"""Which ground truth an error becomes a true positive of, when an oracle mends it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoe.arrays import Floats, Indices, Ints, Mask
from shoe.diagnosis.fixes import Claims, State
from shoe.diagnosis.flow import NO_PART, ErrorType
from shoe.diagnosis.overlaps import Overlaps
from shoe.diagnosis.scope import Scope
from shoe.matching.assign import assign
from shoe.matching.spatial import Candidates
from shoe.ragged import first_of_each, places
from shoe.scoring.tied_orders import _random

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


def own_picks(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], rank: Indices, choice: str, seed: int) -> Claims:
    """Let each error pick one of the truths that it could be about, as the papers say.

    Errors pick in the order of descending scores, each among all its truths, whoever finds them already. Association
    errors have two more rules ("the minimal changes", "each pair is fixed only once", IJCV paper 3.2.1): truths at
    which an error has aimed before, of this oracle or an earlier one of the progression, are out; and where a truth is
    left that needs no change of the verb, so are those that need one.

    Args:
        scope: what is diagnosed.
        pairs: its overlaps.
        types: (p,) ``ErrorType`` of each prediction.
        rank: (p,) its place in the order of descending scores.
        choice: ``seeded``: any truth, with equal chances. ``best``: one without a true positive, else the one whose
            true positive comes last in the order of scores; of several without, the first in the file.
        seed: for ``seeded``; a pick hangs on it and on the prediction's row in its table.
    """
    lists = {type_: possible(pairs, types, type_) for type_ in FIXABLE}
    numbers = None
    if choice == "seeded":
        numbers = _random(seed, (len(scope.task.predictions), 1))[scope.prediction, 0]

    def claims(state: State, type_: ErrorType) -> tuple[Indices, Indices]:
        prediction, truth = lists[type_]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth] if type_ is ErrorType.ASSOCIATION else None
        if numbers is not None and same_verb is None:
            turn = np.zeros(len(prediction), np.int64)  # a draw waits for no other
        else:
            turn = _turns(scope.image, rank, prediction)
        picked = _picks(prediction, truth, same_verb, turn, rank, state, numbers)
        return prediction[picked], truth[picked]

    return claims


def _turns(image: Ints, rank: Indices, prediction: Indices) -> Indices:
    """(c,) when each pair's prediction picks: 0 for the best-scored of its image."""
    chooser = prediction[first_of_each(prediction)]
    order = np.lexsort((rank[chooser], image[chooser]))
    turn = np.zeros(len(image), np.int64)
    turn[chooser[order]] = places(np.bincount(image[chooser], minlength=1))
    return turn[prediction]


def _picks(
    prediction: Indices,
    truth: Indices,
    same_verb: Mask | None,
    turn: Indices,
    rank: Indices,
    state: State,
    numbers: NDArray[np.uint64] | None,
) -> Indices:
    """Indices of the pairs that are picked; the predictions of one turn pick at once."""
    holder = np.where(state.found_by >= 0, rank[state.found_by], len(rank)) if len(rank) else state.found_by
    aimed = state.aimed.copy()
    order = np.argsort(turn, kind="stable")
    ends = np.cumsum(np.bincount(turn))
    picked: list[Indices] = [np.zeros(0, np.int64)]
    for begin, end in zip([0, *ends[:-1]], ends, strict=False):
        now = order[begin:end]
        if same_verb is not None:
            now = now[~aimed[truth[now]]]
            now = now[_least_changed(prediction[now], same_verb[now])]
        start = np.flatnonzero(first_of_each(prediction[now]))
        if len(start) == 0:
            continue
        size = np.diff(start, append=len(now))
        if numbers is None:
            last = holder[truth[now]]
            alike = np.flatnonzero(last == np.repeat(np.maximum.reduceat(last, start), size))
            chosen = now[alike[first_of_each(prediction[now[alike]])]]
        else:
            chosen = now[start + (numbers[prediction[now[start]]] % size.astype(np.uint64)).astype(np.int64)]
        picked.append(chosen)
        holder[truth[chosen]] = np.minimum(holder[truth[chosen]], rank[prediction[chosen]])
        aimed[truth[chosen]] = True
    return np.concatenate(picked)


def _least_changed(prediction: Indices, same_verb: Mask) -> Mask:
    """Which pairs keep the verb, or are of a prediction that has no pair which does."""
    start = np.flatnonzero(first_of_each(prediction))
    if len(start) == 0:
        return same_verb
    none = np.repeat(~np.logical_or.reduceat(same_verb, start), np.diff(start, append=len(prediction)))
    least: Mask = same_verb | none
    return least


def shared_map(scope: Scope, pairs: Overlaps, types: NDArray[np.int8], rank: Indices, found_by: Indices) -> Indices:
    """Find the toolbox's best map: (t,) the prediction that could be each truth's, of any type; -1 where none.

    Truths take turns in the order of the file. Each takes the best-scored prediction that is no true positive, is not
    taken, has a higher score than the truth's own true positive, and shares the truth's human box - or, if its human
    box is correct nowhere, the truth's object box (protocols.md 8.4).
    """
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
    candidates = Candidates(truth, prediction, equal)
    preference: Floats = -rank[prediction].astype(np.float64)
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
