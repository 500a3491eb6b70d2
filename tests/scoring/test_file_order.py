"""The order of images in a prediction file changes no figure."""

from dataclasses import replace

import numpy as np
import pytest

from shoe.benchmarks.hico_det.protocols import PROTOCOLS as STRICT
from shoe.matching.task import Task
from tests.oracles.model import to_tables
from tests.oracles.scenes import random_scenes, small_classes, toy_similarity
from tests.scoring.compare import fast_semantic, fast_strict, same

CLASSES = small_classes()
IMAGES = 7
# The second begins and ends as the truth does: rows of such a file look like one run if only its ends are looked at.
ORDERS = [[6, 5, 4, 3, 2, 1, 0], [0, 2, 1, 3, 5, 4, 6], [3, 0, 6, 1, 5, 2, 4]]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_images_may_come_in_any_order(order: list[int], seed: int) -> None:
    # As many predictions on each image, so that rows and images shift together; no two of equal scores.
    found = random_scenes(np.random.default_rng(seed), IMAGES, n_predictions=12)
    scores = iter(np.random.default_rng(seed).permutation(1000) / 1000)
    for scene in found:
        scene.predictions = [replace(p, score=float(next(scores))) for p in scene.predictions]
    verb, noun = toy_similarity(CLASSES)
    results, strict = [], []
    for prediction_order in (None, order):
        truth, predictions = to_tables(found, CLASSES, prediction_order)
        task = Task(predictions, truth)
        results.append(fast_semantic(task, verb, noun, {}))
        strict.append([fast_strict(task, protocol) for protocol in STRICT])
    same(results[1].ap, list(results[0].ap))
    same(results[1].f1, list(results[0].f1))
    assert results[1].gt_miss_rate == results[0].gt_miss_rate
    for one, other in zip(*strict, strict=True):
        same(one.ap, list(other.ap))
