"""The semantic scorer against its slow twin: every option, alone and in combination."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.oracles.boxes import Box
from tests.oracles.meaning import SENSELESS, Similarity
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
    "f1-fp-scope": ["image", "dataset"],
    "delta": ["0.5", "0.75"],
    "delta-at": [">=", ">"],
    "f1-delta-at": [">", ">="],
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
MANY_IMAGES = random_scenes(np.random.default_rng(3), 8, open_words=True)  # a seed whose options change most scores
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
    assert close(fast.no_overlap_rate, slow["no_overlap_rate"])
    assert close(fast.mf1_best_tau, slow["mf1_best_tau"])


def exact(part: int) -> Similarity:
    """Similarity 1 for equal words, else 0."""
    words = class_words(CLASSES)
    return lambda hoi, word: float(words[hoi][part] == word)


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


@given(scenes(labels=False), st.sampled_from(OPTIONS["tau-by"]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 30))
def test_words_without_sense_move_no_threshold(found: list[ImageScene], by: str, score: float, lines: int) -> None:
    far: Box = (900, 900, 950, 950)
    added = [
        replace(scene, predictions=[*scene.predictions, *[Triplet(far, far, "qwzx", "vbnm", score)] * lines])
        for scene in found
    ]
    verb, noun = toy_similarity(CLASSES)

    def known(part: Similarity) -> Similarity:
        return lambda hoi, word: 0.0 if word in SENSELESS else part(hoi, word)

    before, after = (
        fast_semantic(task_of(each, CLASSES), known(verb), known(noun), {"tau-by": by}) for each in (found, added)
    )
    assert close(before.mf1, after.mf1)
    assert close(before.mf1_best_tau, after.mf1_best_tau)
    assert close(before.gt_miss_rate, after.gt_miss_rate)


def test_a_rank_is_taken_among_words_with_a_sense() -> None:
    def line(left: float, score: float, verb: str = "ride", noun: str = "horse") -> Triplet:
        box: Box = (left, 10, left + 50, 90)
        return Triplet(box, box, verb, noun, score)

    nonsense = [line(1000 + 100 * n, 1.0, "qwzx", "vbnm") for n in range(10)]
    predictions = [line(0, 0.9), line(200, 0.8), line(300, 0.7), line(400, 0.6)]
    found = [ImageScene("a.jpg", truth=[line(0, 1), line(200, 1)], predictions=[*predictions, *nonsense])]
    result = fast_semantic(task_of(found, CLASSES), exact(0), exact(1), {})
    # Half of the four words with a sense: 0.9 and 0.8. All ten others pass too, and overlap nothing.
    assert result.mf1 == pytest.approx(1, abs=1e-6)
    assert result.gt_miss_rate == 0
    assert (result.prediction_miss_rate, result.no_overlap_rate) == (10 / 12, 10 / 12)
