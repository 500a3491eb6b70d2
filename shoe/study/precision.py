"""How precise a study will be, by simulated raters of different bias and noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoe.study.analysis import agreement_of
from shoe.study.intervals import Figure
from shoe.study.simulated import simulated


class Precision(NamedTuple):
    """Means over simulated studies.

    Attributes:
        alpha, alpha_reach: Krippendorff's ordinal alpha, and half the width of its interval.
        rho, rho_reach: likewise the correlation of a measure with the mean ratings.
    """

    alpha: float
    alpha_reach: float
    rho: float
    rho_reach: float


def expected(items: int, raters: int, studies: int = 8) -> Precision | None:
    """Simulate some studies of a size; None for one that has no intervals, as with one rater."""
    found = [agreement_of(simulated(items, raters, seed), items_alone=False) for seed in range(studies)]
    alpha = _mean([each.alpha["ordinal"] for each in found])
    rho = _mean([each.reference.spearman for each in found if each.reference])
    return Precision(*alpha, *rho) if alpha and rho else None


def _mean(figures: list[Figure]) -> tuple[float, float] | None:
    """Mean value and half width of the figures that have both."""
    known = [
        (figure.value, (figure.interval.high - figure.interval.low) / 2)
        for figure in figures
        if figure.value is not None and figure.interval is not None
    ]
    if not known:
        return None
    value, reach = np.mean(known, axis=0).tolist()
    return value, reach
