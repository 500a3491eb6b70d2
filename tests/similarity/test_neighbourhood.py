"""What stands in for ratings where a map's classes are others: relations in WordNet, and ratings of that relation."""

import numpy as np
import pytest

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity import Basis, load_similarity
from shoe.similarity.neighbourhood import STEPS, relations
from shoe.similarity.wordnet import steps_up

MAP = load_similarity("neighbourhood")


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("horse.n.01", "horse.n.01", (0, 0)),
        ("horse.n.01", "mare.n.01", (0, 1)),
        ("mare.n.01", "horse.n.01", (1, 0)),
        ("mare.n.01", "male_horse.n.01", (1, 1)),
        ("mare.n.01", "stallion.n.01", (1, 2)),
        ("horse.n.01", "pizza.n.01", (-1, -1)),
        ("stroll.v.01", "walk.v.01", (1, 0)),
        ("eat.v.01", "walk.v.01", (-1, -1)),  # verbs share no root
    ],
)
def test_a_relation_is_steps_up_and_down(one: str, other: str, relation: tuple[int, int]) -> None:
    up, down = relations(ids_of([one]), ids_of([other]))
    assert (up[0, 0], down[0, 0]) == relation


def test_relations_are_the_shortest_ways_over_a_common_hypernym() -> None:
    rng = np.random.default_rng(3)
    near = ids_of(["horse.n.01", "mug.n.04", "cup.n.01", "saddle.n.01", "beat.v.01", "hit.v.02"])
    senses = np.concatenate([near, rng.integers(0, len(lexicon()), 300).astype(np.int32)])
    up, down = relations(near, senses)
    for row, one in enumerate(near.tolist()):
        for column, other in enumerate(senses.tolist()):
            shared = steps_up(one).keys() & steps_up(other).keys()
            ways = [(steps_up(one)[above], steps_up(other)[above]) for above in shared]
            ways = [way for way in ways if sum(way) <= STEPS]
            best = min(ways, key=lambda way: (sum(way), way[0]), default=(-1, -1))
            assert (up[row, column], down[row, column]) == best


def test_ratings_count_where_there_are_some_and_either_way_round() -> None:
    rated = load_similarity("hico-det")
    ride, saddle = ["ride.v.01"], ["saddle.v.03", "straddle.v.01", "ride.v.01"]
    there = rated.between("verb", ride, saddle)
    assert not np.isnan(there[0, 1])
    for pair in (ride, ["straddle.v.01"]), (["straddle.v.01"], ride):
        np.testing.assert_array_equal(MAP.between("verb", *pair), there[:, 1:2])
    assert MAP.digest == load_similarity("neighbourhood").digest != rated.digest


def test_what_nobody_rated_is_predicted_and_reported_as_that() -> None:
    classes, words = [("syringe.n.01", "syringe")], ["syringe", "hypodermic syringe", "horse"]
    values, basis = MAP.of_words("object", classes, words)
    assert [Basis(code).name for code in basis[0]] == ["IDENTICAL", "LEARNED", "LEARNED"]
    assert values[0, 0] == 1
    assert 0.5 < values[0, 1] < 1
    assert values[0, 2] == 0
    nothing = MAP.of_words("object", classes, words, SemanticOptions(unrated="zero"))
    assert [Basis(code).name for code in nothing[1][0]] == ["IDENTICAL", "UNRATED", "UNRATED"]
