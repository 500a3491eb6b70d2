"""Accuracy of answers, and sampling of problems."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.scoring.bongard.build import Pool, Sampling, sample
from shoe.scoring.bongard.score import RESAMPLES, Answers, Counting, accuracy, score_problems
from tests.examples import examples
from tests.oracles import bongard as literal
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


sizes = st.lists(st.integers(1, 3), min_size=6, max_size=30)


def pools(*counts: list[int]) -> tuple[list[Pool], list[list[list[int]]]]:
    """Two pools with so many regions in each image, and the same as lists."""
    made, lists, first = [], [], 0
    for of in counts:
        image = np.repeat(np.arange(len(of)), of)
        regions = first + np.arange(len(image))
        shuffled = np.random.default_rng(len(of)).permutation(len(image))
        made.append(Pool.from_regions(np.sort(regions[shuffled]), image))
        lists.append([regions[image == k].tolist() for k in range(len(of))])
        first += len(image)
    return made, lists


@given(sizes, sizes, st.integers(0, 9), st.integers(1, 6), st.integers(1, 8), st.integers(1, 40))
@examples(1)
def test_it_draws_what_the_algorithm_says(
    positives: list[int], negatives: list[int], seed: int, overlap: int, most: int, rejections: int
) -> None:
    (shown, others), lists = pools(positives, negatives)
    how = Sampling(seed=seed, overlap=overlap, most=most, rejections=rejections)
    found = sample("ride horse", shown, others, how)
    expected = literal.sampled("ride horse", lists[0], lists[1], seed, overlap, most, rejections)
    assert found.tolist() == [list(each) for each in expected]


@pytest.mark.slow
@pytest.mark.parametrize(("most", "rejections"), [(400, 9), (60, 400)])
def test_it_does_so_however_long_it_draws(most: int, rejections: int) -> None:
    """Until nine rejections in a row, with more of them in all; and past many candidates, most of them rejected."""
    (positives, negatives), lists = pools([2] * 14, [1] * 16)
    found = sample("x", positives, negatives, Sampling(overlap=9, most=most, rejections=rejections))
    expected = literal.sampled("x", lists[0], lists[1], 0, 9, most, rejections)
    assert found.tolist() == [list(each) for each in expected]
    assert len(found) > 7


def test_seed_and_concept_decide() -> None:
    (positives, negatives), _ = pools([1] * 20, [1] * 20)
    drawn = [
        sample(name, positives, negatives, Sampling(seed=seed, most=1)).tolist()
        for name, seed in (("a", 0), ("b", 0), ("a", 1), ("a", 0))
    ]
    assert drawn[0] == drawn[3]
    assert drawn[0] not in drawn[1:3]
