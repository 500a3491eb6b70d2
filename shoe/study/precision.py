"""How precise a study will be, by simulated raters of different bias and noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.study.agreement import Figure
from shoe.study.analysis import agreement_of
from shoe.study.ratings import StudyRatings

BIAS, NOISE, NOISE_SPREAD, MEASURE_NOISE = 0.35, 0.9, 0.25, 1.0
"""Of raters, on the scale 0..4: as far apart as the supplement's, whose mean pairwise kappa is .59."""
ITEM_SPREAD, ITEM_MEAN = 1.5, 1.6


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
        (figure.value, (figure.interval[1] - figure.interval[0]) / 2)
        for figure in figures
        if figure.value is not None and figure.interval is not None
    ]
    if not known:
        return None
    value, reach = np.mean(known, axis=0).tolist()
    return value, reach


def simulated(items: int, raters: int, seed: int) -> StudyRatings:
    """Simulate a study: true similarities, raters that see them through bias and noise, and a measure of them."""
    rng = np.random.default_rng(seed)
    true = rng.normal(ITEM_MEAN, ITEM_SPREAD, items)
    return study_of(simulated_ratings(true, raters, rng), simulated_measure(true, rng))


def simulated_ratings(true: Floats, raters: int, rng: np.random.Generator) -> Ratings:
    """Return (N, R) ratings of items by raters, each with a bias and a noise of its own."""
    bias, noise = rng.normal(0, BIAS, raters), NOISE * np.exp(rng.normal(0, NOISE_SPREAD, raters))
    seen = true[:, None] + bias + noise * rng.standard_normal((len(true), raters))
    return np.clip(np.rint(seen), 0, HIGHEST).astype(np.int8)


def simulated_measure(true: Floats, rng: np.random.Generator) -> Floats:
    """Return (N,) values 0..1 of a noisy measure of the items."""
    measured: Floats = 1 / (1 + np.exp(ITEM_MEAN - true + rng.normal(0, MEASURE_NOISE, len(true))))
    return measured


def study_of(first: Ratings, reference: Floats) -> StudyRatings:
    """Make a study of (N, R) first ratings and a reference, without names, repeats and gold items."""
    items, raters = first.shape
    none: Ratings = np.full((items, raters), MISSING, np.int8)
    return StudyRatings(
        items=tuple(map(str, range(items))),
        raters=tuple(map(str, range(raters))),
        first=first,
        again=none,
        picture=none,
        seconds=np.full(none.shape, np.nan),
        part=("",) * items,
        reference=reference,
        gold=np.full(items, MISSING, np.int8),
    )
