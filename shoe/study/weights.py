"""How many of a population each item of a study stands for, where items were drawn with unequal probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Of N items, by which figures of the items become estimates of figures of the population (Hajek 1971).

    Attributes:
        weight: (N,) 1 / (probability that the item was drawn), above 0.
        stratum: (N,) number of what it was drawn from; the same for all where they were drawn together.
    """

    weight: Floats
    stratum: Indices

    @property
    def population(self) -> float:
        """Estimated size of the population (Horvitz and Thompson 1952)."""
        return float(self.weight.sum())

    @property
    def effective(self) -> float:
        """How many items drawn evenly say as much of a mean, were all weights unrelated to it (Kish 1965)."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    def of(self, items: Indices) -> Floats:
        """Weights of some of the items, with mean 1; those left of a stratum stand for all of it."""
        drawn = np.bincount(self.stratum)
        left = np.bincount(self.stratum[items], minlength=len(drawn))
        weight: Floats = self.weight[items] * (drawn / np.maximum(left, 1))[self.stratum[items]]
        normal: Floats = weight * (len(items) / weight.sum())
        return normal

    def chosen(self, items: Mask | Indices) -> Self:
        """Some of the items."""
        return type(self)(self.weight[items], self.stratum[items])
