"""Plausibility check of maps: shipped maps pass, and each kind of implausible value is found."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoe.lexicon.store import ids_of
from shoe.maps.check import check_map
from shoe.maps.info import describe
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.learned import learned_bytes
from shoe.similarity.map_files import shipped_maps
from tests.tables import pairs_by_name


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_maps())
def test_shipped_maps_are_plausible(name: str) -> None:
    found = check_map(SimilarityMap.load(name))
    for of_part in found.values():
        assert (of_part.problems, len(of_part.surprising)) == ([], 20)
        assert 0 < of_part.median_share < max(of_part.broad_classes.values()) < 0.25


def made(folder: Path, ratings: dict[tuple[str, str], int], **more: object) -> SimilarityMap:
    tables = {"verb": RatedPairs.empty(1), "object": pairs_by_name({p: [r] for p, r in ratings.items()}, 1)}
    write_map(folder, dataset="mine", raters=[Rater("me", "me")], pairs=tables, **more)  # type: ignore[arg-type]
    return SimilarityMap.load(folder)


def test_the_order_of_two_class_senses_and_of_hypernyms_and_siblings(tmp_path: Path) -> None:
    ratings = {("horse.n.01", "dog.n.01"): 4, ("dog.n.01", "horse.n.01"): 1}
    ratings |= {("dog.n.01", "canine.n.02"): 1, ("dog.n.01", "wolf.n.01"): 3, ("dog.n.01", "fox.n.01"): 2}
    info = describe(made(tmp_path / "map", ratings), check=True)
    assert info.check is not None
    found = info.check["objects"]
    assert (found.classes, found.asymmetry, found.hypernyms, found.siblings) == (2, 3, 1, 2.5)
    assert found.surprising == []  # the map has no predictions
    assert sum("differ by 3.00 of 4" in line or "less similar (1.00 of 4)" in line for line in info.warnings) == 2
    assert describe(SimilarityMap.load(tmp_path / "map")).check is None


def test_a_class_that_is_similar_to_nearly_all_senses(tmp_path: Path) -> None:
    """A shipped table in which nearly every unrated verb had a similarity to paint."""
    hico = SimilarityMap.load("hico-det")
    assert hico.learned is not None
    verbs = hico.learned["verb"]
    (paint,) = np.flatnonzero(verbs.classes == ids_of(["paint.v.02"]))
    levels = verbs.levels.copy()
    levels[:, paint // 2] = levels[:, paint // 2] & (0x0F if paint % 2 else 0xF0) | (0xA0 if paint % 2 else 0x0A)
    content = learned_bytes({"verb": replace(verbs, levels=levels), "object": hico.learned["object"]})
    write_map(tmp_path / "map", dataset="hico-det", raters=hico.raters, pairs=hico.tables, learned=(content, {}))
    found = check_map(SimilarityMap.load(tmp_path / "map"))["verbs"]
    assert found.broad_classes["paint.v.02"] > 0.7
    assert [line.split()[1] for line in found.problems] == ["paint.v.02"]
