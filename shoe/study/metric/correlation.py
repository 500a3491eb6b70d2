"""How far two columns of numbers rank alike. What cannot be measured is None, never NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import index_in_group
from shoe.core.seeded import random_numbers
from shoe.core.statistics import kendall, pearson, spearman

MOST_PAIRED = 50
"""Of so many units of an image, drawn alike, all pairs are looked at."""
_SAME = 1e-9
_STREAM = 11 << 28


CORRELATIONS: dict[str, Callable[[Floats, Floats], float | None]] = {
    "spearman": spearman,
    "pearson": pearson,
    "kendall": kendall,
}


class UnitPairs(NamedTuple):
    """UnitPairs of units of one image.

    Attributes:
        first, second: (P,) the units.
        image: (P,) their image.
    """

    first: Indices
    second: Indices
    image: Indices


def pairs_within(image: Indices) -> UnitPairs:
    """All pairs of units of one image; where an image has more than 50, of 50 of them.

    Args:
        image: (n,) of each unit.
    """
    order = np.lexsort((random_numbers(_STREAM, image.shape), image))
    size = np.bincount(image)
    place = index_in_group(size)
    order = order[place < MOST_PAIRED]
    place = place[place < MOST_PAIRED]
    # Each unit stands second to all before it on its image.
    second, before = np.repeat(order, place), index_in_group(place)
    first = order[np.repeat(np.arange(len(order)) - place, place) + before]
    return UnitPairs(first, second, image[second])


def pair_order(values: Floats, pairs: UnitPairs, least: float = 0) -> Indices:
    """(P,) 1 where the first is the higher, -1 where the second is, 0 where they are no more than ``least`` apart."""
    apart = values[pairs.first] - values[pairs.second]
    found: Indices = np.sign(apart) * (np.abs(apart) > least + _SAME)
    return found


def tie_width(values: Floats, pairs: UnitPairs, people: Indices, known: Mask) -> float:
    """How far apart a measure's values must be to be told apart, so that it orders most pairs as people do.

    Tie calibration (Deutsch, Foster and Freitag 2023): a measure that says 0.71 and 0.72 says no difference where
    people see none. Of several the smallest.

    Args:
        values: (n,) of the measure.
        pairs: P pairs.
        people: (P,) how people order them, as :func:`pair_order`.
        known: (P,) pairs that people judged.
    """
    apart = (values[pairs.first] - values[pairs.second])[known]
    order = np.argsort(np.abs(apart), kind="stable")
    size, agrees = np.abs(apart)[order], (np.sign(apart) == people[known])[order]
    tied = (people[known] == 0)[order]
    # Up to each place ties, beyond it as the signs say.
    gained = np.concatenate([[0], np.cumsum(tied.astype(np.int64) - agrees)])
    ends = np.flatnonzero(np.append(np.diff(size) > _SAME, True)) + 1 if len(size) else np.zeros(0, np.int64)
    ends = np.concatenate([[int((size <= _SAME).sum())], ends])
    best = ends[int(np.argmax(gained[ends]))]
    return float(size[best - 1]) if best else 0.0
