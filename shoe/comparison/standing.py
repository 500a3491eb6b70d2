"""How sure ranks are: for each of some models, the places that it may have, as far as the choice of images goes.

A model stands surely below those that are significantly better than it, and surely above those than which it is
significantly better; what is left between is its interval. All pairs of models are tested at once, by the largest of
their studentized differences in each resample (Westfall and Young 1993, single-step max-T), so that with 95 % all
intervals hold together, however many models there are (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for ranks).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoe.comparison.ranks import better
from shoe.comparison.significance import LEVEL
from shoe.core.arrays import Floats
from shoe.core.statistics import ROUNDING


def rank_intervals(figure: str, values: Sequence[float], resamples: Floats) -> list[tuple[int, int]]:
    """The lowest and the highest rank, from 1, that each of n models may have.

    Args:
        figure: key of the figure, which says whether the highest or the lowest is the best.
        values: (n,) of the figure.
        resamples: (n, R) of the figure under the same R draws of images; NaN where there was nothing to measure.

    >>> draws = np.array([[0.5, 0.6, 0.7], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    >>> rank_intervals("semantic:map", [0.6, 0.2, 0.2], np.tile(draws + 0.01 * np.eye(3), 20))
    [(1, 1), (2, 3), (2, 3)]
    """
    n = len(values)
    centred = resamples - np.nanmean(resamples, axis=1, keepdims=True) if n else resamples
    largest = np.zeros(resamples.shape[1])
    apart = np.zeros((n, n))
    for i in range(n - 1):
        deviations = np.nan_to_num(centred[i] - centred[i + 1 :])
        spread = deviations.std(axis=1)
        known = spread > ROUNDING  # two models that no draw sets further apart are the same
        studentized = np.abs(deviations[known]) / spread[known, None]
        largest = np.maximum(largest, studentized.max(axis=0, initial=0))
        differences = np.abs(np.asarray(values[i + 1 :]) - values[i])
        apart[i, i + 1 :][known] = differences[known] / spread[known]
    apart += apart.T
    p = (1 + (largest >= apart[..., None] - ROUNDING).sum(axis=-1)) / (1 + len(largest))
    found = []
    for i in range(n):
        sure = [j for j in range(n) if p[i, j] < LEVEL]
        above = sum(better(figure, values[j], values[i]) for j in sure)
        found.append((1 + above, n - (len(sure) - above)))
    return found
