"""Agreement of every two raters of a map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.statistics import pearson, quadratic_weighted_kappa
from shoe.similarity.ensemble import MISSING, Ratings


class RaterAgreement(Document, frozen=True):
    """How far two raters agree on the pairs that both rated."""

    raters: list[str]
    pairs: Count
    exact: Fraction | None = None
    pearson: Correlation | None = None
    quadratic_weighted_kappa: Correlation | None = None


def rater_agreements(ratings: Ratings, names: Sequence[str]) -> list[RaterAgreement]:
    """Compare every two raters of an (n, R) table of ratings, in the order of the columns."""
    found = []
    for columns in combinations(range(len(names)), 2):
        a, b = ratings[(ratings[:, columns] != MISSING).all(axis=1)][:, columns].T
        exact = float((a == b).mean()) if len(a) else None
        figures = exact, pearson(a, b), quadratic_weighted_kappa(a, b)
        found.append(RaterAgreement([names[column] for column in columns], len(a), *figures))
    return found
