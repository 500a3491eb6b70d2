"""Bounds of a score under a map with gaps: by hand, against imputed values drawn at random, and on real annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoe
from shoe.benchmarks import read_ground_truth
from shoe.core.arrays import Indices
from shoe.demo import PREDICTIONS, TRUTH
from shoe.evidence import bounds, spread
from shoe.evidence.imputation import Imputation, imputation_of
from shoe.evidence.intervals import OpenScore, f1_bounds, false_positives, interval_of, other_class, precision_bounds
from shoe.matching.task import Task
from shoe.predictions import read_predictions
from shoe.protocols.named import SEMANTIC
from shoe.protocols.options import SemanticOptions, changed
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Matches, Scorer
from shoe.scoring.semantic import semantic_score
from tests.evidence.imputing import Gappy, completed
from tests.examples import examples
from tests.maps.samples import Rows, made
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import random_scenes, small_classes
from tests.scoring.test_real_similarity import open_scenes

CLASSES = small_classes()
SETTINGS: list[list[str]] = [
    [],
    ["assign=best-first"],
    ["assign=hungarian"],
    ["assign=confidence"],
    ["sigma-ties=iou"],
    ["sigma-ties=index"],
    ["min-sigma=positive"],
    ["min-sigma=delta", "assign=confidence", "ap=trapezoid"],
    ["missed=drop", "combine=minimum"],
    ["fp-scope=image"],
    ["delta-at=>", "combine=geometric"],
    ["ap=11-point", "map-tau=0.5"],
    ["ap=101-point", "cap=3"],
    ["ap=trapezoid", "ties=input"],
    ["ties=input", "tau-by=image"],
    ["classes=all", "f1-classes=counted"],
    ["senses=first", "sense=first"],
    ["no-interaction=exclude", "recall=truth"],
    ["sense=one"],
    ["unrated=wup"],
    ["direction=symmetric"],
    ["direction=symmetric", "sense=one", "repeats=matched"],
]


def scene_task(seed: int) -> Task:
    """A few images; every other time with words that the dataset does not have."""
    rng = np.random.default_rng(seed)
    found = open_scenes(seed, 3) if seed % 2 else random_scenes(rng, 3, n_predictions=8, decimals=1, open_words=True)
    truth, predictions = to_tables(found, CLASSES)
    return Task(predictions, truth)


def pinned(scorer: Scorer, rows: Indices, imputation: Imputation, seed: int) -> Matches:
    """Match by a scorer's similarities; false positives are of today's class, or of the other possible one."""
    matches = scorer.match(rows)
    today = false_positives(scorer, imputation.today, matches.unmatched)
    other = other_class(scorer, imputation.guess, matches.unmatched, today)
    chance = np.random.default_rng(seed).random(len(matches.unmatched))
    return replace(matches, false_positive_of=np.where(chance < (seed % 3) / 2, other.category, today.category))


def outside(task: Task, today: HoiSimilarity, options: SemanticOptions, seeds: Sequence[int]) -> list[str]:
    """What drawn values score outside the bounds, when false positives are of the classes that the bounds expect."""
    imputation = imputation_of(task, today, options)
    if imputation is None:
        return []
    low = Scorer(task, imputation.low, options)
    for_map, for_f1 = (OpenScore.of(low, imputation, rows) for rows in (low.map_rows, low.f1_rows))
    lowest, highest = precision_bounds(for_map, for_map.other)
    low_f1, high_f1 = f1_bounds(for_f1)
    found = []
    for seed in seeds:
        similarities = completed(task, today, options, seed)
        found += [f"{seed}: similarities" for _ in range(not _between(imputation, similarities))]
        scorer = Scorer(task, similarities, options)
        scores = scorer.entries(pinned(scorer, scorer.map_rows, imputation, seed)).scores()
        # Where there are too many orders of ties to list, they are drawn, and bounds are as sure as the draw.
        slack = 1e-9 + 6 * scores.error
        beyond = scorer.in_mean & ((scores.ap < lowest - slack) | (scores.ap > highest + slack))
        found += [f"{seed}: AP of class {k}" for k in np.flatnonzero(beyond)]
        f1 = mean_over(*scorer.f1(pinned(scorer, scorer.f1_rows, imputation, seed)))
        if f1 is not None and not _at_most(low_f1, f1) & _at_most(f1, high_f1):
            found.append(f"{seed}: F1 {f1}, {low_f1} to {high_f1}")
    return found


def _at_most(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a <= b + 1e-9


def _between(imputation: Imputation, similarities: HoiSimilarity) -> bool:
    return all(
        (low.values <= found.values + 1e-12).all() and (found.values <= high.values + 1e-12).all()
        for low, found, high in (
            (imputation.low.verbs, similarities.verbs, imputation.high.verbs),
            (imputation.low.objects, similarities.objects, imputation.high.objects),
        )
    )


@pytest.mark.parametrize("settings_", SETTINGS, ids=" ".join)
@examples(0.2)
@given(seed=st.integers(0, 1 << 20), share=st.sampled_from([0.0, 0.3, 0.7, 0.9]))
def test_no_drawn_values_score_outside(settings_: list[str], seed: int, share: float) -> None:
    task, options = scene_task(seed), changed(SEMANTIC["shoe"], settings_)
    today = HoiSimilarity.of(task, Gappy(seed, share), options)
    assert outside(task, today, options, range(seed, seed + 3)) == []


@given(seed=st.integers(0, 1 << 20), share=st.sampled_from([0.0, 0.5, 0.9]), which=st.sampled_from(SETTINGS))
def test_todays_score_is_inside(seed: int, share: float, which: list[str]) -> None:
    task, options = scene_task(seed), changed(SEMANTIC["shoe"], which)
    today = HoiSimilarity.of(task, Gappy(seed, share), options)
    imputation = imputation_of(task, today, options)
    result = semantic_score(task, today, options)
    if imputation is None or result.map is None or result.mf1 is None:
        return
    found = interval_of(task, imputation, result)
    assert found.map is not None
    assert found.mf1 is not None
    assert found.map[0] <= result.map <= found.map[1]
    assert found.mf1[0] <= result.mf1 <= found.mf1[1]


HUMAN, THING = (10.0, 10.0, 60.0, 110.0), (30.0, 50.0, 130.0, 120.0)
FAR = ((210.0, 10.0, 260.0, 110.0), (230.0, 50.0, 330.0, 120.0))


def report_of(folder: Path, rows: Rows, truth: Sequence[Triplet], said: Sequence[Triplet], *options: str) -> Report:
    made(folder / "map", rows)
    scene = ImageScene("HICO_test2015_00000001.jpg", truth=list(truth), predictions=list(said))
    tables = to_tables([scene], CLASSES)
    return shoe.score(tables[1], tables[0], similarity=folder / "map", protocols=["shoe"], options=options)


def on_pair(verb: str, noun: str = "horse", score: float = 1.0) -> Triplet:
    return Triplet(HUMAN, THING, verb, noun, score)


# The verb sense of "ride horse" is ride.v.01; "straddle" has three senses.
RATED = {"ride.v.01 straddle.v.01": (2, 2), "horse.n.01 pony.n.01": (4, 4)}
REST = {f"ride.v.01 {sense}": (0, 0) for sense in ("range.v.04", "straddle.v.03")}


def test_one_match_may_be_worth_all_that_its_verb_may(tmp_path: Path) -> None:
    found = bounds(report_of(tmp_path, RATED, [on_pair("ride")], [on_pair("straddle")]))
    assert found is not None
    # One match of credit c: precision and recall are c; those of F1 are c and 1.
    assert found.map == pytest.approx((0.75**2, 1.0), abs=1e-6)
    assert found.mf1 == pytest.approx((2 * 0.75 / 1.75, 1.0), abs=1e-6)
    assert found.unrated_pairs == len(REST)


def test_who_is_better_in_any_case_leaves_nothing_open(tmp_path: Path) -> None:
    said = [on_pair("straddle", score=0.5), on_pair("ride", score=0.9)]
    # "ride" is 1 in any case and more confident than "straddle", which is a false positive below the match in any case.
    assert bounds(report_of(tmp_path, RATED, [on_pair("ride")], said)) is None


def test_an_unmatched_prediction_that_may_match_is_an_open_false_positive(tmp_path: Path) -> None:
    said = [on_pair("straddle", score=0.9), on_pair("ride", score=0.5)]
    found = bounds(report_of(tmp_path, RATED, [on_pair("ride")], said))
    # "straddle" may be 1 as well and then matches before "ride", which is the false positive; else it is, on top.
    assert found is not None
    assert found.map is not None
    assert found.map[0] <= 0.5
    assert found.map[1] == pytest.approx(1.0, abs=1e-6)
    assert found.unrated_pairs == len(REST)


def test_what_nobody_looks_up_keeps_nothing_open(tmp_path: Path) -> None:
    report = report_of(tmp_path, RATED | REST, [on_pair("ride")], [on_pair("straddle", "horse")])
    assert bounds(report) is None


@pytest.mark.parametrize("similarity", ["identity", "path", "wup"])
def test_measures_leave_nothing_open(similarity: str) -> None:
    report = shoe.score(
        read_predictions(PREDICTIONS["free text"]), read_ground_truth(TRUTH), similarity=similarity, protocols=["shoe"]
    )
    assert bounds(report) is None
    assert spread(report) is None


def test_there_are_no_bounds_where_ratings_decide_who_takes_part(tmp_path: Path) -> None:
    assert bounds(report_of(tmp_path, RATED, [on_pair("ride")], [on_pair("straddle")], "unrated=drop")) is None


def test_without_truth_or_predictions_there_is_nothing_to_bound(tmp_path: Path) -> None:
    assert bounds(report_of(tmp_path, RATED, [], [on_pair("straddle")])) is None
    assert bounds(report_of(tmp_path / "no predictions", RATED, [on_pair("ride")], [])) is None


def test_the_packaged_map_holds_its_bounds_on_the_sample() -> None:
    task = Task(read_predictions(PREDICTIONS["free text"]), read_ground_truth(TRUTH))
    options = SEMANTIC["shoe"]
    today = HoiSimilarity.of(task, shoe.load_similarity("hico-det"), options)
    assert outside(task, today, options, range(8)) == []


@pytest.mark.slow
@pytest.mark.real_data
def test_the_packaged_map_holds_its_bounds_on_the_test_set(shared_data: Path) -> None:
    truth = read_ground_truth(shared_data / "hico_det" / "instances_test2015.json")
    said = to_words(truth)
    task, options = Task(said, truth), SEMANTIC["shoe"]
    today = HoiSimilarity.of(task, shoe.load_similarity("hico-det"), options)
    assert outside(task, today, options, range(3)) == []


def to_words(truth: shoe.GroundTruth) -> shoe.Interactions:
    """Predictions from annotations: each one again, every third with a confidence and every second verb exchanged."""
    table = truth.interactions
    rng = np.random.default_rng(7)
    free = ("straddling", "patting", "carrying", "looking at", "fixing", *table.verbs)
    verb = np.where(rng.random(len(table)) < 0.5, rng.integers(len(free), size=len(table)), table.verb + 5)
    return shoe.Interactions.from_columns(
        images=table.images,
        image=table.image,
        human_boxes=table.human_boxes,
        object_boxes=table.object_boxes,
        verb=verb,
        object=table.object,
        verbs=free,
        objects=table.objects,
        score=np.where(rng.random(len(table)) < 0.3, rng.choice([0.5, 0.7, 0.9], len(table)), 1.0),
        sizes=table.sizes,
        coordinates=table.coordinates,
    )
