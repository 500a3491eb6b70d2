"""What sets two models apart: their figures by class, by verb and by object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats


@dataclass(frozen=True, slots=True)
class Moved:
    """A class, or the classes of one verb or object, under two models.

    Attributes:
        name: "ride horse", "ride", "horse".
        classes: how many are in both means; 1 for a class.
        before, after: mean of their figures under each model, 0..1.
    """

    name: str
    classes: int
    before: float
    after: float

    @property
    def by(self) -> float:
        """How much better the second model is."""
        return self.after - self.before


def by_class(classes: HoiClasses, before: Floats, after: Floats) -> list[Moved]:
    """Compare (K,) figures of two models, NaN for classes outside the mean; by falling gain of the second."""
    return _moved(classes.labels, np.arange(len(classes)), before, after)


def by_verb(classes: HoiClasses, before: Floats, after: Floats) -> list[Moved]:
    """Compare the means over the classes of each verb."""
    return _moved(classes.verbs, classes.verb, before, after)


def by_object(classes: HoiClasses, before: Floats, after: Floats) -> list[Moved]:
    """Compare the means over the classes of each object."""
    return _moved(classes.objects, classes.object, before, after)


def _moved(names: Sequence[str], group: NDArray[np.integer], before: Floats, after: Floats) -> list[Moved]:
    both = ~np.isnan(before) & ~np.isnan(after)
    number = np.bincount(group[both], minlength=len(names))
    means = [np.bincount(group[both], figures[both], len(names)) / np.maximum(number, 1) for figures in (before, after)]
    found = [
        Moved(names[g], int(number[g]), float(means[0][g]), float(means[1][g])) for g in np.flatnonzero(number).tolist()
    ]
    return sorted(found, key=lambda moved: -moved.by)
