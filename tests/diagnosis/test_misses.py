"""Which errors got a word wrong, and how near it is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from shoe.diagnosis.flow import ErrorType
from shoe.diagnosis.misses import Misses, Mistaken
from shoe.diagnosis.nearness import Nearness
from shoe.diagnosis.semantic import diagnose_meaning
from shoe.lexicon.store import lexicon
from tests.diagnosis.meanings import read_for_meaning, write_hand_map
from tests.diagnosis.pictures import AWAY, O1, O2, P1, P2, comparable, diagnosed, image, types
from tests.oracles.boxes import Box
from tests.oracles.model import ImageScene, Triplet

both_variants = pytest.mark.parametrize("variant", ["paper", "released"])


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hand_map(tmp_path_factory.mktemp("map"))


def kinds(found: Misses) -> dict[str, int]:
    return {kind.nearness: kind.count for kind in found.kinds}


def verb_miss(rated: Path, said: str, *right: str) -> Misses:
    truth = [Triplet(P1, O1, verb, "horse") for verb in right]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, said, "horse")]))
    assert types(found.diagnosis) == ["interaction"]
    assert len(found.object_class.prediction) == 0
    return found.interaction


@pytest.mark.parametrize(
    ("said", "right", "nearness", "similarity"),
    [
        ("gripping", "hold", "same", 1.0),
        ("gripping", "feed", "near", 0.5),
        ("galloping", "ride", "more_specific", 0.5),
        ("travelling", "ride", "more_general", 0.0),
        ("walking", "ride", "sibling", 0.0),
        ("releasing", "hold", "opposite", 0.0),
        ("kiss", "hold", "unrelated", 0.0),
        ("xyzzying", "hold", "unresolved", 0.0),
    ],
)
def test_a_wrong_verb_on_a_right_pair(rated: Path, said: str, right: str, nearness: str, similarity: float) -> None:
    found = verb_miss(rated, said, right)
    assert kinds(found) == {nearness: 1}
    (kind,) = found.kinds
    assert (kind.share, kind.similarity) == (1.0, similarity)
    assert kind.commonest == found.words == (Mistaken(right, said, 1),)
    assert found.similarity.tolist() == [similarity]
    assert (found.part, found.types) == ("verb", {"interaction": 1})


def test_of_several_verbs_of_a_pair_the_most_similar_counts_then_the_nearest_then_the_first(rated: Path) -> None:
    galloping = verb_miss(rated, "galloping", "hold", "ride")
    assert (galloping.truth.tolist(), kinds(galloping)) == ([1], {"more_specific": 1})
    assert galloping.sense.tolist() == [lexicon().synset("gallop.v.01")]
    releasing = verb_miss(rated, "releasing", "ride", "hold", "feed")
    assert (releasing.truth.tolist(), kinds(releasing)) == ([1], {"opposite": 1})
    straddling = verb_miss(rated, "straddling", "hop_on", "ride")
    assert straddling.truth.tolist() == [0]


def test_of_equal_verbs_the_one_in_the_better_place_counts(rated: Path) -> None:
    beside = (P1[0] + 2, P1[1], P1[2] + 2, P1[3])
    truth = [Triplet(beside, O1, "ride", "horse"), Triplet(P1, O1, "ride", "horse")]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, "gallop", "horse")]))
    assert found.interaction.truth.tolist() == [1]


OBJECTS = [
    ("pony", "more_specific", 0.75),
    ("toy", "near", 0.5),
    ("zebra", "sibling", 0.0),
    ("animal", "more_general", 0.0),
    ("bicycle", "unrelated", 0.0),
    ("blorb", "unresolved", 0.0),
]


@both_variants
@pytest.mark.parametrize(("said", "nearness", "similarity"), OBJECTS)
@pytest.mark.parametrize("verb", ["ride", "kiss", "blorbing"])
def test_a_wrong_object_in_the_right_place_whatever_the_verb(
    rated: Path, variant: str, said: str, nearness: str, similarity: float, verb: str
) -> None:
    scene = image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, verb, said)])
    found = read_for_meaning(rated, scene, variant=variant)
    assert kinds(found.object_class) == {nearness: 1}
    assert found.object_class.similarity.tolist() == [similarity]
    assert found.object_class.types == {"object_box": 1}
    assert kinds(found.interaction) == {}


def test_a_wrong_object_where_another_box_has_that_label_is_filed_as_association(rated: Path) -> None:
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O1, "ride", "bicycle")]
    found = read_for_meaning(rated, image(truth, [Triplet(P1, O1, "ride", "bicycle")]))
    assert types(found.diagnosis) == ["association"]
    assert found.object_class.types == {"association": 1}
    assert found.object_class.truth.tolist() == [0]


@pytest.mark.parametrize(("human", "thing"), [(AWAY, O1), (P1, AWAY), (P1, O2), (P2, O1)])
def test_a_wrong_object_in_a_wrong_place_is_no_object_class_error(rated: Path, human: Box, thing: Box) -> None:
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "ride", "horse")]
    found = read_for_meaning(rated, image(truth, [Triplet(human, thing, "ride", "pony")]))
    assert kinds(found.object_class) == {}
    assert found.object_class.words == ()


def test_the_place_is_judged_as_the_variant_does(rated: Path) -> None:
    """Exactly half of the box: enough for the toolbox, not for the papers."""
    half = (1, 1, 5, 10)
    scene = image([Triplet((1, 1, 10, 10), O1, "ride", "horse")], [Triplet(half, O1, "ride", "pony")])
    counts = [kinds(read_for_meaning(rated, scene, variant=name).object_class) for name in ("paper", "released")]
    assert counts == [{}, {"more_specific": 1}]


def test_counts_add_up_over_words_and_kinds(rated: Path) -> None:
    said = ["gallop", "gallop", "gallop", "walk", "kiss"]
    scenes = [
        image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, verb, "horse")], f"{number}.jpg")
        for number, verb in enumerate(said)
    ]
    found = read_for_meaning(rated, *scenes).interaction
    assert found.words == (Mistaken("ride", "gallop", 3), Mistaken("ride", "walk", 1), Mistaken("ride", "kiss", 1))
    assert [(kind.nearness, kind.count, kind.share) for kind in found.kinds] == [
        ("more_specific", 3, 0.6),
        ("sibling", 1, 0.2),
        ("unrelated", 1, 0.2),
    ]


def test_no_interaction_said_of_somebody_who_does_something_is_unrelated(rated: Path) -> None:
    scene = image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "no_interaction", "horse")])
    assert kinds(read_for_meaning(rated, scene).interaction) == {}
    kept = read_for_meaning(rated, scene, no_interaction="keep")
    assert kinds(kept.interaction) == {"unrelated": 1}


@both_variants
@settings(max_examples=40)
@given(found=comparable())
def test_every_interaction_error_is_held_against_a_truth_of_its_pair(variant: str, found: list[ImageScene]) -> None:
    diagnosis = diagnosed(*found, variant=variant)
    result = diagnose_meaning(diagnosis)
    task, verbs, objects = diagnosis.task, result.interaction, result.object_class
    assert verbs.prediction.tolist() == np.flatnonzero(diagnosis.types == ErrorType.INTERACTION).tolist()
    assert set(objects.types) <= {"object_box", "association"}
    for misses, alike in ((verbs, True), (objects, False)):
        assert sum(kind.count for kind in misses.kinds) == len(misses.prediction) == len(set(misses.prediction))
        assert sum(word.times for word in misses.words) == len(misses.prediction)
        assert (task.image[misses.prediction] == task.truth.interactions.image[misses.truth]).all()
        labels = task.object_label[task.predictions.object[misses.prediction]]
        assert ((labels == task.truth.interactions.object[misses.truth]) == alike).all()
        assert (misses.similarity[misses.near == Nearness.SAME] == 1).all()
        assert (misses.similarity[misses.near == Nearness.UNRELATED] < 0.5).all()
        assert (misses.similarity[misses.near == Nearness.UNRESOLVED] == 0).all()
