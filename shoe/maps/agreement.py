"""How far two sets of numbers about the same pairs agree. What cannot be measured is None, never NaN."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings

_LEVELS = HIGHEST + 1


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


def quadratic_weighted_kappa(a: Ratings, b: Ratings) -> float | None:
    """Cohen's kappa with squared distances: 1 - observed / expected disagreement (SHOE supplement, section 5.3).

    Args:
        a: (n,) ratings 0..4.
        b: (n,) ratings of the same pairs.

    Returns:
        At most 1; None where chance alone leaves no room for disagreement, as all ratings are equal, or none for
        agreement: of one pair kappa is 0 whatever was said.

    Example:
        >>> quadratic_weighted_kappa(np.array([0, 4], np.int8), np.array([0, 4], np.int8))
        1.0
    """
    if len(a) < 2:
        return None
    share_a, share_b = (np.bincount(x, minlength=_LEVELS) / len(x) for x in (a, b))
    squared = np.subtract.outer(np.arange(_LEVELS), np.arange(_LEVELS)) ** 2
    expected = float(share_a @ squared @ share_b)
    observed = float((np.subtract(a, b, dtype=np.float64) ** 2).mean())
    return 1 - observed / expected if expected else None


def pearson(a: ArrayLike, b: ArrayLike) -> float | None:
    """Pearson's correlation; None for fewer than two values, or where one side has but one value."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))


def spearman(a: ArrayLike, b: ArrayLike) -> float | None:
    """Spearman's rank correlation, equal values sharing their mean rank; None as for :func:`pearson`."""
    from scipy.stats import rankdata

    return pearson(rankdata(a), rankdata(b))
