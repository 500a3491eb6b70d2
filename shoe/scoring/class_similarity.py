"""How similar the classes of a benchmark are to each other: what a prediction of one earns where another is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Indices
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Similarity


def class_similarity(
    classes: HoiClasses, similarity: Similarity, options: SemanticOptions | None = None
) -> Callable[[Indices, Indices], Floats]:
    """Compare classes as scoring does.

    Returns:
        What takes R and S classes and returns (R, S) similarities 0..1, of each two the larger of what the one earns as
        a prediction of the other.
    """
    table = HoiSimilarity.of_words(classes, classes.verbs, classes.objects, similarity, options or SemanticOptions())

    def similar(rows: Indices, columns: Indices) -> Floats:
        (one, other), verb, object_ = np.broadcast_arrays(rows[:, None], columns), classes.verb, classes.object
        return np.maximum(table.sigma(one, verb[other], object_[other]), table.sigma(other, verb[one], object_[one]))

    return similar
