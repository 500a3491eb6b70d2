"""Error types as the toolbox assigns them on V-COCO: by the annotated person that a prediction is nearest to."""

from __future__ import annotations

import numpy as np

from shoe.benchmarks.actions import Actions
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.iou import OverlapRule, iou
from shoe.core.ragged import blocks, expand, first_largest
from shoe.core.roles import RoleTruth, no_boxes
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.types import NO_PART, ROLE_FLOW, Assigned, decide

_PAIRS_AT_ONCE = 1 << 18


def assign_by_person(scope: Scope, roles: RoleTruth, rule: OverlapRule) -> Assigned:
    """Give each prediction of a task by role its type (protocols.md 8.3).

    It is about the person whose box overlaps most with its own, of equals the first, be it ever so little; and about
    that person's box in the predicted role. Where there is none, an empty one is right. A person who does not do it has
    none either: a wrong action on the right boxes is no interaction error here, but one of association.

    The classes of ``scope`` are entries, and its truths those of :func:`shoe.diagnosis.by_role.by_role`.
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
    """(p, R) whether a person does what an entry is about, with or without a box."""
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
