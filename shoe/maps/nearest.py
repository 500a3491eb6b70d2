"""Which of many measures is nearest to people, where the best of many is partly luck."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.core.seeded import random_numbers

_STREAM, _RESAMPLES = 9 << 28, 2_000


class Nearness(NamedTuple):
    """Of K measures: (K,) mean agreement with people, and (K,) whether it cannot be told from the best one's."""

    agreement: Floats
    among_best: Mask


def nearness(near: Floats, weight: Floats | None = None) -> Nearness:
    """Compare measures by how near they are to people; which could be the best is decided for all together.

    A measure is out where its distance to the best exceeds the 95 % quantile of the largest studentized deviation of
    all such distances, over items drawn again (as Hansen's model confidence set decides, in one step).

    Args:
        near: (N, K) 1 - absolute difference from people, of each item.
        weight: (N,) of items, with mean 1; None where each counts once.
    """
    n = len(near)
    agreement = near.mean(axis=0) if weight is None else np.average(near, axis=0, weights=weight)
    drawn = (random_numbers(_STREAM, (_RESAMPLES, n)) % np.uint64(n)).astype(np.int64)
    often = np.stack([np.bincount(row, minlength=n) for row in drawn]) / n
    if weight is not None:
        often = often * weight / (often @ weight)[:, None]
    behind = near[:, [int(agreement.argmax())]] - near
    found = behind.mean(axis=0) if weight is None else np.average(behind, axis=0, weights=weight)
    again = often @ behind
    error = again.std(axis=0)
    varies = error > 0
    away = np.zeros_like(again)
    away[:, varies] = (again - found)[:, varies] / error[varies]
    reach = np.quantile(away.max(axis=1), 0.95)
    return Nearness(agreement, np.where(varies, found <= reach * error, found == 0))
