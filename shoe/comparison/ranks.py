"""Rankings of models, and whether two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from shoe.core.statistics import ROUNDING, differences, kendall_of_differences

LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate")
"""Figures, by the end of their key, of which the lowest is the best."""


def better(figure: str, a: float, b: float) -> bool:
    """Whether one value of a figure is better than another."""
    return (b - a if figure.endswith(LOWER_IS_BETTER) else a - b) > ROUNDING


def ranks(figure: str, values: Sequence[float | None]) -> list[int | None]:
    """Rank of each value, 1 for the best; equal ones share the first of their ranks, what is None has none.

    >>> ranks("semantic:map", [0.3, 0.5, None, 0.5])
    [3, 1, None, 1]
    """
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(better(figure, other, value) for other in known) for value in values]


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same models; None if one of them has all models equal.

    >>> round(kendall([1, 2, 3], [1, 3, 2]), 12)
    0.333333333333
    """
    tau = float(kendall_of_differences(differences(a), differences(b)))
    return None if isnan(tau) else tau


def changes_places(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two rankings have any two models in opposite orders."""
    return bool((np.sign(differences(a)) * np.sign(differences(b)) < 0).any())
