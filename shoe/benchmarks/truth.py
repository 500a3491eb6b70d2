"""Ground truth: a table of interactions that knows its dataset's classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.core.interactions import Interactions


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """The annotations that predictions are scored against.

    Attributes:
        interactions: the triplets; their vocabularies are those of ``classes``.
        classes: the dataset's HOI classes.
        split: "test2015", "train2015", or the name of the file where it cannot be told.
        image_labels: (K, images) which classes the image-level annotation says are in an image (official known-object
            setting); absent where only boxes are at hand.
        form: what kind of file it came from, in words.
        left_out: names of training images left out because their triplets point to boxes that the file does not have.
    """

    interactions: Interactions
    classes: HoiClasses
    split: str
    image_labels: NDArray[np.bool_] | None = None
    form: str = "table"
    left_out: tuple[str, ...] = ()

    @property
    def hoi(self) -> NDArray[np.int32]:
        """(n,) HOI class of each triplet."""
        return self.classes.of[self.interactions.verb, self.interactions.object]

    @property
    def triplets_per_class(self) -> NDArray[np.int64]:
        """(K,) number of triplets of each class."""
        return np.bincount(self.hoi, minlength=len(self.classes))
