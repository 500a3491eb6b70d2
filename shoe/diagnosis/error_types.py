"""Two variants of Diag-HOI as data: ``paper`` follows the papers, ``released`` the toolbox released with them.

The papers are the first version and the journal version (IJCV) of "Diagnosing Human-object Interaction Detectors".
Sections 8.1 to 8.6 of docs/protocols.md state the rules of both variants, and where papers and toolbox differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Actions
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.scoring_options import Interpolation, StrictOptions
from shoe.core.arrays import Floats, Indices, Mask, argmax_per_run, mask_of, scatter
from shoe.core.boxes import OverlapRule, iou
from shoe.core.roles import RoleTruth, no_boxes
from shoe.diagnosis.scope import Overlaps, Scope
from shoe.scoring.matching.persons import nearest_boxes


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings of one variant of the error diagnosis."""

    name: str
    strict: StrictOptions  # options for box comparison, mAP and no_interaction
    shared_map: bool  # whether fix targets are chosen as in the toolbox, with at most one error per ground truth
    by: str = "class"  # ``class`` for the classes of the class table, or ``role`` for actions with a role


_BY_TEXT = replace(DIAG, threshold_at=">", ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero")
VARIANTS = {"paper": Variant("paper", _BY_TEXT, False), "released": Variant("released", DIAG, True)}  # variants by name


# Error types: what each prediction is, decided by a table of rules (IJCV paper, Figure 2; protocols.md 8.2).

NO_PART = -1  # placeholder for a missing type, status or row, used for rows outside the diagnosis


class ErrorType(IntEnum):
    """Type of a prediction: true positive, or a type of error; the integers are those of the Diag-HOI toolbox."""

    TRUE_POSITIVE = 0
    HUMAN_BOX = 1
    OBJECT_BOX = 2
    BOTH_BOXES = 3
    ASSOCIATION = 4
    INTERACTION = 5
    DUPLICATE = 6

    @property
    def label(self) -> str:
        """Name in results and files, such as "human_box"."""
        return self.name.lower()


class TruthStatus(IntEnum):
    """Status of a ground truth: found, not found but the target of an erroneous prediction (covered), or missed."""

    FOUND = 0
    """The ground truth has a true positive."""
    COVERED = 1
    """The ground truth has no true positive, but is the target of an error."""
    MISSED = 2
    """The ground truth has neither a true positive nor an error: missed GT."""


Flow = Sequence[tuple[Sequence[str], str]]
"""Rules in order of precedence: names of conditions that must all hold, and the label of the resulting error type."""

FLOW: Flow = (
    (("triplet", "first"), "true_positive"),
    (("triplet",), "duplicate"),
    (("pair",), "interaction"),
    (("human", "object"), "association"),
    (("human",), "object_box"),
    (("object",), "human_box"),
    ((), "both_boxes"),
)
"""Decision flow of the papers for HICO-DET. Conditions of a prediction:

- ``triplet``: both boxes match a ground truth of the predicted class;
- ``first``: the prediction is the true positive of that ground truth;
- ``pair``: both boxes match the same ground truth, whatever its verb;
- ``human``, ``object``: the human (object) box matches any box with its label in the image.
"""

ROLE_FLOW: Flow = (
    (("triplet", "first"), "true_positive"),
    (("triplet",), "duplicate"),
    (("human", "role"), "interaction"),
    (("human", "role_on_any"), "association"),
    (("human",), "object_box"),
    (("role", "human_on_any"), "association"),
    (("role",), "human_box"),
    ((), "both_boxes"),
)
"""Decision flow of the toolbox for V-COCO (protocols.md 8.3). Conditions of a prediction:

- ``human``: the human box matches the annotated person that it overlaps most;
- ``role``: the other box matches the box of this person in the predicted role;
- ``triplet``: ``human`` and ``role`` hold, and the person performs the action;
- ``first``: the prediction is the true positive of that ground truth;
- ``human_on_any``, ``role_on_any``: the box matches any box in the image, whatever its category.
"""


def decide(facts: Mapping[str, Mask], flow: Flow) -> NDArray[np.int8]:
    """Return the (n,) ``ErrorType`` by the first rule in ``flow`` whose conditions, masks by name, all hold; or -1."""
    size = len(next(iter(facts.values())))
    types = np.full(size, NO_PART, np.int8)
    for names, label in reversed(flow):
        holds = np.logical_and.reduce([np.ones(size, bool), *(facts[name] for name in names)])
        np.putmask(types, holds, ErrorType[label.upper()])
    return types


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """Error types and matched ground truths, before any fix, of p predictions in a scope with t ground truths."""

    types: NDArray[np.int8]  # (p,) ``ErrorType`` of each prediction
    target: Indices  # (p,) ground truth that a true positive or a duplicate matches; -1 for other types
    found_by: Indices  # (t,) true positive of each ground truth, or -1


def assign_types(scope: Scope, overlaps: Overlaps, flow: Flow = FLOW) -> Assigned:
    """Return the error type and the matched ground truth of each prediction, by the decision rules ``flow``.

    A prediction refers to the ground truth of its class with the largest pair IoU; ties are broken by file order. Of
    all predictions that refer to a ground truth, the best-scored one is its true positive. The other predictions are
    duplicates, and are not matched with another ground truth.
    """
    same = np.flatnonzero(overlaps.pair & (scope.hoi[overlaps.prediction] == scope.truth_hoi[overlaps.truth]))
    prediction, truth, pair_iou = overlaps.prediction[same], overlaps.truth[same], overlaps.iou(same)
    best = argmax_per_run(prediction, pair_iou)
    target = scatter(truth[best], prediction[best], len(scope.prediction))
    boxes = {"human": overlaps.human_correct, "object": overlaps.object_correct}
    return _assigned(scope, target, flow, pair=mask_of(overlaps.prediction[overlaps.pair], len(target)), **boxes)


def _assigned(scope: Scope, target: Indices, flow: Flow, **facts: Mask) -> Assigned:
    """Return types and true positives; ``target`` is the (p,) matched truth or -1, ``facts`` as in :func:`decide`."""
    matched = np.flatnonzero(target >= 0)
    found_by = scope.best_of(matched, target[matched])
    first = mask_of(found_by[found_by >= 0], len(target))
    return Assigned(decide({"triplet": target >= 0, "first": first, **facts}, flow), target, found_by)


# Error types as the toolbox assigns them on V-COCO: by the annotated person that overlaps most with a prediction.


def assign_by_person(scope: Scope, roles: RoleTruth, rule: OverlapRule) -> Assigned:
    """Return the error type and the matched ground truth of each prediction of a task by role (protocols.md 8.3).

    A prediction is compared with the annotated person whose box overlaps most with the human box, however small the
    overlap. Its object box is right if it overlaps the box of this person in the predicted role. A person has boxes
    only in roles of performed actions; if the person has no box in the role, only an empty box is right. If the
    predicted action is wrong, the person has no box in its role, so that any predicted box is wrong, too: this is an
    association or box error, not an interaction error. ``scope`` is that of :func:`shoe.diagnosis.diagnose.by_role`.
    """
    table = scope.task.predictions
    human, object_ = table.human_boxes[scope.prediction], table.object_boxes[scope.prediction]
    boxes = roles.boxes.astype(np.float64)

    def nearest(predicted: Floats, targets: Floats, offsets: Indices) -> tuple[Indices, Floats]:
        return nearest_boxes(predicted, scope.image, targets, offsets, lambda a, b: iou(a, b, rule.overlap))

    person, of_person = nearest(human, boxes[roles.person], roles.offsets)
    drawn = roles.role[person, scope.hoi]
    drawn[person < 0] = -1
    of_role = np.where(drawn >= 0, iou(object_, boxes[drawn], rule.overlap), no_boxes(object_))
    right_human, right_role = rule.is_reached(of_person), rule.is_reached(of_role)
    row = np.full(roles.role.shape, NO_PART, np.int64)
    row[performs(roles, scope.task.truth.benchmark.actions)] = np.arange(len(scope.truth))
    target = np.where(right_human & right_role, row[person, scope.hoi], NO_PART)
    sides = {"human_on_any": human, "role_on_any": object_}
    on_any = {name: rule.is_reached(nearest(side, boxes, roles.box_offsets)[1]) for name, side in sides.items()}
    return _assigned(scope, target, ROLE_FLOW, human=right_human, role=right_role, **on_any)


def performs(roles: RoleTruth, actions: Actions) -> Mask:
    """Return (p, R) whether each of p persons performs the action of each (action, role) entry, with or without box."""
    return np.asarray(roles.labels[:, [action for action, _ in actions.entries]] == 1)


# Error types, each with a name, a description and an oracle that fixes all errors of the type (as in TIDE).

Fixes = tuple[Indices, Indices]  # (f,) predictions, and (f,) ground truth of each prediction after the fix


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """State of p predictions and t ground truths after some fixes.

    A fixed prediction has the class and the boxes of its ground truth.
    """

    kept: Mask  # (p,) mask of the predictions that have not been removed
    found_by: Indices  # (t,) true positive of each ground truth, original or fixed, or -1
    counted: Mask  # (t,) mask of the ground truths that have not been removed
    # arrays (predictions, targets) per oracle applied so far, including fixes that gave no new true positive
    fixes: tuple[Fixes, ...] = ()

    @property
    def true_positives(self) -> Indices:
        """Indices of the predictions that are true positives, in the order of their ground truths."""
        return self.found_by[self.found_by >= 0]


def before_fixes(found_by: Indices, predictions: int) -> State:
    """Return the state before any fix, given the (t,) true positives ``found_by`` and the number of predictions."""
    return State(np.ones(predictions, bool), found_by, np.ones(len(found_by), bool))


FixTargets = Callable[[State, ErrorType], Fixes]
"""Function that returns the fix targets of an error type in a state (``shoe.diagnosis.fix_targets``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Input of the oracles: predictions of a scope, their error types, and the function that chooses fix targets."""

    scope: Scope
    types: NDArray[np.int8]  # (p,) ``ErrorType`` of each prediction before any fix
    targets: FixTargets


Fix = Callable[[State, Errors], State]
FIXABLE = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX, ErrorType.ASSOCIATION, ErrorType.INTERACTION)
"""Types whose oracle fixes errors. The oracles of all other types remove them."""


@dataclass(frozen=True, slots=True)
class Error:
    """Error type, or group of error types, with its oracle.

    Attributes:
        name, label: name in files, such as "human_box", and for readers, such as "human box".
        meaning: description, such as "both boxes right, verb wrong".
        fix: oracle, which returns the state after the errors are fixed or removed.
    """

    name: str
    label: str
    meaning: str
    fix: Fix


def _oracle(type_: ErrorType) -> Fix:
    """Return the oracle of an error type, which turns errors into true positives of their targets.

    If the target already has a true positive, only the better-scored of the two predictions remains (IJCV paper 3.2.1,
    3.2.2: "suppress the lower-scoring prediction"). Errors that do not become true positives, and all errors of types
    outside ``FIXABLE``, are removed (protocols.md 8.4, 8.6 item 5).
    """

    def fix(state: State, errors: Errors) -> State:
        kept = state.kept & (errors.types != type_)
        if type_ not in FIXABLE:
            return replace(state, kept=kept)
        prediction, truth = fixes = errors.targets(state, type_)
        found_by = errors.scope.best_of(prediction, truth, state.found_by)
        kept[state.true_positives] = False
        kept[found_by[found_by >= 0]] = True
        return replace(state, kept=kept, found_by=found_by, fixes=(*state.fixes, fixes))

    return fix


def _remove_all_errors(state: State, _: Errors) -> State:
    return replace(state, kept=mask_of(state.true_positives, len(state.kept)))


def _drop_unfound(state: State, _: Errors) -> State:
    return replace(state, counted=state.counted & (state.found_by >= 0))


TYPES = tuple(
    Error(type_.label, label, meaning, _oracle(type_))
    for type_, label, meaning in (
        (ErrorType.HUMAN_BOX, "human box", "object box right, human box wrong"),
        (ErrorType.OBJECT_BOX, "object box", "human box right, object box or its label wrong"),
        (ErrorType.BOTH_BOXES, "both boxes", "neither box right"),
        (ErrorType.ASSOCIATION, "association", "both boxes right, but of different pairs"),
        (ErrorType.DUPLICATE, "duplicate", "right, but a better-scored prediction has the same target"),
        (ErrorType.INTERACTION, "interaction", "both boxes right, verb wrong"),
    )
)
"""Error types of predictions, in the order of IJCV paper 3.2.1 and 3.2.2, and of the progression."""
MISSED_GT = Error("missed_gt", "missed GT", "ground truth that no prediction refers to", _drop_unfound)
"""Missed ground truth, the last step of the progression (IJCV paper 3.2.3)."""
ERRORS = (*TYPES, MISSED_GT)  # the seven error types in the order of the papers
GROUPS = (
    Error("false_positive", "false positives", "all predictions except true positives", _remove_all_errors),
    Error("false_negative", "false negatives", "all ground truth without a true positive", _drop_unfound),
)
"""Groups of the same errors: all false positives, and all false negatives (IJCV paper 3.3)."""
NAMES = tuple(error.name for error in (*ERRORS, *GROUPS))
