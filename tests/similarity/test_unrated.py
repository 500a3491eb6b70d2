"""Completions and guesses of a map, and the pairs behind a table's cells."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.resolve import resolve
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity import SimilarityMap, WordNetSimilarity
from shoe.similarity.unrated import ImputedSimilarity, SenseLookups
from tests.maps.samples import Rows, made

ROWS: Rows = {"ride.v.01 straddle.v.01": (3, 2), "ride.v.01 eat.v.01": (None, None)}
CLASSES = ("ride.v.01", "feed.v.01", "")
WORDS = ("straddle", "xqzt", "ride")


@pytest.fixture
def similarity(tmp_path: Path) -> SimilarityMap:
    return made(tmp_path / "map", ROWS)


def ids(*names: str) -> NDArray[np.int32]:
    return ids_of(names)


def test_only_unrated_pairs_of_the_classes_are_filled(similarity: SimilarityMap) -> None:
    senses = ids("straddle.v.01", "eat.v.01", "ride.v.01")
    filled = ImputedSimilarity(similarity, frozenset(ids("ride.v.01").tolist()), 0.5)
    found = filled.values("verb", ids(*CLASSES), senses)
    np.testing.assert_array_equal(found[0], [0.625, 0.5, 1])
    assert np.isnan(found[1:]).all()
    assert filled.digest == similarity.digest


def test_a_guess_is_what_few_ratings_of_pairs_as_similar_exceed(tmp_path: Path) -> None:
    of_class = "ride.v.01"
    senses = np.arange(lexicon().nouns, len(lexicon()), 7, dtype=np.int32)
    similar = WordNetSimilarity("wup").values("verb", ids(of_class), senses)[0]
    rated: Rows = {
        f"{of_class} {lexicon().name(s)}": (4 if w > 0.3 else i % 2, None)
        for i, (s, w) in enumerate(zip(senses.tolist(), similar.tolist(), strict=True))
        if i % 3
    }
    similarity = made(tmp_path / "map", rated)
    guessed = ImputedSimilarity(similarity, frozenset(ids(of_class).tolist()), None)
    found = guessed.values("verb", ids(of_class), senses)[0]
    known = similarity.values("verb", ids(of_class), senses)[0]
    unrated = np.isnan(known)
    np.testing.assert_array_equal(found[~unrated], known[~unrated])
    assert set(found[unrated & (similar > 0.4)].tolist()) == {1.0}
    assert set(found[unrated & (similar < 0.2)].tolist()) <= {0.05, 0.25}
    assert (np.diff(found[unrated][np.argsort(similar[unrated])]) >= 0).all()


def test_without_ratings_the_guess_is_about_what_wordnet_says(tmp_path: Path) -> None:
    guessed = ImputedSimilarity(made(tmp_path / "map", {}), frozenset(ids("ride.v.01").tolist()), None)
    senses = ids("straddle.v.01", "eat.v.01", "ride.v.01")
    similar = WordNetSimilarity("wup").values("verb", ids("ride.v.01"), senses)
    found = guessed.values("verb", ids("ride.v.01"), senses)
    np.testing.assert_allclose(found[0, :2], similar[0, :2], atol=0.05 + 1e-9)


def test_cells_know_their_pairs(similarity: SimilarityMap) -> None:
    lookups = SenseLookups.from_vocabulary(similarity, "verb", ids(*CLASSES), WORDS, SemanticOptions(), [])
    assert lookups.count.tolist() == [len(resolve(word, "verb").candidates) for word in WORDS]
    assert not lookups.unrated[2].any()
    cell, row, sense = lookups.pairs(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 0]))
    named = {(c, CLASSES[r], lexicon().name(lookups.synsets[s])) for c, r, s in zip(cell, row, sense, strict=True)}
    others = {"range.v.04", "straddle.v.03"}
    fed = {(1, "feed.v.01", name) for name in {*others, "straddle.v.01"}}
    assert named == {(0, "ride.v.01", name) for name in others} | fed
    values = np.arange(lookups.unrated.size, dtype=np.float64).reshape(lookups.unrated.shape)
    highest = lookups.highest(values)
    assert highest[0, 1] == 0
    senses = np.isin(lookups.synsets, [c.synset for c in resolve("straddle", "verb").candidates])
    np.testing.assert_array_equal(highest[:, 0], values[:, senses].max(axis=1))
    # Only first senses, if only these count.
    lookups = SenseLookups.from_vocabulary(similarity, "verb", ids(*CLASSES), WORDS, SemanticOptions(sense="first"), [])
    assert lookups.count.tolist() == [1, 0, 1]
