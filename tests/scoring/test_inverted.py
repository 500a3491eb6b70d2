"""Scores of which the lowest is the best are reported; scores that mean little are not."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.interactions import Interactions
from shoe.scoring.score import Report, score
from tests.predictions import weak

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> GroundTruth:
    return read_truth_file(shared_data / "hico_det" / "instances_test2015.json")


def part(truth: GroundTruth, rng: np.random.Generator, images: int) -> GroundTruth:
    return replace(truth, interactions=weak.part(truth.interactions, rng, images))


def scored(table: Interactions, truth: GroundTruth) -> Report:
    return score(table, truth, protocols=["hico-det"])


def lines(report: Report) -> list[str]:
    return [line for line in report.warnings if line.startswith("scores:")]


def area_of(line: str) -> float:
    return float(line.split("AUC ")[1].split()[0])


def test_inverted_scores_are_reported(annotated: GroundTruth) -> None:
    rng = np.random.default_rng(0)
    for knows in (0.5, 1, 3):
        truth = part(annotated, rng, 120)
        table = weak.detector(truth.interactions, rng, jitter=0.02, wrong_object=0, extra=1, knows=knows)
        assert lines(scored(table, truth)) == []
        (line,) = lines(scored(replace(table, score=1 - table.score), truth))
        assert 0 <= area_of(line) < 0.5
        assert lines(scored(replace(table, score=np.full(len(table), 0.3)), truth)) == []


def test_scores_of_other_predictions_are_reported(annotated: GroundTruth) -> None:
    rng = np.random.default_rng(0)
    truth = part(annotated, rng, 1000)
    table = weak.detector(truth.interactions, rng, jitter=0.02, wrong_verb=0.5, extra=1)
    assert lines(scored(table, truth)) == []
    (line,) = lines(scored(replace(table, score=rng.permutation(table.score)), truth))
    assert 0.45 < area_of(line.replace(",", " ")) < 0.55


def test_inverted_scores_of_a_weak_file_are_reported_with_both_scores(annotated: GroundTruth) -> None:
    """Of a file with 5 to 10 mAP."""
    rng = np.random.default_rng(0)
    truth = part(annotated, rng, 300)
    table = weak.detector(truth.interactions, rng, jitter=0.1, wrong_verb=0.8, missed=0.6, extra=1, knows=0.5)
    right, found = (scored(replace(table, score=scores), truth) for scores in (table.score, 1 - table.score))
    assert 0.05 < (right.strict_results[0].map or 0) < 0.1
    assert lines(right) == []
    (line,) = lines(found)
    means = [f"{100 * (each.strict_results[0].map or 0):.2f}" for each in (right, found)]
    assert re.findall(r"\d+\.\d\d", line)[-2:] == means


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 6), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_nothing_is_said_about_scores_that_mean_little(annotated: GroundTruth, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        truth = part(annotated, rng, int(rng.choice([40, 300])))
        assert lines(scored(weak.detector(truth.interactions, rng, **weak.random_quality(rng)), truth)) == []


def test_the_area_is_counted_pair_by_pair(annotated: GroundTruth) -> None:
    """With few tied values, so that ties occur: a pair of equal scores counts one half."""
    rng = np.random.default_rng(1)
    truth = part(annotated, rng, 200)
    table = weak.detector(truth.interactions, rng, jitter=0, wrong_verb=0.5, wrong_object=0, extra=3, knows=0.7)
    table = replace(table, score=np.round(1 - table.score, 1))
    report = scored(table, truth)
    (line,) = lines(report)
    rows = [row for row in range(len(table)) if report.task.hoi[row] >= 0]
    right = {row for row in rows if _is_right(table, truth, row)}
    pairs = [(table.score[a] > table.score[b]) + (table.score[a] == table.score[b]) / 2
             for a in right for b in rows if b not in right]  # fmt: skip
    assert area_of(line) == pytest.approx(np.mean(pairs), abs=0.02)


def _is_right(table: Interactions, truth: GroundTruth, row: int) -> bool:
    """Whether an annotation has the words of a prediction whose boxes are those of an annotation."""
    real = truth.interactions
    of_image = slice(*real.offsets[table.image[row] : table.image[row] + 2])
    near = (abs(real.human_boxes[of_image] - table.human_boxes[row]) <= 2).all(axis=1)
    near &= (abs(real.object_boxes[of_image] - table.object_boxes[row]) <= 2).all(axis=1)
    near &= (real.verb[of_image] == table.verb[row]) & (real.object[of_image] == table.object[row])
    return bool(near.any())
