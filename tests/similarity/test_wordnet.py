"""Similarity by WordNet, and by the neighbourhood of senses."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.similarity import Basis, WordNetSimilarity, load_similarity
from shoe.similarity.neighbourhood import STEPS, relations
from shoe.similarity.wordnet import MEASURES, steps_up


def sample(part: Part, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Random senses, with relatives of theirs: far pairs and near ones."""
    ours = lexicon()
    first, last = (0, ours.nouns) if part == "object" else (ours.nouns, len(ours))
    rng = np.random.default_rng(seed)
    some = rng.integers(first, last, 30)
    parents = [ours.hypernyms(int(s)) for s in some]
    grandparents = [ours.hypernyms(int(p)) for of in parents for p in of]
    near = np.concatenate([some, rng.integers(first, last, 60), *parents, *grandparents])
    return some.astype(np.int32), near.astype(np.int32)


@pytest.mark.parametrize("part", ["verb", "object"])
@pytest.mark.parametrize("measure", ["path", "wup"])
def test_equal_to_nltk(reader: Any, part: Part, measure: str) -> None:
    classes, synsets = sample(part, seed=3)
    found = WordNetSimilarity(measure).values(part, classes, synsets)
    theirs = [reader.synset(lexicon().name(int(s))) for s in synsets]
    for name, row in zip(names_of(classes), found, strict=True):
        of = reader.synset(name)
        expected = [1.0 if of == other else getattr(of, f"{measure}_similarity")(other) for other in theirs]
        assert row.tolist() == expected, name


def test_by_hand() -> None:
    # horse and zebra are both equines; elephants are other mammals.
    path = WordNetSimilarity("path").between("object", ["horse.n.01"], ["horse.n.01", "zebra.n.01", "equine.n.01"])
    assert path.tolist() == [[1, 1 / 3, 1 / 2]]
    wup = WordNetSimilarity("wup").between("object", ["horse.n.01"], ["zebra.n.01", "elephant.n.01", "car.n.01"])[0]
    assert wup[0] > wup[1] > wup[2] > 0
    assert WordNetSimilarity("identity").between("verb", ["ride.v.01"], ["ride.v.01", "ride.v.02"]).tolist() == [[1, 0]]
    assert len({WordNetSimilarity(measure).digest for measure in MEASURES}) == len(MEASURES)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("part", ["verb", "object"])
def test_in_range_and_1_to_itself(part: Part, measure: str) -> None:
    classes, synsets = sample(part, seed=5)
    found = WordNetSimilarity(measure).values(part, classes, synsets)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[:, :30].diagonal() == 1).all()
    assert np.isnan(WordNetSimilarity(measure).values(part, ids_of([""]), synsets)).all()  # a class without a sense


def test_hypernyms_have_no_cycles() -> None:
    """What the recursion over hypernyms rests on: every way up ends, as no sense is above itself."""
    ours = lexicon()
    above = [ours.hypernyms(synset) for synset in range(len(ours))]
    lower = np.repeat(np.arange(len(ours)), [len(hypernyms) for hypernyms in above])
    upper = np.concatenate(above)
    while len(lower):
        # Senses that have no hypernym left cannot be in a cycle: take the steps up to them away.
        open_ = np.isin(upper, lower)
        assert not open_.all(), f"{len(lower)} steps lead round and round"
        lower, upper = lower[open_], upper[open_]


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
