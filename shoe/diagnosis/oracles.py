"""The errors: each a name, what is wrong, and an oracle, which fixes all of its kind (as in TIDE: data + oracle)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.types import ErrorType

Fixes = tuple[Indices, Indices]
"""Predictions, and the ground truth that each becomes the true positive of."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Predictions and truths after some fixes. A fixed prediction has the class and the boxes of its truth.

    Attributes:
        kept: (p,) whether a prediction is still there.
        found_by: (t,) the true positive of each truth, original or fixed; -1 where it has none.
        counted: (t,) whether a truth still counts.
        fixes: what each oracle so far made of which prediction, with or without success.
    """

    kept: Mask
    found_by: Indices
    counted: Mask
    fixes: tuple[Fixes, ...] = ()

    @property
    def true_positives(self) -> Indices:
        """The true positives, in the order of their truths."""
        return self.found_by[self.found_by >= 0]


def before_fixes(found_by: Indices, predictions: int) -> State:
    """The state before any fix."""
    return State(np.ones(predictions, bool), found_by, np.ones(len(found_by), bool))


FixTargets = Callable[[State, ErrorType], Fixes]
"""What errors of a type become in a state, where they can be fixed (``shoe.diagnosis.fix_targets``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What oracles know.

    Attributes:
        types: (p,) ``ErrorType`` of each prediction, decided once, before any fix.
    """

    scope: Scope
    types: NDArray[np.int8]
    targets: FixTargets


Fix = Callable[[State, Errors], State]
FIXABLE = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX, ErrorType.ASSOCIATION, ErrorType.INTERACTION)
"""The types whose oracle fixes; the others' removes."""


@dataclass(frozen=True, slots=True)
class Error:
    """A kind of error and its oracle.

    Attributes:
        name: in files, as "human_box".
        label: in tables and figures.
        meaning: what is wrong.
        fix: its oracle: the state after it.
    """

    name: str
    label: str
    meaning: str
    fix: Fix


def _oracle(type_: ErrorType) -> Fix:
    """Turn errors into true positives of their targets; of several on one truth the best-scored stays.

    IJCV paper 3.2.1, 3.2.2: "if duplicates are made, suppress the lower-scoring prediction" - the former true positive
    too, if it is the lower one. Errors that become nothing, and those of other types than ``FIXABLE``, are removed
    (protocols.md 8.4, 8.6 item 5).
    """

    def fix(state: State, errors: Errors) -> State:
        if type_ not in FIXABLE:
            return replace(state, kept=state.kept & (errors.types != type_))
        prediction, truth = fixes = errors.targets(state, type_)
        found_by = errors.scope.best_of(prediction, truth, state.found_by)
        kept = state.kept & (errors.types != type_)
        kept[state.true_positives] = False
        kept[found_by[found_by >= 0]] = True
        return replace(state, kept=kept, found_by=found_by, fixes=(*state.fixes, fixes))

    return fix


def _remove_all_errors(state: State, _: Errors) -> State:
    kept = np.zeros_like(state.kept)
    kept[state.true_positives] = True
    return replace(state, kept=kept)


def _drop_unfound(state: State, _: Errors) -> State:
    """Do not count ground truth that nothing finds, after the fixes before."""
    return replace(state, counted=state.counted & (state.found_by >= 0))


TYPES = tuple(
    Error(type_.label, label, meaning, _oracle(type_))
    for type_, label, meaning in (
        (ErrorType.HUMAN_BOX, "human box", "object box right, human box wrong"),
        (ErrorType.OBJECT_BOX, "object box", "human box right, object box or its label wrong"),
        (ErrorType.BOTH_BOXES, "both boxes", "neither box right"),
        (ErrorType.ASSOCIATION, "association", "both boxes right, but not of one pair"),
        (ErrorType.DUPLICATE, "duplicate", "right, but found before by a better-scored one"),
        (ErrorType.INTERACTION, "interaction", "both boxes right, verb wrong"),
    )
)
"""IJCV paper 3.2.1 and 3.2.2, in its order, which is also the order of the progression."""
MISSED_GT = Error("missed_gt", "missed GT", "ground truth that no prediction is about", _drop_unfound)
"""IJCV paper 3.2.3, as it ends the progression."""
ERRORS = (*TYPES, MISSED_GT)
"""The seven error types in the order of the papers."""
GROUPS = (
    Error("false_positive", "false positives", "all predictions but true positives", _remove_all_errors),
    Error("false_negative", "false negatives", "all ground truth without a true positive", _drop_unfound),
)
"""The same errors, as all that is predicted too much and all that is not found (IJCV paper 3.3)."""
NAMES = tuple(error.name for error in (*ERRORS, *GROUPS))
