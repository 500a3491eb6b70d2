"""A map carried to another lexicon, worked by hand: one that lacks a class's sense, and has two senses as one."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks.classes import class_table, parse_classes, read_classes
from shoe.core.errors import ShoeError
from shoe.lexicon.building.build import build
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.read import Concept, Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import names_of, use_lexicon, wordnet
from shoe.maps.convert import CLASSES, ConvertedPairs, carry
from shoe.similarity import Rater, SimilarityMap, write_map
from tests.tables import pairs_by_name

pytestmark = pytest.mark.slow
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
    return Lexicon(build(OTHER, "made").content)


def names(map_: SimilarityMap) -> dict[str, dict[tuple[str, str], list[int]]]:
    return {part: dict(zip(table.names(), table.ratings.tolist(), strict=True)) for part, table in map_.tables.items()}


def test_pairs_are_carried_lost_and_joined(tmp_path: Path, other: Lexicon) -> None:
    classes = parse_classes(
        class_table(
            [
                ["ride", "horse", "riding", "ride.v.01", "horse.n.01", ""],
                ["eat", "apple", "eating", "eat.v.01", "apple.n.01", ""],
            ]
        ),
        "hico-det",
    )
    links = [list(concept.links) for concept in OTHER.concepts[:2]]
    ride, horse = names_of(np.array(wordnet_numbers(links), np.int32))
    assert (ride.split(".")[1], horse) == ("v", "horse.n.01")
    pairs: dict[Part, dict[tuple[str, str], list[int | None]]] = {
        "verb": {(ride, "eat.v.01"): [3, None], ("eat.v.01", ride): [1, 0]},
        "object": {
            ("horse.n.01", "apple.n.01"): [0, 1],
            ("apple.n.01", "horse.n.01"): [2, None],
            ("apple.n.01", "pony.n.01"): [1, 3],
        },
    }
    write_map(
        tmp_path / "first",
        dataset="hico-det",
        raters=[Rater("a", "m"), Rater("b", "m")],
        pairs={part: pairs_by_name(of, 2) for part, of in pairs.items()},
    )
    first = SimilarityMap.load(tmp_path / "first")
    with pytest.raises(ShoeError, match="Made 1 shares no sense with the map"):
        carry(first, other, tmp_path / "second", classes)
    # Now with a second concept for what an apple is, and one for eating.
    more = [*OTHER.concepts, Concept("M:apple", ("apple",), links=("key:apple%1:13:00::", "wn30:07739125-n"))]
    wider = Lexicon(build(Source("made", "Made 2", more), "made2").content)
    counts = carry(first, wider, tmp_path / "second", classes)
    assert counts["verb"] == ConvertedPairs(2, 0, 1, 1, 0, ("eat.v.01",))
    assert counts["object"] == ConvertedPairs(3, 2, 0, 0, 1, ())
    with pytest.raises(
        ShoeError, match=r"map\.json: lexicon: found made2 .*expected wordnet-3\.0 .*shoe --lexicon FILE"
    ):
        SimilarityMap.load(tmp_path / "second")
    with use_lexicon(wider):
        second = SimilarityMap.load(tmp_path / "second")
        assert names(second) == {
            "verb": {},
            "object": {("M:apple", "M:horse"): [2, 3], ("M:horse", "M:apple"): [0, 1]},
        }
        assert second.about["carried"]["verbs"]["without_class"] == 1
        with pytest.raises(
            ShoeError, match=r"map 'first' rates senses of WordNet 3\.0, but the active lexicon is Made 2"
        ):
            first.values("object", np.array([0], np.int32), np.array([1], np.int32))
        table = read_classes(tmp_path / "second" / CLASSES, classes)
        assert table.object_synsets == ("M:horse", "M:apple")
        with pytest.raises(ShoeError, match=r"class table: found the sense 'ride\.v\.01', expected a sense of Made 2"):
            _ = classes.verb_sense
    with pytest.raises(ShoeError, match="needs no conversion"):
        carry(first, wordnet(), tmp_path / "third", classes)
