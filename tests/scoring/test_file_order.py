"""The order of images in a prediction file changes no figure; no order at all changes a semantic one."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.matching.task import Task
from tests.oracles.model import ImageScene, to_tables
from tests.oracles.scenes import CLASSES, TOY, exact, on_pair, one_image, random_scenes, scenes
from tests.scoring.compare import close, fast_semantic, fast_strict, same, task_of

ORDERLESS = ("ride", "hold"), ("hold", "feed")
IMAGES = 7
T = TypeVar("T")
# The second begins and ends as the truth does: rows of such a file look like one run if only its ends are looked at.
ORDERS = [[6, 5, 4, 3, 2, 1, 0], [0, 2, 1, 3, 5, 4, 6], [3, 0, 6, 1, 5, 2, 4]]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_images_may_come_in_any_order(order: list[int], seed: int) -> None:
    # As many predictions on each image, so that rows and images shift together; no two of equal scores.
    found = random_scenes(np.random.default_rng(seed), IMAGES, n_predictions=12)
    scores = iter(np.random.default_rng(seed).permutation(1000) / 1000)
    for scene in found:
        scene.predictions = [replace(p, score=float(next(scores))) for p in scene.predictions]
    tasks = [Task(said, truth) for truth, said in (to_tables(found, CLASSES, each) for each in (None, order))]
    one, other = (fast_semantic(task, *TOY, {}) for task in tasks)
    same(other.ap, list(one.ap))
    same(other.f1, list(one.f1))
    assert other.gt_miss_rate == one.gt_miss_rate
    for protocol in STRICT:
        first, second = (fast_strict(task, protocol) for task in tasks)
        same(first.ap, list(second.ap))


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

    def mixed(of: list[T]) -> list[T]:
        return [of[i] for i in rng.permutation(len(of))]

    again = [replace(s, truth=mixed(s.truth), predictions=mixed(s.predictions)) for s in mixed(found)]
    one, other = (fast_semantic(task_of(some), *TOY, options) for some in (found, again))
    same(other.ap, list(one.ap))
    same(other.f1, list(one.f1))
    assert close(one.gt_miss_rate, other.gt_miss_rate)
    assert close(one.prediction_miss_rate, other.prediction_miss_rate)


def test_the_pairs_of_truths_and_predictions_without_scores() -> None:
    """Whoever stands first, "hold horse" is matched with "hold horse", and what is left with what is left."""
    truth, said = ([on_pair(verb) for verb in verbs] for verbs in ORDERLESS)
    for scene in (one_image(t, p) for t in (truth, truth[::-1]) for p in (said, said[::-1])):
        assert fast_semantic(task_of([scene]), exact(0), exact(1), {}).map == pytest.approx(0.625, abs=1e-7)
