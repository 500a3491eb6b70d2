"""Scores that are no confidences in 0..1, as logits and log-probabilities: the ways to bring them there.

Each keeps the order of the scores (a sigmoid up to the precision of floats), so strict figures stay as they are;
SHOE-mF1 and the miss rates, where they take a threshold of scores, depend on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.core.errors import unknown_name
from shoe.core.interactions import Interactions


def _sigmoid(score: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -score))


def _min_max(score: Floats) -> Floats:
    width = np.ptp(score)
    return (score - score.min()) / width if width else np.ones(len(score))


def _rank(score: Floats) -> Floats:
    """The share of scores that are not higher; equal scores stay equal."""
    return np.searchsorted(np.sort(score), score, "right") / len(score)


SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": _sigmoid,
    "percent": lambda score: score / 100,
    "minmax": _min_max,
    "rank": _rank,
}
"""Name of a way, and what makes (n,) finite scores, n > 0, values in 0..1 (of percent: where they are percent)."""


def check_scores_name(name: str | None) -> None:
    """Refuse what is no way to bring scores to 0..1.

    Raises:
        OptionError: naming those there are.
    """
    if name is not None and name not in SCORES:
        raise unknown_name("way to take scores", name, SCORES)


def two_scales(score: Floats) -> tuple[int, int] | None:
    """Count the scores in 0..1 and those above where the latter are of another scale, as percent or ratings.

    Logits and sums of scores lie on both sides of 1 as well, but between 1 and 10 they are not whole.

    >>> import numpy as np
    >>> two_scales(np.array([0.9, 95, 0.8])), two_scales(np.array([0.9, 1.7, 12.5]))
    ((2, 1), None)
    """
    above = score[score > 1]
    parts = (score > 0) & (score < 1)
    if not len(above) or not parts.any() or score.min() < 0 or ((above < 10) & (above != np.rint(above))).any():
        return None
    return len(score) - len(above), len(above)


def rescaled(table: Interactions, name: str, given: Mask) -> Interactions:
    """Bring scores to 0..1.

    >>> import numpy as np
    >>> from shoe.demo import PREDICTIONS
    >>> from shoe.predictions import read_predictions
    >>> table = read_predictions(PREDICTIONS["detector"], scores="rank")
    >>> float(table.score.max()), bool((table.score > 0).all())
    (1.0, True)

    Args:
        table: n predictions.
        name: a name in :data:`SCORES`.
        given: (n,) whether a score was given; others stay.
    """
    if not given.any():
        return table
    score = table.score.copy()
    score[given] = SCORES[name](score[given])
    return replace(table, score=score)
