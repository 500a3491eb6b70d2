"""How similar the classes of a benchmark are to each other: what a prediction of one earns where another is there."""

from __future__ import annotations

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Similarity


def class_similarity(classes: HoiClasses, similarity: Similarity, options: SemanticOptions | None = None) -> Floats:
    """Compare each class with each other as scoring does.

    Args:
        classes: K of them.
        similarity: a map or a measure.
        options: of the protocol; the usual ones where there are none.

    Returns:
        (K, K) similarity of each class, as ground truth, to the words of each class, as prediction; 0..1.
    """
    table = HoiSimilarity.of_words(classes, classes.verbs, classes.objects, similarity, options or SemanticOptions())
    return table.sigma(np.arange(len(classes))[:, None], classes.verb[None, :], classes.object[None, :])
