"""The decision flow: from what holds for a prediction to its one error type, as a table.

A flow is a list of rules; the first rule all of whose facts hold decides. So another dataset's flow is another list
over facts of its own (V-COCO: protocols.md 8.3), and the code that reads it stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask

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


Flow = tuple[tuple[tuple[str, ...], ErrorType], ...]
"""Rules in the order in which they are tried: the facts that must hold, and the type that follows."""

HICO_DET_FLOW: Flow = (
    (("triplet", "first"), ErrorType.TRUE_POSITIVE),
    (("triplet",), ErrorType.DUPLICATE),
    (("pair",), ErrorType.INTERACTION),
    (("human", "object"), ErrorType.ASSOCIATION),
    (("human",), ErrorType.OBJECT_BOX),
    (("object",), ErrorType.HUMAN_BOX),
    ((), ErrorType.BOTH_BOXES),
)
"""IJCV paper, Figure 2 and 3.1; protocols.md 8.2. Facts of a prediction:

- ``triplet``: both boxes are those of a ground truth of its class; ``first``: and it is that one's true positive;
- ``pair``: both boxes are those of one ground truth, whatever its verb;
- ``human``, ``object``: the box is in the place of any box of the image that has its label.
"""


def decide(facts: Mapping[str, Mask], flow: Flow) -> NDArray[np.int8]:
    """(n,) type of each prediction, from (n,) masks of the facts that a flow names."""
    size = len(next(iter(facts.values())))
    types = np.full(size, NO_PART, np.int8)
    for names, type_ in reversed(flow):
        holds = np.ones(size, bool)
        for name in names:
            holds &= facts[name]
        types[holds] = type_
    return types
