"""One evaluation's predictions beside its ground truth: which image and which class each row is. Computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.interactions import Interactions
from shoe.lexicon.labels import match_labels
from shoe.matching.align import Alignment, align


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Both boxes of the triplets of a table; moved into a space when, and only for the rows that, they are needed."""

    table: Interactions
    coordinates: CommonCoordinates

    def human(self, rows: Indices | slice) -> Floats:
        """(r, 4) human boxes of some rows; a slice is not copied where nothing moves."""
        return self._moved(self.table.human_boxes[rows], rows)

    def object(self, rows: Indices | slice) -> Floats:
        """(r, 4) object boxes of some rows."""
        return self._moved(self.table.object_boxes[rows], rows)

    def _moved(self, boxes: Floats, rows: Indices | slice) -> Floats:
        frames = self.table.triplet_coordinates
        return converted(boxes, frames if len(frames) == 1 else frames[rows], self.coordinates)


@dataclass(frozen=True, eq=False)
class Task:
    """Predictions to be scored against a ground truth; n predictions, m images of the truth, K classes."""

    predictions: Interactions
    truth: GroundTruth

    @cached_property
    def alignment(self) -> Alignment:
        """Which image of the truth each image of the predictions is."""
        return align(self.predictions, self.truth.interactions)

    @cached_property
    def image(self) -> NDArray[np.int32]:
        """(n,) the truth's image of each prediction, -1 where the truth does not have it."""
        return np.repeat(self.alignment.truth_image, np.diff(self.predictions.offsets))

    @cached_property
    def verb_label(self) -> NDArray[np.int32]:
        """(verb words,) the dataset's verb that a predicted word is, -1 for others."""
        return match_labels(self.predictions.verbs, self.truth.classes.verbs, "verb")

    @cached_property
    def object_label(self) -> NDArray[np.int32]:
        """(object words,) the dataset's object that a predicted word is, -1 for others."""
        return match_labels(self.predictions.objects, self.truth.classes.objects, "object")

    @cached_property
    def hoi(self) -> NDArray[np.int32]:
        """(n,) the class that each prediction names exactly, -1 where it is none of the dataset's."""
        of = np.pad(self.truth.classes.of, ((0, 1), (0, 1)), constant_values=-1)
        words = of[self.verb_label[:, None], self.object_label[None, :]]
        hoi: NDArray[np.int32] = words[self.predictions.verb, self.predictions.object]
        return hoi
