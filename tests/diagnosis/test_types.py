"""The decision table; what a correct box and a correct pair are, and who takes part."""

from itertools import product

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.error_types import FLOW, ErrorType, decide
from tests.diagnosis.by_hand import AWAY, CLASSES, O1, P1, P2, RIDE, both_variants, diagnosed, image, types
from tests.oracles.model import Triplet, to_tables


def one_by_one(triplet: bool, first: bool, pair: bool, human: bool, object_: bool) -> ErrorType:
    """Figure 2 of the IJCV paper, as nested questions."""
    if pair:
        if not triplet:
            return ErrorType.INTERACTION
        return ErrorType.TRUE_POSITIVE if first else ErrorType.DUPLICATE
    if human and object_:
        return ErrorType.ASSOCIATION
    if object_:
        return ErrorType.HUMAN_BOX
    return ErrorType.OBJECT_BOX if human else ErrorType.BOTH_BOXES


def test_the_table_asks_the_questions_of_the_figure() -> None:
    names = ("triplet", "first", "pair", "human", "object")
    # A true positive is about a triplet, a triplet is a pair, and a pair has both boxes.
    cases = [c for c in product((False, True), repeat=5) if c[1] <= c[0] <= c[2] <= (c[3] and c[4])]
    facts = {name: np.array([case[i] for case in cases]) for i, name in enumerate(names)}
    assert decide(facts, FLOW).tolist() == [one_by_one(*case) for case in cases]
    assert {one_by_one(*case) for case in cases} == set(ErrorType)


def test_another_flow_is_another_table() -> None:
    """Facts have any names; what no rule covers has no type."""
    flow = ((("role",), "human_box"), (("near", "far"), "association"))
    facts = {"role": [True, False, False], "near": [True, True, True], "far": [True, True, False]}
    found = decide({name: np.array(values) for name, values in facts.items()}, flow)
    assert found.tolist() == [ErrorType.HUMAN_BOX, ErrorType.ASSOCIATION, -1]


def test_labels_are_the_names_of_the_figures() -> None:
    labels = ["true_positive", "human_box", "object_box", "both_boxes", "association", "interaction", "duplicate"]
    assert [type_.label for type_ in ErrorType] == labels


HUG = Triplet(P1, P2, "hug", "person")


@both_variants
@pytest.mark.parametrize(
    ("truth", "prediction", "expected"),
    [
        # A box in the right place with the wrong label is wrong.
        (RIDE, Triplet(P1, O1, "ride", "bicycle"), "object_box"),
        (RIDE, Triplet(AWAY, O1, "ride", "bicycle"), "both_boxes"),
        # A hugs B. That B hugs A has two correct boxes and no pair: people are people wherever they stand.
        (HUG, Triplet(P2, P1, "hug", "person"), "association"),
        (HUG, Triplet(P2, AWAY, "hug", "person"), "object_box"),
        (HUG, Triplet(AWAY, P1, "hug", "person"), "human_box"),
        (HUG, Triplet(P2, P1, "ride", "horse"), "object_box"),
    ],
)
def test_labels_and_people(variant: str, truth: Triplet, prediction: Triplet, expected: str) -> None:
    assert types(diagnosed(image([truth], [prediction]), variant=variant)) == [expected]


@both_variants
def test_a_swapped_pair_has_nothing_to_become_and_leaves(variant: str) -> None:
    found = diagnosed(image([HUG], [Triplet(P2, P1, "hug", "person", 0.5)]), variant=variant)
    assert found.target.tolist() == [-1]
    assert not found.states["association"].kept.any()


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
