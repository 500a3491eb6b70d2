"""Scores of Bongard problems, and the oracle model of the Bongard-HOI supplement (C) that answers them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.benchmarks.protocols import Signature, sign
from shoe.core.arrays import Floats, Indices, Mask, expand, falling_order, index_in_group, random_numbers, runs
from shoe.core.boxes import CommonCoordinates, converted
from shoe.core.documents import Count, Document, Fraction, Span
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.interactions import Interactions, image_index
from shoe.core.public import checked
from shoe.core.statistics import percentiles
from shoe.lexicon.resolve import lexicon_facts
from shoe.scoring.bongard.problems import SHOTS, Problems, Regions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import coordinate_names
from shoe.similarity.table import Similarity

# The oracle model of the Bongard-HOI supplement (C): what only the positives show, by majority, is the concept.
#
# ``c_P = majority_vote(D^P - D^N)``, and a query is positive if ``c_P`` is detected in it. Of several winners one is
# enough. Nothing detected in the positives: no concept, and both answers are wrong, whatever the truth, even where
# nothing is detected in the query either. Nothing detected in the negatives: nothing is subtracted. Nothing detected in
# a
# query: it is negative, so right or wrong by the truth.
#
# The paper does not say what holds where the subtraction leaves nothing: here, as where nothing was detected. Nor
# whether
# votes are detections or images: here, a positive image has one vote for each interaction in it, unless asked
# otherwise.

# What a detector sees in the pictures of problems.
#
# Predictions are made for whole images, and found by the image's name; a picture is a crop. By default a prediction
# counts in a crop if at least half of its human box and half of its object box lie in it.

Region = Literal["crop", "image"]
REGIONS: tuple[Region, ...] = get_args(Region)
_INSIDE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Which predictions count in a picture.

    Attributes:
        region: "crop", those that lie in it; "image", all of the image's.
        top: the best so many of a picture, and all that tie with the last of them.
        min_score: and only those with at least this score.
    """

    region: Region = "crop"
    top: int = 10
    min_score: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.min_score):
            raise OptionError("min_score: found nan, expected a score")


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """The interactions detected in n regions; D of the paper.

    Attributes:
        region: (d,) region of each detection, ascending.
        interaction: (d,) index into the pairs of words.
        verb, object: (u,) words of each distinct pair, as indices into ``verbs`` and ``objects``.
        named: (n,) whether the predictions name the region's image at all.
    """

    region: Indices
    interaction: Indices
    verb: Indices
    object: Indices
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    named: Mask

    def counts(self) -> Any:
        """(n, u) sparse: how often each interaction was detected in each region."""
        from scipy.sparse import csr_array

        shape = len(self.named), len(self.verb)
        return csr_array((np.ones(len(self.region), np.int32), (self.region, self.interaction)), shape=shape)


def detections(predictions: Interactions, problems: Problems, how: Counting) -> Detections:
    """Find what predictions say of the pictures of problems.

    Args:
        predictions: of any detector; images are found by name, as they stand or without folder and ending.
        problems: whose pictures are looked at.
    """
    regions = problems.regions
    at = image_index(regions.images, predictions.images)[regions.image]
    first = np.where(at >= 0, predictions.offsets[at], 0)
    region, row = expand(first, np.where(at >= 0, predictions.offsets[at + 1] - first, 0))
    good = predictions.score[row] >= how.min_score
    if how.region == "crop":
        good &= _inside(predictions, regions, region, row)
    region, row = region[good], row[good]
    best = _best(region, predictions.score[row], how.top)
    region, row = region[best], row[best]
    words = max(1, len(predictions.objects))
    pairs, interaction = np.unique(
        predictions.verb[row].astype(np.int64) * words + predictions.object[row], False, True
    )
    verb, object_ = np.divmod(pairs, words)
    return Detections(region, interaction, verb, object_, predictions.verbs, predictions.objects, at >= 0)


def _inside(predictions: Interactions, regions: Regions, region: Indices, row: Indices) -> Mask:
    coordinates = np.broadcast_to(predictions.triplet_coordinates, (len(predictions),))[row]
    crops = regions.crops[region]
    good = np.ones(len(row), bool)
    for boxes in (predictions.human_boxes, predictions.object_boxes):
        edges = converted(boxes[row], coordinates, CommonCoordinates.EDGES)
        low, high = np.maximum(edges[:, :2], crops[:, :2]), np.minimum(edges[:, 2:], crops[:, 2:])
        good &= _area(low, high) >= _INSIDE * _area(edges[:, :2], edges[:, 2:])
    return good


def _area(low: Floats, high: Floats) -> Floats:
    return np.asarray(np.maximum(high - low, 0).prod(axis=1))


def _best(region: Indices, score: Floats, top: int) -> Indices:
    """Rows of the best of each region, and of those that tie with the last of them; ascending."""
    if not len(region):
        return region
    order = falling_order(score)
    order = order[np.argsort(region[order], kind="stable")]
    sizes = np.bincount(region)
    sizes = sizes[sizes > 0]
    end = np.cumsum(sizes)
    last = score[order[np.minimum(end - sizes + top, end) - 1]]
    keep = (index_in_group(sizes) < top) | (score[order] == np.repeat(last, sizes))
    return np.sort(order[keep])


Votes = Literal["image", "detection"]
VOTES: tuple[Votes, ...] = get_args(Votes)
_AT_ONCE = 256
_EQUAL = 1e-9


class Outcome(IntEnum):
    """What became of a question."""

    RIGHT = 0
    NOTHING_DETECTED = 1
    """Nothing was detected in any of the six positives."""
    NOTHING_LEFT = 2
    """All that was detected in the positives was detected in the negatives, too."""
    MISSED = 3
    """The query shows the concept, and the answer is no."""
    FALSELY_FOUND = 4
    """The query does not show the concept, and the answer is yes."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What an oracle says of P problems, two questions each.

    Attributes:
        yes: (P, 2) whether the positive query, and the negative one, show the concept.
        outcome: (P, 2) ``Outcome``.
    """

    yes: Mask
    outcome: NDArray[np.int8]

    @property
    def right(self) -> Mask:
        """(P, 2) whether a question was answered rightly."""
        return np.asarray(self.outcome == Outcome.RIGHT)

    @classmethod
    def of(cls, yes: Mask, detected: Mask, left: Mask) -> Answers:
        """Judge answers by (P,) whether positives had any detection, and whether the subtraction left any."""
        outcome = np.where(yes, [Outcome.RIGHT, Outcome.FALSELY_FOUND], [Outcome.MISSED, Outcome.RIGHT])
        outcome = np.where(left[:, None], outcome, Outcome.NOTHING_LEFT)
        outcome = np.where(detected[:, None], outcome, Outcome.NOTHING_DETECTED)
        return cls(yes, outcome.astype(np.int8))


def oracle(problems: Problems, found: Detections, votes: Votes = "image") -> Answers:
    """Answer problems as the paper's oracle model does.

    An interaction has a vote from each positive "image" that it is in, or from each "detection" in them.
    """
    counts = found.counts()
    present = (counts > 0).astype(np.int32)
    voting = present if votes == "image" else counts
    yes, detected, left = (np.zeros((len(problems), *more), bool) for more in ((2,), (), ()))
    for part in _parts(len(problems)):
        votes_for = _total(voting, problems.positives[part, :SHOTS]).toarray()
        detected[part] = votes_for.any(axis=1)
        votes_for[_total(present, problems.negatives[part, :SHOTS]).toarray() > 0] = 0
        most = votes_for.max(axis=1, initial=0)
        left[part] = most > 0
        winners = (votes_for == most[:, None]) & (most > 0)[:, None]
        for query, rows in enumerate((problems.positives[part, SHOTS], problems.negatives[part, SHOTS])):
            yes[part, query] = (winners & (present[rows].toarray() > 0)).any(axis=1)
    return Answers.of(yes, detected, left)


def soft_oracle(problems: Problems, found: Detections, classes: HoiClasses, similarity: Similarity) -> Answers:
    """Answer problems by meaning: votes, subtraction and membership with a similarity in place of equality.

    The candidates are the dataset's classes c, and sigma(c, u) is how similar an interaction u, as predicted, is to c:
    the smaller one of its verb's and its object's similarity (the mean would call everything done with the right object
    half right, which is just what these problems turn on). With D_i the detections in picture i:

    - for: v(c), the mean over the six positives of the best sigma(c, u) in D_i;
    - against: n(c), the best sigma(c, u) in all six negatives;
    - the concept: the classes with the highest v(c) (1 - n(c));
    - a query is positive if, for one of them, its best sigma(c, u) is at least (v(c) + n(c)) / 2: if it is nearer to
      the positives than to the negatives.

    Where nothing is detected in the positives, or no class has v(c) (1 - n(c)) > 0, both answers are wrong. With a
    similarity of 1 for the same words and 0 otherwise this is :func:`oracle` with votes by image.

    By hand: sigma(ride horse, straddle horse) = 0.75 both ways, sigma of both with feed horse 0. Four positives show
    "ride horse", two "straddle horse", all negatives "feed horse". v(ride) = (4 + 2 x 0.75) / 6 = 0.92, v(straddle) =
    (2 + 4 x 0.75) / 6 = 0.83: ride wins, and a query is positive from 0.46 on, so "straddle horse" is, at 0.75. The
    paper's oracle says no. If a negative shows "straddle horse", n(straddle) = 1 and n(ride) = 0.75: ride wins with
    0.92 x 0.25, a query is positive from (0.92 + 0.75) / 2 = 0.83 on, and "straddle horse" no longer is.
    """
    sigma = _sigma(found, classes, similarity)
    number = np.bincount(found.region, minlength=len(found.named))
    first = np.cumsum(number) - number

    def best(rows: Indices) -> Floats:
        """(..., K) the highest sigma of each class in regions; 0 where nothing is detected."""
        region, where = np.unique(rows, return_inverse=True)
        made = np.zeros((len(region), len(classes)))
        some = number[region] > 0
        owner, place = expand(first[region[some]], number[region[some]])
        if len(owner):
            made[some] = np.maximum.reduceat(sigma[found.interaction[place]], runs(owner)[0])
        return made[where.reshape(rows.shape)]

    yes, detected, left = (np.zeros((len(problems), *more), bool) for more in ((2,), (), ()))
    for part in _parts(len(problems)):
        positives, negatives = best(problems.positives[part]), best(problems.negatives[part])
        votes, against = positives[:, :SHOTS].mean(axis=1), negatives[:, :SHOTS].max(axis=1)
        value = votes * (1 - against)
        most = value.max(axis=1)
        left[part] = most > 0
        detected[part] = number[problems.positives[part, :SHOTS]].any(axis=1)
        winners = (value >= most[:, None] - _EQUAL) & (most > 0)[:, None]
        for query, shown in enumerate((positives[:, SHOTS], negatives[:, SHOTS])):
            yes[part, query] = (winners & (shown >= (votes + against) / 2)).any(axis=1)
    return Answers.of(yes, detected, left)


def _sigma(found: Detections, classes: HoiClasses, similarity: Similarity) -> Floats:
    """(u, K) how similar each predicted interaction is to each class."""
    options = SemanticOptions(combine="minimum")
    table = HoiSimilarity.of_words(classes, found.verbs, found.objects, similarity, options)
    return table.sigma(np.arange(len(classes)), found.verb[:, None], found.object[:, None])


def _total(counts: Any, rows: Indices) -> Any:
    """(p, u) sparse: the sum over the (p, k) regions of each problem."""
    from scipy.sparse import csr_array

    p, k = rows.shape
    chosen = csr_array((np.ones(p * k, np.int32), (np.repeat(np.arange(p), k), rows.ravel())), (p, counts.shape[0]))
    return chosen @ counts


def _parts(total: int) -> Iterator[slice]:
    """Problems some at a time, so that what is dense stays small."""
    return (slice(start, start + _AT_ONCE) for start in range(0, total, _AT_ONCE))


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
    >>> from shoe.scoring.bongard.score import Answers
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
