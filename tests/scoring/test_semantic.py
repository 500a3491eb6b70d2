"""The semantic scorer against its slow twin: every option, alone and in combination."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.oracles.boxes import Box
from tests.oracles.meaning import SENSELESS, Similarity
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import CLASSES, TOY, exact, random_scenes, scenes
from tests.oracles.semantic import semantic
from tests.scoring.compare import SEMANTIC_FIGURES, close, fast_semantic, same_figures, task_of

EXACT = exact(0), exact(1)

OPTIONS: dict[str, list[str]] = {
    "combine": ["arithmetic", "geometric", "minimum"], "weight": ["0.5", "0.3"],
    "assign": ["best-first", "greedy-gt", "confidence"], "sigma-ties": ["confidence", "index", "iou"],
    "threshold": ["0.5", "0.4"], "threshold-at": [">=", ">"], "overlap": ["cont", "+1"],
    "min-sigma": ["none", "positive", "delta"], "missed": ["keep", "drop"],
    "fp-scope": ["dataset", "image"], "f1-fp-scope": ["image", "dataset"],
    "delta": ["0.5", "0.75"], "delta-at": [">=", ">"], "f1-delta-at": [">", ">="],
    "ap": ["all-points", "11-point", "101-point", "trapezoid"], "ties": ["expected", "input"],
    "classes": ["truth", "all"], "no-interaction": ["keep", "exclude"],
    "tau": ["0.5", "0.25"], "tau-by": ["dataset", "image", "score", "best"], "map-tau": ["none", "0.5"],
    "recall": ["fn", "truth"], "f1-classes": ["truth", "counted"], "prediction-misses": ["all", "charged"],
    "cap": ["none", "3"], "repeats": ["near", "charged", "matched"],
}  # fmt: skip
MANY_IMAGES = random_scenes(np.random.default_rng(3), 5, open_words=True)  # a seed whose options change most scores
NUMBERS = ("weight", "threshold", "delta", "tau", "map-tau")


def agree(found: list[ImageScene], options: dict[str, str]) -> None:
    """Assert that fast and slow figures agree; the oracle takes numbers as numbers."""

    def value(name: str, text: str) -> object:
        if text == "none" and name in ("map-tau", "cap"):
            return None
        return float(text) if name in NUMBERS else int(text) if name == "cap" else text

    slow = semantic(found, CLASSES, *TOY, {name: value(name, text) for name, text in options.items()})
    same_figures(fast_semantic(task_of(found), *TOY, options), slow, SEMANTIC_FIGURES)


def line(left: float, score: float = 1, verb: str = "ride", noun: str = "horse") -> Triplet:
    box: Box = (left, 10, left + 50, 90)
    return Triplet(box, box, verb, noun, score)


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
    fast = fast_semantic(task_of(found), *TOY, {"assign": "hungarian"})
    slow = semantic(found, CLASSES, *TOY, {"assign": "hungarian"})
    assert (fast.matches.prediction >= 0).sum() == len(slow["matched"])
    assert fast.matches.sigma.sum() == pytest.approx(slow["sigma_total"], abs=1e-9)


def test_what_counts_for_nothing_moves_no_threshold_that_tau_by_best_tries() -> None:
    wrong = [line(100 * n, 1 - 0.1 * n) for n in range(1, 5)]
    meaningless, absent = line(0, 0.95, "qwzx", "vbnm"), line(700, 0.95, "fly", "kite")
    for more in ([], [meaningless], [meaningless, absent]):
        scene = ImageScene("a.jpg", [line(0)], [*wrong, line(0, 0.5), line(500, 0.4), *more])
        options = {"tau-by": "best", "min-sigma": "delta"}
        mf1 = fast_semantic(task_of([scene]), *EXACT, options).mf1
        # 1, 2, 3, 4 and all 6 are tried, whatever is added: recall is 1, precision 1/6, not the 1/5 of five.
        assert mf1 == pytest.approx(2 / 7, abs=1e-6)
        assert close(mf1, semantic([scene], CLASSES, *EXACT, options)["mf1"])


@given(scenes(labels=False), st.sampled_from(OPTIONS["tau-by"]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 30))
def test_words_without_sense_move_no_threshold(found: list[ImageScene], by: str, score: float, lines: int) -> None:
    nonsense = [line(900, score, "qwzx", "vbnm")] * lines
    added = [replace(scene, predictions=[*scene.predictions, *nonsense]) for scene in found]

    def known(part: Similarity) -> Similarity:
        return lambda hoi, word: 0.0 if word in SENSELESS else part(hoi, word)

    verb, noun = map(known, TOY)
    before, after = (fast_semantic(task_of(each), verb, noun, {"tau-by": by}) for each in (found, added))
    for figure in ("mf1", "mf1_best_tau", "gt_miss_rate"):
        assert close(getattr(before, figure), getattr(after, figure)), figure


def test_a_rank_is_taken_among_words_with_a_sense() -> None:
    nonsense = [line(1000 + 100 * n, 1.0, "qwzx", "vbnm") for n in range(10)]
    predictions = [line(0, 0.9), line(200, 0.8), line(300, 0.7), line(400, 0.6)]
    scene = ImageScene("a.jpg", [line(0), line(200)], [*predictions, *nonsense])
    result = fast_semantic(task_of([scene]), *EXACT, {})
    # Half of the four words with a sense: 0.9 and 0.8. All ten others pass too, and overlap nothing.
    assert result.mf1 == pytest.approx(1, abs=1e-6)
    assert (result.gt_miss_rate, result.prediction_miss_rate, result.no_overlap_rate) == (0, 10 / 12, 10 / 12)
