"""Score a detector on Bongard problems by both oracles."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.signature import Signature, sign
from shoe.core.arrays import random_numbers
from shoe.core.documents import Count, Document, Fraction, Span
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.public import checked
from shoe.core.statistics import percentiles
from shoe.lexicon.resolve import lexicon_facts
from shoe.scoring.bongard.oracle import Answers, Counting, Outcome, Votes, detections, oracle, soft_oracle
from shoe.scoring.bongard.problems import Problems
from shoe.scoring.score import coordinate_names
from shoe.similarity.table import Similarity

# Accuracy by group, with intervals.
#
# The questions of one concept are answered alike: they share its pictures and the detector's skill at it. So intervals
# resample concepts, not questions; Wilson's, which takes questions for independent, would be too narrow.

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
    >>> from shoe.scoring.bongard.oracle import Answers
    >>> from shoe.scoring.bongard.problems import Problems, Regions
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


@dataclass(frozen=True, slots=True)
class BongardReport:
    """What the oracles make of a detector's predictions.

    Attributes:
        problems: how many were answered; a problem asks two questions.
        concepts, images: how many these are about.
        named_images: images that the predictions name, of those.
        oracle: by the paper's model.
        soft_oracle: by meaning.
        signature: how the figures came about.
        notes: what was noted in reading the predictions.
    """

    problems: int
    concepts: int
    images: int
    named_images: int
    oracle: Accuracy
    soft_oracle: Accuracy
    signature: Signature
    notes: tuple[str, ...]


class OutcomeCounts(Document, frozen=True):
    """Number of questions with each outcome."""

    right: Count
    nothing_detected: Count
    nothing_left: Count
    missed: Count
    falsely_found: Count


class GroupScore(Document, frozen=True, kw_only=True):
    """Accuracy on one group of problems, and its 95 % interval over resampled concepts."""

    group: str
    concepts: Count
    problems: Count
    accuracy: Fraction
    interval: Span | None = None
    outcomes: OutcomeCounts


class OracleScore(Document, frozen=True, kw_only=True):
    """Accuracy of one oracle: mean of the groups, and each group."""

    average: Fraction
    interval: Span | None = None
    groups: list[GroupScore]

    @classmethod
    def from_accuracy(cls, found: Accuracy) -> OracleScore:
        """Return an accuracy with its groups as a list."""
        groups = [
            GroupScore(
                group=name,
                concepts=group.concepts,
                problems=group.problems,
                accuracy=group.accuracy,
                interval=group.interval,
                outcomes=OutcomeCounts(**{code.name.lower(): group.outcomes.get(code, 0) for code in Outcome}),
            )
            for name, group in found.groups.items()
        ]
        return cls(average=found.average, interval=found.interval, groups=groups)


class BongardScore(Document, frozen=True):
    """Accuracy of predictions on Bongard problems by both oracles."""

    signature: str
    problems: Count
    concepts: Count
    images: Count
    named_images: Count
    oracle: OracleScore
    soft_oracle: OracleScore
    notes: list[str]

    @classmethod
    def from_report(cls, report: BongardReport) -> BongardScore:
        """Return a report as it is written to JSON."""
        return cls(
            signature=str(report.signature),
            problems=report.problems,
            concepts=report.concepts,
            images=report.images,
            named_images=report.named_images,
            oracle=OracleScore.from_accuracy(report.oracle),
            soft_oracle=OracleScore.from_accuracy(report.soft_oracle),
            notes=list(report.notes),
        )


@checked
def score_problems(
    predictions: Interactions,
    problems: Problems,
    classes: HoiClasses,
    similarity: Similarity,
    counting: Counting | None = None,
    votes: Votes = "image",
    images_in_predictions: bool = False,
) -> BongardReport:
    """Score predictions on problems.

    Predictions are for whole images, and their words need not be the problems'. ``classes`` and ``similarity`` are the
    soft oracle's, ``votes`` ("image" or "detection") the paper's oracle's. ``images_in_predictions`` leaves out
    problems of which the predictions do not name all fourteen images.

    Raises:
        InputError: where no image, or no whole problem, is named.
    """
    how, regions = counting or Counting(), problems.regions
    found = detections(predictions, problems, how)
    if images_in_predictions:
        problems = problems.select(np.flatnonzero(found.named[problems.rows].all(axis=1)))
    rows = np.unique(problems.rows)
    images = np.unique(regions.image[rows])
    named = np.unique(problems.regions.image[rows[found.named[rows]]])
    if not len(named):
        known = f"as {quote(regions.images[0])}"
        if images_in_predictions:
            raise InputError("predictions", field="image", found="none", expected=f"all images of a problem, {known}")
        named_first = quote(predictions.images[0]) if len(predictions.images) else "none"
        raise InputError("predictions", field="image", found=named_first, expected=f"images of the problems, {known}")
    notes = predictions.notes
    facts = {
        "coordinates": coordinate_names(predictions),
        **({} if notes is None else notes.facts),
        "bongard-problems": str(len(problems)),
        "problems-sha": digest(problems),
        "region": how.region,
        "top": str(how.top),
        "min-score": str(how.min_score).removesuffix(".0"),
        "votes": votes,
        "soft-classes": classes.digest,
        "map": similarity.name,
        "map-sha": similarity.digest,
        **lexicon_facts(),
    }
    return BongardReport(
        problems=len(problems),
        concepts=len(problems.concepts),
        images=len(images),
        named_images=len(named),
        oracle=accuracy(problems, oracle(problems, found, votes)),
        soft_oracle=accuracy(problems, soft_oracle(problems, found, classes, similarity)),
        signature=sign(facts),
        notes=() if notes is None else tuple(notes.lines()),
    )


def digest(problems: Problems) -> str:
    """8 hex digits of everything in problems that can change a figure."""
    regions, rows = problems.regions, problems.rows
    found = hashlib.sha256("\n".join(regions.images).encode())
    groups = np.array([hash_of(name) for name in problems.groups], np.uint64)[problems.group]
    for column in (regions.image[rows], regions.crops[rows], problems.concept, groups):
        found.update(np.ascontiguousarray(column).data)
    return found.hexdigest()[:8]


def hash_of(name: str) -> int:
    """A name as a number."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
