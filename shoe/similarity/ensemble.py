"""Combination of several raters' ratings (ensemble), and combination of verb and object similarity.

An ensemble ignores missing ratings of a pair. SHOE's paper describes the ensemble once as a mean and once as a majority
(protocols, A15); the mean is the default. A map can set the weight of a rater, and declare that a rater's zeros may be
omissions (:class:`RaterWeights`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats
from shoe.core.errors import OptionError, unknown_name

HIGHEST = 4
MISSING = -1
RATINGS = {"": MISSING} | {str(rating): rating for rating in range(HIGHEST + 1)}  # by their text in tables
ENSEMBLE = "mean"
"""Ensemble of protocol ``shoe``; also used to compare maps, whatever default ensemble each map declares."""

Ratings = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class RaterWeights:
    """Weights of R raters, and whether a rater's zeros may be omissions.

    Attributes:
        weights: weight of each rater in means and in majority votes; above 0.
        omits: whether a 0 of each rater may mean "not rated", and is then ignored; see :meth:`mask_omissions`.
    """

    weights: tuple[float, ...]
    omits: tuple[bool, ...]

    @classmethod
    def equal(cls, raters: int) -> RaterWeights:
        """Return equal weights for ``raters`` raters whose zeros all count as ratings."""
        return cls((1.0,) * raters, (False,) * raters)

    def select(self, columns: Sequence[int]) -> RaterWeights:
        """Return the weights and ``omits`` of the raters with the indices ``columns``."""
        return RaterWeights(tuple(self.weights[c] for c in columns), tuple(self.omits[c] for c in columns))

    def mask_omissions(self, ratings: Ratings) -> Ratings:
        """Return the (n, R) ratings with -1 in place of each 0 that counts as an omission; a copy only if needed.

        A 0 of a rater with ``omits`` is an omission if a rater without ``omits`` rated the pair, or if another rater
        with ``omits`` rated it above 0.
        """
        if not any(self.omits):
            return ratings
        columns = list(zip(ratings.T, self.omits, strict=True))
        said = np.logical_or.reduce([column > 0 if omits else column != MISSING for column, omits in columns])
        of_raters = [np.where(said & (column == 0), MISSING, column) if omits else column for column, omits in columns]
        return np.stack(of_raters, axis=1)


def ensemble_values(ratings: Ratings, how: str, rater_weights: RaterWeights | None = None) -> Floats:
    """Return the (n,) ensemble values of n pairs, 0..1: the combined rating divided by 4; NaN for an unrated pair.

    Args:
        ratings: (n, R) ratings 0..4, -1 if a rater has not rated the pair; raters in the map's order.
        how: "mean"; "median"; "majority", the most frequent rating (on a tie, the first rater's rating among the most
            frequent ratings); or "majority-mean" (on a tie, the mean of the most frequent ratings).
        rater_weights: weights of the raters; equal weights if None. The median ignores weights.
    """
    rater_weights = rater_weights or RaterWeights.equal(ratings.shape[1])
    value = ENSEMBLES[check_ensemble(how)](rater_weights.mask_omissions(ratings), rater_weights.weights)
    value[(ratings == MISSING).all(axis=1)] = np.nan
    return value / HIGHEST


def check_ensemble(how: str) -> str:
    """Return ``how`` if it is the name of an ensemble; else raise OptionError, which suggests the closest name."""
    if how not in ENSEMBLES:
        raise unknown_name("ensemble", how, ENSEMBLES)
    return how


def _mean(ratings: Ratings, weights: tuple[float, ...]) -> Floats:
    # Column by column: numpy's sums along a short last axis are several times slower.
    total, counted = np.zeros(len(ratings)), np.zeros(len(ratings))
    for column, weight in zip(ratings.T, weights, strict=True):
        share = np.where(column != MISSING, weight, 0.0)
        total += share * column
        counted += share
    return np.divide(total, counted, out=total, where=counted > 0)


def _median(ratings: Ratings, _weights: tuple[float, ...]) -> Floats:
    missing, rows = ratings == MISSING, np.arange(len(ratings))
    ordered = np.sort(np.where(missing, HIGHEST + 1, ratings), axis=1)
    present = np.maximum((~missing).sum(axis=1), 1)
    return np.asarray((ordered[rows, (present - 1) // 2] + ordered[rows, present // 2]) / 2)


def _majority(ratings: Ratings, weights: tuple[float, ...]) -> Floats:
    winners, value = _most_frequent(ratings, weights), np.zeros(len(ratings))
    for column in ratings.T[::-1]:
        won = (column != MISSING) & winners[np.arange(len(ratings)), column]
        value[won] = column[won]
    return value


def _majority_mean(ratings: Ratings, weights: tuple[float, ...]) -> Floats:
    winners = _most_frequent(ratings, weights)
    return np.asarray(winners @ np.arange(HIGHEST + 1.0) / winners.sum(axis=1))


def _most_frequent(ratings: Ratings, weights: tuple[float, ...]) -> NDArray[np.bool_]:
    votes = np.stack([(ratings == rating) @ np.array(weights) for rating in range(HIGHEST + 1)], axis=1)
    return np.asarray(votes == votes.max(axis=1, keepdims=True))


ENSEMBLES = {"mean": _mean, "median": _median, "majority": _majority, "majority-mean": _majority_mean}

COMBINATIONS: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "arithmetic": lambda verb, object_, weight: weight * verb + (1 - weight) * object_,
    # Rounded, because the geometric mean of 0.5 and 0.5 would exceed 0.5.
    "geometric": lambda verb, object_, weight: np.round(verb**weight * object_ ** (1 - weight), 12),
    "minimum": lambda verb, object_, _weight: np.minimum(verb, object_),
}


def combine(verb: Floats, object: Floats, how: str, weight: float) -> Floats:  # noqa: A002 - the field's word
    """Return the similarity 0..1 of interactions from the similarities 0..1 of verbs and objects; the arrays broadcast.

    Human ratings of whole interactions agree with the arithmetic mean in 85.73 %, with the geometric mean in 84.29 %
    and with the minimum in 84.01 % (SHOE paper; docs/protocols.md, section 10.1).

    Args:
        how: "arithmetic", weight * verb + (1 - weight) * object; "geometric", verb**weight * object**(1 - weight);
            or "minimum", which ignores the weight.
        weight: weight of the verb, 0..1; 0.5 in the paper.

    Raises OptionError for an unknown ``how``, or a weight outside 0..1.

    Example:
        >>> combine(np.array([1.0, 0.5]), np.array([0.5, 0.5]), "arithmetic", 0.5).tolist()
        [0.75, 0.5]
    """
    if how not in COMBINATIONS:
        raise unknown_name("way to combine verb and object", how, COMBINATIONS)
    if not 0 <= weight <= 1:
        raise OptionError(f"weight: found {weight:g}, expected 0 to 1")
    return COMBINATIONS[how](np.asarray(verb, np.float64), np.asarray(object, np.float64), weight)
