"""Diagnose predictions: which errors they make, and what mending each kind gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.arrays import Indices, Mask
from shoe.datasets.truth import GroundTruth
from shoe.diagnosis.claims import BEST, by_map, own_picks, seeded, shared_map
from shoe.diagnosis.deltas import Means, Ranking
from shoe.diagnosis.fixes import FIXES, GROUPED, MISSED_GT, Case, State, untouched
from shoe.diagnosis.flow import NO_PART, ErrorType, TruthStatus
from shoe.diagnosis.order import Order
from shoe.diagnosis.overlaps import overlaps
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.variants import VARIANTS, Variant
from shoe.diagnosis.walk import walk
from shoe.errors import OptionError, unknown_name
from shoe.interactions import Interactions
from shoe.iou import OverlapRule
from shoe.matching.task import Task
from shoe.predictions.notes import ReadNotes
from shoe.scoring.score import _check_images, _frame_names
from shoe.scoring.signature import Signature, sign

NAMES = tuple(oracle.name for oracle in (*FIXES, MISSED_GT, *GROUPED))
"""The errors that have an oracle: six types of predictions, missed ground truth, and the two groups."""
CHOICES = ("seeded", "best")
NO_INTERACTION_CHOICES = ("exclude", "keep")
_SEEDS = 1 << 32


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
        return sign(self.task.truth, self.facts | diagnosis, self.variant.strict)


def diagnose(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    variant: str = "paper",
    choice: str = "seeded",
    seed: int = 0,
    no_interaction: str = "exclude",
    notes: ReadNotes | None = None,
) -> Diagnosis:
    """Sort the errors of predictions by type and measure what mending each type gains (IJCV paper 3; protocols.md 8).

    Where a fix may lower mAP: never in ``paper``. In ``released``, because of its averaging (protocols.md 8.5): a class
    that was tried in vain is left out until a fix gives it its first true positive, or takes its last prediction (then
    it counts 0); and a class without predictions enters the means of rare and non-rare with its first fix.

    Args:
        predictions: what a model said; words may be any.
        truth: what is so.
        variant: ``paper``, or ``released`` for what the toolbox does (see ``shoe.diagnosis.variants``).
        choice: which of several possible fixes an error gets, in ``paper``: a random one (``seeded``) or the ``best``.
        seed: 0 to 2**32 - 1, for ``seeded``.
        no_interaction: whether the classes that say a person does nothing take part: ``exclude`` or ``keep`` (IJCV
            paper 2.4 and 6.6).
        notes: how the predictions were read (``read_predictions_with_notes``), for the signature.

    Raises:
        OptionError: for an unknown variant or choice, or a seed out of range.
        InputError: when predictions and ground truth have no image in common.
    """
    rules = _rules(variant, choice, seed, no_interaction)
    task = Task(predictions, truth)
    _check_images(task)
    facts = {"frame": _frame_names(predictions)}
    if notes is not None:
        facts |= {"boxes": notes.boxes, "scores": notes.scores}
    return diagnose_task(task, rules, choice, seed, facts)


def diagnose_task(task: Task, variant: Variant, choice: str, seed: int, facts: dict[str, str]) -> Diagnosis:
    """Diagnose under any variant; see :func:`diagnose`."""
    options = variant.strict
    scope = Scope.of(task, options.no_interaction)
    rule = OverlapRule(options.overlap, options.threshold, options.threshold_at == ">=")
    pairs = overlaps(scope, options.space, rule)
    order = Order.of(task.predictions.score[scope.prediction])
    walked = walk(scope, pairs, order)
    types, found_by = walked.types, walked.found_by
    owner = shared_map(scope, pairs, types, order, found_by) if variant.shared_map else None
    choose = BEST if choice == "best" else seeded(scope, seed)
    claims = own_picks(scope, pairs, types, order, choose) if owner is None else by_map(owner, types)

    case = Case(types, order, claims)
    before = untouched(found_by, len(types))
    states = {oracle.name: oracle.apply(before, case) for oracle in (*FIXES, *GROUPED)}
    sequence = [states[FIXES[0].name]]
    for oracle in (*FIXES[1:], MISSED_GT):
        sequence.append(oracle.apply(sequence[-1], case))
    fixed_by = sequence[-1].found_by
    missed, unseen = fixed_by < 0, np.zeros(len(found_by), bool)
    if owner is not None:
        missed = (found_by < 0) & (owner < 0)
        # The toolbox's oracle does not look at images without predictions.
        unseen = (np.bincount(scope.image, minlength=scope.images) == 0)[scope.truth_image]
    states[MISSED_GT.name] = replace(before, counted=~missed | unseen)

    ranking = Ranking.of(scope, options, order)
    means = ranking.means(before)
    scored = {name: ranking.means(state) for name, state in states.items()}
    progress = [means, scored[FIXES[0].name], *(ranking.means(state) for state in sequence[1:])]

    target = walked.target.copy()
    for oracle in FIXES:
        for prediction, truth in states[oracle.name].aims:
            target[prediction] = truth
    status = np.select([found_by >= 0, missed], [TruthStatus.FOUND, TruthStatus.MISSED], TruthStatus.COVERED)
    n, t = len(task.predictions), len(task.truth.interactions)
    return Diagnosis(
        task=task,
        variant=variant,
        choice=choice,
        seed=seed,
        facts=facts,
        types=_spread(types, scope.prediction, n).astype(np.int8),
        target=_spread(_rows(target, scope.truth), scope.prediction, n),
        truth_status=_spread(status, scope.truth, t).astype(np.int8),
        found_by=_spread(_rows(found_by, scope.prediction), scope.truth, t),
        fixed_by=_spread(_rows(fixed_by, scope.prediction), scope.truth, t),
        counts=_counts(types, found_by, missed),
        means=means,
        deltas={name: scored[name].minus(means) for name in NAMES},
        progression=tuple(
            Step(oracle.name, after, after.minus(earlier))
            for oracle, earlier, after in zip((*FIXES, MISSED_GT), progress, progress[1:], strict=False)
        ),
        scope=scope,
        states=states,
    )


def _rules(variant: str, choice: str, seed: int, no_interaction: str) -> Variant:
    if variant not in VARIANTS:
        raise unknown_name("variant", variant, VARIANTS)
    if choice not in CHOICES:
        raise unknown_name("choice", choice, CHOICES)
    if not 0 <= seed < _SEEDS:
        raise OptionError(f"seed: found {seed}, expected 0 to {_SEEDS - 1}")
    if no_interaction not in NO_INTERACTION_CHOICES:
        raise unknown_name("choice for no_interaction", no_interaction, NO_INTERACTION_CHOICES)
    chosen = VARIANTS[variant]
    return replace(chosen, strict=replace(chosen.strict, no_interaction=no_interaction))


def _counts(types: NDArray[np.int8], found_by: Indices, missed: Mask) -> dict[str, int]:
    of_type = np.bincount(types, minlength=len(ErrorType)).tolist()
    counts = {type_.label: of_type[type_] for type_ in ErrorType}
    return {
        ErrorType.TRUE_POSITIVE.label: counts[ErrorType.TRUE_POSITIVE.label],
        **{oracle.name: counts[oracle.name] for oracle in FIXES},
        MISSED_GT.name: int(missed.sum()),
        "false_positive": len(types) - counts[ErrorType.TRUE_POSITIVE.label],
        "false_negative": int((found_by < 0).sum()),
    }


def _rows(places: Indices, rows: Indices) -> Indices:
    """Places in the scope to rows of a table; -1 stays."""
    return np.append(rows, NO_PART)[places]


def _spread(values: NDArray[np.integer], rows: Indices, size: int) -> Indices:
    """Values of the rows in scope to all rows of a table; -1 for those that have no part."""
    spread = np.full(size, NO_PART, np.int64)
    spread[rows] = values
    return spread
