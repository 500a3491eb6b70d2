"""What a diagnosis says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.fixes import FIXES, GROUPED, MISSED_GT, State
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.variants import Variant
from shoe.matching.task import Task
from shoe.protocols.signature import Signature, sign

NAMES = tuple(oracle.name for oracle in (*FIXES, MISSED_GT, *GROUPED))
"""The errors that have an oracle: six types of predictions, missed ground truth, and the two groups."""


class Step(NamedTuple):
    """One step of the progression: mAP once this error is mended too, and what that step gained."""

    name: str
    means: Means
    delta: Means


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with predictions, and what each kind of error costs.

    n predictions and t ground truths: all rows of the two tables. -1 stands for rows that have no part: no_interaction
    and images without ground truth where they are left out, and what ``variants`` says else.

    Attributes:
        task: what was diagnosed, and against what.
        variant: the reading that was applied, with its options.
        choice, seed: how one of several possible fixes is chosen (``paper`` alone).
        facts: what else is in the signature: how predictions were read.
        types: (n,) ``ErrorType`` of each prediction.
        target: (n,) row of the ground truth that each prediction is about: found by it, found before it (a duplicate),
            or what its oracle makes of it; -1 for errors that only go.
        truth_status: (t,) ``TruthStatus`` of each ground truth.
        found_by: (t,) row of the prediction that is its true positive; -1 where it has none.
        fixed_by: (t,) the same after all fixes.
        counts: number of cases by error: the types, missed_gt, false_positive and false_negative.
        means: mAP before any fix, over all, rare and non-rare classes.
        deltas: what each oracle alone gains, in the same names (IJCV paper, Eq. 2).
        progression: errors mended one after the other, to the end at 1 (IJCV paper, Eq. 4 and 5).
        scope, states: the predictions and truths that have a part, and what each oracle alone leaves of them.
    """

    task: Task
    variant: Variant
    choice: str
    seed: int
    facts: dict[str, str]
    types: NDArray[np.int8]
    target: Indices
    truth_status: NDArray[np.int8]
    found_by: Indices
    fixed_by: Indices
    counts: dict[str, int]
    means: Means
    deltas: dict[str, Means]
    progression: tuple[Step, ...]
    scope: Scope
    states: dict[str, State]

    @property
    def signature(self) -> Signature:
        """How the figures came about."""
        diagnosis = {"diagnosis": self.variant.name}
        if not self.variant.shared_map:
            diagnosis |= {"choice": self.choice}
            diagnosis |= {"seed": str(self.seed)} if self.choice == "seeded" else {}
        truth = self.task.truth
        facts = truth.facts() | self.facts | diagnosis
        return sign(facts, self.variant.strict, protocols=truth.benchmark.protocols)
