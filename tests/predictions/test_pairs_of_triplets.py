"""Pairs of triplets, and the scores that pairs and triplets give each other, against the oracle."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.predictions.pair_predictions import NO_VERB, Pairs, find_pairs, pairs_of, triplet_scores
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis_pairs import Pair, action_scores, pairs_of as slow_pairs_of
from tests.oracles.model import ImageScene, to_tables
from tests.oracles.scenes import VERBS, small_classes
from tests.predictions.paired import as_pairs
from tests.present import present

CLASSES = small_classes()


def triplets_of(scenes: list[ImageScene]) -> Interactions:
    return to_tables([replace(scene, prediction_coordinates=Coordinates.PIXELS_1) for scene in scenes], CLASSES)[1]


@given(crowds(), st.integers(0, 2**16))
def test_scores_come_from_the_first_pair_that_has_the_verb(scenes: list[ImageScene], seed: int) -> None:
    rng = np.random.default_rng(seed)
    triplets = triplets_of(scenes)
    named = {scene.name: scene for scene in scenes}
    predicted: dict[str, list[Pair]] = {}
    for name in triplets.images:
        found = slow_pairs_of(named[name])
        given_twice = [found[i] for i in rng.integers(0, len(found), 2 * len(found))] if found else []
        predicted[name] = [
            Pair(p.human_box, p.object_box, p.object, {v: rng.random() for v in VERBS if rng.random() < 0.4})
            for p in given_twice
        ]
    fast = triplet_scores(as_pairs(predicted, VERBS), triplets)
    for i, name in enumerate(triplets.images):
        for row, p in zip(range(triplets.offsets[i], triplets.offsets[i + 1]), named[name].predictions, strict=True):
            scene = replace(named[name], predictions=[p])
            try:
                expected = action_scores(scene, predicted[name])[0]
            except KeyError:
                assert np.isnan(fast[row])
            else:
                assert fast[row] == expected


@given(crowds())
def test_triplets_find_their_own_pairs(scenes: list[ImageScene]) -> None:
    triplets = triplets_of(scenes)
    pairs = pairs_of(triplets)
    assert find_pairs(pairs, triplets).tolist() == present(pairs.of_triplet).tolist()
    elsewhere = replace(pairs, table=replace(pairs.table, images=tuple(f"other {name}" for name in triplets.images)))
    assert (find_pairs(elsewhere, triplets) == -1).all()


@given(crowds())
def test_a_pair_knows_the_best_of_its_actual_verbs(scenes: list[ImageScene]) -> None:
    triplets = triplets_of(scenes)
    rng = np.random.default_rng(len(triplets))
    scores = rng.random(len(triplets)).round(1)
    pairs = pairs_of(triplets, scores)
    for k, best in enumerate(present(pairs.interaction).tolist()):
        rows = np.flatnonzero(present(pairs.of_triplet) == k)
        actual = [scores[row] for row in rows if triplets.verbs[triplets.verb[row]] != "no_interaction"]
        assert best == max(actual, default=0.0)


def test_without_verb_scores_there_are_none() -> None:
    triplets = triplets_of([])
    assert triplet_scores(pairs_of(triplets), triplets).shape == (0,)


@pytest.mark.parametrize("word", ["hot dog", "Hot_Dog", "hot dogs"])
def test_objects_meet_by_their_label(word: str) -> None:
    boxes = {"human_boxes": [[0, 0, 9, 9]], "object_boxes": [[5, 5, 20, 20]]}
    columns = {"images": ["a.jpg"], "image": [0], "verb": [0], "object": [0], **boxes}
    triplets = Interactions.from_columns(**columns, verbs=["eat"], objects=["hot_dog"])  # type: ignore[arg-type]
    table = Interactions.from_columns(**columns, verbs=[NO_VERB], objects=[word])  # type: ignore[arg-type]
    pairs = Pairs(table, verb_scores=np.array([[0.25, 0.5]]), verbs=("carry", "eat"))
    assert triplet_scores(pairs, triplets).tolist() == [0.5]
