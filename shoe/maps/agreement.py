"""Agreement of every two raters of a map."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from shoe.core.statistics import pearson, quadratic_weighted_kappa
from shoe.similarity.ensemble import MISSING, Ratings


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Two raters of one map, on the n pairs that both rated.

    Attributes:
        first, second: their columns, ``first`` the lower.
        pairs: n.
        exact: share of equal ratings.
        pearson: correlation of the ratings.
        kappa: quadratic weighted kappa.
    """

    first: int
    second: int
    pairs: int
    exact: float | None
    pearson: float | None
    kappa: float | None


def rater_agreements(ratings: Ratings) -> list[RaterAgreement]:
    """Compare every two raters of an (n, R) table of ratings, in the order of the columns."""
    found = []
    for first, second in combinations(range(ratings.shape[1]), 2):
        a, b = ratings[(ratings[:, [first, second]] != MISSING).all(axis=1)][:, [first, second]].T
        exact = float((a == b).mean()) if len(a) else None
        found.append(RaterAgreement(first, second, len(a), exact, pearson(a, b), quadratic_weighted_kappa(a, b)))
    return found
