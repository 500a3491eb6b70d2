"""Bounds of a score under a map with gaps: by hand, against imputed values drawn at random, and on real annotations."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.benchmarks.truth import read_truth_file
from shoe.demo import PREDICTIONS, TRUTH
from shoe.maps.complete import bound_score
from shoe.predictions import read_predictions
from shoe.scoring.evidence.bounds import (
    OPTIONS,
    Imputation,
    OpenScore,
    false_positives,
    imputation_of,
    precision_bounds,
)
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import Similarity
from tests.oracles.scenes import random_scenes
from tests.scoring.compare import task_of
from tests.scoring.evidence.imputing import Gappy, completed
from tests.scoring.test_real_similarity import open_scenes


def scene_task(seed: int) -> Task:
    """A few images; every other time with words that the dataset does not have."""
    rng = np.random.default_rng(seed)
    return task_of(
        open_scenes(seed, 3) if seed % 2 else random_scenes(rng, 3, n_predictions=8, decimals=1, open_words=True)
    )


def pinned(scorer: Scorer, imputation: Imputation, seed: int) -> Matches:
    """Match by a scorer's similarities; false positives are of current's class, or of the other possible one."""
    matches = scorer.match(scorer.rows)
    current = false_positives(scorer, imputation.current, matches.unmatched)
    other = false_positives(scorer, imputation.guess, matches.unmatched, current)
    chance = np.random.default_rng(seed).random(len(matches.unmatched))
    return replace(matches, false_positive_of=np.where(chance < (seed % 3) / 2, other.category, current.category))


def outside(task: Task, similarity: Similarity, seeds: Sequence[int]) -> list[str]:
    """What drawn values score outside the bounds, where false positives and near repeats are those that they expect."""
    current = HoiSimilarity.from_task(task, similarity, OPTIONS)
    imputation = imputation_of(task, current)
    if imputation is None:
        return []
    near = Scorer(task, current, OPTIONS).near
    open_score = OpenScore.from_scorer(Scorer(task, imputation.low, OPTIONS, near), imputation)
    lowest, highest = precision_bounds(open_score, open_score.other)
    found = []
    for seed in seeds:
        similarities = completed(task, current, OPTIONS, seed)
        found += [f"{seed}: similarities" for _ in range(not _between(imputation, similarities))]
        scorer = Scorer(task, similarities, OPTIONS, near)
        scores = scorer.entries(pinned(scorer, imputation, seed)).scores()
        # Where there are too many orders of ties to list, they are drawn, and bounds are as sure as the draw.
        slack = 1e-9 + 6 * scores.error
        beyond = scorer.in_mean & ((scores.ap < lowest - slack) | (scores.ap > highest + slack))
        found += [f"{seed}: AP of class {k}" for k in np.flatnonzero(beyond)]
    return found


def _between(imputation: Imputation, similarities: HoiSimilarity) -> bool:
    return all(
        (low.values <= found.values + 1e-12).all() and (found.values <= high.values + 1e-12).all()
        for low, found, high in (
            (imputation.low.verbs, similarities.verbs, imputation.high.verbs),
            (imputation.low.objects, similarities.objects, imputation.high.objects),
        )
    )


@given(seed=st.integers(0, 1 << 20), share=st.sampled_from([0.0, 0.3, 0.7, 0.9]))
def test_no_drawn_values_score_outside(seed: int, share: float) -> None:
    assert outside(scene_task(seed), Gappy(seed, share), range(seed, seed + 3)) == []


def test_bounds_are_no_wider_than_known() -> None:
    assert bound_score(Gappy(5, 0.7), scene_task(5)).interval == pytest.approx((0.636619, 0.802330), abs=1e-6)


@pytest.mark.slow
def test_the_packaged_map_holds_its_bounds_on_the_sample() -> None:
    task = Task(read_predictions(PREDICTIONS["free text"]), read_truth_file(TRUTH))
    assert outside(task, shoe.load_similarity("hico-det"), range(8)) == []


@pytest.mark.slow
@pytest.mark.real_data
def test_the_packaged_map_holds_its_bounds_on_the_test_set(shared_data: Path) -> None:
    truth = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    assert outside(Task(to_words(truth), truth), shoe.load_similarity("hico-det"), range(3)) == []


def to_words(truth: shoe.GroundTruth) -> shoe.Interactions:
    """Predictions from annotations: each one again, every third with a confidence and every second verb exchanged."""
    table = truth.interactions
    rng = np.random.default_rng(7)
    free = ("straddling", "patting", "carrying", "looking at", "fixing", *table.verbs)
    verb = np.where(rng.random(len(table)) < 0.5, rng.integers(len(free), size=len(table)), table.verb + 5)
    score = np.where(rng.random(len(table)) < 0.3, rng.choice([0.5, 0.7, 0.9], len(table)), 1.0)
    return replace(table, verbs=free, verb=verb.astype(np.int32), score=score)
