"""The semantic scorer against its slow twin: every option, alone and in combination."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.boxes import Box
from tests.oracles.meaning import Similarity
from tests.oracles.model import ImageScene, Triplet, class_words
from tests.oracles.scenes import random_scenes, scenes, small_classes, toy_similarity
from tests.oracles.semantic import semantic
from tests.scoring.compare import close, fast_semantic, same, task_of

CLASSES = small_classes()

OPTIONS: dict[str, list[str]] = {
    "combine": ["arithmetic", "geometric", "minimum"],
    "weight": ["0.5", "0.3"],
    "assign": ["best-first", "greedy-gt", "confidence"],
    "sigma-ties": ["confidence", "index", "iou"],
    "threshold": ["0.5", "0.4"],
    "threshold-at": [">=", ">"],
    "overlap": ["cont", "+1"],
    "min-sigma": ["none", "positive", "delta"],
    "missed": ["keep", "drop"],
    "fp-scope": ["dataset", "image"],
    "delta": ["0.5", "0.75"],
    "delta-at": [">=", ">"],
    "ap": ["all-points", "11-point", "101-point", "trapezoid"],
    "ties": ["expected", "input"],
    "classes": ["truth", "all"],
    "no-interaction": ["keep", "exclude"],
    "tau": ["0.5", "0.25"],
    "tau-by": ["dataset", "image", "score", "best"],
    "map-tau": ["none", "0.5"],
    "recall": ["fn", "truth"],
    "f1-classes": ["truth", "counted"],
    "prediction-misses": ["all", "charged"],
    "cap": ["none", "3"],
    "repeats": ["near", "charged", "matched"],
}
MANY_IMAGES = random_scenes(np.random.default_rng(5), 25, n_predictions=25, open_words=True)
NUMBERS = ("weight", "threshold", "delta", "tau", "map-tau")


def slow_options(options: dict[str, str]) -> dict[str, object]:
    """The oracle takes numbers as numbers."""

    def value(name: str, text: str) -> object:
        if text == "none" and name in ("map-tau", "cap"):
            return None
        return float(text) if name in NUMBERS else int(text) if name == "cap" else text

    return {name: value(name, text) for name, text in options.items()}


def agree(found: list[ImageScene], options: dict[str, str]) -> None:
    verb, noun = toy_similarity(CLASSES)
    fast = fast_semantic(task_of(found, CLASSES), verb, noun, options)
    slow = semantic(found, CLASSES, verb, noun, slow_options(options))
    same(fast.ap, slow["ap"])
    same(fast.f1, slow["f1"])
    assert close(fast.map, slow["map"])
    assert close(fast.mf1, slow["mf1"])
    assert close(fast.gt_miss_rate, slow["gt_miss_rate"])
    assert close(fast.prediction_miss_rate, slow["prediction_miss_rate"])


@given(scenes(labels=False))
def test_default_protocol_agrees_with_the_oracle(found: list[ImageScene]) -> None:
    agree(found, {})


@given(scenes(labels=False), st.fixed_dictionaries({n: st.sampled_from(v) for n, v in OPTIONS.items()}))
def test_any_options_agree_with_the_oracle(found: list[ImageScene], options: dict[str, str]) -> None:
    agree(found, options)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in OPTIONS.items() for v in values[1:]])
def test_each_option_agrees_on_many_images(name: str, value: str) -> None:
    agree(MANY_IMAGES, {name: value})


@given(scenes(max_images=2, labels=False))
def test_hungarian_gets_the_most_pairs_and_the_highest_total(found: list[ImageScene]) -> None:
    verb, noun = toy_similarity(CLASSES)
    fast = fast_semantic(task_of(found, CLASSES), verb, noun, {"assign": "hungarian"})
    slow = semantic(found, CLASSES, verb, noun, {"assign": "hungarian"})
    assert (fast.matches.prediction >= 0).sum() == len(slow["matched"])
    assert fast.matches.sigma.sum() == pytest.approx(slow["sigma_total"], abs=1e-9)


def test_what_counts_for_nothing_moves_no_threshold_that_tau_by_best_tries() -> None:
    def beside(left: float, score: float, verb: str = "ride", noun: str = "horse") -> Triplet:
        box: Box = (left, 10, left + 50, 90)
        return Triplet(box, box, verb, noun, score)

    def exact(part: int) -> Similarity:
        return lambda hoi, word: float(words[hoi][part] == word)

    words = class_words(CLASSES)
    wrong = [beside(100 * n, 1 - 0.1 * n) for n in range(1, 5)]
    scene = ImageScene("a.jpg", truth=[beside(0, 1)], predictions=[*wrong, beside(0, 0.5), beside(500, 0.4)])
    meaningless, absent = beside(0, 0.95, "qwzx", "vbnm"), beside(700, 0.95, "fly", "kite")
    for more in ([], [meaningless], [meaningless, absent]):
        found = [replace(scene, predictions=[*scene.predictions, *more])]
        options = {"tau-by": "best", "min-sigma": "delta"}
        fast = fast_semantic(task_of(found, CLASSES), exact(0), exact(1), options)
        # 1, 2, 3, 4 and all 6 are tried, whatever is added: recall is 1, precision 1/6, not the 1/5 of five.
        assert fast.mf1 == pytest.approx(2 / 7, abs=1e-6)
        assert close(fast.mf1, semantic(found, CLASSES, exact(0), exact(1), options)["mf1"])
