"""Problems and predictions made for tests."""

from collections.abc import Sequence

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.scoring.bongard.problems import Problems, Regions
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import CLASSES, predictions_of

Word = tuple[str, str]
CROP = (10.0, 10.0, 110.0, 110.0)
BOX = (20.0, 20.0, 60.0, 60.0)


def problems_of(count: int, groups: Sequence[str] = ("seen_obj_seen_act",)) -> Problems:
    """Problems of one concept, ride horse against feed horse, each on fourteen images of its own; groups take turns."""
    total = 14 * count
    rows = np.arange(total).reshape(count, 2, 7)
    verb = np.zeros(total, np.int32)
    verb[rows[:, 1]] = 1
    boxes = np.tile(BOX, (total, 1))
    regions = Regions(
        images=tuple(f"folder/{number:03d}.jpg" for number in range(total)),
        image=np.arange(total, dtype=np.int32),
        crops=np.tile(CROP, (total, 1)),
        human_boxes=boxes,
        object_boxes=boxes,
        verb=verb,
        object=np.zeros(total, np.int32),
        verbs=("ride", "feed"),
        objects=("horse",),
    )
    group = np.arange(count, dtype=np.int32) % len(groups)
    return Problems(regions, rows[:, 0], rows[:, 1], tuple(groups), group)


def predicted(pictures: Sequence[Sequence[Word]]) -> Interactions:
    """Predictions that say some words of each picture of ``problems_of``, well inside its crop."""
    return predictions_of({f"{k:03d}.jpg": [Triplet(BOX, BOX, *word) for word in of] for k, of in enumerate(pictures)})


def truth_of(labels: Sequence[Sequence[str]], size: int = 400) -> GroundTruth:
    """A ground truth of HICO-DET with one pair of boxes in each image, labelled as it says ("ride horse")."""
    # A label after "+" is of another pair.

    def triplet(label: str) -> Triplet:
        left, (verb, noun) = 150.0 * label.startswith("+"), label.lstrip("+").split()
        return Triplet((left + 10, 20.0, left + 110, 220.0), (left + 60, 120.0, left + 260, 240.0), verb, noun)

    scenes = [
        ImageScene(f"HICO_test2015_{k + 1:08d}.jpg", [*map(triplet, of)], [], Coordinates.CONTINUOUS, size=(size, size))
        for k, of in enumerate(labels)
    ]
    return to_tables(scenes, CLASSES)[0]
