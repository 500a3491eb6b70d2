"""Error types: what each prediction is, decided by a table of rules (IJCV paper, Figure 2; protocols.md 8.2).

A flow is a list of rules; the first rule all of whose facts hold decides. So another dataset's flow is another list
over facts of its own (V-COCO: protocols.md 8.3), and the code that reads it stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.core.ragged import first_largest
from shoe.diagnosis.scope import Overlaps, Scope

NO_PART = -1
"""Stands for a type, a status or a row where there is none: what the diagnosis does not look at."""


class ErrorType(IntEnum):
    """What a prediction is; the numbers are the toolbox's (protocols.md 8.2)."""

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
    """What became of a ground truth."""

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
    """(n,) type of each prediction, from (n,) masks of the facts that a flow names."""
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
        target: (p,) the ground truth that a true positive or a duplicate is about; -1 for other types.
        found_by: (t,) the true positive of each ground truth; -1 where it has none.
    """

    types: NDArray[np.int8]
    target: Indices
    found_by: Indices


def assign_types(scope: Scope, overlaps: Overlaps, flow: Flow = FLOW) -> Assigned:
    """Give each prediction its type.

    A prediction is about the ground truth of its class with the largest pair IoU, the first of equals. Of all that are
    about one ground truth the best-scored is its true positive, and there is no second choice.
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
