"""Accuracy by group: figures by hand, intervals by concept."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import shoe
from shoe.scoring.bongard.score import RESAMPLES, Answers, Counting, accuracy, score_problems
from tests.scoring.bongard.made import predicted, problems_of


def answers(right: list[tuple[bool, bool]]) -> Answers:
    yes = np.array([(first, not second) for first, second in right])
    return Answers.from_masks(yes, np.ones(len(right), bool), np.ones(len(right), bool))


def test_the_average_is_the_plain_mean_of_groups() -> None:
    problems = problems_of(5, ("a", "b"))  # a has the problems 0, 2, 4
    found = accuracy(problems, answers([(True, True), (True, False), (False, True), (False, False), (True, True)]))
    accuracies = found.groups["a"].accuracy, found.groups["b"].accuracy, found.average
    assert accuracies == pytest.approx((5 / 6, 1 / 4, (5 / 6 + 1 / 4) / 2))
    counts = {name: count for name, count in found.groups["b"].outcomes.to_dict().items() if count}
    assert counts == {"right": 1, "missed": 1, "falsely_found": 2}
    assert found.interval is None  # one concept has nothing to be resampled


def test_intervals_resample_concepts() -> None:
    """Four problems of one concept are all right, four of another all wrong: a half, and nobody knows which comes."""
    problems = problems_of(8)
    other = problems.regions.verb.copy()
    other[problems.positives[4:]] = 2
    problems = replace(problems, regions=replace(problems.regions, verb=other, verbs=("ride", "feed", "pet")))
    (found,) = accuracy(problems, answers([(True, True)] * 4 + [(False, False)] * 4)).groups.values()
    assert (found.accuracy, found.concepts, found.problems) == (0.5, 2, 8)
    assert found.interval == (0.0, 1.0)
    (sure,) = accuracy(problems, answers([(True, False)] * 8)).groups.values()
    assert sure.interval == (0.5, 0.5)
    halves = replace(problems, groups=("a", "b"), group=np.array([0, 1] * 4, np.int32))
    for last, *expected in (
        ([(False, True)] * 4, (0.5, 1.0), (0.5, 1.0), (0.5, 1.0)),
        ([(False, False), (True, True)] * 2, (0.0, 1.0), (1.0, 1.0), (0.5, 1.0)),
    ):
        both = accuracy(halves, answers([(True, True)] * 4 + last))
        assert [both.groups["a"].interval, both.groups["b"].interval, both.interval] == expected
    assert RESAMPLES >= 1000


def test_boxes_that_miss_most_crops_are_reported() -> None:
    """Boxes in thousandths lie outside the crops, and were counted as if nothing had been detected."""
    table = predicted(([[("ride", "horse")]] * 7 + [[("feed", "horse")]] * 7) * 3)
    fixed = problems_of(3), shoe.benchmark("hico-det").classes, shoe.load_similarity("identity")

    def notes(shift: Any, region: Literal["crop", "image"] = "crop") -> tuple[str, ...]:
        return score_problems(
            replace(table, human_boxes=table.human_boxes + shift), *fixed, Counting(region=region)
        ).notes

    (line,) = notes(200)
    assert line.startswith("boxes: 42 of 42 ")
    assert "--boxes" in line
    assert notes(0) == notes(200, "image") == notes(200 * (np.arange(42) % 2)[:, None]) == ()
