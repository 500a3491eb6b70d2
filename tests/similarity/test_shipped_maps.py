"""The map that comes with shoe: what it holds, and that it is what was imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoe.benchmarks import benchmark
from shoe.core.shipped import shipped
from shoe.lexicon.expressions import Part
from shoe.lexicon.names import names_of
from shoe.similarity import SimilarityMap
from shoe.similarity.maps import FILES, shipped_maps
from shoe.similarity.pairs import parse_table


@pytest.fixture(scope="module")
def hico() -> SimilarityMap:
    return SimilarityMap.load("hico-det")


@pytest.mark.parametrize(
    ("part", "classes", "pairs", "non_zero"), [("verb", 133, 54_633, 10_077), ("object", 80, 23_885, 6_678)]
)
def test_counts(hico: SimilarityMap, part: Part, classes: int, pairs: int, non_zero: int) -> None:
    table = hico.tables[part]
    assert (len(table), len(table.classes)) == (pairs, classes)
    assert int((table.ratings > 0).any(axis=1).sum()) == non_zero
    about: dict[str, Any] = hico.about[f"{part}s"]
    assert (about["pairs"], about["class_synsets"], about["non_zero"]) == (pairs, classes, non_zero)
    assert about["sha256"] == hico.digests[part]


def test_raters_and_provenance(hico: SimilarityMap) -> None:
    assert [rater.name for rater in hico.raters] == ["pass_a", "pass_b", "extension"]
    assert len({rater.model for rater in hico.raters}) == 1
    assert "not different models" in hico.about["provenance"]
    assert hico.about["agreement"]["verbs"]["quadratic_weighted_kappa"] == 0.941
    assert hico.about["agreement"]["objects"]["exact"] == 0.955
    assert hico.digest == "ab76cfc4"


@pytest.mark.parametrize(
    ("part", "class_synset", "synset", "ratings"),
    [
        ("verb", "ride.v.01", "straddle.v.01", [2, 2, None]),
        ("verb", "ride.v.02", "straddle.v.01", [0, 1, None]),
        ("verb", "ride.v.01", "range.v.04", [None, None, 0]),
        ("object", "horse.n.01", "pony.n.01", [3, 3, None]),
        ("object", "horse.n.01", "shot_glass.n.01", [None, None, 0]),
    ],
)
def test_pinned_ratings(
    hico: SimilarityMap, part: Part, class_synset: str, synset: str, ratings: list[int | None]
) -> None:
    assert list((hico.ratings(part, class_synset, synset) or {}).values()) == ratings


def test_every_class_sense_of_the_dataset_was_rated(hico: SimilarityMap) -> None:
    classes = benchmark("hico-det").classes
    assert set(classes.verb_synsets) - {""} <= set(names_of(list(hico.tables["verb"].classes)))
    assert set(classes.object_synsets) == set(names_of(list(hico.tables["object"].classes)))


@pytest.mark.parametrize("name", shipped_maps())
@pytest.mark.parametrize("part", ["verb", "object"])
def test_shipped_tables_pass_the_full_check(name: str, part: Part) -> None:
    """Loading trusts a table whose hash fits; here is the check that it saves."""
    path = shipped("similarity_maps") / name / FILES[part]
    raters = [rater.name for rater in SimilarityMap.load(name).raters]
    assert len(parse_table(path.read_bytes(), path, raters)) == len(SimilarityMap.load(name).tables[part])


@pytest.mark.real_data
@pytest.mark.parametrize("part", ["verb", "object"])
def test_nothing_was_changed_on_import(shared_data: Path, part: Part) -> None:
    imported = (shipped("similarity_maps") / "hico-det" / FILES[part]).read_bytes()
    assert imported == (shared_data / "ratings" / f"hico_det_{FILES[part]}").read_bytes()


@pytest.mark.slow
@pytest.mark.real_data
def test_the_map_is_what_its_script_writes(shared_data: Path, tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "import-ratings"
    subprocess.run([sys.executable, script, shared_data / "ratings", tmp_path], check=True, capture_output=True)
    shipped_files = sorted((shipped("similarity_maps") / "hico-det").iterdir())
    assert [path.name for path in shipped_files] == sorted(path.name for path in tmp_path.iterdir())
    for path in shipped_files:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
