"""Two maps beside each other."""

from dataclasses import replace
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.maps.diff import MapDiff, ValueDifference, class_moves, lemmas_of, rescore, scored, semantic_of
from shoe.similarity import SimilarityMap
from tests.maps.samples import Rows, made

RIDE = {"straddle": 4, "eat": 0, "board": 4, "catch": 1}
OTHER: Rows = {f"ride.v.01 {verb}.v.01": (rating,) for verb, rating in RIDE.items()}
OTHER = {**OTHER, "feed.v.01 ride.v.01": (2,), "horse.n.01 pony.n.01": (None,)}


def test_counts_correlations_and_largest_disagreements(tmp_path: Path) -> None:
    parts = MapDiff.from_maps(made(tmp_path / "a"), made(tmp_path / "b", OTHER, ["three"])).parts
    verbs = parts["verb"]
    # Shared: straddle 0.625 and 1, eat 0 and 0, board 0.25 and 1. A pair that no rater rated is nobody's.
    assert (verbs.shared, verbs.only_a, verbs.only_b) == (3, 0, 2)
    assert verbs.mean_difference == pytest.approx((0.375 + 0.75) / 3)
    assert [verbs.pearson, verbs.spearman] == pytest.approx([0.8029551, 0.8660254], abs=1e-6)
    assert verbs.largest == [
        ValueDifference("ride.v.01", "board.v.01", 0.25, 1, [*map(lemmas_of, ("ride.v.01", "board.v.01"))]),
        ValueDifference("ride.v.01", "straddle.v.01", 0.625, 1, [*map(lemmas_of, ("ride.v.01", "straddle.v.01"))]),
    ]
    objects = parts["object"]
    assert (objects.shared, objects.only_a, objects.only_b, objects.largest) == (0, 2, 0, [])
    assert (objects.pearson, objects.spearman, objects.mean_difference) == (None, None, None)


def test_a_map_does_not_differ_from_itself() -> None:
    shipped = SimilarityMap.load("hico-det")
    for part, diff in MapDiff.from_maps(shipped, shipped).parts.items():
        assert (diff.shared, diff.only_a, diff.only_b) == (len(shipped.tables[part]), 0, 0)
        assert (diff.mean_difference, diff.largest) == (0, [])
        assert [diff.pearson, diff.spearman] == pytest.approx([1, 1])


def test_lemmas_and_glosses(tmp_path: Path) -> None:
    found = MapDiff.from_maps(made(tmp_path / "a"), made(tmp_path / "b", OTHER, ["three"])).with_glosses()
    assert lemmas_of("board.v.01") == "board, get on"
    beginnings = [[" ".join(gloss.split()[:3]) for gloss in pair.glosses or ()] for pair in found.verbs.largest]
    assert beginnings == [["sit and travel", "get on board"], ["sit and travel", "sit or stand"]]
    same = MapDiff.from_maps(made(tmp_path / "c"), made(tmp_path / "d"))
    assert same.with_glosses() == same


def test_scores_under_two_maps() -> None:
    shipped = SimilarityMap.load("hico-det", "mean")
    first = scored(PREDICTIONS["free text"], TRUTH, "hico-det", "hico-det")
    again = rescore(first, shipped)
    assert (again.signature, semantic_of(again).map) == (first.signature, semantic_of(first).map)
    assert class_moves(first, again) == []

    nobody = replace(shipped, tables={p: replace(t, ratings=t.ratings * 0) for p, t in shipped.tables.items()})
    zeros = rescore(first, nobody)
    moves = class_moves(first, zeros)
    assert semantic_of(zeros).map < semantic_of(first).map  # type: ignore[operator]
    assert moves == sorted(moves, key=lambda move: -abs(move.b - move.a))
    classes = first.truth.classes.labels
    ap = semantic_of(first).ap
    for move in moves:
        assert move.a == ap[classes.index(move.label)]
        assert move.ground_truths == first.truth.triplets_per_class[classes.index(move.label)]


def test_another_map_is_another_signature() -> None:
    first = scored(PREDICTIONS["free text"], TRUTH, "hico-det", "hico-det")
    fewer = rescore(first, SimilarityMap.load("hico-det", "mean").with_raters([2]))
    assert str(fewer.signature) != str(first.signature)
