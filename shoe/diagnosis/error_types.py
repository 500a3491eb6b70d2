"""The two readings of Diag-HOI, as data: what its papers say, and what its released toolbox does.

Papers: "Diagnosing Human-object Interaction Detectors", first version (S0) and journal version (S1). Their differences
from the code are listed in protocols.md 8.6; item by item, what the variants do:

1. IoU: ``paper`` more than 0.5 everywhere (S1 2.3), ``released`` at least 0.5.
2. One true positive a ground-truth *triplet* (S1 2.3, code) in both; S0's "pair" is not followed.
3. Target of a fix: ``paper`` one of the possible ground truths, at random with a seed (S1 3.2.1) or greedily, and where
   one has the prediction's verb, of those ("the correct action category"); ``released`` what the toolbox's one map
   says, whatever the choice.
4. Possible targets: ``paper`` the ground truths that share what was right; for an association error those of them with
   the fewest changes, each pair only once (S1 3.2.1). ``released``: any that shares the human box, or, where that is
   correct nowhere, the object box.
5. In both every error of the fixed type is gone afterwards: it has become a true positive or is removed. In ``paper``
   it is removed as the lower-scored duplicate of the true positive of its target, or because it has no target.
6. ``paper``: an oracle looks at the errors of its type alone. ``released``: the map gives each ground truth at most one
   prediction, of any type; where that is of another type, an error of the type at hand is removed, not fixed.
7. False-positive, false-negative and progressive figures are the papers' definitions in both: the release has none.
8. V-COCO only.
9. Rare: fewer than 10 training pairs in both (S1); S0's "in the test set" is an error.
10. Pair recall and negative AP: elsewhere.
11. A step of the progression is mAP after it minus mAP before it (S1 Eq. 5), which holds whatever the sentence says.
12. About a table, not a rule.

Beyond that list:

- mAP: ``paper`` integrates under the precision-recall curve and averages over all classes with ground truth (S1 2.3);
  ``released`` uses 11 points and leaves classes out as in 8.5. In both a class without any ground truth left is out.
- A prediction is about its best ground truth and has no second choice, in both: the papers do not speak of one (8.2).
- Words that are no class get a type, as the flow asks of every prediction, but are in no ranking, in both: the toolbox
  refuses such files (8.1).
- Missed ground truth: ``paper`` what is without a true positive after all fixes (S1 3.2.3); ``released`` what has
  neither a true positive nor an entry in the map, and its oracle sees only images with predictions (8.5). The last step
  of the progression drops all that is without a true positive, in both, or it would not end at 100.
- Without no_interaction, in both: such ground truths leave with their boxes, images that lose all leave, and so do
  predictions of the verb no_interaction (8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Actions
from shoe.benchmarks.protocol_options import Interpolation, StrictOptions
from shoe.benchmarks.protocols import DIAG
from shoe.core.arrays import Floats, Indices, Ints, Mask, blocks, expand, first_largest
from shoe.core.boxes import OverlapRule, iou
from shoe.core.roles import RoleTruth, no_boxes
from shoe.diagnosis.scope import Overlaps, Scope


@dataclass(frozen=True, slots=True)
class Variant:
    """The choices of one variant.

    Attributes:
        name: ``paper`` or ``released``.
        strict: how boxes are compared, how mAP is computed, and whether no_interaction takes part.
        shared_map: whether fixes follow the toolbox's one map, not each error's own targets.
        by: ``class`` if classes are those of the class table, or ``role`` (:mod:`shoe.diagnosis.diagnose`).
    """

    name: str
    strict: StrictOptions
    shared_map: bool
    by: str = "class"


_BY_TEXT = replace(DIAG, threshold_at=">", ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero")
VARIANTS = {
    variant.name: variant
    for variant in (Variant("paper", _BY_TEXT, shared_map=False), Variant("released", DIAG, shared_map=True))
}
"""By name."""


# Error types: what each prediction is, decided by a table of rules (IJCV paper, Figure 2; protocols.md 8.2).
#
# A flow is a list of rules; the first rule all of whose facts hold decides. So another dataset's flow is another list
# over facts of its own (V-COCO: protocols.md 8.3), and the code that reads it stays the same.

NO_PART = -1
"""Stands for a type, a status or a row where there is none: what the diagnosis does not look at."""


class ErrorType(IntEnum):
    """Type of a prediction; the numbers are the toolbox's (protocols.md 8.2)."""

    TRUE_POSITIVE = 0
    HUMAN_BOX = 1
    OBJECT_BOX = 2
    BOTH_BOXES = 3
    ASSOCIATION = 4
    INTERACTION = 5
    DUPLICATE = 6

    @property
    def label(self) -> str:
        """The name in figures and files, as "human_box"."""
        return self.name.lower()


class TruthStatus(IntEnum):
    """Status of a ground truth after matching."""

    FOUND = 0
    """A prediction is its true positive."""
    COVERED = 1
    """It has no true positive, but some error is about it."""
    MISSED = 2
    """Not even that: missed GT."""


Flow = Sequence[tuple[Sequence[str], str]]
"""Rules in the order in which they are tried: the facts that must hold, and the label of the type that follows."""

FLOW: Flow = (
    (("triplet", "first"), "true_positive"),
    (("triplet",), "duplicate"),
    (("pair",), "interaction"),
    (("human", "object"), "association"),
    (("human",), "object_box"),
    (("object",), "human_box"),
    ((), "both_boxes"),
)
"""The papers' flow for HICO-DET. Facts of a prediction:

- ``triplet``: both boxes are those of a ground truth of its class; ``first``: and it is that one's true positive;
- ``pair``: both boxes are those of one ground truth, whatever its verb;
- ``human``, ``object``: the box overlaps enough with any box of the image that has its label.
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
"""The toolbox's flow for V-COCO (protocols.md 8.3), with facts of its own:

- ``human``: the box is that of the annotated person whom it overlaps most; ``role``: the other box is that person's
  box in the predicted role; ``triplet``: both; ``first``: and the prediction is that one's true positive;
- ``human_on_any``, ``role_on_any``: the box overlaps enough with any box of the image, whatever its category.
"""


def decide(facts: Mapping[str, Mask], flow: Flow) -> NDArray[np.int8]:
    """Return (n,) type of each prediction, from (n,) masks of the conditions in a flow chart."""
    size = len(next(iter(facts.values())))
    types = np.full(size, NO_PART, np.int8)
    for names, label in reversed(flow):
        holds = np.ones(size, bool)
        for name in names:
            holds &= facts[name]
        np.putmask(types, holds, ErrorType[label.upper()])
    return types


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """Error types before any fix; p predictions, t ground truths of a scope.

    Attributes:
        types: (p,) ``ErrorType`` of each prediction.
        target: (p,) ground truth of a true positive or a duplicate; -1 for other types.
        found_by: (t,) true positive of each ground truth; -1 where it has none.
    """

    types: NDArray[np.int8]
    target: Indices
    found_by: Indices


def assign_types(scope: Scope, overlaps: Overlaps, flow: Flow = FLOW) -> Assigned:
    """Assign a type to each prediction.

    A prediction refers to the ground truth of its class with the largest pair IoU, the first of equals. Of all
    predictions of one ground truth the best-scored is its true positive; there is no second choice.
    """
    same = np.flatnonzero(overlaps.pair & (scope.hoi[overlaps.prediction] == scope.truth_hoi[overlaps.truth]))
    prediction, truth, pair_iou = overlaps.prediction[same], overlaps.truth[same], overlaps.iou(same)
    best = first_largest(prediction, pair_iou)
    target = np.full(len(scope.prediction), NO_PART, np.int64)
    target[prediction[best]] = truth[best]
    found_by = scope.best_of(prediction[best], truth[best])

    first, in_pair = np.zeros((2, len(target)), bool)
    first[found_by[found_by >= 0]] = True
    in_pair[overlaps.prediction[overlaps.pair]] = True
    facts = {
        "triplet": target >= 0,
        "first": first,
        "pair": in_pair,
        "human": overlaps.human_correct,
        "object": overlaps.object_correct,
    }
    return Assigned(decide(facts, flow), target, found_by)


# Error types as the toolbox assigns them on V-COCO: by the annotated person that a prediction is nearest to.

_PAIRS_AT_ONCE = 1 << 18


def assign_by_person(scope: Scope, roles: RoleTruth, rule: OverlapRule) -> Assigned:
    """Assign a type to each prediction of a task by role (protocols.md 8.3).

    A prediction refers to the person whose box overlaps most with its own (the first of equals, however small the
    overlap), and to that person's box in the predicted role. Where there is no such box, an empty one is right. A
    person who does not perform the action has no such box either: a wrong action on the right boxes is no interaction
    error here, but an association error.

    The classes of ``scope`` are entries, and its truths those of :func:`shoe.diagnosis.diagnose.by_role`.
    """
    table = scope.task.predictions
    human, object_ = table.human_boxes[scope.prediction], table.object_boxes[scope.prediction]
    boxes = roles.boxes.astype(np.float64)
    person, of_person = _nearest(human, scope.image, boxes[roles.person], roles.offsets, rule)
    drawn = roles.role[person, scope.hoi]
    drawn[person < 0] = -1
    of_role = np.where(drawn >= 0, iou(object_, boxes[drawn], rule.overlap), no_boxes(object_))
    right_human, right_role = rule.holds(of_person), rule.holds(of_role)

    row = np.full(roles.role.shape, NO_PART, np.int64)
    row[does(roles, scope.task.truth.benchmark.actions)] = np.arange(len(scope.truth))
    triplet = right_human & right_role & (row[person, scope.hoi] >= 0)
    target = np.where(triplet, row[person, scope.hoi], NO_PART)
    about = np.flatnonzero(triplet)
    found_by = scope.best_of(about, target[about])
    first = np.zeros(len(target), bool)
    first[found_by[found_by >= 0]] = True

    def on_any(of: Floats) -> Mask:
        return rule.holds(_nearest(of, scope.image, boxes, roles.box_offsets, rule)[1])

    facts = {
        "triplet": triplet,
        "first": first,
        "human": right_human,
        "role": right_role,
        "human_on_any": on_any(human),
        "role_on_any": on_any(object_),
    }
    return Assigned(decide(facts, ROLE_FLOW), target, found_by)


def does(roles: RoleTruth, actions: Actions) -> Mask:
    """Return (p, R) whether a person performs the action of an entry, with or without a box."""
    found: Mask = roles.labels[:, [action for action, _ in actions.entries]] == 1
    return found


def _nearest(boxes: Floats, image: Ints, others: Floats, offsets: Indices, rule: OverlapRule) -> tuple[Indices, Floats]:
    """(n,) of the others on its image the one that each box overlaps most, the first of equals, and (n,) how much."""
    nearest, best = np.full(len(boxes), -1, np.int64), np.zeros(len(boxes))
    first, count = offsets[image], np.diff(offsets)[image]
    for start, stop in blocks(count, _PAIRS_AT_ONCE):
        one, other = expand(first[start:stop], count[start:stop])
        overlap = iou(boxes[start + one], others[other], rule.overlap)
        chosen = first_largest(one, overlap)
        nearest[start + one[chosen]], best[start + one[chosen]] = other[chosen], overlap[chosen]
    return nearest, best


# The errors: each a name, what is wrong, and an oracle, which fixes all of its kind (as in TIDE: data + oracle).

Fixes = tuple[Indices, Indices]
"""Predictions, and the ground truth that each becomes the true positive of."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Predictions and truths after some fixes. A fixed prediction has the class and the boxes of its truth.

    Attributes:
        kept: (p,) whether a prediction still exists.
        found_by: (t,) the true positive of each truth, original or fixed; -1 where it has none.
        counted: (t,) whether a truth still counts.
        fixes: predictions that each oracle so far changed, with or without success.
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
    """Return the state before any fix."""
    return State(np.ones(predictions, bool), found_by, np.ones(len(found_by), bool))


FixTargets = Callable[[State, ErrorType], Fixes]
"""What errors of a type become in a state, where they can be fixed (``shoe.diagnosis.fixes``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Errors that oracles work on.

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
