"""From overlaps to types: who is true, who comes too late, and what is wrong with the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.diagnosis.flow import HICO_DET_FLOW, NO_PART, decide
from shoe.diagnosis.order import Order, largest_of_each
from shoe.diagnosis.overlaps import Overlaps
from shoe.diagnosis.scope import Scope


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The error analysis before anything is mended.

    Attributes:
        types: (p,) ``ErrorType`` of each prediction.
        target: (p,) the truth that a true positive or a duplicate is about; -1 for other types.
        found_by: (t,) the true positive of each truth; -1 where it has none.
    """

    types: NDArray[np.int8]
    target: Indices
    found_by: Indices


def walk(scope: Scope, pairs: Overlaps, order: Order) -> Walk:
    """Give each prediction its type (IJCV paper, Figure 2; protocols.md 8.2).

    A prediction is about the truth of its class with the largest pair IoU, the first of equals. Of all that are about
    one truth the best-scored is its true positive, and there is no second choice.
    """
    same = np.flatnonzero(pairs.pair & (scope.hoi[pairs.prediction] == scope.truth_hoi[pairs.truth]))
    prediction, truth, pair_iou = pairs.prediction[same], pairs.truth[same], pairs.iou[same]
    best = largest_of_each(prediction, pair_iou)
    target = np.full(len(scope.prediction), NO_PART, np.int64)
    target[prediction[best]] = truth[best]
    nowhere = np.full(len(scope.truth), NO_PART, np.int64)
    found_by = order.best_of(prediction[best], truth[best], nowhere)

    nobody = np.zeros(len(target), bool)
    first, in_pair = nobody.copy(), nobody.copy()
    first[found_by[found_by >= 0]] = True
    in_pair[pairs.prediction[pairs.pair]] = True
    facts = {
        "triplet": target >= 0,
        "first": first,
        "pair": in_pair,
        "human": pairs.human_correct,
        "object": pairs.object_correct,
    }
    return Walk(decide(facts, HICO_DET_FLOW), target, found_by)
