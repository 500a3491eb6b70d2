"""The oracles: one an error type, each a name, a sentence, and what it does to a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.diagnosis.flow import ErrorType
from shoe.diagnosis.order import Order

Aims = tuple[Indices, Indices]
"""Predictions, and the truth that each is to be the true positive of."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Predictions and truths after some fixes. A fixed prediction has the class and the boxes of its truth.

    Attributes:
        kept: (p,) whether a prediction is still there.
        found_by: (t,) the true positive of each truth, original or fixed; -1 where it has none.
        counted: (t,) whether a truth still counts.
        aims: what each fix so far made of which prediction, with or without success: predictions, and their truths.
    """

    kept: Mask
    found_by: Indices
    counted: Mask
    aims: tuple[Aims, ...] = ()

    @property
    def owners(self) -> Indices:
        """The true positives, in the order of their truths."""
        return self.found_by[self.found_by >= 0]


Claims = Callable[[State, ErrorType], Aims]
"""What an oracle makes of the errors of a type."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What oracles know.

    Attributes:
        types: (p,) ``ErrorType`` of each prediction, decided once, before any fix.
        order: the predictions by descending score.
        claims: the targets of errors that can be fixed.
    """

    types: NDArray[np.int8]
    order: Order
    claims: Claims


@dataclass(frozen=True, slots=True)
class Oracle:
    """An imagined perfect remedy for one kind of error.

    Attributes:
        name: as in figures and files.
        text: what it does, in a sentence.
        apply: the state after it.
    """

    name: str
    text: str
    apply: Callable[[State, Case], State]


def _fix(type_: ErrorType) -> Callable[[State, Case], State]:
    """Turn errors into true positives of their targets; of several on one truth the best-scored stays.

    IJCV paper 3.2.1, 3.2.2: "if duplicates are made, suppress the lower-scoring prediction" - the former true positive
    too, if it is the lower one. Errors of the type that become nothing are removed (protocols.md 8.4, 8.6 item 5).
    """

    def apply(state: State, case: Case) -> State:
        prediction, truth = aims = case.claims(state, type_)
        found_by = case.order.best_of(prediction, truth, state.found_by)
        kept = state.kept & (case.types != type_)
        kept[state.owners] = False
        kept[found_by[found_by >= 0]] = True
        return replace(state, kept=kept, found_by=found_by, aims=(*state.aims, aims))

    return apply


def _remove(type_: ErrorType) -> Callable[[State, Case], State]:
    def apply(state: State, case: Case) -> State:
        return replace(state, kept=state.kept & (case.types != type_))

    return apply


def _remove_all_errors(state: State, _: Case) -> State:
    kept = np.zeros_like(state.kept)
    kept[state.owners] = True
    return replace(state, kept=kept)


def forget_unfound(state: State, _: Case | None = None) -> State:
    """Count only the truths that have a true positive."""
    return replace(state, counted=state.counted & (state.found_by >= 0))


_FIXED = "gets the boxes and the class of its ground truth; of several on one ground truth the best-scored stays"
FIXES = tuple(
    Oracle(type_.label, text, make(type_))
    for type_, text, make in (
        (ErrorType.HUMAN_BOX, f"the prediction {_FIXED}", _fix),
        (ErrorType.OBJECT_BOX, f"the prediction {_FIXED}", _fix),
        (ErrorType.BOTH_BOXES, "the prediction is removed", _remove),
        (ErrorType.ASSOCIATION, f"the prediction {_FIXED}", _fix),
        (ErrorType.DUPLICATE, "the prediction is removed", _remove),
        (ErrorType.INTERACTION, f"the prediction {_FIXED}", _fix),
    )
)
"""IJCV paper 3.2.1 and 3.2.2, in its order, which is also the order of the progression."""

MISSED_GT = Oracle("missed_gt", "ground truth that nothing finds, even after all fixes, is not counted", forget_unfound)
"""IJCV paper 3.2.3, as it ends the progression."""

GROUPED = (
    Oracle("false_positive", "every prediction that is no true positive is removed", _remove_all_errors),
    Oracle("false_negative", "ground truth without a true positive is not counted", forget_unfound),
)
"""IJCV paper 3.3."""


def untouched(found_by: Indices, predictions: int) -> State:
    """The state before any fix."""
    truths = len(found_by)
    return State(np.ones(predictions, bool), found_by, np.ones(truths, bool))
