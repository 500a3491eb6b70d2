"""Small scenes by hand: boxes far apart, and triplets on them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import NO_PART, ErrorType
from tests.oracles.boxes import Box
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import predict_the_truth, scenes, small_classes

CLASSES = small_classes()
both_variants = pytest.mark.parametrize("variant", ["paper", "released"])


def box(number: int, kind: int = 0) -> Box:
    """A box of 20 by 20; boxes of different numbers or kinds do not touch."""
    return 100.0 * number, 100.0 * kind, 100.0 * number + 19, 100.0 * kind + 19


P1, P2, P3 = box(1), box(2), box(3)
O1, O2, O3 = box(1, 1), box(2, 1), box(3, 1)
AWAY, FAR_AWAY = box(8), box(9)
RIDE = Triplet(P1, O1, "ride", "horse")


def image(truth: Sequence[Triplet], predictions: Sequence[Triplet], name: str = "a.jpg") -> ImageScene:
    return ImageScene(name, list(truth), list(predictions))


def diagnosed(*scenes: ImageScene, **options: Any) -> Diagnosis:
    truth, predictions = to_tables(list(scenes), CLASSES)
    return diagnose(predictions, truth, **options)


def types(diagnosis: ErrorAnalysis) -> list[str]:
    return ["" if code == NO_PART else ErrorType(code).label for code in diagnosis.types.tolist()]


def predicting_itself(found: list[ImageScene]) -> list[ImageScene]:
    predict_the_truth(known := [scene for scene in found if scene.known])
    return known


def comparable() -> st.SearchStrategy[list[ImageScene]]:
    """Any scenes, some of whose predictions are on images of the truth if there are any at all."""

    def kept(found: list[ImageScene]) -> list[ImageScene]:
        anchored = any(scene.known and scene.predictions for scene in found)
        return [scene for scene in found if scene.known or anchored]

    return scenes(labels=False).map(kept)
