"""The oracle model of the Bongard-HOI supplement (C): what only the positives show, by majority, is the concept.

``c_P = majority_vote(D^P - D^N)``, and a query is positive if ``c_P`` is detected in it. Of several winners one is
enough. Nothing detected in the positives: no concept, and both answers are wrong, whatever the truth, even where
nothing is detected in the query either. Nothing detected in the negatives: nothing is subtracted. Nothing detected in a
query: it is negative, so right or wrong by the truth.

The paper does not say what holds where the subtraction leaves nothing: here, as where nothing was detected. Nor whether
votes are detections or images: here, a positive image has one vote for each interaction in it, unless asked otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.bongard.detections import Detections
from shoe.bongard.problems import SHOTS, Problems
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import expand, runs
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity.table import Similarity

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
