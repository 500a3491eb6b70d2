"""Oracle models that answer Bongard problems from detections, and their accuracy (Bongard-HOI supplement, part C)."""

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
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.benchmarks.signature import Signature, sign
from shoe.core.arrays import Floats, Indices, Mask, descending_order, expand, index_in_group, random_numbers, runs
from shoe.core.boxes import CommonCoordinates, convert_boxes
from shoe.core.documents import Count, Document, Fraction, Span
from shoe.core.errors import InputError, OptionError, flag, quote
from shoe.core.interactions import Interactions, image_index
from shoe.core.public import public_function
from shoe.core.statistics import percentiles
from shoe.lexicon.resolve import lexicon_metadata
from shoe.scoring.bongard.problems import SHOTS, Problems
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import coordinate_names
from shoe.similarity.table import Similarity

Region = Literal["crop", "image"]
REGIONS: tuple[Region, ...] = get_args(Region)
_INSIDE = 0.5
"""Fraction of the area of each of the two boxes that must lie in a crop for a prediction to count in the crop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Options that decide which predictions count in a picture (a crop of an image)."""

    # "crop": predictions with at least half of each box in the crop; "image": all predictions of the image
    region: Region = "crop"
    # number of predictions that count per picture, those with the highest scores; predictions that tie with the last of
    # these also count
    top: int = 10
    min_score: float = 0.0  # lowest score of a prediction that counts

    def __post_init__(self) -> None:
        if math.isnan(self.min_score):
            raise OptionError("min_score: found nan, expected a score")


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Interactions detected in n regions (D in the paper)."""

    region: Indices  # (d,) region of each detection, ascending
    interaction: Indices  # (d,) index of each detection's (verb, object) pair among u distinct pairs
    # verb, object: (u,) words of each distinct pair, as indices into ``verbs`` and ``objects``
    verb: Indices
    object: Indices
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    named: Mask  # (n,) whether the region's image is among the images of the predictions, with or without triplets


def detections(predictions: Interactions, problems: Problems, how: Counting) -> Detections:
    """Return the predictions that count in the pictures of problems, under the options ``how``.

    Images are matched by name, exactly or without folder and extension. A region whose image the predictions do not
    list has no detections.
    """
    regions = problems.regions
    at = image_index(regions.images, predictions.images)[regions.image]
    first = np.where(at >= 0, predictions.offsets[at], 0)
    region, row = expand(first, np.where(at >= 0, predictions.offsets[at + 1] - first, 0))
    good = predictions.score[row] >= how.min_score
    if how.region == "crop":
        coordinates = np.broadcast_to(predictions.triplet_coordinates, (len(predictions),))[row]
        crops = regions.crops[region]
        for boxes in (predictions.human_boxes, predictions.object_boxes):
            edges = convert_boxes(boxes[row], coordinates, CommonCoordinates.EDGES)
            low, high = np.maximum(edges[:, :2], crops[:, :2]), np.minimum(edges[:, 2:], crops[:, 2:])
            good &= _area(low, high) >= _INSIDE * _area(edges[:, :2], edges[:, 2:])
    region, row = region[good], row[good]
    best = _best(region, predictions.score[row], how.top)
    region, row = region[best], row[best]
    words = max(1, len(predictions.objects))
    pairs, interaction = np.unique(
        predictions.verb[row].astype(np.int64) * words + predictions.object[row], False, True
    )
    verb, object_ = np.divmod(pairs, words)
    return Detections(region, interaction, verb, object_, predictions.verbs, predictions.objects, at >= 0)


def _area(low: Floats, high: Floats) -> Floats:
    return np.asarray(np.maximum(high - low, 0).prod(axis=1))


def _best(region: Indices, score: Floats, top: int) -> Indices:
    """Return the ascending indices of the ``top`` best predictions per region, and of ties with the last of them."""
    if not len(region):
        return region
    order = descending_order(score)
    order = order[np.argsort(region[order], kind="stable")]
    sizes = np.bincount(region)
    sizes = sizes[sizes > 0]
    end = np.cumsum(sizes)
    last = score[order[np.minimum(end - sizes + top, end) - 1]]
    keep = (index_in_group(sizes) < top) | (score[order] == np.repeat(last, sizes))
    return np.sort(order[keep])


Votes = Literal["image", "detection"]
VOTES: tuple[Votes, ...] = get_args(Votes)
_AT_ONCE = 256  # problems per batch, which keeps dense matrices small
_EQUAL = 1e-9  # tolerance between equal values of classes


class Outcome(IntEnum):
    """Whether the answer to a Bongard question is right, or the reason why it is wrong."""

    RIGHT = 0
    NOTHING_DETECTED = 1
    """Nothing was detected in any of the six positives."""
    NOTHING_LEFT = 2
    """Every interaction detected in the positives was detected in the negatives, too."""
    MISSED = 3
    """The query shows the concept, but the answer is no."""
    FALSELY_FOUND = 4
    """The query does not show the concept, but the answer is yes."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of an oracle to P problems with two questions each."""

    yes: Mask  # (P, 2) whether the answer is yes for the positive and for the negative query
    outcome: NDArray[np.int8]  # (P, 2) ``Outcome`` of each question

    @property
    def right(self) -> Mask:
        """(P, 2) whether each answer is correct."""
        return np.asarray(self.outcome == Outcome.RIGHT)

    @classmethod
    def from_masks(cls, yes: Mask, detected: Mask, left: Mask) -> Answers:
        """Return the answers to P problems, with the outcome of each: right, or the reason why it is wrong.

        The (P,) masks say whether anything was ``detected`` in the positives, and whether any interaction is ``left``
        after subtracting the detections in the negatives.
        """
        outcome = np.where(yes, [Outcome.RIGHT, Outcome.FALSELY_FOUND], [Outcome.MISSED, Outcome.RIGHT])
        outcome = np.where(left[:, None], outcome, Outcome.NOTHING_LEFT)
        outcome = np.where(detected[:, None], outcome, Outcome.NOTHING_DETECTED)
        return cls(yes, outcome.astype(np.int8))


def oracle(problems: Problems, found: Detections, votes: Votes = "image") -> Answers:
    """Return the answers of the published oracle: yes if a query shows the most frequent interaction of the positives.

    Interactions detected in a negative are excluded: ``c_P = majority_vote(D^P - D^N)`` in the paper. ``votes`` decides
    how interactions are counted, which the paper leaves open: "image" for one vote per positive that shows it,
    "detection" for one vote per detection. If several interactions are equally frequent, a query has to show any one of
    them. If nothing is detected in the positives, or all of it is excluded (a case that the paper leaves open), both
    answers count as wrong.
    """
    from scipy.sparse import csr_array

    shape = len(found.named), len(found.verb)  # number of detections of each interaction (column) in each region
    counts = csr_array((np.ones(len(found.region), np.int32), (found.region, found.interaction)), shape=shape)
    present = (counts > 0).astype(np.int32)
    voting = present if votes == "image" else counts
    yes, detected, left = (np.zeros((len(problems), *more), bool) for more in ((2,), (), ()))
    for part in _batches(len(problems)):
        votes_for = _total(voting, problems.positives[part, :SHOTS]).toarray()
        detected[part] = votes_for.any(axis=1)
        votes_for[_total(present, problems.negatives[part, :SHOTS]).toarray() > 0] = 0
        most = votes_for.max(axis=1, initial=0)
        left[part] = most > 0
        winners = (votes_for == most[:, None]) & (most > 0)[:, None]
        for query, rows in enumerate((problems.positives[part, SHOTS], problems.negatives[part, SHOTS])):
            yes[part, query] = (winners & (present[rows].toarray() > 0)).any(axis=1)
    return Answers.from_masks(yes, detected, left)


def soft_oracle(problems: Problems, found: Detections, classes: HoiClasses, similarity: Similarity) -> Answers:
    """Return the answers of an oracle that compares interactions by similarity, where :func:`oracle` needs equality.

    The candidates are the dataset's classes c. sigma(c, u) is the similarity of c and a predicted interaction u: the
    smaller of verb similarity and object similarity. (With their mean, every action with the right object would be half
    right, although these problems depend on the action.) With D_i the detections in picture i:

    - votes for c: v(c), the mean over the six positives of the best sigma(c, u) in D_i;
    - votes against c: n(c), the best sigma(c, u) in all six negatives;
    - concept: the classes with the highest v(c) (1 - n(c));
    - a query is positive if, for one of these classes, its best sigma(c, u) is at least (v(c) + n(c)) / 2, so that the
      query is nearer to the positives than to the negatives.

    If nothing is detected in the positives, or no class has v(c) (1 - n(c)) > 0, both count as wrong. With similarity 1
    for the same words and 0 otherwise, this is :func:`oracle` with votes by image. docs/bongard.md has an example.
    """
    options = SemanticOptions(combine="minimum")
    table = HoiSimilarity.of_words(classes, found.verbs, found.objects, similarity, options)
    sigma = table.sigma(np.arange(len(classes)), found.verb[:, None], found.object[:, None])
    number = np.bincount(found.region, minlength=len(found.named))
    first = np.cumsum(number) - number

    def best(rows: Indices) -> Floats:
        # (..., K) highest sigma of each class in regions; 0 without detections.
        region, where = np.unique(rows, return_inverse=True)
        made = np.zeros((len(region), len(classes)))
        some = number[region] > 0
        owner, place = expand(first[region[some]], number[region[some]])
        if len(owner):
            made[some] = np.maximum.reduceat(sigma[found.interaction[place]], runs(owner)[0])
        return made[where.reshape(rows.shape)]

    yes, detected, left = (np.zeros((len(problems), *more), bool) for more in ((2,), (), ()))
    for part in _batches(len(problems)):
        positives, negatives = best(problems.positives[part]), best(problems.negatives[part])
        votes, against = positives[:, :SHOTS].mean(axis=1), negatives[:, :SHOTS].max(axis=1)
        value = votes * (1 - against)
        most = value.max(axis=1)
        left[part] = most > 0
        detected[part] = number[problems.positives[part, :SHOTS]].any(axis=1)
        winners = (value >= most[:, None] - _EQUAL) & (most > 0)[:, None]
        for query, shown in enumerate((positives[:, SHOTS], negatives[:, SHOTS])):
            yes[part, query] = (winners & (shown >= (votes + against) / 2)).any(axis=1)
    return Answers.from_masks(yes, detected, left)


def _total(counts: Any, rows: Indices) -> Any:
    # Sparse (p, u) sum over the (p, k) regions of each problem.
    from scipy.sparse import csr_array

    p, k = rows.shape
    chosen = csr_array((np.ones(p * k, np.int32), (np.repeat(np.arange(p), k), rows.ravel())), (p, counts.shape[0]))
    return chosen @ counts


def _batches(total: int) -> Iterator[slice]:
    return (slice(start, start + _AT_ONCE) for start in range(0, total, _AT_ONCE))


RESAMPLES = 2000
"""Number of resamples of concepts. Questions of a concept share pictures, so Wilson's interval is too narrow."""
_STREAM = 1 << 27  # first stream of random numbers, one per group


class OutcomeCounts(Document, frozen=True):
    """Number of questions with each outcome."""

    right: Count
    nothing_detected: Count
    nothing_left: Count
    missed: Count
    falsely_found: Count


class GroupScore(Document, frozen=True, kw_only=True):
    """Accuracy on one group of problems.

    Attributes:
        group: name of the group.
        concepts, problems: number of concepts and of problems; a problem has two questions.
        accuracy: fraction of correct answers.
        interval: 95 % interval over resampled concepts; None for a single concept.
    """

    group: str
    concepts: Count
    problems: Count
    accuracy: Fraction
    interval: Span | None = None
    outcomes: OutcomeCounts


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy on all problems."""

    groups: dict[str, GroupScore]  # accuracy by group name; groups without problems are absent
    average: float  # unweighted mean of the groups, as in the paper
    # 95 % interval over resampled concepts of each group; None if a group has a single concept
    interval: tuple[float, float] | None


def accuracy(problems: Problems, answers: Answers) -> Accuracy:
    """Return the accuracy of the answers to ``problems``, which must not be empty.

    Intervals are 95 % percentile intervals over random samples, with replacement, of the concepts of each group.
    """
    groups, drawn = {}, []
    for number, name in enumerate(problems.groups):
        in_group = problems.group == number
        if not in_group.any():
            continue
        right = answers.right[in_group]
        _, concept = np.unique(problems.concept[in_group], return_inverse=True)
        questions = 2 * np.bincount(concept)
        correct = np.bincount(concept, right.sum(axis=1)).astype(np.float64)
        numbers = random_numbers(_STREAM + number, (RESAMPLES, len(questions)))
        rows = (numbers % np.uint64(len(questions))).astype(np.int64)
        draws = np.asarray(correct[rows].sum(axis=1) / questions[rows].sum(axis=1))
        groups[name] = GroupScore(
            group=name,
            concepts=len(questions),
            problems=int(in_group.sum()),
            accuracy=float(right.mean()),
            interval=percentiles(draws) if len(questions) > 1 else None,
            outcomes=OutcomeCounts(*np.bincount(answers.outcome[in_group].ravel(), minlength=len(Outcome)).tolist()),
        )
        drawn.append(draws)
    average = float(np.mean([group.accuracy for group in groups.values()]))
    has_interval = all(group.interval is not None for group in groups.values())
    return Accuracy(groups, average, percentiles(np.mean(drawn, axis=0)) if has_interval else None)


@dataclass(frozen=True, slots=True)
class BongardReport:
    """Accuracy of both oracles on a detector's predictions."""

    # problems, concepts, images: number of scored problems, and of the concepts and images in these problems
    problems: int
    concepts: int
    images: int
    named_images: int  # number of these images that the predictions list
    # oracle, soft_oracle: accuracy of the oracle of the Bongard-HOI paper, and of the oracle by similarity
    oracle: Accuracy
    soft_oracle: Accuracy
    signature: Signature
    notes: tuple[str, ...]


class OracleScore(Document, frozen=True, kw_only=True):
    """Accuracy of one oracle: mean over the groups, and accuracy on each group."""

    average: Fraction
    interval: Span | None = None
    groups: list[GroupScore]


class BongardScore(Document, frozen=True):
    """Accuracy of predictions on Bongard problems: the oracle of the paper, and the soft oracle (by similarity)."""

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
        """Return a report in the form of the JSON output."""
        counts = report.problems, report.concepts, report.images, report.named_images
        oracle, soft = (
            OracleScore(average=found.average, interval=found.interval, groups=[*found.groups.values()])
            for found in (report.oracle, report.soft_oracle)
        )
        return cls(str(report.signature), *counts, oracle, soft, list(report.notes))


_ENOUGH, _MISFIT = 20, 0.75
"""Smallest number and fraction of crops without a prediction of their image that suggest wrong boxes."""


@public_function
def score_problems(
    predictions: Interactions,
    problems: Problems,
    classes: HoiClasses,
    similarity: Similarity,
    counting: Counting | None = None,
    votes: Votes = "image",
    images_in_predictions: bool = False,
) -> BongardReport:
    """Return the accuracy of predictions on Bongard problems.

    Predictions are for whole images, with any words. The soft oracle uses ``classes`` and ``similarity``; the paper's
    oracle uses ``votes`` ("image" or "detection", see :func:`oracle`). ``counting`` says which predictions count in a
    picture. With ``images_in_predictions``, only problems with all fourteen images in the predictions are scored. Raise
    InputError if the predictions list no image of the problems, or if no problem is left to score.
    """
    how, regions = counting or Counting(), problems.regions
    found = detections(predictions, problems, how)
    if images_in_predictions:
        problems = problems.select(np.flatnonzero(found.named[problems.rows].all(axis=1)))
    rows = np.unique(problems.rows)
    images = np.unique(regions.image[rows])
    named = np.unique(problems.regions.image[rows[found.named[rows]]])
    if not len(named):
        found_first, whole = "none", "predictions for all images of a problem"
        if not images_in_predictions:
            found_first = quote(predictions.images[0]) if len(predictions.images) else "none"
            whole = "names of images of the problems"
        expected = f"{whole}, such as {quote(regions.images[0])}"
        raise InputError("predictions", field="image", found=found_first, expected=expected)
    at = image_index(regions.images, predictions.images)[regions.image[rows]]
    filled = (at >= 0) & (np.diff(predictions.offsets)[at] > 0)
    crops, empty = int(filled.sum()), int((filled & ~np.isin(rows, found.region)).sum())
    line = f"boxes: {empty:,} of {crops:,} crops contain no prediction of their image: is {flag('boxes')} right?"
    misfit = [line] if empty >= max(_ENOUGH, _MISFIT * crops) else []
    notes = predictions.notes
    facts = {
        "coordinates": coordinate_names(predictions),
        **({} if notes is None else notes.signature_fields),
        "bongard-problems": str(len(problems)),
        "problems-sha": digest(problems),
        "region": how.region,
        "top": str(how.top),
        "min-score": str(how.min_score).removesuffix(".0"),
        "votes": votes,
        "soft-classes": classes.digest,
        "map": similarity.name,
        "map-sha": similarity.digest,
        **lexicon_metadata(),
    }
    return BongardReport(
        problems=len(problems),
        concepts=len(problems.concepts),
        images=len(images),
        named_images=len(named),
        oracle=accuracy(problems, oracle(problems, found, votes)),
        soft_oracle=accuracy(problems, soft_oracle(problems, found, classes, similarity)),
        signature=sign(facts),
        notes=(*misfit, *(() if notes is None else notes.lines())),
    )


def digest(problems: Problems) -> str:
    """Return a hash (8 hex digits) of all that can change a metric: images, crops, concepts and groups of problems."""
    regions, rows = problems.regions, problems.rows
    found = hashlib.sha256("\n".join(regions.images).encode())
    hashes = [int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") for name in problems.groups]
    groups = np.array(hashes, np.uint64)[problems.group]
    for column in (regions.image[rows], regions.crops[rows], problems.concept, groups):
        found.update(np.ascontiguousarray(column).data)
    return found.hexdigest()[:8]
