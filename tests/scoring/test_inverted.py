"""Scores of which the lowest is the best are reported; scores that mean little are not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.interactions import Interactions
from shoe.scoring.score import score
from tests.predictions import weak


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> GroundTruth:
    return read_truth_file(shared_data / "hico_det" / "instances_test2015.json")


def lines(table: Interactions, truth: GroundTruth) -> list[str]:
    report = score(table, truth, protocols=["hico-det"])
    return [line for line in report.warnings if line.startswith("scores:")]


@pytest.mark.real_data
def test_inverted_scores_are_reported(annotated: GroundTruth) -> None:
    rng = np.random.default_rng(0)
    for knows in (0.5, 1, 3):
        truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, 300))
        table = weak.detector(truth.interactions, rng, jitter=0.02, wrong_object=0, extra=1, knows=knows)
        assert lines(table, truth) == []
        (line,) = lines(replace(table, score=1 - table.score), truth)
        assert "right predictions have lower scores than wrong ones (AUC 0." in line
        same = replace(table, score=np.full(len(table), 0.3))
        assert lines(same, truth) == []


@pytest.mark.real_data
def test_inverted_scores_of_a_weak_file_are_reported_with_both_scores(annotated: GroundTruth) -> None:
    """Of a file with 5 to 10 mAP."""
    rng = np.random.default_rng(0)
    truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, 300))
    table = weak.detector(truth.interactions, rng, jitter=0.1, wrong_verb=0.8, missed=0.6, extra=1, knows=0.5)
    right = score(table, truth, protocols=["hico-det"])
    assert right.strict is not None
    assert 0.05 < (right.strict.map or 0) < 0.1
    assert lines(table, truth) == []
    inverted = replace(table, score=1 - table.score)
    (line,) = lines(inverted, truth)
    found = score(inverted, truth, protocols=["hico-det"]).strict
    assert found is not None
    assert line.endswith(f"(strict mAP {100 * (right.strict.map or 0):.2f} instead of {100 * (found.map or 0):.2f})")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("seed", "count"), [(0, 6), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_nothing_is_said_about_scores_that_mean_little(annotated: GroundTruth, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, int(rng.choice([40, 300]))))
        assert lines(weak.detector(truth.interactions, rng, **weak.random_quality(rng)), truth) == []


@pytest.mark.real_data
def test_the_area_is_counted_pair_by_pair(annotated: GroundTruth) -> None:
    """With few tied values, so that ties occur: a pair of equal scores counts one half."""
    rng = np.random.default_rng(1)
    truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, 200))
    table = weak.detector(truth.interactions, rng, jitter=0, wrong_verb=0.5, wrong_object=0, extra=3, knows=0.7)
    table = replace(table, score=np.round(1 - table.score, 1))
    report = score(table, truth, protocols=["hico-det"])
    rows = [row for row in range(len(table)) if report.task.hoi[row] >= 0]
    right = {row for row in rows if _is_right(table, truth, row)}
    pairs = [(table.score[a] > table.score[b]) + (table.score[a] == table.score[b]) / 2
             for a in right for b in rows if b not in right]  # fmt: skip
    (line,) = (line for line in report.warnings if line.startswith("scores:"))
    assert float(line.split("AUC ")[1].split()[0]) == pytest.approx(np.mean(pairs), abs=0.02)


def _is_right(table: Interactions, truth: GroundTruth, row: int) -> bool:
    """Whether an annotation has the words of a prediction whose boxes are those of an annotation."""
    real = truth.interactions
    for t in range(*real.offsets[table.image[row] : table.image[row] + 2]):
        near = abs(real.human_boxes[t] - table.human_boxes[row]) <= 2
        near &= abs(real.object_boxes[t] - table.object_boxes[row]) <= 2
        if near.all() and (real.verb[t], real.object[t]) == (table.verb[row], table.object[row]):
            return True
    return False
