"""The WordNet measures against nltk's, and by hand."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.similarity import WordNetSimilarity
from shoe.similarity.wordnet import MEASURES


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
