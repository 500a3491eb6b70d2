"""What the ranked lists of an evaluation may look like when similarities are only known within bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import distinct, first_of_each
from shoe.evidence.completions import Completions
from shoe.evidence.outlook import Outlook, any_maximal, in_file_order
from shoe.matching.overlaps import Overlaps
from shoe.matching.repeats import repeated
from shoe.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What the classes' lists may look like; t ground truths, u leftovers, c candidate pairs.

    Attributes:
        pairs: candidates that may be similar enough to match.
        low, high: (c,) lowest and highest sigma.
        outlook: who may be matched with whom.
        matches: (t,) number of possible matches.
        first, last: (t,) highest and lowest score of possible matches.
        most: (t,) highest sigma of possible matches; 0 where there are none.
        left: (u,) predictions that may be left over, ascending.
        surely_left: (u,) those that are in any case.
    """

    pairs: Overlaps
    low: Floats
    high: Floats
    outlook: Outlook
    matches: Indices
    first: Floats
    last: Floats
    most: Floats
    left: Indices
    surely_left: Mask

    @property
    def settled(self) -> Mask:
        """(t,) ground truths that are matched in any case, at one score."""
        settled: Mask = self.outlook.sure & (self.first == self.last)
        return settled


def entries_of(scorer: Scorer, completions: Completions, rows: Indices) -> Entries:
    """See who of some predictions may be matched with whom, and at what sigma."""
    predictions = scorer.task.predictions
    playing = np.zeros(len(predictions), bool)
    playing[rows] = True
    pairs = _playing(scorer, playing)
    low, high = (scorer.sigma_of(pairs, meaning) for meaning in (completions.low, completions.high))
    may = scorer.may_match(high)
    if not may.all():
        pairs, low, high = pairs.select(may), low[may], high[may]
    outlook = _outlook(scorer, pairs, low, high)
    truths = len(scorer.hoi)
    truth, score = pairs.truth[outlook.possible], predictions.score[pairs.prediction[outlook.possible]]
    first, last, most = np.full(truths, -np.inf), np.full(truths, np.inf), np.zeros(truths)
    if len(truth):
        starts = np.flatnonzero(first_of_each(truth))
        owners = truth[starts]
        first[owners] = np.maximum.reduceat(score, starts)
        last[owners] = np.minimum.reduceat(score, starts)
        most[owners] = np.maximum.reduceat(high[outlook.possible], starts)
    left = np.flatnonzero(playing & outlook.left)
    return Entries(
        pairs=pairs,
        low=low,
        high=high,
        outlook=outlook,
        matches=np.bincount(truth, minlength=truths),
        first=first,
        last=last,
        most=most,
        left=left,
        surely_left=outlook.surely_left[left],
    )


def _playing(scorer: Scorer, playing: Mask) -> Overlaps:
    """Candidates of some predictions; repeats that cannot match are left out."""
    pairs = scorer.near
    keep = playing[pairs.prediction]
    if scorer.options.repeats == "charged" and scorer.prefers_originals:
        once = np.ones(len(playing), bool)
        once[repeated(scorer.task.predictions, distinct(pairs.prediction[keep]))] = False
        keep &= once[pairs.prediction]
    return pairs if keep.all() else pairs.select(keep)


def _outlook(scorer: Scorer, pairs: Overlaps, low: Floats, high: Floats) -> Outlook:
    options, predictions = scorer.options, scorer.task.predictions
    certain = scorer.may_match(low)
    if options.assign != "greedy-gt" or not len(low):
        return any_maximal(pairs, low, certain, len(scorer.hoi), len(predictions))
    preference = {"confidence": predictions.score[pairs.prediction], "iou": pairs.iou, "index": np.zeros(len(low))}
    words = predictions.verb.astype(np.int64) * len(predictions.objects) + predictions.object
    return in_file_order(
        pairs,
        low,
        high,
        certain,
        preference[options.sigma_ties],
        words[pairs.prediction],
        scorer.truth_place,
        len(predictions),
    )
