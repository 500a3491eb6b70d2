"""What a map is said to hold, agreement of its raters, and its plausibility check."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.statistics import pearson, quadratic_weighted_kappa, spearman
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of
from shoe.maps.info import describe, rater_agreements
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.learned import learned_bytes
from shoe.similarity.map_files import shipped_maps
from tests.maps.samples import made, refused_at
from tests.tables import pairs_by_name


def test_counts_of_a_small_map(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", provenance="by hand", licence="CC0"))
    verbs = found.verbs
    assert (verbs.pairs, verbs.rated_pairs, verbs.class_senses) == (4, 3, 2)
    assert [rater.verbs.histogram for rater in found.raters] == [[1, 0, 0, 1, 0], [1, 1, 1, 0, 0]]
    assert [rater.objects.histogram for rater in found.raters] == [[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]]
    assert found.provenance == {"provenance": "by hand", "licence": "CC0"}
    (agreement,) = verbs.agreement
    assert (agreement.pairs, agreement.exact) == (2, 0.5)


def test_coverage_and_warnings(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", {"feed.v.02 eat.v.01": (None, None), "ride.v.01 sit.v.01": (1, None)}))
    coverage = found.parts["verb"].coverage
    assert coverage is not None
    assert (coverage["ride.v.01"], coverage["feed.v.02"], coverage["board.v.01"], len(coverage)) == (1, 0, 0, 119)
    assert {name for name in coverage if name not in (found.verbs.classes_without_ratings or ())} == {"ride.v.01"}
    absent, empty = r"verbs: 117 .* hico-det .* and 109 more$", r"verbs: 1 .* hico-det .*no rating; .*: feed\.v\.02$"
    expected = (absent, empty, r"verbs: rater 'two' ", r"objects: 80 .* hico-det ")
    assert all(re.match(said, line) for line, said in zip(found.warnings, expected, strict=True))


def test_a_rater_with_one_rating_for_all_pairs_is_a_warning(tmp_path: Path) -> None:
    verbs = "straddle eat walk sit run hold carry throw catch push"
    rows = {f"ride.v.01 {verb}.v.01": (0, number % 2) for number, verb in enumerate(verbs.split())}
    warnings = describe(made(tmp_path / "a", rows)).warnings
    (line,) = (line for line in warnings if "rater '" in line)
    assert re.match(r"verbs: rater 'one' .*\b10 .*\b0\b", line)
    assert not any("rater '" in line for line in describe(made(tmp_path / "b", dict(list(rows.items())[1:]))).warnings)


def test_an_unknown_dataset_has_no_coverage(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", dataset="my-set"))
    assert found.parts["verb"].coverage is None
    assert found.verbs.classes_without_ratings is None
    assert re.match("verbs: coverage .*'my-set'$", found.warnings[0])


@pytest.mark.parametrize("part", ["verb", "object"])
def test_the_shipped_map_agrees_with_what_it_says_of_itself(part: Part) -> None:
    similarity = SimilarityMap.load("hico-det")
    found = describe(similarity)
    assert found.warnings == [f"objects: rater 'reading_{letter}' rated no pair" for letter in "dg"]
    said, measured = similarity.about["agreement"][f"{part}s"]["pass_a, pass_b"], found.parts[part].agreement[0]
    assert measured.pairs == said["pairs"]
    for name in ("exact", "quadratic_weighted_kappa", "pearson"):
        assert getattr(measured, name) == pytest.approx(said[name], abs=5e-4)
    assert found.parts[part].rated_pairs == found.parts[part].pairs == similarity.about[f"{part}s"]["pairs"]
    rated = np.array(list((found.parts[part].coverage or {}).values()))
    assert rated.min() > 100


def test_what_map_json_says_of_raters_is_shown(tmp_path: Path) -> None:
    made(tmp_path / "a")
    about = json.loads((tmp_path / "a" / "map.json").read_text())
    about["raters"][0] |= {"refused": 3, "unparsable": 1}
    (tmp_path / "a" / "map.json").write_text(json.dumps(about))
    raters = describe(SimilarityMap.load(tmp_path / "a")).raters
    assert [rater.details for rater in raters] == [{"refused": 3, "unparsable": 1}, {}]


def test_prose_that_no_json_can_hold_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a")
    text = (tmp_path / "a" / "map.json").read_text().rstrip()
    (tmp_path / "a" / "map.json").write_text(text[:-1] + ', "deep": ' + "[" * 2000 + "]" * 2000 + "}")
    with refused_at("", "nested lists", source=str(tmp_path / "a" / "map.json")):
        SimilarityMap.load(tmp_path / "a")


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_maps())
def test_shipped_maps_are_plausible(name: str) -> None:
    for of_part in (describe(SimilarityMap.load(name), check=True).check or {}).values():
        assert (of_part.problems, len(of_part.surprising)) == ([], 20)
        assert 0 < of_part.median_share < max(of_part.broad_classes.values()) < 0.25


def test_the_order_of_two_class_senses_and_of_hypernyms_and_siblings(tmp_path: Path) -> None:
    ratings = {("horse.n.01", "dog.n.01"): 4, ("dog.n.01", "horse.n.01"): 1}
    ratings |= {("dog.n.01", "canine.n.02"): 1, ("dog.n.01", "wolf.n.01"): 3, ("dog.n.01", "fox.n.01"): 2}
    tables: dict[Part, RatedPairs] = {"verb": RatedPairs.empty(1)}
    tables["object"] = pairs_by_name({pair: [rating] for pair, rating in ratings.items()}, 1)
    write_map(tmp_path / "map", dataset="mine", raters=[Rater("me", "me")], pairs=tables)
    info = describe(SimilarityMap.load(tmp_path / "map"), check=True)
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
    # Few classes and objects, for speed; a byte has the levels of two classes.
    low, high = max(int(paint) // 2 - 6, 0), int(paint) // 2 + 6
    few = replace(verbs, classes=verbs.classes[2 * low : 2 * high], levels=levels[:, low:high])
    objects = hico.learned["object"]
    objects = replace(objects, classes=objects.classes[:2], senses=objects.senses[:50], levels=objects.levels[:50, :1])
    content = learned_bytes({"verb": few, "object": objects})
    tables = hico.tables | {"object": hico.tables["object"][:0]}
    write_map(tmp_path / "map", dataset="hico-det", raters=hico.raters, pairs=tables, learned=(content, {}))
    info = describe(SimilarityMap.load(tmp_path / "map"), check=True)
    assert info.check is not None
    found = info.check["verbs"]
    assert found.broad_classes["paint.v.02"] > 0.7
    assert [line.split()[1] for line in found.problems] == ["paint.v.02"]


_ratings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.array(pairs, np.int8).T
    return a, b


def kappa_of_matrices(a: np.ndarray, b: np.ndarray) -> float | None:
    """SHOE supplement, 5.3: 1 - sum(w O) / sum(w E), w = (i - j)**2 / (k - 1)**2; of one pair O is E."""
    if len(a) < 2:
        return None
    level = np.arange(5)
    observed = np.array([[((a == i) & (b == j)).sum() for j in level] for i in level])
    expected = np.outer([(a == i).sum() for i in level], [(b == j).sum() for j in level]) / len(a)
    weight = (level[:, None] - level) ** 2 / 16
    return float(1 - (weight * observed).sum() / (weight * expected).sum()) if (weight * expected).sum() else None


@given(_ratings)
def test_kappa_is_that_of_the_matrices_and_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    a, b = columns(pairs)
    kappa = kappa_of_matrices(a, b)
    assert quadratic_weighted_kappa(a, b) == (None if kappa is None else pytest.approx(kappa, abs=1e-12))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert (pearson(a, b), spearman(a, b)) == (None, None)
    else:
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_kappa_by_hand() -> None:
    # Observed: (1 + 0 + 1 + 0) / 4. Expected: each of 0, 1, 2, 4 against three times 1 and once 4, over 16.
    expected = (3 * (1 + 0 + 1 + 9) + (16 + 9 + 4 + 0)) / 16
    a, b = columns([(0, 1), (1, 1), (2, 1), (4, 4)])
    assert quadratic_weighted_kappa(a, b) == pytest.approx(1 - 0.5 / expected)


def test_kappa_of_nothing_and_of_one_value() -> None:
    nothing = np.zeros(0, np.int8)
    assert quadratic_weighted_kappa(nothing, nothing) is None
    assert quadratic_weighted_kappa(*columns([(2, 2), (2, 2)])) is None
    assert quadratic_weighted_kappa(*columns([(0, 4), (4, 0)])) == -1


def test_raters_are_compared_where_both_rated() -> None:
    ratings = np.array([[3, 2, -1], [0, 0, -1], [-1, 1, -1], [4, 4, -1]], np.int8)
    first, *others = rater_agreements(ratings, ["a", "b", "c"])
    assert (first.raters, first.pairs, first.exact) == (["a", "b"], 3, 2 / 3)
    assert first.pearson == pearson([3, 0, 4], [2, 0, 4])
    assert first.quadratic_weighted_kappa == quadratic_weighted_kappa(*columns([(3, 2), (0, 0), (4, 4)]))
    assert [found.raters for found in others] == [["a", "c"], ["b", "c"]]
    for found in others:
        assert (found.pairs, found.exact, found.pearson, found.quadratic_weighted_kappa) == (0, None, None, None)
