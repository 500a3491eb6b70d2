"""Who may be matched with whom when similarities are only known to lie between two bounds.

Whatever the similarities turn out to be, within their bounds and independently of one another: every match is among
the ``possible`` pairs, every ``sure`` ground truth is matched with a sigma of at least ``least``, every unmatched
prediction is among the ``maybe_unmatched``, and all ``surely_unmatched`` are unmatched. The converse need not hold:
what is possible pair by pair may not be possible together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import distinct, first_of_each
from shoe.evidence.imputation import Imputation
from shoe.matching.overlaps import Overlaps
from shoe.matching.repeats import repeated
from shoe.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What may come of matching c candidate pairs of t ground truths and n predictions.

    Attributes:
        possible: (c,) pairs that may be matched.
        sure: (t,) ground truths that are matched in any case.
        least: (t,) the lowest sigma of their match; 0 for the others.
        maybe_unmatched: (n,) predictions that may be unmatched.
        surely_unmatched: (n,) those that are in any case.
    """

    possible: Mask
    sure: Mask
    least: Floats
    maybe_unmatched: Mask
    surely_unmatched: Mask


@dataclass(frozen=True, slots=True, eq=False)
class PossibleMatches:
    """What the matches of an evaluation may be; t ground truths, u predictions that may be unmatched, c pairs.

    Attributes:
        pairs: candidates that may be similar enough to match.
        outcomes: what may come of them.
        number: (t,) number of possible matches.
        first, last: (t,) highest and lowest score of possible matches.
        most: (t,) highest sigma of possible matches; 0 where there are none.
        unmatched: (u,) predictions that may be unmatched, ascending.
        surely: (u,) those that are in any case.
    """

    pairs: Overlaps
    outcomes: Outcomes
    number: Indices
    first: Floats
    last: Floats
    most: Floats
    unmatched: Indices
    surely: Mask

    @property
    def settled(self) -> Mask:
        """(t,) ground truths that are matched in any case, at one score."""
        settled: Mask = self.outcomes.sure & (self.first == self.last)
        return settled

    @classmethod
    def of(cls, scorer: Scorer, imputation: Imputation, rows: Indices) -> PossibleMatches:
        """See who of some predictions may be matched with whom, and at what sigma."""
        predictions = scorer.task.predictions
        playing = np.zeros(len(predictions), bool)
        playing[rows] = True
        pairs = _playing(scorer, playing)
        low, high = (scorer.sigma_of(pairs, similarities) for similarities in (imputation.low, imputation.high))
        may = scorer.may_match(high)
        if not may.all():
            pairs, low, high = pairs.select(may), low[may], high[may]
        outcomes = _outcomes(scorer, pairs, low, high)
        truths = len(scorer.hoi)
        truth, score = pairs.truth[outcomes.possible], predictions.score[pairs.prediction[outcomes.possible]]
        first, last, most = np.full(truths, -np.inf), np.full(truths, np.inf), np.zeros(truths)
        if len(truth):
            starts = np.flatnonzero(first_of_each(truth))
            owners = truth[starts]
            first[owners] = np.maximum.reduceat(score, starts)
            last[owners] = np.minimum.reduceat(score, starts)
            most[owners] = np.maximum.reduceat(high[outcomes.possible], starts)
        unmatched = np.flatnonzero(playing & outcomes.maybe_unmatched)
        return cls(
            pairs=pairs,
            outcomes=outcomes,
            number=np.bincount(truth, minlength=truths),
            first=first,
            last=last,
            most=most,
            unmatched=unmatched,
            surely=outcomes.surely_unmatched[unmatched],
        )


def any_maximal(pairs: Overlaps, low: Floats, certain: Mask, truths: int, predictions: int) -> Outcomes:
    """Expect any matching to which no pair could be added, as every method makes one.

    A ground truth is sure if one of its candidates is nobody else's: only it could have taken that one.

    Args:
        pairs: candidates, without those that can never be similar enough to match.
        low: (c,) the lowest sigma.
        certain: (c,) pairs that are similar enough in any case.
        truths: t.
        predictions: n.
    """
    wanted_by = np.bincount(pairs.prediction, minlength=predictions)
    wants = np.bincount(pairs.truth, minlength=truths)
    sure, taken = np.zeros(truths, bool), np.zeros(predictions, bool)
    sure[pairs.truth[certain & (wanted_by[pairs.prediction] == 1)]] = True
    taken[pairs.prediction[certain & (wants[pairs.truth] == 1)]] = True
    least = np.full(truths, np.inf)
    np.minimum.at(least, pairs.truth, low)
    return Outcomes(
        possible=np.ones(len(low), bool),
        sure=sure,
        least=np.where(sure, least, 0.0),
        maybe_unmatched=~taken,
        surely_unmatched=wanted_by == 0,
    )


def in_file_order(
    pairs: Overlaps,
    low: Floats,
    high: Floats,
    certain: Mask,
    preference: Floats,
    words: Indices,
    turn: Indices,
    predictions: int,
) -> Outcomes:
    """Expect what ``greedy-gt`` may do: ground truths choose one after the other, the k-th of all images at once.

    A candidate is out of the question if another one, which is free in any case, is better in any case: its lowest
    sigma is above the other's highest, or equal to it and it is preferred; or the two have the same words, so that
    their sigmas are equal whatever they are, and it is preferred.

    Args:
        pairs: candidates, without those that can never be similar enough to match.
        low: (c,) the lowest sigma.
        high: (c,) the highest sigma.
        certain: (c,) pairs that are similar enough in any case.
        preference: (c,) decides between equal sigma, then the lower row of the prediction does.
        words: (c,) equal for predictions of the same words.
        turn: (t,) index of each ground truth among those of its image.
        predictions: n.
    """
    turns = turn[pairs.truth]
    falling = np.lexsort((np.arange(len(low)), -preference))
    rank = np.empty(len(low), np.int64)
    rank[falling] = np.arange(len(low), 0, -1)
    chooser = np.empty(len(turn), np.int64)
    chooser[np.argsort(turn, kind="stable")] = np.arange(len(turn))
    group = chooser[pairs.truth] * (int(words.max(initial=0)) + 1) + words
    order = falling[np.argsort(group[falling], kind="stable")]
    truth, prediction = pairs.truth[order], pairs.prediction[order]
    low, high, certain = np.where(certain, low, -np.inf)[order], high[order], certain[order]
    rank, words = rank[order], words[order]  # rank grows with preference; no two pairs share one
    free, maybe_free = np.ones((2, predictions), bool)
    may_match, least = np.zeros(len(low), bool), np.full(len(turn), -np.inf)
    ends = np.cumsum(np.bincount(turns)).tolist()
    for part in (slice(begin, end) for begin, end in pairwise([0, *ends]) if end > begin):
        # The ground truths of one turn choose; no two of them have a candidate in common.
        of_truth, of_prediction = truth[part], prediction[part]
        new_truth = first_of_each(of_truth)
        starts = np.flatnonzero(new_truth)
        owner = np.cumsum(new_truth) - 1
        there = free[of_prediction] & certain[part]
        lowest = np.where(there, low[part], -np.inf)
        bar = np.maximum.reduceat(lowest, starts)
        best = np.maximum.reduceat(np.where(there & (lowest == bar[owner]), rank[part], -1), starts)
        beaten = (high[part] < bar[owner]) | ((high[part] == bar[owner]) & (rank[part] < best[owner]))
        beaten |= _after_one(there, new_truth | first_of_each(words[part]))
        may_win = maybe_free[of_prediction] & ~beaten
        alone = may_win & (np.add.reduceat(may_win.astype(np.int64), starts)[owner] == 1)
        may_match[part] = may_win
        free[of_prediction[may_win]] = False
        # Whom no other may beat is taken, now or earlier, if it is similar enough.
        maybe_free[of_prediction[alone & certain[part]]] = False
        least[of_truth[starts]] = bar
    possible = np.zeros(len(low), bool)
    possible[order] = may_match
    sure = least > -np.inf
    return Outcomes(possible, sure, np.where(sure, least, 0.0), maybe_free, free)


def _playing(scorer: Scorer, playing: Mask) -> Overlaps:
    """Candidates of some predictions; repeats that cannot match are left out."""
    pairs = scorer.near
    keep = playing[pairs.prediction]
    if scorer.options.repeats == "charged" and scorer.prefers_originals:
        once = np.ones(len(playing), bool)
        once[repeated(scorer.task.predictions, distinct(pairs.prediction[keep]))] = False
        keep &= once[pairs.prediction]
    return pairs if keep.all() else pairs.select(keep)


def _outcomes(scorer: Scorer, pairs: Overlaps, low: Floats, high: Floats) -> Outcomes:
    options, predictions = scorer.options, scorer.task.predictions
    certain = scorer.may_match(low)
    if options.assign != "greedy-gt" or not len(low):
        return any_maximal(pairs, low, certain, len(scorer.hoi), len(predictions))
    words = predictions.verb.astype(np.int64) * len(predictions.objects) + predictions.object
    preference, words = scorer.preference(pairs), words[pairs.prediction]
    return in_file_order(pairs, low, high, certain, preference, words, scorer.turn, len(predictions))


def _after_one(marked: Mask, new_group: Mask) -> Mask:
    """Whether a marked element stands before each element in its group."""
    before: Indices = np.cumsum(marked) - marked
    after: Mask = before > before[new_group][np.cumsum(new_group) - 1]
    return after
