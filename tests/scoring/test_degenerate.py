"""Inputs at the edge, for every metric: what cannot be measured is absent, and nothing crashes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import scenes, small_classes, toy_similarity
from tests.scoring.compare import close, fast_semantic, fast_strict, task_of

CLASSES = small_classes()
VERB, NOUN = toy_similarity(CLASSES)
HUMAN, THING = (10.0, 10.0, 60.0, 110.0), (30.0, 50.0, 130.0, 120.0)
FAR = ((210.0, 10.0, 260.0, 110.0), (230.0, 50.0, 330.0, 120.0))
RIDE = CLASSES.of[CLASSES.verbs.index("ride"), CLASSES.objects.index("horse")]
HOLD = CLASSES.of[CLASSES.verbs.index("hold"), CLASSES.objects.index("horse")]

every_protocol = pytest.mark.parametrize("protocol", STRICT)


def on_pair(verb: str = "ride", score: float = 1.0) -> Triplet:
    return Triplet(HUMAN, THING, verb, "horse", score)


def far(verb: str = "ride", score: float = 1.0) -> Triplet:
    return Triplet(*FAR, verb, "horse", score)


def image(truth: list[Triplet], predictions: list[Triplet], number: int = 1, known: bool = True) -> ImageScene:
    return ImageScene(f"HICO_test2015_{number:08d}.jpg", truth=truth, predictions=predictions, known=known)


@every_protocol
def test_no_predictions_is_zero_not_absent(protocol: str) -> None:
    result = fast_strict(task_of([image([on_pair()], [])], CLASSES), protocol)
    assert result.map == 0.0
    assert result.max_recall == 0.0
    assert result.tied_share is None
    semantic = fast_semantic(task_of([image([on_pair()], [])], CLASSES), VERB, NOUN, {})
    assert (semantic.map, semantic.mf1, semantic.gt_miss_rate) == (0.0, 0.0, 1.0)
    assert semantic.prediction_miss_rate is None
    assert semantic.tied_share is None


def test_missed_truths_are_no_ties_of_predictions_that_score_nothing() -> None:
    """One of three predictions scores 0, as the entry of a missed ground truth does; the two others tie."""
    found = [image([on_pair()], [on_pair(score=score)], i) for i, score in enumerate((0.0, 0.5, 0.5))]
    task = task_of([*found, image([on_pair()], [], 3)], CLASSES)
    assert fast_semantic(task, VERB, NOUN, {}).tied_share == pytest.approx(2 / 3)


@pytest.mark.parametrize(("wrong", "matter"), [(0.4, False), (0.5, True)])
def test_ties_matter_where_their_order_may_move_a_figure(wrong: float, matter: bool) -> None:
    """Two hits tie, and a false positive comes after them or ties with them, too."""
    first = image([on_pair()], [on_pair(score=0.5), far(score=wrong)], 1)
    task = task_of([first, image([on_pair()], [on_pair(score=0.5)], 2)], CLASSES)
    result = fast_strict(task, "hico-det")
    assert (result.tied_share, result.ties_matter) == (1.0 if matter else pytest.approx(2 / 3), matter)


@every_protocol
def test_no_truth_is_absent_not_zero(protocol: str) -> None:
    task = task_of([image([], [on_pair()])], CLASSES)
    result = fast_strict(task, protocol)
    if STRICT[protocol].truthless == "zero":
        assert (result.map, result.classes) == (0.0, 520)
    else:
        assert (result.map, result.map_rare, result.map_non_rare, result.classes) == (None, None, None, 0)
    semantic = fast_semantic(task, VERB, NOUN, {})
    assert (semantic.map, semantic.mf1, semantic.gt_miss_rate) == (None, None, None)
    assert semantic.prediction_miss_rate == 1.0


@every_protocol
def test_neither_truth_nor_predictions(protocol: str) -> None:
    for found in ([], [image([], [])]):
        task = task_of(found, CLASSES)
        assert fast_strict(task, protocol).tied_share is None
        assert fast_semantic(task, VERB, NOUN, {}).map is None


@every_protocol
def test_a_class_without_truth_is_not_in_the_mean(protocol: str) -> None:
    found = [image([on_pair()], [on_pair(), on_pair("hold", 0.9)])]
    result = fast_strict(task_of(found, CLASSES), protocol)
    if STRICT[protocol].truthless != "zero":
        assert result.classes == 1
        assert np.isnan(result.ap[HOLD])
    assert result.ap[RIDE] == 1.0


@every_protocol
def test_predictions_on_unknown_images_change_nothing(protocol: str) -> None:
    known = [image([on_pair()], [on_pair("ride", 0.5), far("ride", 0.9)])]
    more = [*known, image([], [far("ride", 0.99)], 99999999, known=False)]
    for found in (known, more):
        assert fast_strict(task_of(found, CLASSES), protocol).ap[RIDE] == pytest.approx(0.5, abs=0.06)
    assert close(fast_strict(task_of(known, CLASSES), protocol).map, fast_strict(task_of(more, CLASSES), protocol).map)
    figures = [fast_semantic(task_of(found, CLASSES), VERB, NOUN, {}) for found in (known, more)]
    assert figures[0].map == figures[1].map
    assert figures[0].prediction_miss_rate == figures[1].prediction_miss_rate


def test_equal_scores_make_no_difference_to_the_semantic_score_by_order_alone() -> None:
    predictions = [far(), on_pair(), far("hold"), on_pair("hold")]
    orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]]
    found = [[image([on_pair(), on_pair("hold")], [predictions[i] for i in order])] for order in orders]
    figures = [fast_semantic(task_of(scene, CLASSES), VERB, NOUN, {}).map for scene in found]
    assert figures[0] == pytest.approx(figures[1], abs=1e-12)
    assert figures[0] == pytest.approx(figures[2], abs=1e-12)


@every_protocol
def test_truth_given_twice_is_found_once(protocol: str) -> None:
    """An exact copy in the truth cannot be found again: no protocol has a second choice. 6/11 is one recall of 0.5."""
    found = [image([on_pair(), on_pair()], [on_pair(), on_pair("ride", 0.9)])]
    result = fast_strict(task_of(found, CLASSES), protocol)
    assert result.ap[RIDE] == pytest.approx(6 / 11)
    assert result.recall[RIDE] == 0.5


@every_protocol
@given(found=scenes(labels=False))
def test_giving_predictions_twice_never_raises_a_strict_score(protocol: str, found: list[ImageScene]) -> None:
    twice = [replace(scene, predictions=[*scene.predictions, *scene.predictions]) for scene in found]
    once = fast_strict(task_of(found, CLASSES), protocol).map
    again = fast_strict(task_of(twice, CLASSES), protocol).map
    assert (once is None) == (again is None)
    assert (again or 0.0) <= (once or 0.0) + 1e-12


@given(found=scenes(labels=False))
def test_giving_predictions_twice_never_raises_a_semantic_score(found: list[ImageScene]) -> None:
    twice = [replace(scene, predictions=[*scene.predictions, *scene.predictions]) for scene in found]
    once = fast_semantic(task_of(found, CLASSES), VERB, NOUN, {})
    again = fast_semantic(task_of(twice, CLASSES), VERB, NOUN, {})
    assert (again.map or 0.0) <= (once.map or 0.0) + 1e-9
    assert (again.mf1 or 0.0) <= (once.mf1 or 0.0) + 1e-9


def test_repeats_can_raise_the_literal_score() -> None:
    """Why ``repeats=charged`` exists: two labels of one pair let a repeat of one be matched with the other."""
    truth = [on_pair("ride"), on_pair("hold")]
    one = [image(truth, [on_pair("ride", 0.9)])]
    two = [image(truth, [on_pair("ride", 0.9), on_pair("ride", 0.9)])]
    assert fast_semantic(task_of(two, CLASSES), VERB, NOUN, {}, "shoe").map <= (  # type: ignore[operator]
        fast_semantic(task_of(one, CLASSES), VERB, NOUN, {}, "shoe").map
    )
    literal = [fast_semantic(task_of(f, CLASSES), VERB, NOUN, {}, "shoe-literal").map for f in (one, two)]
    assert literal[1] > literal[0]  # type: ignore[operator]
