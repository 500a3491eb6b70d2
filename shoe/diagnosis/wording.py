"""What strict mAP lost to wording: how much SHOE-mAP rises as a map knows what words mean, confusion by confusion.

Strict mAP and SHOE-mAP differ in more than words: matching, half-right triplets, false positives, interpolation, ties.
So the comparison is SHOE-mAP with itself, once with similarities of 1 for equal words and 0 for all others, once under
the map. That gain has three parts, which add up to it:

- matching: the map chooses other pairs of a prediction and a ground truth; still only equal words get credit;
- charging: it understands more leftover predictions as a statement, and charges them as false positives;
- credit: it credits the matches for what their words mean.

The credit is split over the matches, and over the verb and the object of each by what either adds to its similarity
(``shoe.diagnosis.attribution``). A *confusion* is a predicted word in the place of a class's word; it has what its
matches have, and the shares of all confusions add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats
from shoe.diagnosis.attribution import attributed, equal_words
from shoe.diagnosis.confusions import Confusion, gathered
from shoe.diagnosis.mended import Tables
from shoe.diagnosis.sides import Side
from shoe.matching.overlaps import Overlaps
from shoe.scoring.meaning import Meaning
from shoe.scoring.score import build_meaning
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import WordNetSimilarity

MOST = 50
"""Confusions that are listed."""
_NOTHING = Overlaps(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Wording:
    """The gain and what explains it; all figures are SHOE-mAP, fractions 0..1, or differences of it.

    Attributes:
        equal_map: if only a label's own word counts.
        identity_map: if words for the label's very sense count too (``similarity=identity``).
        map: under the map.
        matching, charging, credit: the parts of the gain ``map - equal_map``.
        verb_credit, object_credit: the parts of the credit.
        confusions: those with the largest gains, the largest first.
        further, further_gain: number of other confusions, and what they have of the credit together.
    """

    equal_map: float
    identity_map: float
    map: float
    matching: float
    charging: float
    credit: float
    verb_credit: float
    object_credit: float
    confusions: tuple[Confusion, ...]
    further: int
    further_gain: float

    @property
    def gain(self) -> float:
        """What the map adds to equal words."""
        return self.map - self.equal_map


def wording_of(
    tables: Tables, scorer: Scorer, matches: Matches, value: float, sides: tuple[Side, Side], most: int
) -> Wording:
    """Explain the gain.

    Args:
        tables: the scorer's, which lead back to the rows and boxes of the files; some class has ground truth.
        scorer: under the map, and a protocol of arithmetic means of verb and object and of all points of a curve.
        matches: its matches for SHOE-mAP.
        value: its SHOE-mAP.
        sides: similarities and nearness of verbs and of objects.
        most: confusions to list.
    """
    equal = _under(scorer, equal_words(scorer.task, scorer.meaning))
    identity = _under(scorer, build_meaning(scorer.task, WordNetSimilarity("identity"), scorer.options))
    start = _sigma(equal, matches)
    charged = _under(scorer, equal.meaning, _NOTHING).match(matches.unmatched).charged
    ladder = [
        _map(equal, equal.match(equal.map_rows)),
        _map(equal, replace(matches, sigma=start, charged=charged)),
        _map(equal, replace(matches, sigma=start)),
        value,
    ]
    matching, charging, credit = np.diff(ladder).tolist()

    gains = attributed(scorer, matches, start)
    # All confusions bear the error of the integral and of drawn orders of ties: about a thousandth.
    gains *= max(credit, 0.0) / (gains.sum() or 1.0)
    return Wording(
        equal_map=ladder[0],
        identity_map=_map(identity, identity.match(identity.map_rows)),
        map=value,
        matching=matching,
        charging=charging,
        credit=credit,
        **gathered(tables, scorer, equal.meaning, matches, sides, gains, most)._asdict(),
    )


def _under(scorer: Scorer, meaning: Meaning, near: Overlaps | None = None) -> Scorer:
    return Scorer(scorer.task, meaning, scorer.options, scorer.near if near is None else near)


def _map(scorer: Scorer, matches: Matches) -> float:
    return float(scorer.average_precision(matches)[0].ap[scorer.in_mean].mean())


def _sigma(scorer: Scorer, matches: Matches) -> Floats:
    """(t,) similarities of some matches to a scorer that would perhaps have made others."""
    truth = np.flatnonzero(matches.prediction >= 0)
    rows, words = matches.prediction[truth], scorer.task.predictions
    sigma = np.zeros(len(matches.sigma))
    sigma[truth] = scorer.meaning.sigma(scorer.hoi[truth], words.verb[rows], words.object[rows])
    return sigma
