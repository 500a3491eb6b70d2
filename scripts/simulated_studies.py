"""Simulated studies for ``scripts/study-coverage``: careless raters, and studies drawn from one population of pairs."""

from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study.ratings import StudyRatings, Weights
from shoe.study.sampling import (
    ITEM_MEAN,
    ITEM_SPREAD,
    draw_by,
    probabilities,
    simulated_measure,
    simulated_ratings,
    study_of,
)

SPAMMERS, DROPOUTS, HOLES = 0.05, 0.05, 0.03
"""Fractions of raters that answer at random, and that stop half-way; and of answers that are missing."""
_GOLD = np.where(np.arange(12) % 2, HIGHEST, 0).astype(np.int8)


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
    made = study_of(ratings, np.append(np.full(len(_GOLD), np.nan), study.reference))
    return replace(made, gold=np.append(_GOLD, study.gold), weights=weights)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """N pairs of interactions, of which studies are drawn: those with influence are few, and more similar than most.

    Attributes:
        true: (N,) similarity, on the scale of ratings.
        reference: (N,) value of a measure, 0..1.
        influence: (N,) influence on a score.
    """

    true: Floats
    reference: Floats
    influence: Floats

    @classmethod
    def simulated(cls, items: int, seed: int) -> "Population":
        """Simulate a population."""
        rng = np.random.default_rng([seed, 2])
        true = rng.normal(ITEM_MEAN, ITEM_SPREAD, items)
        near = (true - ITEM_MEAN) / ITEM_SPREAD
        return cls(true, simulated_measure(true, rng), np.exp(0.5 * near + 0.8 * rng.standard_normal(items)))

    def all(self, raters: int, seed: int) -> StudyRatings:
        """Have all pairs rated."""
        return study_of(simulated_ratings(self.true, raters, np.random.default_rng([seed, 3])), self.reference)

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
        ratings = simulated_ratings(self.true[rows], raters, np.random.default_rng([seed, 3]))
        return replace(study_of(ratings, self.reference[rows]), weights=Weights(weight, stratum))
