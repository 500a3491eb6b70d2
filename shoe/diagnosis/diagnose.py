"""Diagnose predictions: which errors they make, and what mending each kind gains."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Indices, Mask
from shoe.core.errors import OptionError, unknown_name
from shoe.core.interactions import Interactions
from shoe.diagnosis.claims import BEST, Choose, by_map, own_picks, seeded, shared_map
from shoe.diagnosis.deltas import Ranking
from shoe.diagnosis.diagnosis import NAMES, Diagnosis, Step
from shoe.diagnosis.fixes import FIXES, GROUPED, MISSED_GT, Case, State, untouched
from shoe.diagnosis.flow import NO_PART, ErrorType, TruthStatus
from shoe.diagnosis.order import Order
from shoe.diagnosis.overlaps import Overlaps, overlaps
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.variants import VARIANTS, Variant
from shoe.diagnosis.walk import Walk, walk
from shoe.matching.task import Task
from shoe.predictions.notes import ReadNotes
from shoe.protocols.options import changed
from shoe.scoring.score import coordinate_names

CHOICES = ("seeded", "best")
NO_INTERACTION_CHOICES = ("exclude", "keep")
_SEEDS = 1 << 32


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
    task.check_images()
    facts = {"coordinates": coordinate_names(predictions)}
    if notes is not None:
        facts |= {"boxes": notes.boxes, "scores": notes.scores}
    return diagnose_task(task, rules, choice, seed, facts)


def diagnose_task(task: Task, variant: Variant, choice: str, seed: int, facts: dict[str, str]) -> Diagnosis:
    """Diagnose under any variant; see :func:`diagnose`."""
    options = variant.strict
    scope = Scope.of(task, options.no_interaction)
    pairs = overlaps(scope, options.coordinates, options.rule)
    order = Order.of(task.predictions.score[scope.prediction])
    found = walk(scope, pairs, order)
    choose = None if variant.shared_map else BEST if choice == "best" else seeded(scope, seed)
    mended = _mended(scope, pairs, order, found, choose)

    ranking = Ranking.of(scope, options, order)
    means = ranking.means(untouched(found.found_by, len(found.types)))
    scored = {name: ranking.means(state) for name, state in mended.alone.items()}
    # The first step is the first oracle alone.
    steps = [means, scored[FIXES[0].name], *(ranking.means(state) for state in mended.sequence[1:])]

    target = found.target.copy()
    for oracle in FIXES:
        for prediction, truth in mended.alone[oracle.name].aims:
            target[prediction] = truth
    fixed_by = mended.sequence[-1].found_by
    status = np.select(
        [found.found_by >= 0, mended.missed], [TruthStatus.FOUND, TruthStatus.MISSED], TruthStatus.COVERED
    )
    n, t = len(task.predictions), len(task.truth.interactions)
    return Diagnosis(
        task=task,
        variant=variant,
        choice=choice,
        seed=seed,
        facts=facts,
        types=_spread(found.types, scope.prediction, n).astype(np.int8),
        target=_spread(_rows(target, scope.truth), scope.prediction, n),
        truth_status=_spread(status, scope.truth, t).astype(np.int8),
        found_by=_spread(_rows(found.found_by, scope.prediction), scope.truth, t),
        fixed_by=_spread(_rows(fixed_by, scope.prediction), scope.truth, t),
        counts=_counts(found.types, found.found_by, mended.missed),
        means=means,
        deltas={name: scored[name].minus(means) for name in NAMES},
        progression=tuple(
            Step(oracle.name, after, after.minus(earlier))
            for oracle, (earlier, after) in zip((*FIXES, MISSED_GT), pairwise(steps), strict=True)
        ),
        scope=scope,
        states=mended.alone,
    )


class _Mended(NamedTuple):
    """Each oracle alone; all of them one after the other; and which truths are missed."""

    alone: dict[str, State]
    sequence: list[State]
    missed: Mask


def _mended(scope: Scope, pairs: Overlaps, order: Order, found: Walk, choose: Choose | None) -> _Mended:
    """Apply all oracles, by the toolbox's map where errors cannot choose."""
    owner = None
    if choose is None:
        owner = shared_map(scope, pairs, found.types, order, found.found_by)
        claims = by_map(owner, found.types)
    else:
        claims = own_picks(scope, pairs, found.types, order, choose)
    case = Case(found.types, order, claims)
    before = untouched(found.found_by, len(found.types))
    alone = {oracle.name: oracle.apply(before, case) for oracle in (*FIXES, *GROUPED)}
    sequence = [alone[FIXES[0].name]]
    for oracle in (*FIXES[1:], MISSED_GT):
        sequence.append(oracle.apply(sequence[-1], case))

    if owner is None:
        missed = dropped = sequence[-1].found_by < 0
    else:
        missed = (found.found_by < 0) & (owner < 0)
        # The toolbox's oracle does not look at images without predictions.
        dropped = missed & (np.bincount(scope.image, minlength=scope.images) > 0)[scope.truth_image]
    alone[MISSED_GT.name] = replace(before, counted=~dropped)
    return _Mended(alone, sequence, missed)


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
    return replace(chosen, strict=changed(chosen.strict, [f"strict.no-interaction={no_interaction}"]))


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
