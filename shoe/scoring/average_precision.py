"""Average precision of ranked lists with labels in 0..1, by each interpolation of the field.

A class's list is long, but only its entries with a positive label raise recall, and between two of them precision only
falls. So a list is held as its positives: rank and label. All functions take many lists at once (one list a row), which
is how the expectation over tied orders is computed.
"""

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.protocols.options import Interpolation

EPSILON = 1e-8
"""Algorithm 1 (SHOE supplement), lines 34-38: added to the denominators of precision and recall."""
GRID_TOLERANCE = 1e-12
"""What fractional recall may miss a threshold of a grid by."""


_STEP = np.arange(11)
GRIDS: dict[Interpolation, Floats] = {
    Interpolation.ELEVEN_ARANGE: np.arange(0, 1.1, 0.1),
    Interpolation.ELEVEN_LINSPACE: np.where(_STEP < 6, _STEP * 0.1, 1 - (10 - _STEP) * 0.1),
    Interpolation.ELEVEN: _STEP / 10,
    Interpolation.HUNDRED_ONE: np.arange(101) / 100,
}
"""Recalls at which precision is taken, of the rules that have a grid."""


def average_precision(
    rank: Floats, label: Floats, truths: Indices, interpolation: Interpolation, epsilon: float
) -> Floats:
    """Average precision of some lists.

    Args:
        rank: (lists, positives) 1-based ranks, ascending along a row; a row may end in ranks at
            infinity with label 0.
        label: (lists, positives) credit of the entry at each rank, 0 to 1.
        truths: (lists,) number of ground truths, at least 1; (1,) if all have the same.
        interpolation: the rule.
        epsilon: added to the denominators by the rules that integrate; what recall may miss a threshold by, in the
            rules with a grid: sums of fractional credit differ in their last digits by order.

    Returns:
        (lists,) values in 0..1.
    """
    if rank.shape[1] == 0:
        return np.zeros(len(rank))
    credit = np.cumsum(label, axis=1)
    if interpolation in GRIDS:
        recall, grid = credit / truths[:, None], GRIDS[interpolation] - epsilon
        best = np.concatenate([_envelope(credit / rank), np.zeros((len(rank), 1))], axis=1)
        total = np.zeros(len(rank))
        for threshold in grid:
            total += best[np.arange(len(best)), (recall < threshold).sum(axis=1)]
        return total / len(grid)
    precision = credit / (rank + epsilon)
    gain = label / (truths[:, None] + epsilon)
    if interpolation is Interpolation.ALL_POINTS:
        area: Floats = (gain * _envelope(precision)).sum(axis=1)
        return area
    before = np.maximum(rank - 1, 1)
    previous = np.concatenate([np.zeros((len(rank), 1)), credit[:, :-1]], axis=1) / (before + epsilon)
    previous = np.where(rank == 1, precision, previous)
    trapezoids: Floats = (gain * (precision + previous) / 2).sum(axis=1)
    return trapezoids


def _envelope(precision: Floats) -> Floats:
    return np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
