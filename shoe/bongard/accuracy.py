"""Accuracy by group, with intervals.

The questions of one concept are answered alike: they share its pictures and the detector's skill at it. So intervals
resample concepts, not questions; Wilson's, which takes questions for independent, would be too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.bongard.oracle import Answers, Outcome
from shoe.bongard.problems import Problems
from shoe.core.seeded import random_numbers
from shoe.core.statistics import percentiles

RESAMPLES = 2000
_STREAM = 1 << 27


@dataclass(frozen=True, slots=True)
class GroupAccuracy:
    """How a group was answered.

    Attributes:
        concepts, problems: how many there are; a problem asks two questions.
        accuracy: share of the questions that were answered rightly.
        interval: 95 % by resampled concepts; None where there is only one.
        outcomes: how many questions ended how.
    """

    concepts: int
    problems: int
    accuracy: float
    interval: tuple[float, float] | None
    outcomes: dict[Outcome, int]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How all problems were answered.

    Attributes:
        groups: by name; those without problems are absent.
        average: plain mean of the groups, as the paper has it.
        interval: 95 %, the concepts of each group resampled; None where a group has only one.
    """

    groups: dict[str, GroupAccuracy]
    average: float
    interval: tuple[float, float] | None


def accuracy(problems: Problems, answers: Answers) -> Accuracy:
    """Measure answers; there is at least one problem.

    >>> import numpy as np
    >>> from shoe.bongard.oracle import Answers
    >>> from shoe.bongard.problems import Problems, Regions
    >>> boxes, none = np.zeros((2, 4)), np.zeros(2, np.int32)
    >>> verb, words = np.arange(2, dtype=np.int32), (("ride", "feed"), ("horse",))
    >>> regions = Regions(("a.jpg",), none, boxes, boxes, boxes, verb, none, *words)
    >>> one = Problems(regions, np.zeros((1, 7), int), np.ones((1, 7), int), ("seen_obj_seen_act",), none[:1])
    >>> accuracy(one, Answers.of(np.array([[True, True]]), np.array([True]), np.array([True]))).average
    0.5
    """
    groups, drawn = {}, []
    for number, name in enumerate(problems.groups):
        of = problems.group == number
        if not of.any():
            continue
        right = answers.right[of]
        _, concept = np.unique(problems.concept[of], return_inverse=True)
        asked = 2 * np.bincount(concept)
        correct = np.bincount(concept, right.sum(axis=1)).astype(np.float64)
        numbers = random_numbers(_STREAM + number, (RESAMPLES, len(asked)))
        rows = (numbers % np.uint64(len(asked))).astype(np.int64)
        draws = np.asarray(correct[rows].sum(axis=1) / asked[rows].sum(axis=1))
        found, times = np.unique(answers.outcome[of], return_counts=True)
        outcomes = {Outcome(code): count for code, count in zip(found.tolist(), times.tolist(), strict=True)}
        interval = percentiles(draws) if len(asked) > 1 else None
        groups[name] = GroupAccuracy(len(asked), int(of.sum()), float(right.mean()), interval, outcomes)
        drawn.append(draws)
    average = float(np.mean([group.accuracy for group in groups.values()]))
    whole = all(group.interval is not None for group in groups.values())
    return Accuracy(groups, average, percentiles(np.mean(drawn, axis=0)) if whole else None)
