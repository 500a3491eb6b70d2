"""Relations of senses, held to WordNet as nltk reads it; what a word is to a class; and the shipped antonyms."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shoe
from shoe.benchmarks import benchmark
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.diagnosis.relations import Relation, relations, word_relations
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity import SimilarityMap, WordNetSimilarity, similarity_table
from tests.maps.samples import Pairs, written

MIRRORED = {Relation.MORE_GENERAL: Relation.MORE_SPECIFIC, Relation.MORE_SPECIFIC: Relation.MORE_GENERAL}


def numbers(*names: str) -> NDArray[np.int32]:
    return np.array([lexicon().synset(name) for name in names], np.int32)


@pytest.fixture(scope="module")
def pool() -> list[str]:
    """The senses of HICO-DET's classes, all above them, and a few beside and below."""
    classes = benchmark("hico-det").classes
    found = {lexicon().synset(name) for name in (*classes.verb_synsets, *classes.object_synsets) if name}
    waiting = list(found)
    while waiting:
        above = set(lexicon().hypernyms(waiting.pop()).tolist()) - found
        found |= above
        waiting += above
    more = "cab.n.03 walk.v.01 close.v.01 gallop.v.01 stand.v.01 prove.v.02 disprove.v.01 pony.n.05 sell.v.01"
    return [lexicon().name(sense) for sense in sorted(found)] + more.split()


@pytest.mark.parametrize(
    ("of_class", "predicted", "relation"),
    [
        ("car.n.01", "car.n.01", Relation.SAME),
        ("car.n.01", "vehicle.n.01", Relation.MORE_GENERAL),
        ("car.n.01", "entity.n.01", Relation.MORE_GENERAL),
        ("car.n.01", "cab.n.03", Relation.MORE_SPECIFIC),
        ("car.n.01", "truck.n.01", Relation.SIBLING),
        ("car.n.01", "horse.n.01", Relation.UNRELATED),
        ("open.v.01", "close.v.01", Relation.OPPOSITE),
        ("lie.v.02", "sit.v.01", Relation.OPPOSITE),
        ("ride.v.02", "walk.v.01", Relation.OPPOSITE),
        ("ride.v.02", "travel.v.01", Relation.MORE_GENERAL),
        # These are antonyms, but also one above the other, and that comes first.
        ("prove.v.02", "disprove.v.01", Relation.MORE_SPECIFIC),
    ],
)
def test_relations_by_hand(of_class: str, predicted: str, relation: Relation) -> None:
    assert relations(numbers(of_class), numbers(predicted)).tolist() == [[relation]]
    assert relations(numbers(predicted), numbers(of_class)).tolist() == [[MIRRORED.get(relation, relation)]]
    # A class without a sense is related to nothing.
    assert relations(np.array([-1], np.int32), numbers(predicted)).tolist() == [[Relation.UNRELATED]]


def test_seen_from_the_other_side_general_is_specific_and_all_else_stays(pool: list[str]) -> None:
    senses = numbers(*pool)
    found = relations(senses, senses)
    assert len(np.unique(found)) == 6
    mirrored = found.copy()
    for one, other in MIRRORED.items():
        mirrored[found == one] = other
    assert (mirrored == found.T).all()
    assert (np.diag(found) == Relation.SAME).all()


def test_relations_are_those_of_wordnet_as_nltk_reads_it(reader: Any, pool: list[str]) -> None:
    synsets = [reader.synset(name) for name in pool]
    above = [{h for path in s.hypernym_paths() for h in path} - {s} for s in synsets]
    direct = [{*s.hypernyms(), *s.instance_hypernyms()} for s in synsets]
    opposite = [{o.synset() for lemma in s.lemmas() for o in lemma.antonyms()} for s in synsets]

    def expected(c: int, s: int) -> Relation:
        rules = {
            Relation.SAME: synsets[c] == synsets[s],
            Relation.MORE_GENERAL: synsets[s] in above[c],
            Relation.MORE_SPECIFIC: synsets[c] in above[s],
            Relation.OPPOSITE: synsets[s] in opposite[c],
            Relation.SIBLING: bool(direct[c] & direct[s]),
        }
        return next((relation for relation, holds in rules.items() if holds), Relation.UNRELATED)

    senses = numbers(*pool)
    everything = range(len(pool))
    assert relations(senses, senses).tolist() == [[expected(c, s) for s in everything] for c in everything]


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> SimilarityMap:
    pairs: dict[Part, Pairs] = {
        "verb": {
            ("ride.v.02", "gallop.v.01"): [3],
            ("ride.v.02", "bicycle.v.01"): [4],
            ("ride.v.02", "feed.v.01"): [2],
            ("ride.v.02", "sit.v.01"): [1],
            ("hold.v.02", "fly.v.01"): [0],
        },
        "object": {("car.n.01", "chair.n.01"): [0]},
    }
    return written(tmp_path_factory.mktemp("map"), pairs)


def related(
    rated: SimilarityMap, part: Part, of: Sequence[tuple[str, str]], words: Sequence[str]
) -> tuple[NDArray[np.int32], list[list[str]]]:
    """Relations of words to classes, given as (sense, word), and its names."""
    synsets = [sense for sense, _ in of]
    table = similarity_table(rated, part, ids_of(synsets), [word for _, word in of], words, SemanticOptions())
    relation, sense = word_relations(table, part, synsets, words, "phrase-first")
    return sense, [[Relation(code).label for code in row] for row in relation.tolist()]


def test_words_by_hand(rated: SimilarityMap) -> None:
    words = {
        "riding": "same",  # the class's own word
        "bicycling": "same",  # rated 4 of 4
        "galloping": "similar",  # rated 3 of 4; WordNet has it under "go fast"
        "feeding": "similar",  # rated 2 of 4
        "sitting": "unrelated",  # rated 1
        "walking": "opposite",  # nobody rated it: the best of its senses
        "travelling": "more_general",
        "xyzzying": "unresolved",
        "no_interaction": "unrelated",
        "not riding": "unresolved",
    }
    senses, names = related(rated, "verb", [("ride.v.02", "ride")], list(words))
    assert names == [list(words.values())]
    sense = dict(zip(words, senses[0].tolist(), strict=True))
    for word, name in (("riding", "ride.v.02"), ("walking", "walk.v.01"), ("feeding", "feed.v.01")):
        assert sense[word] == lexicon().synset(name)
    assert sense["xyzzying"] == sense["no_interaction"] == sense["not riding"] == -1


NO_INTERACTION, RIDE = ("", "no_interaction"), ("ride.v.02", "ride")
CAR, PERSON = ("car.n.01", "car"), ("person.n.01", "person")


@pytest.mark.parametrize(
    ("part", "of", "words", "names"),
    [
        ("verb", [NO_INTERACTION], ["no interaction", "ride", "xyzzying"], [["same", "unrelated", "unrelated"]]),
        # A chair is also a president, which is a person; if its first sense is rated it is a seat, rated 0 or not.
        ("object", [CAR], ["chair", "vehicle"], [["unrelated", "more_general"]]),
        ("object", [PERSON], ["chair", "vehicle"], [["more_specific", "unrelated"]]),
        ("verb", [RIDE], [], [[]]),
        ("verb", [RIDE], ["xyzzy"], [["unresolved"]]),
    ],
)
def test_other_words_by_hand(
    rated: SimilarityMap, part: Part, of: list[tuple[str, str]], words: list[str], names: list[list[str]]
) -> None:
    assert related(rated, part, of, words)[1] == names


@pytest.mark.parametrize("measure", ["identity", "wup"])
def test_measures_name_a_sense_of_every_word(measure: str) -> None:
    words = ["pony", "zzz", "horses"]
    of_horse = ids_of(["horse.n.01"])
    table = similarity_table(WordNetSimilarity(measure), "object", of_horse, ["horse"], words, SemanticOptions())
    relation, sense = word_relations(table, "object", ["horse.n.01"], words, "phrase-first")
    assert relation[0, 1:].tolist() == [Relation.UNRESOLVED, Relation.SAME]
    assert (sense[0] >= 0).tolist() == [True, False, True]


SCRIPT = Path(__file__).parents[2] / "scripts" / "build-antonyms"
SHIPPED = Path(shoe.__file__).parent / "diagnosis" / "data" / "antonyms.tsv"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def pairs() -> list[frozenset[int]]:
    lines = SHIPPED.read_text("utf-8").splitlines()[1:]
    return [frozenset(lexicon().synset(name) for name in line.split("\t")) for line in lines]


def test_the_shipped_file_is_what_the_script_makes(script: dict[str, Any]) -> None:
    if not script["SOURCE"].is_dir():
        pytest.skip("WordNet's files are not in .wordnet: run scripts/setup-wordnet")
    assert script["table"](script["SOURCE"]) == SHIPPED.read_text("utf-8")


def test_it_has_each_pair_once_and_no_other_names_than_the_lexicon() -> None:
    found = pairs()
    assert len(found) == len(set(found)) == 1483
    assert all(len(pair) == 2 and min(pair) >= 0 for pair in found)


def test_it_has_the_antonyms_of_verbs_that_nltk_reads(reader: Any) -> None:
    """Nouns are six times as many, and come about in the same lines."""
    wanted = {
        frozenset(lexicon().synset(s.name()) for s in (synset, other.synset()))
        for synset in reader.all_synsets("v")
        for lemma in synset.lemmas()
        for other in lemma.antonyms()
        if other.synset().pos() == "v"
    }
    assert {pair for pair in pairs() if lexicon().pos(min(pair)) == "v"} == wanted


def test_a_missing_file_is_named(script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["build-antonyms", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"data\.noun.*scripts/setup-wordnet"):
        script["main"]()
