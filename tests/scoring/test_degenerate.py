"""Inputs at the edge, for every metric: what cannot be measured is absent, and nothing crashes."""

from dataclasses import replace

import pytest
from hypothesis import given

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.semantic import SemanticResult
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import TOY, hoi, on_pair, scenes
from tests.scoring.compare import close, fast_semantic, fast_strict, task_of

FAR = ((210.0, 10.0, 260.0, 110.0), (230.0, 50.0, 330.0, 120.0))
RIDE = hoi("ride")

every_protocol = pytest.mark.parametrize("protocol", STRICT)


def meant(found: list[ImageScene], protocol: str = "shoe") -> SemanticResult:
    return fast_semantic(task_of(found), *TOY, {}, protocol)


def repeated(found: list[ImageScene]) -> list[ImageScene]:
    return [replace(scene, predictions=scene.predictions * 2) for scene in found]


def far(verb: str = "ride", score: float = 1.0) -> Triplet:
    return Triplet(*FAR, verb, "horse", score)


def image(truth: list[Triplet], predictions: list[Triplet], number: int = 1, known: bool = True) -> ImageScene:
    return ImageScene(f"HICO_test2015_{number:08d}.jpg", truth=truth, predictions=predictions, known=known)


@every_protocol
def test_no_predictions_is_zero_not_absent(protocol: str) -> None:
    found = [image([on_pair()], [])]
    result, semantic = fast_strict(task_of(found), protocol), meant(found)
    assert (result.map, result.max_recall, result.tied_share) == (0.0, 0.0, None)
    assert (semantic.map, semantic.mf1, semantic.gt_miss_rate) == (0.0, 0.0, 1.0)
    assert semantic.prediction_miss_rate is semantic.tied_share is None


def test_missed_truths_are_no_ties_of_predictions_that_score_nothing() -> None:
    """One of three predictions scores 0, as the entry of a missed ground truth does; the two others tie."""
    found = [image([on_pair()], [on_pair(score=score)], i) for i, score in enumerate((0.0, 0.5, 0.5))]
    assert meant([*found, image([on_pair()], [], 3)]).tied_share == pytest.approx(2 / 3)


@pytest.mark.parametrize(("wrong", "matter"), [(0.4, False), (0.5, True)])
def test_ties_matter_where_their_order_may_move_a_figure(wrong: float, matter: bool) -> None:
    """Two hits tie, and a false positive comes after them or ties with them, too."""
    first = image([on_pair()], [on_pair(score=0.5), far(score=wrong)], 1)
    result = fast_strict(task_of([first, image([on_pair()], [on_pair(score=0.5)], 2)]), "hico-det")
    assert (result.tied_share, result.ties_matter) == (1.0 if matter else pytest.approx(2 / 3), matter)


@every_protocol
def test_no_truth_is_absent_not_zero(protocol: str) -> None:
    found = [image([], [on_pair()])]
    result, semantic = fast_strict(task_of(found), protocol), meant(found)
    if STRICT[protocol].truthless == "zero":
        assert (result.map, result.classes) == (0.0, 520)
    else:
        assert (result.map, result.map_rare, result.map_non_rare, result.classes) == (None, None, None, 0)
    assert (semantic.map, semantic.mf1, semantic.gt_miss_rate) == (None, None, None)
    assert semantic.prediction_miss_rate == 1.0


@every_protocol
def test_neither_truth_nor_predictions(protocol: str) -> None:
    for found in ([], [image([], [])]):
        assert fast_strict(task_of(found), protocol).tied_share is None
        assert meant(found).map is None


@every_protocol
def test_predictions_on_unknown_images_change_nothing(protocol: str) -> None:
    known = [image([on_pair()], [on_pair("ride", 0.5), far("ride", 0.9)])]
    more = [*known, image([], [far("ride", 0.99)], 99999999, known=False)]
    one, other = (fast_strict(task_of(found), protocol) for found in (known, more))
    assert [one.ap[RIDE], other.ap[RIDE]] == pytest.approx([0.5, 0.5], abs=0.06)
    assert close(one.map, other.map)
    before, after = meant(known), meant(more)
    assert (before.map, before.prediction_miss_rate) == (after.map, after.prediction_miss_rate)


@every_protocol
def test_truth_given_twice_is_found_once(protocol: str) -> None:
    """An exact copy in the truth cannot be found again: no protocol has a second choice. 6/11 is one recall of 0.5."""
    result = fast_strict(task_of([image([on_pair(), on_pair()], [on_pair(), on_pair("ride", 0.9)])]), protocol)
    assert (result.ap[RIDE], result.recall[RIDE]) == (pytest.approx(6 / 11), 0.5)


@every_protocol
@given(found=scenes(labels=False))
def test_giving_predictions_twice_never_raises_a_strict_score(protocol: str, found: list[ImageScene]) -> None:
    once, again = (fast_strict(task_of(scenes), protocol).map for scenes in (found, repeated(found)))
    assert (once is None) == (again is None)
    assert (again or 0.0) <= (once or 0.0) + 1e-12


@given(found=scenes(labels=False))
def test_giving_predictions_twice_never_raises_a_semantic_score(found: list[ImageScene]) -> None:
    once, again = meant(found), meant(repeated(found))
    assert (again.map or 0.0) <= (once.map or 0.0) + 1e-9
    assert (again.mf1 or 0.0) <= (once.mf1 or 0.0) + 1e-9


def test_repeats_can_raise_the_literal_score() -> None:
    """Why ``repeats=charged`` exists: two labels of one pair let a repeat of one be matched with the other."""
    one = [image([on_pair(), on_pair("hold")], [on_pair("ride", 0.9)])]
    once, literal_once = meant(one).map, meant(one, "shoe-literal").map
    twice, literal_twice = meant(repeated(one)).map, meant(repeated(one), "shoe-literal").map
    assert twice <= once  # type: ignore[operator]
    assert literal_twice > literal_once  # type: ignore[operator]
