"""How far similarities agree with people on words: the look-up is scoring's, best senses both ways."""

import sys
from itertools import product
from pathlib import Path
from runpy import run_path
from typing import Any

import gloss_similarity
import map_quality as quality
import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.lexicon.resolve import resolve
from shoe.lexicon.senses import Part
from shoe.similarity import SimilarityMap, WordNetSimilarity
from tests.errors import input_error, says
from tests.maps.samples import Pairs, written as written_map
from tests.scripts.conftest import SCRIPTS

_HEADER = "word1\tword2\tPOS\tSimLex999\tother"
_LINES = [
    *("old\tnew\tA\t1.58\t0", "ride\tdrive\tV\t5.5\t0", "begin\tstart\tV\t9.1\t0", "eat\tthink\tV\t0.4\t0"),
    *("drive\tthink\tV\t0.2\t0", "horse\tpony\tN\t7.9\t0", "horse\tcar\tN\t0.9\t0"),
]


@pytest.fixture
def simlex(tmp_path: Path) -> Path:
    return written(tmp_path / "SimLex-999.txt", [_HEADER, *_LINES])


@pytest.fixture
def small_map(tmp_path: Path) -> SimilarityMap:
    """Ride is a class (unlike thinking, somewhat like driving), and so is horse."""
    verbs: Pairs = {
        ("ride.v.01", "drive.v.01"): [2],
        ("ride.v.01", "drive.v.02"): [3],
        ("ride.v.01", "think.v.01"): [None],
    }
    return written_map(tmp_path / "small", {"verb": verbs, "object": {("horse.n.01", "car.n.01"): [0]}})


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


def pairs_of(part: Part, *pairs: tuple[str, str]) -> quality.WordPairs:
    return quality.WordPairs(part, tuple(a for a, _ in pairs), tuple(b for _, b in pairs), np.zeros(len(pairs)))


def test_verbs_and_nouns_are_read_apart_and_adjectives_left_out(simlex: Path) -> None:
    read = quality.read_simlex(simlex)
    assert read["verb"].first == ("ride", "begin", "eat", "drive")
    assert read["verb"].human.tolist() == [5.5, 9.1, 0.4, 0.2]
    assert (read["object"].first, read["object"].second) == (("horse", "horse"), ("pony", "car"))


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        *(([], "line 1"), (["word1 word2 POS SimLex999"], "line 1")),
        ([_HEADER, "ride\tdrive\tV\t10.5\t0"], "line 2: SimLex999"),
        ([_HEADER, "ride\tdrive\tV\tnan\t0"], "line 2: SimLex999"),
        ([_HEADER, "ride\tdrive\tV\tmuch\t0"], "line 2: SimLex999"),
        *(([_HEADER, "ride\tdrive\tX\t1\t0"], "line 2: POS"), ([_HEADER, _LINES[0], "ride\tdrive"], "line 3")),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, lines: list[str], where: str) -> None:
    path = written(tmp_path / "words.txt", lines)
    with input_error(f"{path}: {where}: found "):
        quality.read_simlex(path)


@pytest.mark.parametrize("measure", ["path", "wup"])
@pytest.mark.parametrize(
    ("part", "first", "second"),
    [("verb", "ride", "drive"), ("verb", "think", "eat"), ("object", "horse", "pony"), ("object", "hot dog", "cat")],
)
def test_words_are_as_alike_as_their_best_senses(measure: str, part: Part, first: str, second: str) -> None:
    similarity = WordNetSimilarity(measure)
    looked = quality.look_up(similarity, pairs_of(part, (first, second)))
    senses = [[c.name for c in resolve(word, part).candidates] for word in (first, second)]
    ids = [np.array([c.synset for c in resolve(word, part).candidates], np.int32) for word in (first, second)]
    forth, back = similarity.values(part, ids[0], ids[1]), similarity.values(part, ids[1], ids[0])
    best = max(max(forth[i, j], back[j, i]) for i, j in product(range(len(senses[0])), range(len(senses[1]))))
    assert (looked.values.tolist(), looked.shared[0]) == ([best], bool(set(senses[0]) & set(senses[1])))


def test_a_map_answers_in_both_directions_and_words_of_one_sense_are_alike(small_map: SimilarityMap) -> None:
    pairs = pairs_of("verb", ("ride", "drive"), ("drive", "ride"), ("drive", "think"), ("ride", "think"))
    looked = quality.look_up(small_map, pairs)
    assert (looked.values[:2].tolist(), looked.covered.tolist()) == ([0.75, 0.75], [True, True, False, False])
    assert quality.look_up(small_map, pairs_of("object", ("car", "horse"))).values.tolist() == [0]
    # Words of one sense are alike without a rating.
    synonyms = pairs_of("object", ("horse", "Equus caballus"), ("car", "auto"))
    looked = quality.look_up(small_map, synonyms)
    assert (looked.shared.tolist(), looked.covered.tolist()) == ([True, False], [True, False])
    assert quality.look_up(WordNetSimilarity("wup"), synonyms).shared.all()
    # Pairs that all similarities cover.
    assert not quality.look_up(WordNetSimilarity("path"), pairs_of("verb", ("xyzzy", "ride"))).covered.any()
    pairs = pairs_of("verb", ("ride", "drive"), ("eat", "think"))
    both = [quality.look_up(similarity, pairs) for similarity in (small_map, WordNetSimilarity("wup"))]
    assert quality.covered_by_all(both).tolist() == [True, False]


def test_the_interval_is_that_of_bonett_and_wright() -> None:
    # Squared differences of ranks add up to 60: rho = 1 - 6 * 60 / 720. In Fisher's z, 0.5493 -+ 1.96 sqrt(1.125 / 6).
    found = quality.correlation(np.array([6.0, 4, 3, 2, 5, 1, 8, 7, 9]), np.arange(9.0))
    assert (found.rho, found.low, found.high) == pytest.approx((0.5, -0.2907, 0.8849), abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10)), min_size=5, max_size=40))
def test_an_interval_holds_its_rho_and_no_rho_has_none(rows: list[tuple[int, int]]) -> None:
    values, human = np.array(rows, np.float64).T
    found = quality.correlation(values, human)
    if found.rho is None:
        assert len(set(values)) == 1 or len(set(human)) == 1
    elif abs(found.rho) < 1:
        assert found.low is not None
        assert found.high is not None
        assert -1 < found.low < found.rho < found.high < 1


def test_the_program_prints_both_parts_and_answers_mistakes_with_a_line(
    simlex: Path, small_map: SimilarityMap, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str) -> None:
        monkeypatch.setattr(sys, "argv", ["map-quality", name, "--human", str(simlex)])
        run_path(str(SCRIPTS / "map-quality"), run_name="__main__")

    run(str(simlex.parent / "small"))
    text = capsys.readouterr().out
    assert says(text, "verbs: 4 pairs", "1 ", "\n", "nouns: 2 pairs")
    assert {line.split()[0] for line in text.splitlines() if line.strip()} >= {"path", "wup", "hico-det"}
    with pytest.raises(SystemExit, match="2"):
        run("nowhere")
    assert capsys.readouterr().err.splitlines()[-1].startswith("map-quality: unknown similarity")


def test_gloss_embeddings_are_a_similarity_like_others(reader: Any) -> None:
    if lacking := gloss_similarity.missing():
        pytest.skip(f"{', '.join(lacking)} not installed: {gloss_similarity.HOW}")
    similarity = gloss_similarity.GlossSimilarity()
    values = similarity.between("object", ["horse.n.01", "car.n.01"], ["horse.n.01", "pony.n.05", "car.n.01"])
    assert values[0, 0] == pytest.approx(1)
    assert values[0, 1] > values[0, 2]
    again = similarity.between("object", ["car.n.01"], ["horse.n.01", "pony.n.05", "car.n.01"])
    assert values[1].tolist() == pytest.approx(again[0].tolist())


@pytest.mark.real_data
def test_the_shipped_map_beside_people(shared_data: Path) -> None:
    human = quality.read_simlex(shared_data / "human_similarity" / "SimLex-999.txt")
    assert {part: len(pairs) for part, pairs in human.items()} == {"verb": 222, "object": 666}
    shipped = SimilarityMap.load("hico-det")
    for part, pairs in human.items():
        looked = quality.look_up(shipped, pairs)
        found = quality.correlation(looked.values[looked.covered], pairs.human[looked.covered])
        assert found.pairs > 30
        assert found.rho is not None
        assert found.low is not None
        assert found.low > 0, f"{part}: people and the map do not agree at all"
