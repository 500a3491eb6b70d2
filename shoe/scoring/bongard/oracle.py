"""The oracle model of the Bongard-HOI supplement (C): what only the positives show, by majority, is the concept.

``c_P = majority_vote(D^P - D^N)``, and a query is positive if ``c_P`` is detected in it. Of several winners one is
enough. Nothing detected in the positives: no concept, and both answers are wrong, whatever the truth, even where
nothing is detected in the query either. Nothing detected in the negatives: nothing is subtracted. Nothing detected in a
query: it is negative, so right or wrong by the truth.

The paper does not say what holds where the subtraction leaves nothing: here, as where nothing was detected. Nor whether
votes are detections or images: here, a positive image has one vote for each interaction in it, unless asked otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Mask, expand, falling_order, index_in_group, runs
from shoe.core.boxes import CommonCoordinates, converted
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions, image_index
from shoe.scoring.bongard.problems import SHOTS, Problems, Regions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity.table import Similarity

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
        verbs, objects: words as predicted.
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
        how: which predictions count.
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
