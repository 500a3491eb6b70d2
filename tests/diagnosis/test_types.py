"""What a correct box and a correct pair are, and who takes part."""

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import diagnose
from tests.diagnosis.by_hand import AWAY, CLASSES, O1, O2, P1, P2, RIDE, both_variants, diagnosed, image, types
from tests.oracles.boxes import Box
from tests.oracles.model import Triplet, to_tables

WHOLE: Box = (1, 1, 10, 10)
HALF: Box = (1, 1, 5, 10)
"""IoU with WHOLE of exactly 0.5, counted in pixels."""


def one_type(truth: list[Triplet], prediction: Triplet, **options: str) -> str:
    return types(diagnosed(image(truth, [prediction]), **options))[0]


@pytest.mark.parametrize(
    ("human", "thing", "paper"),
    [
        (WHOLE, WHOLE, "true_positive"),
        (HALF, WHOLE, "human_box"),
        (WHOLE, HALF, "object_box"),
        (HALF, HALF, "both_boxes"),
    ],
)
def test_an_iou_of_exactly_one_half_is_enough_for_the_toolbox(human: Box, thing: Box, paper: str) -> None:
    truth, prediction = [Triplet(WHOLE, WHOLE, "ride", "horse")], Triplet(human, thing, "ride", "horse")
    found = [one_type(truth, prediction, variant=variant) for variant in ("paper", "released")]
    assert found == [paper, "true_positive"]


@both_variants
def test_a_box_in_the_right_place_with_the_wrong_label_is_wrong(variant: str) -> None:
    assert one_type([RIDE], Triplet(P1, O1, "ride", "bicycle"), variant=variant) == "object_box"
    assert one_type([RIDE], Triplet(AWAY, O1, "ride", "bicycle"), variant=variant) == "both_boxes"


@both_variants
@pytest.mark.parametrize(
    ("human", "thing", "words", "expected"),
    [
        (P2, P1, ("hug", "person"), "association"),
        (P2, AWAY, ("hug", "person"), "object_box"),
        (AWAY, P1, ("hug", "person"), "human_box"),
        (P2, P1, ("ride", "horse"), "object_box"),
    ],
)
def test_people_are_people_wherever_they_stand_in_a_triplet(
    variant: str, human: Box, thing: Box, words: tuple[str, str], expected: str
) -> None:
    """A hugs B. That B hugs A has two correct boxes and no pair."""
    assert one_type([Triplet(P1, P2, "hug", "person")], Triplet(human, thing, *words), variant=variant) == expected


@both_variants
def test_a_swapped_pair_has_nothing_to_become_and_leaves(variant: str) -> None:
    hugs = [Triplet(P1, P2, "hug", "person")], [Triplet(P2, P1, "hug", "person", 0.5)]
    found = diagnosed(image(*hugs), variant=variant)
    assert found.target.tolist() == [-1]
    assert not found.states["association"].kept.any()


@both_variants
def test_there_is_no_second_choice(variant: str) -> None:
    """Two truths of a class nearly on each other: both predictions are about the first."""
    near = (P1[0], P1[1], P1[2], P1[3] + 1)
    truth = [RIDE, Triplet(near, O1, "ride", "horse")]
    predictions = [Triplet(P1, O1, "ride", "horse", score) for score in (0.9, 0.8)]
    found = diagnosed(image(truth, predictions), variant=variant)
    assert types(found) == ["true_positive", "duplicate"]
    assert (found.found_by.tolist(), found.target.tolist()) == ([0, -1], [0, 0])


@both_variants
def test_equal_scores_keep_their_order(variant: str) -> None:
    found = diagnosed(image([RIDE], [Triplet(P1, O1, "ride", "horse", 0.5)] * 3), variant=variant)
    assert types(found) == ["true_positive", "duplicate", "duplicate"]


@both_variants
def test_words_outside_the_classes_have_types_but_no_rank(variant: str) -> None:
    """A verb that is none, an object that is none, a pair of labels that is no class, a class without ground truth."""
    wrong = [("straddle", "horse"), ("ride", "pony"), ("fly", "horse"), ("feed", "horse")]
    predictions = [Triplet(P1, O1, *words, 0.9) for words in wrong]
    found = diagnosed(image([RIDE], predictions), variant=variant)
    assert types(found) == ["interaction", "object_box", "interaction", "interaction"]
    with_true = diagnosed(image([RIDE], [*predictions, Triplet(P1, O1, "ride", "horse", 0.5)]), variant=variant)
    assert with_true.means.map == 1


@both_variants
def test_without_no_interaction_its_boxes_images_and_predictions_have_no_part(variant: str) -> None:
    no_interaction = Triplet(P2, O2, "no_interaction", "horse")
    scenes = [
        image([RIDE, no_interaction], [Triplet(P2, O2, "ride", "horse"), no_interaction]),
        image([Triplet(P1, O1, "no_interaction", "horse")], [RIDE], "b.jpg"),
        image([], [RIDE], "c.jpg"),
    ]
    found = diagnosed(*scenes, variant=variant)
    assert types(found) == ["both_boxes", "", "", ""]
    assert found.truth_status.tolist() == [2, -1, -1]
    kept = diagnosed(*scenes, variant=variant, no_interaction="keep")
    assert types(kept) == ["interaction", "true_positive", "interaction", ""]
    assert (kept.truth_status >= 0).all()


@both_variants
def test_images_come_in_the_order_of_the_truth(variant: str) -> None:
    rides = [Triplet(P1, O1, "ride", "horse", 0.3 * i) for i in (1, 2, 3)]
    scenes = [image([RIDE], [ride], f"{i}.jpg") for i, ride in enumerate(rides)]
    scenes[1].predictions.append(Triplet(AWAY, O1, "ride", "horse", 0.95))
    truth, in_order = to_tables(scenes, CLASSES)
    _, turned = to_tables(scenes, CLASSES, prediction_order=[2, 0, 1])
    one, other = (diagnose(table, truth, variant=variant) for table in (in_order, turned))
    assert one.deltas == other.deltas
    row = np.array([3, 0, 1, 2])
    assert one.types[row].tolist() == other.types.tolist()
    assert row[other.found_by].tolist() == one.found_by.tolist()


def test_truth_files_of_any_classes_will_do() -> None:
    """A ground truth whose image-level labels are there too."""
    truth, predictions = to_tables([image([RIDE], [RIDE])], CLASSES)
    labelled = GroundTruth(truth.interactions, CLASSES, "test2015", np.ones((600, 1), bool))
    assert diagnose(predictions, labelled).means.map == 1
