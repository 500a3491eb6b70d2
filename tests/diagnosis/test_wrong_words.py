"""Which errors got a word wrong, and its relation to the right one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from shoe.diagnosis.error_types import ErrorType
from shoe.diagnosis.relations import Relation
from shoe.diagnosis.semantics import WrongWord, WrongWords
from shoe.lexicon.store import lexicon
from tests.diagnosis.by_hand import AWAY, O1, O2, P1, P2, RIDE, both_variants, comparable, diagnosed, image, types
from tests.diagnosis.meanings import read_for_meaning
from tests.oracles.boxes import Box
from tests.oracles.model import ImageScene, Triplet


def relations(found: WrongWords) -> dict[str, int]:
    return {name: each.count for name, each in found.by_relation.items()}


def wrong_verb(rated: Path, predicted: str, *right: str) -> WrongWords:
    truth = [Triplet(P1, O1, verb, "horse") for verb in right]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, predicted, "horse")]))
    assert types(found.analysis) == ["interaction"]
    assert len(found.object_class.prediction) == 0
    return found.interaction


@pytest.mark.parametrize(
    ("predicted", "right", "relation", "similarity"),
    [
        ("gripping", "hold", "same", 1.0),
        ("gripping", "feed", "similar", 0.5),
        ("galloping", "ride", "more_specific", 0.5),
        ("travelling", "ride", "more_general", 0.0),
        ("walking", "ride", "sibling", 0.0),
        ("releasing", "hold", "opposite", 0.0),
        ("kiss", "hold", "unrelated", 0.0),
        ("xyzzying", "hold", "unresolved", 0.0),
    ],
)
def test_a_wrong_verb_of_a_pair(rated: Path, predicted: str, right: str, relation: str, similarity: float) -> None:
    found = wrong_verb(rated, predicted, right)
    assert relations(found) == {relation: 1}
    (each,) = found.by_relation.values()
    assert (each.share, each.similarity) == (1.0, similarity)
    assert (each.commonest, found.words) == ([word := WrongWord(right, predicted, 1)], (word,))
    assert found.similarity.tolist() == [similarity]
    assert (found.part, found.types) == ("verb", {"interaction": 1})


def test_of_several_verbs_the_most_similar_counts_then_the_closest_relation_then_the_first(rated: Path) -> None:
    galloping = wrong_verb(rated, "galloping", "hold", "ride")
    assert (galloping.truth.tolist(), relations(galloping)) == ([1], {"more_specific": 1})
    assert galloping.sense.tolist() == [lexicon().synset("gallop.v.01")]
    releasing = wrong_verb(rated, "releasing", "ride", "hold", "feed")
    assert (releasing.truth.tolist(), relations(releasing)) == ([1], {"opposite": 1})
    assert wrong_verb(rated, "straddling", "hop_on", "ride").truth.tolist() == [0]
    # Of equal verbs the one in the better place counts.
    beside = (P1[0] + 2, P1[1], P1[2] + 2, P1[3])
    truth = [Triplet(beside, O1, "ride", "horse"), RIDE]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, "gallop", "horse")]))
    assert found.interaction.truth.tolist() == [1]


OBJECTS = {
    "pony": ("more_specific", 0.75),
    "toy": ("similar", 0.5),
    "zebra": ("sibling", 0.0),
    "animal": ("more_general", 0.0),
    "bicycle": ("unrelated", 0.0),
    "blorb": ("unresolved", 0.0),
}


@both_variants
@pytest.mark.parametrize("verb", ["ride", "kiss", "blorbing"])
def test_a_wrong_object_in_its_place_whatever_the_verb(rated: Path, variant: str, verb: str) -> None:
    scenes = [image([RIDE], [Triplet(P1, O1, verb, predicted)], f"{predicted}.jpg") for predicted in OBJECTS]
    found = read_for_meaning(rated, *scenes, variant=variant)
    wrong, each = found.object_class, [Relation(code).label for code in found.object_class.relation]
    assert list(zip(each, wrong.similarity.tolist(), strict=True)) == list(OBJECTS.values())
    assert (wrong.types, relations(found.interaction)) == ({"object_box": len(OBJECTS)}, {})


def test_a_wrong_object_where_another_box_has_that_label_is_filed_as_association(rated: Path) -> None:
    truth = [RIDE, Triplet(P2, O1, "ride", "bicycle")]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, "ride", "bicycle")]))
    assert types(found.analysis) == ["association"]
    assert (found.object_class.types, found.object_class.truth.tolist()) == ({"association": 1}, [0])


@pytest.mark.parametrize(("human", "thing"), [(AWAY, O1), (P1, AWAY), (P1, O2), (P2, O1)])
def test_a_wrong_object_in_a_wrong_place_is_no_object_class_error(rated: Path, human: Box, thing: Box) -> None:
    truth = [RIDE, Triplet(P2, O2, "ride", "horse")]
    found = read_for_meaning(rated, image(truth, [Triplet(human, thing, "ride", "pony")])).object_class
    assert (relations(found), found.words) == ({}, ())


def test_the_place_is_judged_as_the_variant_does(rated: Path) -> None:
    """Exactly half of the box: enough for the toolbox, not for the papers."""
    half = (1, 1, 5, 10)
    scene = image([Triplet((1, 1, 10, 10), O1, "ride", "horse")], [Triplet(half, O1, "ride", "pony")])
    counts = [relations(read_for_meaning(rated, scene, variant=name).object_class) for name in ("paper", "released")]
    assert counts == [{}, {"more_specific": 1}]


def test_counts_add_up_over_words_and_relations(rated: Path) -> None:
    predicted = enumerate(["gallop", "gallop", "gallop", "walk", "kiss"])
    scenes = [image([RIDE], [Triplet(P1, O1, verb, "horse")], f"{number}.jpg") for number, verb in predicted]
    found = read_for_meaning(rated, *scenes).interaction
    assert found.words == (WrongWord("ride", "gallop", 3), WrongWord("ride", "walk", 1), WrongWord("ride", "kiss", 1))
    counts = [(name, each.count, each.share) for name, each in found.by_relation.items()]
    assert counts == [("more_specific", 3, 0.6), ("sibling", 1, 0.2), ("unrelated", 1, 0.2)]


def test_no_interaction_predicted_for_somebody_who_does_something_is_unrelated(rated: Path) -> None:
    scene = image([RIDE], [Triplet(P1, O1, "no_interaction", "horse")])
    hows: list[dict[str, str]] = [{}, {"no_interaction": "keep"}]
    assert [relations(read_for_meaning(rated, scene, **how).interaction) for how in hows] == [{}, {"unrelated": 1}]


@both_variants
@given(found=comparable())
def test_every_interaction_error_is_held_against_a_truth_of_its_pair(variant: str, found: list[ImageScene]) -> None:
    diagnosis = diagnosed(*found, variant=variant, similarity="hico-det")
    result = diagnosis.semantic
    assert result is not None
    task, verbs, objects = diagnosis.task, result.interaction, result.object_class
    assert verbs.prediction.tolist() == np.flatnonzero(diagnosis.types == ErrorType.INTERACTION).tolist()
    assert set(objects.types) <= {"object_box", "association"}
    for wrong, alike in ((verbs, True), (objects, False)):
        number = len(wrong.prediction)
        assert sum(each.count for each in wrong.by_relation.values()) == number == len(set(wrong.prediction))
        assert sum(word.times for word in wrong.words) == number
        assert (task.image[wrong.prediction] == task.truth.interactions.image[wrong.truth]).all()
        labels = task.object_label[task.predictions.object[wrong.prediction]]
        assert ((labels == task.truth.interactions.object[wrong.truth]) == alike).all()
        assert (wrong.similarity[wrong.relation == Relation.SAME] == 1).all()
        assert (wrong.similarity[wrong.relation == Relation.UNRELATED] < 0.5).all()
        assert (wrong.similarity[wrong.relation == Relation.UNRESOLVED] == 0).all()
