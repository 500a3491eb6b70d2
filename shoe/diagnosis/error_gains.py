"""Error analysis of triplets: type of each error, mAP gain from fixing each type, and examples of errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.signature import Signature, sign
from shoe.core.arrays import Floats, Indices, Mask, first_of_each, index_in_group, random_numbers, runs, scatter
from shoe.core.boxes import CommonCoordinates, iou
from shoe.core.errors import unknown_name
from shoe.core.interactions import Interactions
from shoe.diagnosis import fix_targets
from shoe.diagnosis.error_types import (
    ERRORS,
    FIXABLE,
    FLOW,
    GROUPS,
    MISSED_GT,
    NAMES,
    NO_PART,
    ROLE_FLOW,
    TYPES,
    Assigned,
    Errors,
    ErrorType,
    Fixes,
    State,
    TruthStatus,
    Variant,
    assign_by_person,
    assign_types,
    before_fixes,
)
from shoe.diagnosis.scope import Overlaps, Scope, overlaps
from shoe.scoring.average_precision import FixedRanking
from shoe.scoring.entries import AveragingRule, ClassScores, Means, PartMean, minus
from shoe.scoring.matching.task import Boxes, Task


class Step(NamedTuple):
    """Step of fixing error types in sequence: type that is fixed (name), mAP after this step, gain in mAP (delta)."""

    name: str
    means: Means
    delta: Means


class _Fixed(NamedTuple):
    """States after each oracle alone and after each step of the progression, and (t,) mask of missed ground truths."""

    alone: dict[str, State]
    sequence: list[State]
    missed: Mask


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorAnalysis:
    """Error types of triplets, and the mAP lost by each type (IJCV paper 3; protocols.md 8).

    Arrays have one element per row of the predictions (n) or of the ground truth (t). The value -1 marks rows that are
    excluded: rows of images without ground truth, and of no_interaction if the variant excludes it. Each result is
    computed on first use.

    In the variant ``paper``, a fix never lowers mAP. In ``released``, it may, because of the averaging (protocols.md
    8.5): a class whose predictions are all wrong is left out of the mean until a fix gives it a true positive, or until
    all its predictions are removed (AP is then 0). A class without predictions is left out of the means over rare and
    non-rare classes until a fix gives it a true positive.

    Attributes:
        variant: settings of ``paper`` or ``released``.
        choice: rule for choosing one of several possible fix targets, ``seeded`` or ``greedy`` (variant ``paper``).
        seed, seeds: first random seed and number of seeds for ``seeded``. Deltas, steps and the count of missed ground
            truths are means over all seeds. ``states``, ``target``, ``truth_status`` and ``fixed_by`` are the results
            for the first seed.
        facts: additional signature entries on how predictions were read.
    """

    task: Task
    variant: Variant
    choice: str = "seeded"
    seed: int = 0
    seeds: int = 20
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def choices(self) -> dict[str, str]:
        """Entries for the signature, by name: variant, rule for choosing one of several possible fix targets, seeds."""
        of_variant = {"diagnosis": self.variant.name} | ({"by": "role"} if self.variant.by == "role" else {})
        if self.variant.shared_map:
            return of_variant
        drawn = {"seed": str(self.seed), "seeds": str(self.seeds)} if self.choice == "seeded" else {}
        return of_variant | {"choice": self.choice} | drawn

    @property
    def signature(self) -> Signature:
        """Signature of the results, which names data, options and version of shoe."""
        facts = self.task.truth.signature_fields() | self.facts | self.choices
        return sign(facts, self.variant.strict, protocols=self.task.truth.benchmark.protocols)

    @cached_property
    def scope(self) -> Scope:
        """Predictions and ground truths that take part in the analysis."""
        return Scope.from_task(self.task, self.variant.strict.no_interaction)

    @cached_property
    def overlaps(self) -> Overlaps:
        """Pairs of a prediction and a ground truth that match in the human box, the object box, or both."""
        return overlaps(self.scope, self.variant.strict.coordinates, self.variant.strict.rule)

    @cached_property
    def assigned(self) -> Assigned:
        """Error types and true positives before any fix, for the predictions and ground truths that take part."""
        truth = self.task.truth
        if truth.benchmark.flow is ROLE_FLOW and truth.roles is not None:
            return assign_by_person(self.scope, truth.roles, self.variant.strict.rule)
        return assign_types(self.scope, self.overlaps, truth.benchmark.flow or FLOW)

    @cached_property
    def _possible(self) -> dict[ErrorType, Fixes]:
        return fix_targets.possible_targets(self.scope, self.overlaps, self.assigned.types)

    @cached_property
    def _true_pairs(self) -> fix_targets.TruePairs:
        return fix_targets.TruePairs.from_scope(self.scope, self.variant.strict)

    @cached_property
    def _fixed(self) -> _Fixed:
        scope, (types, found_by) = self.scope, (self.assigned.types, self.assigned.found_by)
        best = fix_targets.shared_map(scope, self.overlaps, types, found_by) if self.variant.shared_map else None
        if best is not None:
            targets = fix_targets.targets_by_map(best, types)
        else:
            seed = None if self.choice == "greedy" else self.seed
            targets = fix_targets.targets_of_each(scope, self._possible, self._true_pairs, seed)
        errors, before = Errors(scope, types, targets), before_fixes(found_by, len(types))
        alone = {error.name: error.fix(before, errors) for error in (*TYPES, *GROUPS)}
        first = alone[TYPES[0].name]
        sequence = list(accumulate(ERRORS[1:], lambda state, error: error.fix(state, errors), initial=first))
        if best is None:
            missed = dropped = sequence[-1].found_by < 0
        else:
            missed = (found_by < 0) & (best < 0)
            # The toolbox's oracle does not look at images without predictions.
            dropped = missed & (np.bincount(scope.image, minlength=scope.images) > 0)[scope.truth_image]
        alone[MISSED_GT.name] = replace(before, counted=~dropped)
        return _Fixed({name: alone[name] for name in NAMES}, sequence, missed)

    @property
    def states(self) -> dict[str, State]:
        """State of predictions and ground truths after one error type (or group of types) is fixed, by type name."""
        return self._fixed.alone

    @cached_property
    def types(self) -> NDArray[np.int8]:
        """(n,) ``ErrorType`` of each prediction, or -1 for excluded rows."""
        return scatter(self.assigned.types, self.scope.prediction, len(self.task.predictions)).astype(np.int8)

    @cached_property
    def target(self) -> Indices:
        """(n,) ground-truth row that a true positive or duplicate matches, or fix target of an error; otherwise -1."""
        scope, target = self.scope, self.assigned.target.copy()
        for type_ in FIXABLE:
            for prediction, truth in self.states[type_.label].fixes:
                target[prediction] = truth
        return scatter(np.append(scope.truth, NO_PART)[target], scope.prediction, len(self.task.predictions))

    @cached_property
    def truth_status(self) -> NDArray[np.int8]:
        """(t,) ``TruthStatus`` of each ground truth, or -1 for excluded rows."""
        found = self.assigned.found_by >= 0
        status = np.select([found, self._fixed.missed], [TruthStatus.FOUND, TruthStatus.MISSED], TruthStatus.COVERED)
        return scatter(status, self.scope.truth, len(self.task.truth.interactions)).astype(np.int8)

    @cached_property
    def found_by(self) -> Indices:
        """(t,) prediction row of each ground truth's true positive before any fix, or -1."""
        return self._finder(self.assigned.found_by)

    @cached_property
    def fixed_by(self) -> Indices:
        """(t,) row of each ground truth's true positive after all fixes, maybe a fixed prediction; -1 if none."""
        return self._finder(self._fixed.sequence[-1].found_by)

    def _finder(self, found_by: Indices) -> Indices:
        rows = np.append(self.scope.prediction, NO_PART)[found_by]
        return scatter(rows, self.scope.truth, len(self.task.truth.interactions))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Counts by name: true positives, each error type, each group; "missed_gt" is a rounded mean over seeds."""
        of_type = np.bincount(self.assigned.types, minlength=len(ErrorType)).tolist()
        right, drawn = of_type[ErrorType.TRUE_POSITIVE], self._by_seed
        missed = self._fixed.missed.sum() if drawn is None else drawn.missed.sum(axis=1).mean()
        return {
            ErrorType.TRUE_POSITIVE.label: right,
            **{error.name: of_type[ErrorType[error.name.upper()]] for error in TYPES},
            MISSED_GT.name: round(float(missed)),
            "false_positive": sum(of_type) - right,
            "false_negative": int((self.assigned.found_by < 0).sum()),
        }

    @property
    def drawn(self) -> bool:
        """Whether results are means over several seeds."""
        return self._by_seed is not None and self.seeds > 1

    @cached_property
    def _by_seed(self) -> fix_targets.OverSeeds | None:
        """Oracles for all seeds, or None if no fix target is chosen at random."""
        if self.variant.shared_map or self.choice != "seeded":
            return None
        seeds = range(self.seed, self.seed + self.seeds)
        lists, assigned = (self._possible, self._true_pairs), self.assigned
        return fix_targets.OverSeeds(self.scope, *lists, assigned.types, assigned.found_by, self._ranking, seeds)

    @cached_property
    def _ranking(self) -> FixedRanking:
        return FixedRanking.from_ranks(self.scope.hoi, self.scope.by_rank, len(self.task.truth.classes))

    def means_after(self, state: State) -> Means:
        """Return the mean AP over all, rare and non-rare classes after the fixes of a state (protocols.md 8.5)."""
        return self._scores_after(state).means(self.task.truth.classes.rare, self.task.truth.classes.unseen)

    def _scores_after(self, state: State) -> ClassScores:
        scope, classes, options = self.scope, self.task.truth.classes, self.variant.strict
        false = state.kept.copy()
        false[state.true_positives] = False
        found = np.flatnonzero(state.found_by >= 0)
        truths = np.bincount(scope.truth_hoi[state.counted], minlength=len(classes))
        lists = self._ranking.lists(false, state.found_by[found], scope.truth_hoi[found], truths, options.ap)
        return ClassScores.from_lists(
            lists, truths, np.ones(len(classes), bool), AveragingRule.from_options(options), classes.unseen
        )

    @cached_property
    def _before(self) -> ClassScores:
        return self._scores_after(before_fixes(self.assigned.found_by, len(self.assigned.types)))

    @cached_property
    def means(self) -> Means:
        """Mean AP before any fix, over all, rare and non-rare classes."""
        return self._before.means(self.task.truth.classes.rare, self.task.truth.classes.unseen)

    @cached_property
    def parts(self) -> dict[str, PartMean]:
        """Mean AP before any fix for each part of the class split, by name; empty without a class split."""
        return self._before.part_means(self.task.truth.class_parts)

    @cached_property
    def _figures_after(self) -> dict[str, Floats]:
        """(s, 3 + parts) mean AP after each oracle alone, by error name, with the columns of ``OverSeeds.alone``."""
        drawn = {} if self._by_seed is None else self._by_seed.alone
        classes, parts = self.task.truth.classes, self.task.truth.class_parts

        def figures(state: State) -> Floats:
            scores = self._scores_after(state)
            of_parts = (part.map for part in scores.part_means(parts).values())
            return np.array([[*scores.means(classes.rare, classes.unseen), *of_parts]], float)

        return {name: drawn[name] if name in drawn else figures(state) for name, state in self.states.items()}

    @cached_property
    def _after(self) -> dict[str, tuple[Means, Means]]:
        """Mean AP after each oracle alone, and its standard deviation over seeds, by error name."""
        return {name: fix_targets.means_over_seeds(figures) for name, figures in self._figures_after.items()}

    @cached_property
    def part_deltas(self) -> dict[str, dict[str, float | None]]:
        """Gain in mAP from fixing one error type, mean over seeds, by part of the class split, then by error type."""
        deltas: dict[str, dict[str, float | None]] = {}
        for column, (part, before) in enumerate(self.parts.items(), len(Means._fields)):
            after = {name: fix_targets.over_seeds(figures[:, column]) for name, figures in self._figures_after.items()}
            deltas[part] = {name: minus(value, before.map) for name, value in after.items()}
        return deltas

    @cached_property
    def deltas(self) -> dict[str, Means]:
        """Gain in mAP (all, rare, non-rare classes) from fixing an error type or group, by name (IJCV paper, Eq. 2)."""
        return {name: after.minus(self.means) for name, (after, _) in self._after.items()}

    @property
    def spreads(self) -> dict[str, Means]:
        """Standard deviation over seeds of each gain in ``deltas``; 0 with one seed or without random choices."""
        return {name: spread for name, (_, spread) in self._after.items()}

    @cached_property
    def progression(self) -> tuple[Step, ...]:
        """Steps of fixing one error type after another, until mAP is 1 (IJCV paper, Eq. 4 and 5)."""
        if self._by_seed is None:
            after = [self._after[TYPES[0].name][0], *map(self.means_after, self._fixed.sequence[1:])]
        else:
            after = [fix_targets.means_over_seeds(figures)[0] for figures in self._by_seed.progression]
        return tuple(
            Step(error.name, later, later.minus(earlier))
            for error, (earlier, later) in zip(ERRORS, pairwise([self.means, *after]), strict=True)
        )

    @property
    def ranked(self) -> list[str]:
        """Names of the seven error types by descending mAP gain of the fix; ties are in the order of the papers."""
        return sorted((error.name for error in ERRORS), key=lambda name: -(self.deltas[name].map or 0.0))

    @property
    def worst(self) -> str | None:
        """Name of the error type whose fix raises mAP most, or None if no fix raises it."""
        first = self.ranked[0]
        return first if (self.deltas[first].map or 0.0) > 0 else None

    def examples(self, error: str, most: int = 6) -> list[ErrorExample]:
        """Return at most ``most`` examples of an error type such as "human_box", each from a different image.

        Of each image, only the example with the highest score is used. The best-scored example of each combination of
        verb and object comes first, then the second-best, and so on. Equal scores, and missed ground truths, are in
        random order by the seed of the analysis. Raise OptionError if ``error`` is unknown, or is a group of error
        types such as "false_positive".
        """
        names = [each.name for each in ERRORS]
        if error not in names:
            raise unknown_name("error", error, names)
        if error == MISSED_GT.name:
            truth = self.task.truth.interactions
            rows = np.flatnonzero(self.truth_status == TruthStatus.MISSED)
            chosen = _spread(rows, np.zeros(len(rows)), truth, self.task.truth.hoi[rows], self.seed, most)
            return [
                ErrorExample(truth.images[image], _size(truth, image), None, None, _pair(truth, row), True, None, None)
                for row, image in zip(chosen, truth.image[chosen].tolist(), strict=True)
            ]
        table = self.task.predictions
        rows = np.flatnonzero(self.types == ErrorType[error.upper()])
        kind = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
        return [_wrong(self, row) for row in _spread(rows, table.score[rows], table, kind, self.seed, most)]


@dataclass(frozen=True, slots=True)
class Shown:
    """Triplet to be plotted: human box, object box, verb and noun. Box edges are in pixels of the annotated image."""

    human: tuple[float, ...]
    object: tuple[float, ...]
    verb: str
    noun: str


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """One error: a wrong prediction, or a missed ground truth."""

    image: str
    size: tuple[int, int]  # annotated width and height of the image; (0, 0) if unknown
    predicted: Shown | None  # wrong prediction; None for missed ground truth
    score: float | None  # confidence of the prediction; None for missed ground truth
    # ground truth that the prediction refers to. If it refers to none, the ground truth of the image with the largest
    # sum of human IoU and object IoU; None if the image has no ground truth.
    truth: Shown | None
    # whether the prediction refers to a ground truth, which is then ``truth``; True for missed ground truth
    about: bool
    found: float | None  # score of the true positive of ``truth``; None without a true positive
    # human IoU and object IoU of ``predicted`` and ``truth``; None if either is missing
    overlap: tuple[float, float] | None


def _spread(
    rows: Indices, score: Floats, table: Interactions, kind: NDArray[np.integer], seed: int, most: int
) -> list[int]:
    """Return at most ``most`` rows as examples; ``kind`` is the verb and object of each row."""
    order = np.lexsort((random_numbers(seed, (len(table), 1))[rows, 0], -score))
    rows, kind = rows[order], kind[order]
    image = table.image[rows]
    by_image = np.argsort(image, kind="stable")
    best = np.sort(by_image[first_of_each(image[by_image])])
    rows, kind = rows[best], kind[best]
    by_kind = np.argsort(kind, kind="stable")
    turn = np.empty(len(rows), np.int64)
    turn[by_kind] = index_in_group(runs(kind[by_kind])[1])
    return [int(row) for row in rows[np.argsort(turn, kind="stable")[:most]]]


def _wrong(analysis: ErrorAnalysis, row: int) -> ErrorExample:
    task, options = analysis.task, analysis.variant.strict
    table, truth = task.predictions, task.truth.interactions
    image, target = int(task.image[row]), int(analysis.target[row])
    ours, theirs = Boxes(table, options.coordinates), Boxes(truth, options.coordinates)
    near = np.flatnonzero(analysis.truth_status[truth.offsets[image] : truth.offsets[image + 1]] >= 0)
    near += truth.offsets[image]
    mine = np.full(len(near), row)
    humans = iou(ours.human(mine), theirs.human(near), options.overlap)
    objects = iou(ours.object(mine), theirs.object(near), options.overlap)
    nearest = int(np.argmax(near == target if target >= 0 else humans + objects)) if len(near) else -1
    finder = int(analysis.found_by[near[nearest]]) if nearest >= 0 else -1
    return ErrorExample(
        image=truth.images[image],
        size=_size(truth, image),
        predicted=_pair(table, row),
        score=float(table.score[row]),
        truth=_pair(truth, int(near[nearest])) if nearest >= 0 else None,
        about=target >= 0,
        found=float(table.score[finder]) if finder >= 0 else None,
        overlap=(float(humans[nearest]), float(objects[nearest])) if nearest >= 0 else None,
    )


def _pair(table: Interactions, row: int) -> Shown:
    rows, boxes = np.array([row]), Boxes(table, CommonCoordinates.EDGES)
    human, object_ = (tuple(side(rows)[0].tolist()) for side in (boxes.human, boxes.object))
    return Shown(human, object_, table.verbs[table.verb[row]], table.objects[table.object[row]])


def _size(table: Interactions, image: int) -> tuple[int, int]:
    width, height = table.sizes[image].tolist()
    return width, height
