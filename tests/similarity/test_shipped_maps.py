"""The map that comes with shoe: what it holds, and that it is what was imported."""

import json
import pickle
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.core.io.files import data_folder
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of, names_of
from shoe.maps.learn import suspect_classes
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import RaterWeights
from shoe.similarity.learned import FILE as LEARNED
from shoe.similarity.map_files import ABOUT, FILES, shipped_maps
from shoe.similarity.pairs import parse_table


@pytest.mark.parametrize(
    ("part", "classes", "pairs", "non_zero"), [("verb", 151, 122_454, 27_253), ("object", 80, 50_543, 16_277)]
)
def test_counts(hico: SimilarityMap, part: Part, classes: int, pairs: int, non_zero: int) -> None:
    table = hico.tables[part]
    assert (len(table), len(table.classes)) == (pairs, classes)
    assert int((table.ratings > 0).any(axis=1).sum()) == non_zero
    about: dict[str, Any] = hico.about[f"{part}s"]
    assert (about["pairs"], about["class_synsets"], about["non_zero"]) == (pairs, classes, non_zero)
    assert about["sha256"] == hico.digests[part]


@pytest.mark.parametrize("part", ["verb", "object"])
def test_unrated_senses_get_credit_less_often_than_rated_senses(hico: SimilarityMap, part: Part) -> None:
    """A learned table in which nearly every unrated verb had a similarity to paint was included once."""
    assert hico.learned is not None
    table, pairs = hico.learned[part], hico.tables[part]
    classes, senses = table.classes, np.union1d(table.senses, pairs.sense)
    row, column = np.searchsorted(classes, pairs.class_sense), np.searchsorted(senses, pairs.sense)
    ratings = np.full((len(classes), len(senses)), np.nan)
    ratings[row, column] = 4 * hico.pair_values(part)
    assert suspect_classes(classes, 4 * table.expected(classes, senses), ratings) == []


def test_a_map_that_is_handed_to_another_process_needs_no_file_of_its_own(hico: SimilarityMap, tmp_path: Path) -> None:
    copytree(data_folder("similarity_maps") / "hico-det", tmp_path / "map")
    pickled = pickle.dumps(SimilarityMap.load(tmp_path / "map"))
    rmtree(tmp_path / "map")
    found = pickle.loads(pickled)
    assert (found.digest, found.concepts) == (hico.digest, hico.concepts)
    senses = [ids_of(names) for names in (["ride.v.01", "hold.v.02"], ["straddle.v.01", "sew.v.01"])]
    for values in ("values", "predicted"):
        here, there = (getattr(of, values)("verb", *senses) for of in (hico, found))
        assert np.array_equal(here, there, equal_nan=True)


def test_raters_and_provenance(hico: SimilarityMap) -> None:
    names = ["pass_a", "pass_b", "extension", "reading_c", "reading_d", "reading_e", "reading_f", "reading_g"]
    assert [rater.name for rater in hico.raters] == names
    weights, omits = (0.5, 0.5, 1, 1, 1, 0.5, 0.5, 1), (True, True, *[False] * 6)
    assert hico.rater_weights == RaterWeights(weights, omits)
    assert len({rater.model for rater in hico.raters}) == 1
    assert "not different models" in hico.about["provenance"]
    agreement = hico.about["agreement"]["verbs"]
    assert agreement["pass_a, pass_b"]["quadratic_weighted_kappa"] == 0.941
    assert agreement["reading_c, reading_d"]["quadratic_weighted_kappa"] == 0.79
    # What weights and omitted zeros rest on; map.json says it in words.
    assert agreement["shared_beyond_c"] > 0.5
    assert 0.3 < max(agreement["reading_g"]["shared_beyond_c"].values()) < 0.4
    assert agreement["controls"]["shared_beyond_c"] > 0.5
    of_one = agreement["mean of reading_d where reading_c is 1"]
    assert of_one["both lists 0"] >= of_one["never listed"]
    controls, suspects = (agreement[kind]["reading_e, reading_f"] for kind in ("controls", "suspects"))
    assert [found["pairs"] for found in (controls, suspects)] == [313, 140]
    assert controls["quadratic_weighted_kappa"] == 0.935
    assert suspects["quadratic_weighted_kappa"] == 0.815


@pytest.mark.parametrize(
    ("part", "class_synset", "synset", "ratings"),
    [
        ("verb", "ride.v.01", "straddle.v.01", [2, 2, None, 3, None, None, None, None]),
        ("verb", "ride.v.02", "straddle.v.01", [0, 1, None, 2, None, None, None, None]),
        ("verb", "ride.v.01", "range.v.04", [None, None, 0, None, None, None, None, None]),
        ("verb", "slide.v.03", "slip.v.08", [2, 2, None, 3, None, 3, 3, None]),
        ("object", "horse.n.01", "pony.n.01", [3, 3, None, None, None, None, None, None]),
        ("object", "horse.n.01", "shot_glass.n.01", [None, None, 0, None, None, None, None, None]),
    ],
)
def test_pinned(hico: SimilarityMap, part: Part, class_synset: str, synset: str, ratings: list[int | None]) -> None:
    assert list((hico.ratings(part, class_synset, synset) or {}).values()) == ratings


def test_every_class_sense_of_the_dataset_was_rated(hico: SimilarityMap) -> None:
    classes = benchmark("hico-det").classes
    assert set(classes.verb_synsets) - {""} <= set(names_of(list(hico.tables["verb"].classes)))
    studied = {sense for (part, _), sense in classes.study_senses.items() if part == "verb"}
    rated = set(names_of(list(hico.tables["verb"].classes)))
    assert studied - rated == {"lift.v.02", "check.v.01", "squash.v.01"}
    assert set(classes.object_synsets) == set(names_of(list(hico.tables["object"].classes)))


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_maps())
@pytest.mark.parametrize("part", ["verb", "object"])
def test_shipped_tables_pass_the_full_check(name: str, part: Part) -> None:
    """Loading trusts a table whose hash fits; here is the check that it saves."""
    path = data_folder("similarity_maps") / name / FILES[part]
    about = SimilarityMap.load(name).about
    raters = [rater["name"] for rater in about["raters"]]
    assert len(parse_table(path.read_bytes(), path, raters)) == about[f"{part}s"]["pairs"]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("name", shipped_maps())
def test_the_map_is_what_its_script_writes(name: str, shared_data: Path, tmp_path: Path) -> None:
    """All but the predictions, which ``shoe map learn`` adds: minutes of training, and not the same bytes on every
    machine."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "import-ratings"
    shipped_map = data_folder("similarity_maps") / name
    tables = shipped_map if name == "v-coco" else shared_data / "ratings"
    subprocess.run([sys.executable, script, name, tables, tmp_path], check=True, capture_output=True)
    for file in FILES.values():
        assert (tmp_path / file).read_bytes() == (shipped_map / file).read_bytes(), file
    said, written = (json.loads((folder / ABOUT).read_bytes()) for folder in (shipped_map, tmp_path))
    learned = {LEARNED} if "learned" in said else set()
    if learned:
        assert said.pop("learned")["sha256"] == sha256((shipped_map / LEARNED).read_bytes()).hexdigest()
    assert said == written
    assert {path.name for path in shipped_map.iterdir()} == {ABOUT, *learned, *FILES.values()}
