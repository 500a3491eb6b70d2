"""A map carried to another lexicon, worked by hand: one that lacks a class's sense, and has two senses as one."""

import re
from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks.classes import class_table, parse_classes, read_classes
from shoe.core.errors import ShoeError
from shoe.lexicon.building.build import build
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.read import Concept, Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of, use_lexicon, wordnet
from shoe.maps.convert import CLASSES, ConvertedPairs, carry
from shoe.similarity import SimilarityMap
from tests.maps.samples import Pairs, content, refused_at, written

pytestmark = pytest.mark.slow
LABELS = [("ride", "horse"), ("eat", "apple")]
OTHER = Source(
    "made",
    "Made 1",
    [
        Concept("M:ride", ("ride",), "v", links=("wn30:01956955-v",)),
        Concept("M:horse", ("horse", "pony"), links=("ili:i48054", "key:pony%1:05:02::")),
        Concept("M:none", ("unheard-of",)),
    ],
)


@pytest.fixture
def other() -> Lexicon:
    return Lexicon(build(OTHER, "made")[0])


def test_pairs_are_carried_lost_and_joined(tmp_path: Path, other: Lexicon) -> None:
    rows = [f"{verb} {noun} {verb}ing {verb}.v.01 {noun}.n.01".split() for verb, noun in LABELS]
    classes = parse_classes(class_table([[*row, ""] for row in rows]), "hico-det")
    links = [list(concept.links) for concept in OTHER.concepts[:2]]
    ride, horse = names_of(np.array(wordnet_numbers(links), np.int32))
    assert (ride.split(".")[1], horse) == ("v", "horse.n.01")
    pairs: dict[Part, Pairs] = {
        "verb": {(ride, "eat.v.01"): [3, None], ("eat.v.01", ride): [1, 0]},
        "object": {
            ("horse.n.01", "apple.n.01"): [0, 1],
            ("apple.n.01", "horse.n.01"): [2, None],
            ("apple.n.01", "pony.n.01"): [1, 3],
        },
    }
    first = written(tmp_path / "first", pairs, ["a", "b"])
    with pytest.raises(ShoeError, match=r"Made 1 .* no sense"):
        carry(first, other, tmp_path / "second", classes)
    # Now with a second concept for what an apple is, and one for eating.
    more = [*OTHER.concepts, Concept("M:apple", ("apple",), links=("key:apple%1:13:00::", "wn30:07739125-n"))]
    wider = Lexicon(build(Source("made", "Made 2", more), "made2")[0])
    counts = carry(first, wider, tmp_path / "second", classes)
    assert counts["verb"] == ConvertedPairs(2, 0, 1, 1, 0, ("eat.v.01",))
    assert counts["object"] == ConvertedPairs(3, 2, 0, 0, 1, ())
    with refused_at("lexicon", "found made2 ") as caught:
        SimilarityMap.load(tmp_path / "second")
    assert re.search(r"wordnet-3\.0 .*--lexicon FILE", str(caught.value))
    with use_lexicon(wider):
        second = SimilarityMap.load(tmp_path / "second")
        objects = {("M:apple", "M:horse"): [2, 3], ("M:horse", "M:apple"): [0, 1]}
        assert {part: content(table) for part, table in second.tables.items()} == {"verb": {}, "object": objects}
        assert second.about["carried"]["verbs"]["without_class"] == 1
        with pytest.raises(ShoeError, match=r"'first' .*WordNet 3\.0, .* Made 2"):
            first.values("object", np.array([0], np.int32), np.array([1], np.int32))
        table = read_classes(tmp_path / "second" / CLASSES, classes)
        assert table.object_synsets == ("M:horse", "M:apple")
        with pytest.raises(ShoeError, match=r"'ride\.v\.01', .* Made 2"):
            _ = classes.verb_sense
    with pytest.raises(ShoeError, match="needs no conversion"):
        carry(first, wordnet(), tmp_path / "third", classes)
