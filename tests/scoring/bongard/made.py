"""Problems and predictions made for tests."""

from collections.abc import Sequence

import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.scoring.bongard.problems import Problems, Regions

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
    words = [(number, word) for number, said in enumerate(pictures) for word in said]
    verbs, objects = (sorted({word[k] for _, word in words}) for k in (0, 1))
    boxes = [BOX] * len(words)
    return Interactions.from_columns(
        images=[f"{number:03d}.jpg" for number in range(len(pictures))],
        image=[each[0] for each in words],
        human_boxes=np.array(boxes).reshape(-1, 4),
        object_boxes=np.array(boxes).reshape(-1, 4),
        verb=[verbs.index(word[0]) for _, word in words],
        object=[objects.index(word[1]) for _, word in words],
        verbs=verbs,
        objects=objects,
    )


def truth_of(labels: Sequence[Sequence[str]], size: int = 400) -> GroundTruth:
    """A ground truth of HICO-DET with one pair of boxes in each image, labelled as it says ("ride horse").

    A label after "+" is of another pair.
    """
    classes = benchmark("hico-det").classes
    number = {label: k for k, label in enumerate(classes.labels)}
    image = [k for k, of in enumerate(labels) for _ in of]
    hoi = np.array([number[label.lstrip("+")] for of in labels for label in of], np.int64)
    aside = np.array([[150.0 * label.startswith("+"), 0] * 2 for of in labels for label in of])
    table = Interactions.from_columns(
        images=[f"HICO_test2015_{k + 1:08d}.jpg" for k in range(len(labels))],
        image=image,
        human_boxes=np.tile((10.0, 20.0, 110.0, 220.0), (len(image), 1)) + aside,
        object_boxes=np.tile((60.0, 120.0, 260.0, 240.0), (len(image), 1)) + aside,
        verb=classes.verb[hoi],
        object=classes.object[hoi],
        verbs=classes.verbs,
        objects=classes.objects,
        sizes=np.full((len(labels), 2), size),
    )
    return GroundTruth(table, classes, "test2015")
