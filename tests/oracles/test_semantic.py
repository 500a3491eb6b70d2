"""Hand-worked examples that pin the oracle of the semantic scores."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.oracles import scenes as made
from tests.oracles.meaning import LITERAL
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import CLASSES, exact, hoi, on_pair, one_image, predict_the_truth, scenes
from tests.oracles.semantic import SemanticFigures, semantic

RATES = ("gt_miss_rate", "prediction_miss_rate")


def about(value: float | tuple[float, ...]) -> object:
    """The value without the epsilons of Algorithms 1 and 2."""
    return pytest.approx(value, abs=1e-7)


def score(found: ImageScene | list[ImageScene], **options: object) -> SemanticFigures:
    return semantic(found if isinstance(found, list) else [found], CLASSES, exact(0), exact(1), options)


def some(figures: SemanticFigures, *names: str) -> tuple[Any, ...]:
    found: dict[str, Any] = {**figures}
    return tuple(found[name] for name in names)


# The worked example of protocols.md 10.6

EXAMPLE = one_image([on_pair(), on_pair("hold")], [on_pair("hold", 0.9), on_pair("feed", 0.4)])
TURNED = replace(EXAMPLE, truth=EXAMPLE.truth[::-1])


def test_an_early_truth_takes_a_later_truths_exact_match() -> None:
    for scene, *expected in ((EXAMPLE, 0.25, 0.25, 0.25), (TURNED, 0.625, 0.25, 1)):
        figures = score(scene, **LITERAL)
        assert (figures["map"], figures["ap"][hoi("ride")], figures["ap"][hoi("hold")]) == about(tuple(expected))
    assert score(EXAMPLE, **LITERAL)["matched"] == [("a.jpg", 0, 0), ("a.jpg", 1, 1)]


def test_miss_rates_of_the_example_with_and_without_tau() -> None:
    assert some(score(EXAMPLE, assign="greedy-gt", tau=0.0), *RATES) == (0, 0)
    figures = score(EXAMPLE, assign="greedy-gt")  # tau = 0.5 leaves hold 0.9 alone, which ride takes
    assert some(figures, *RATES) == (0.5, 0)
    # ride: TP 0.5, FP 0.5, so P 1/2, R 1, F1 2/3. hold: FN 1.
    assert figures["f1"][hoi("ride")] == about(2 / 3)
    assert figures["mf1"] == about(1 / 3)
    # With the number of truths below the line R is 1/2 instead.
    assert score(EXAMPLE, assign="greedy-gt", recall="truth")["f1"][hoi("ride")] == about(1 / 2)


@pytest.mark.parametrize("assign", ["best-first", "hungarian", "confidence"])
def test_other_assignments_give_the_exact_match_to_its_truth(assign: str) -> None:
    for scene in (EXAMPLE, TURNED):
        assert score(scene, assign=assign)["map"] == about(0.625)


# Figure 6: which class an unmatched prediction is a false positive of


def touching(k: int, word: str) -> float:
    return 0.55 if (made.WORDS[k][0], word) == ("pet", "touch") else exact(0)(k, word)


TOUCHED = [on_pair("touch", 0.9, "giraffe"), on_pair("feed", 0.8, "giraffe")]
GIRAFFE = one_image([on_pair("pet", noun="giraffe")], TOUCHED)


def test_an_unmatched_prediction_is_a_false_positive_of_the_nearest_class_of_the_dataset() -> None:
    figures = semantic([GIRAFFE], CLASSES, touching, exact(1), {"tau": 0.0})
    assert some(figures, "matched", "false_positives") == ([("a.jpg", 0, 0)], [("a.jpg", 1, hoi("feed", "giraffe"))])
    assert some(figures, "sigma_total", "map") == about((0.775, 0.775 * 0.775))
    of_dataset = {"f1-classes": "counted", "f1-fp-scope": "dataset", "f1-delta-at": ">=", "tau": 0.0}
    counted = semantic([GIRAFFE], CLASSES, touching, exact(1), of_dataset)
    assert counted["mf1"] == about(figures["f1"][hoi("pet", "giraffe")] / 2)  # type: ignore[operator]


def test_mf1_charges_a_class_of_the_image_of_more_than_delta() -> None:
    # pet giraffe is matched with sigma 0.775: TP 0.775, FP 0.225. "feed giraffe" has sigma 0.5 to it.
    for at, precision in ((">", 0.775), (">=", 0.775 / 2)):
        figures = semantic([GIRAFFE], CLASSES, touching, exact(1), {"f1-delta-at": at, "tau": 0.0})
        assert some(figures, "mf1", "map") == about((2 * precision / (precision + 1), 0.775 * 0.775))


def test_image_scope_charges_a_class_of_the_image() -> None:
    figures = semantic([GIRAFFE], CLASSES, touching, exact(1), LITERAL)
    assert figures["false_positives"] == [("a.jpg", 1, hoi("pet", "giraffe"))]
    cake = one_image([on_pair("cut", noun="cake")], [on_pair("cut", 0.9, "cake"), on_pair("hold", 0.8, "knife")])
    assert score(cake)["false_positives"] == [("a.jpg", 1, hoi("hold", "knife"))]
    assert score(cake, **LITERAL)["false_positives"] == []


def test_of_equally_near_classes_the_first_has_the_false_positive() -> None:
    """Any class of ride is half right: the first in class order, of the dataset or of the image."""
    elsewhere = Triplet(made.THING, made.HUMAN, "ride", "zeppelin")
    scene = one_image([on_pair("ride", noun="horse"), on_pair("ride", noun="bicycle")], [elsewhere])
    first = next(k for k, words in enumerate(made.WORDS) if words[0] == "ride")
    assert score(scene)["false_positives"] == [("a.jpg", 0, first)]
    assert score(scene, fp_scope="image")["false_positives"] == [("a.jpg", 0, hoi("ride", "bicycle"))]


def test_images_without_truth_give_false_positives_under_dataset_scope_only() -> None:
    found = [one_image([on_pair()], [on_pair("ride", 0.5)]), ImageScene("b.jpg", [], [on_pair("ride", 0.9)])]
    assert score(found)["map"] == about(0.5)
    assert score(found, fp_scope="image")["map"] == about(1)
    found[1].known = False
    assert score(found)["map"] == about(1)


def test_sigma_ties() -> None:
    low = replace(on_pair("ride", 0.6), human_box=(10.0, 10.0, 19.0, 28.0))
    scene = one_image([on_pair()], [low, on_pair("ride", 0.8), on_pair("ride", 0.7)])
    assert score(scene, sigma_ties="confidence", repeats="matched")["matched"] == [("a.jpg", 0, 1)]
    assert score(scene, sigma_ties="index", repeats="matched")["matched"] == [("a.jpg", 0, 0)]
    scene.predictions[1:] = scene.predictions[:0:-1]
    for assign, chosen in (("best-first", 2), ("greedy-gt", 1)):  # of the same boxes, the more confident or the first
        assert score(scene, assign=assign, sigma_ties="iou", repeats="matched")["matched"] == [("a.jpg", 0, chosen)]


HALF_BOX = replace(on_pair(), human_box=(10.0, 10.0, 19.0, 19.0))  # half of the pixels


@pytest.mark.parametrize(
    ("said", "options", "missed"),
    [
        *((HALF_BOX, {"overlap": overlap}, 0) for overlap in ("cont", "+1")),
        *((HALF_BOX, {"overlap": overlap, "threshold_at": ">"}, 1) for overlap in ("cont", "+1")),
        (on_pair("fly", noun="kite"), {}, 0),
        (on_pair("fly", noun="kite"), {"min_sigma": "positive"}, 1),
        (on_pair("hold"), {"min_sigma": "delta"}, 1),  # sigma is 0.5, and so is delta
        (on_pair("hold"), {"min_sigma": "delta", "delta": 0.49}, 0),
    ],
)
def test_overlaps_of_exactly_one_half_and_a_floor_under_sigma(said: Triplet, options: Any, missed: float) -> None:
    assert score(one_image([on_pair()], [said]), **options)["gt_miss_rate"] == missed


def test_missed_truths_matter_to_predictions_of_score_zero() -> None:
    found = [one_image([on_pair()], []), ImageScene("b.jpg", [on_pair()], [on_pair("ride", 0.0)])]
    # Kept, (0, 0) ties with the hit: ranks 1 or 2, AP 1/2 or 1/4. Dropped, the hit stands alone.
    assert score(found)["map"] == about(3 / 8)
    assert score(found, ties="input")["map"] == about(1 / 4)
    assert score(found, missed="drop")["map"] == about(1 / 2)


def test_repeats_are_false_positives() -> None:
    scene = one_image([on_pair(), on_pair()], [on_pair("ride", 0.8), on_pair("ride", 0.9)])
    assert some(score(scene), "matched", "false_positives") == ([("a.jpg", 0, 1)], [("a.jpg", 0, hoi("ride"))])
    assert score(scene, repeats="matched", tau=0.0)["gt_miss_rate"] == 0


def test_no_interaction_can_be_left_out() -> None:
    truth = [on_pair("no_interaction"), on_pair()]
    scene = one_image(truth, truth)
    assert score(scene)["map"] == about(1)
    figures = score(scene, no_interaction="exclude", classes="all")
    assert some(figures, "map", "matched") == (about(1 / 520), [("a.jpg", 1, 1)])


def test_tau_by_score_and_by_share() -> None:
    scene = one_image([on_pair()], [on_pair("feed", s) for s in (0.3, 0.2, 0.1)])
    found = [scene, one_image([on_pair()], [on_pair("feed", 0.9)], "b.jpg")]
    kept = {by: [m[0] for m in score(found, tau_by=by)["matched_f1"]] for by in ("score", "image", "dataset")}
    assert kept == {"score": ["b.jpg"], "image": ["a.jpg", "b.jpg"], "dataset": ["a.jpg", "b.jpg"]}
    kept = {by: [m[0] for m in score(found, tau_by=by, tau=0.75)["matched_f1"]] for by in ("image", "dataset")}
    assert kept == {"image": ["a.jpg", "b.jpg"], "dataset": ["b.jpg"]}
    assert score(found, map_tau=0.5)["matched"] == [("b.jpg", 0, 0)]
    assert score(found, cap=1)["false_positives"] == []


def test_prediction_misses_may_count_only_false_positives() -> None:
    scene = one_image([on_pair()], [on_pair(), on_pair("feed"), on_pair("steer", noun="zeppelin")])
    assert score(scene)["prediction_miss_rate"] == pytest.approx(2 / 3)
    assert score(scene, prediction_misses="charged", f1_delta_at=">=")["prediction_miss_rate"] == pytest.approx(1 / 3)


def test_combinations_of_verb_and_object() -> None:
    def sigma(**options: object) -> float:
        scene = one_image([on_pair()], [on_pair("hold", noun="horse")])
        return semantic([scene], CLASSES, lambda k, w: 0.25, exact(1), options)["sigma_total"]

    assert (sigma(), sigma(weight=0.75)) == (0.625, 0.4375)
    assert (sigma(combine="geometric"), sigma(combine="minimum")) == (0.5, 0.25)


def test_nothing_to_measure_is_none() -> None:
    assert some(score(one_image([], [])), "map", "mf1", *RATES) == (None, None, None, None)
    with pytest.raises(TypeError):
        score(EXAMPLE, tetha=0.5)


@given(scenes())
def test_truth_scores_itself_perfectly(found: list[ImageScene]) -> None:
    predict_the_truth(found)
    if any(scene.truth for scene in found if scene.known):
        assert some(score(found, assign="best-first"), "map", "mf1") == about((1, 1))
