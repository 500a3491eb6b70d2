"""Studies of simulated raters: each with a bias and a noise of its own, and some who do not look, or do not stay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.study.ratings import StudyRatings
from shoe.study.sampling import draw_by, probabilities
from shoe.study.weights import Weights

BIAS, NOISE, NOISE_SPREAD, MEASURE_NOISE = 0.35, 0.9, 0.25, 1.0
"""Of raters, on the scale 0..4: as far apart as the supplement's, whose mean pairwise kappa is .59."""
SPAMMERS, DROPOUTS, HOLES = 0.05, 0.05, 0.03
"""Shares of raters that answer at random, and that stop half-way; and of answers that are missing."""
_ITEM_SPREAD, _ITEM_MEAN = 1.5, 1.6
_GOLD = np.where(np.arange(12) % 2, HIGHEST, 0).astype(np.int8)


def simulated(items: int, raters: int, seed: int) -> StudyRatings:
    """Simulate a study: true similarities, raters that see them through bias and noise, and a measure of them."""
    rng = np.random.default_rng(seed)
    true = rng.normal(_ITEM_MEAN, _ITEM_SPREAD, items)
    first = _seen(true, raters, rng)
    return _study(first, _measured(true, rng))


def careless(study: StudyRatings, seed: int) -> StudyRatings:
    """The same raters, some of whom do not look, or stop half-way: with gold items by which the report finds them."""
    raters = len(study.raters)
    rng = np.random.default_rng([seed, 1])
    of_gold = np.clip(_GOLD[:, None] + rng.integers(-1, 2, (len(_GOLD), raters)), 0, HIGHEST).astype(np.int8)
    ratings = np.concatenate([of_gold, study.first])
    random = np.flatnonzero(rng.random(raters) < SPAMMERS)
    ratings[:, random] = rng.integers(0, HIGHEST + 1, (len(ratings), len(random)))
    # Whoever stops has seen half of the items in an order of their own.
    stops = rng.random(raters) < DROPOUTS
    ratings[(rng.random(ratings.shape) < 0.5) & stops] = MISSING
    ratings[rng.random(ratings.shape) < HOLES] = MISSING
    weights = study.weights
    if weights is not None:
        weight, stratum = np.ones(len(_GOLD)), np.zeros(len(_GOLD), np.int64)
        weights = Weights(np.append(weight, weights.weight), np.append(stratum, weights.stratum))
    made = _study(ratings, np.append(np.full(len(_GOLD), np.nan), study.reference))
    return replace(made, gold=np.append(_GOLD, study.gold), weights=weights)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """N pairs of interactions, of which studies are drawn: those with influence are few, and more similar than most.

    Attributes:
        true: (N,) how similar they are, on the scale of ratings.
        reference: (N,) what a measure says, 0..1.
        influence: (N,) on a score.
    """

    true: Floats
    reference: Floats
    influence: Floats

    @classmethod
    def of(cls, items: int, seed: int) -> Population:
        """Simulate one."""
        rng = np.random.default_rng([seed, 2])
        true = rng.normal(_ITEM_MEAN, _ITEM_SPREAD, items)
        near = (true - _ITEM_MEAN) / _ITEM_SPREAD
        return cls(true, _measured(true, rng), np.exp(0.5 * near + 0.8 * rng.standard_normal(items)))

    def all(self, raters: int, seed: int) -> StudyRatings:
        """Have all pairs rated."""
        return _study(_seen(self.true, raters, np.random.default_rng([seed, 3])), self.reference)

    def by_influence(self, items: int, raters: int, seed: int) -> StudyRatings:
        """Have pairs rated that are drawn by influence, as ``shoe study new --for`` draws them."""
        chance = probabilities(self.influence, items)
        rows = draw_by(chance, seed)
        return self._rated(rows, 1 / chance[rows], np.zeros(items, np.int64), raters, seed)

    def by_stratum(self, items: int, raters: int, seed: int) -> StudyRatings:
        """Have pairs rated that are drawn evenly over five levels of the measure, as ``shoe study new`` draws them."""
        level = np.rint(self.reference * HIGHEST).astype(np.int64)
        order = np.lexsort((np.random.default_rng([seed, 4]).random(len(level)), level))
        sizes = np.bincount(level, minlength=HIGHEST + 1)
        starts, each = np.cumsum(sizes) - sizes, items // (HIGHEST + 1)
        rows = np.sort(np.concatenate([order[start : start + each] for start in starts]))
        return self._rated(rows, sizes[level[rows]] / each, level[rows], raters, seed)

    def _rated(self, rows: np.ndarray, weight: Floats, stratum: np.ndarray, raters: int, seed: int) -> StudyRatings:
        made = _study(_seen(self.true[rows], raters, np.random.default_rng([seed, 3])), self.reference[rows])
        return replace(made, weights=Weights(weight, stratum))


def _measured(true: Floats, rng: np.random.Generator) -> Floats:
    measured: Floats = 1 / (1 + np.exp(_ITEM_MEAN - true + rng.normal(0, MEASURE_NOISE, len(true))))
    return measured


def _seen(true: Floats, raters: int, rng: np.random.Generator) -> Ratings:
    bias, noise = rng.normal(0, BIAS, raters), NOISE * np.exp(rng.normal(0, NOISE_SPREAD, raters))
    seen = true[:, None] + bias + noise * rng.standard_normal((len(true), raters))
    return np.clip(np.rint(seen), 0, HIGHEST).astype(np.int8)


def _study(first: Ratings, reference: Floats) -> StudyRatings:
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
