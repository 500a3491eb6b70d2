"""The order of images in a prediction file changes no figure; no order at all changes a semantic one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.matching.task import Task
from tests.oracles.meaning import Similarity
from tests.oracles.model import ImageScene, Triplet, class_words, to_tables
from tests.oracles.scenes import random_scenes, scenes, small_classes, toy_similarity
from tests.scoring.compare import close, fast_semantic, fast_strict, same, task_of

CLASSES = small_classes()
WORDS = class_words(CLASSES)
ORDERLESS = ("ride", "hold"), ("hold", "feed")
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


SHUFFLED: list[dict[str, str]] = [
    {},
    {"repeats": "matched", "sigma-ties": "iou", "fp-scope": "image"},
    {"min-sigma": "positive", "tau-by": "image", "combine": "minimum"},
]


@pytest.mark.parametrize("options", SHUFFLED, ids=str)
@given(found=scenes(labels=False), seed=st.integers(0, 1 << 32), copies=st.booleans())
def test_no_order_of_lines_truths_or_images_moves_a_semantic_figure(
    options: dict[str, str], found: list[ImageScene], seed: int, copies: bool
) -> None:
    """Ties of all kinds: constant scores, equal boxes, equal similarities, exact copies of predictions and truths."""
    rng = np.random.default_rng(seed)
    for scene in found:
        if copies:
            scene.truth = scene.truth + scene.truth[:2]
            scene.predictions = [replace(p, score=0.5) for p in scene.predictions + scene.predictions[:2]]
    mixed = [
        replace(
            scene,
            truth=[scene.truth[i] for i in rng.permutation(len(scene.truth))],
            predictions=[scene.predictions[i] for i in rng.permutation(len(scene.predictions))],
        )
        for scene in (found[i] for i in rng.permutation(len(found)))
    ]
    verb, noun = toy_similarity(CLASSES)
    one, other = (fast_semantic(task_of(some, CLASSES), verb, noun, options) for some in (found, mixed))
    same(other.ap, [None if np.isnan(ap) else ap for ap in one.ap.tolist()])
    same(other.f1, [None if np.isnan(f1) else f1 for f1 in one.f1.tolist()])
    assert close(one.gt_miss_rate, other.gt_miss_rate)
    assert close(one.prediction_miss_rate, other.prediction_miss_rate)


def test_the_pairs_of_truths_and_predictions_without_scores() -> None:
    """Whoever stands first, "hold horse" is matched with "hold horse", and what is left with what is left."""
    human, thing = (10.0, 10.0, 20.0, 30.0), (30.0, 10.0, 70.0, 50.0)
    truth, said = ([Triplet(human, thing, verb, "horse") for verb in verbs] for verbs in ORDERLESS)

    def exact(part: int) -> Similarity:
        return lambda k, word: float(WORDS[k][part] == word)

    for scene in (ImageScene("a.jpg", t, p) for t in (truth, truth[::-1]) for p in (said, said[::-1])):
        scene.truth_coordinates = scene.prediction_coordinates
        result = fast_semantic(task_of([scene], CLASSES), exact(0), exact(1), {})
        assert result.map == pytest.approx(0.625, abs=1e-7)
