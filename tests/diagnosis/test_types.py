"""What a correct box and a correct pair are, and who takes part."""

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import diagnose
from tests.diagnosis.by_hand import AWAY, CLASSES, O1, O2, P1, P2, diagnosed, image, types
from tests.oracles.boxes import Box
from tests.oracles.model import Triplet, to_tables

WHOLE: Box = (1, 1, 10, 10)
HALF: Box = (1, 1, 5, 10)
"""IoU with WHOLE of exactly 0.5, counted in pixels."""

both_variants = pytest.mark.parametrize("variant", ["paper", "released"])


def one_type(truth: list[Triplet], prediction: Triplet, **options: str) -> str:
    return types(diagnosed(image(truth, [prediction]), **options))[0]


@pytest.mark.parametrize(
    ("human", "thing", "paper", "released"),
    [
        (WHOLE, WHOLE, "true_positive", "true_positive"),
        (HALF, WHOLE, "human_box", "true_positive"),
        (WHOLE, HALF, "object_box", "true_positive"),
        (HALF, HALF, "both_boxes", "true_positive"),
    ],
)
def test_an_iou_of_exactly_one_half_is_enough_for_the_toolbox(
    human: Box, thing: Box, paper: str, released: str
) -> None:
    truth, prediction = [Triplet(WHOLE, WHOLE, "ride", "horse")], Triplet(human, thing, "ride", "horse")
    assert one_type(truth, prediction) == paper
    assert one_type(truth, prediction, variant="released") == released


@both_variants
def test_a_box_in_the_right_place_with_the_wrong_label_is_wrong(variant: str) -> None:
    truth = [Triplet(P1, O1, "ride", "horse")]
    assert one_type(truth, Triplet(P1, O1, "ride", "bicycle"), variant=variant) == "object_box"
    assert one_type(truth, Triplet(AWAY, O1, "ride", "bicycle"), variant=variant) == "both_boxes"


@both_variants
def test_people_are_people_wherever_they_stand_in_a_triplet(variant: str) -> None:
    """A hugs B. That B hugs A has two correct boxes and no pair."""
    truth = [Triplet(P1, P2, "hug", "person")]
    assert one_type(truth, Triplet(P2, P1, "hug", "person"), variant=variant) == "association"
    assert one_type(truth, Triplet(P2, AWAY, "hug", "person"), variant=variant) == "object_box"
    assert one_type(truth, Triplet(AWAY, P1, "hug", "person"), variant=variant) == "human_box"
    assert one_type(truth, Triplet(P2, P1, "ride", "horse"), variant=variant) == "object_box"


@both_variants
def test_a_swapped_pair_has_nothing_to_become_and_leaves(variant: str) -> None:
    found = diagnosed(
        image([Triplet(P1, P2, "hug", "person")], [Triplet(P2, P1, "hug", "person", 0.5)]), variant=variant
    )
    assert found.target.tolist() == [-1]
    assert not found.states["association"].kept.any()


@both_variants
def test_there_is_no_second_choice(variant: str) -> None:
    """Two truths of a class nearly on each other: both predictions are about the first."""
    near = (P1[0], P1[1], P1[2], P1[3] + 1)
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(near, O1, "ride", "horse")]
    found = diagnosed(
        image(truth, [Triplet(P1, O1, "ride", "horse", 0.9), Triplet(P1, O1, "ride", "horse", 0.8)]), variant=variant
    )
    assert types(found) == ["true_positive", "duplicate"]
    assert found.found_by.tolist() == [0, -1]
    assert found.target.tolist() == [0, 0]


@both_variants
def test_equal_scores_keep_their_order(variant: str) -> None:
    scene = image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "ride", "horse", 0.5)] * 3)
    assert types(diagnosed(scene, variant=variant)) == ["true_positive", "duplicate", "duplicate"]


@both_variants
def test_words_outside_the_classes_have_types_but_no_rank(variant: str) -> None:
    """A verb that is none, an object that is none, a pair of labels that is no class, a class without ground truth."""
    truth = [Triplet(P1, O1, "ride", "horse")]
    wrong = [("straddle", "horse"), ("ride", "pony"), ("fly", "horse"), ("feed", "horse")]
    scene = image(truth, [Triplet(P1, O1, *words, 0.9) for words in wrong])
    found = diagnosed(scene, variant=variant)
    assert types(found) == ["interaction", "object_box", "interaction", "interaction"]
    with_true = diagnosed(image(truth, [*scene.predictions, Triplet(P1, O1, "ride", "horse", 0.5)]), variant=variant)
    assert with_true.means.map == 1


@both_variants
def test_without_no_interaction_its_boxes_images_and_predictions_have_no_part(variant: str) -> None:
    scenes = [
        image(
            [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "no_interaction", "horse")],
            [Triplet(P2, O2, "ride", "horse"), Triplet(P2, O2, "no_interaction", "horse")],
        ),
        image([Triplet(P1, O1, "no_interaction", "horse")], [Triplet(P1, O1, "ride", "horse")], "b.jpg"),
        image([], [Triplet(P1, O1, "ride", "horse")], "c.jpg"),
    ]
    found = diagnosed(*scenes, variant=variant)
    assert types(found) == ["both_boxes", "", "", ""]
    assert found.truth_status.tolist() == [2, -1, -1]
    kept = diagnosed(*scenes, variant=variant, no_interaction="keep")
    assert types(kept) == ["interaction", "true_positive", "interaction", ""]
    assert (kept.truth_status >= 0).all()


@both_variants
def test_images_come_in_the_order_of_the_truth(variant: str) -> None:
    scenes = [
        image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "ride", "horse", 0.3 * i)], f"{i}.jpg")
        for i in (1, 2, 3)
    ]
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
    truth, predictions = to_tables(
        [image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "ride", "horse")])], CLASSES
    )
    labelled = GroundTruth(truth.interactions, CLASSES, "test2015", np.ones((600, 1), bool))
    assert diagnose(predictions, labelled).means.map == 1
