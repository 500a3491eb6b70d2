"""Who may be matched with whom when similarities are only known to lie between two bounds.

Whatever the similarities turn out to be, within their bounds and independently of one another: every match is among
the ``possible`` pairs, every ``sure`` ground truth is matched with a sigma of at least ``least``, every prediction that
is left over is among the ``left``, and all ``surely_left`` are left over. The converse need not hold: what is possible
pair by pair may not be possible together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import first_of_each
from shoe.matching.overlaps import Overlaps


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What may come of matching c candidate pairs of t ground truths and n predictions.

    Attributes:
        possible: (c,) pairs that may be matched.
        sure: (t,) ground truths that are matched in any case.
        least: (t,) the lowest sigma of their match; 0 for the others.
        left: (n,) predictions that may be left over.
        surely_left: (n,) those that are left over in any case.
    """

    possible: Mask
    sure: Mask
    least: Floats
    left: Mask
    surely_left: Mask


def any_maximal(pairs: Overlaps, low: Floats, certain: Mask, truths: int, predictions: int) -> Outlook:
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
    return Outlook(
        possible=np.ones(len(low), bool),
        sure=sure,
        least=np.where(sure, least, 0.0),
        left=~taken,
        surely_left=wanted_by == 0,
    )


def in_file_order(
    pairs: Overlaps,
    low: Floats,
    high: Floats,
    certain: Mask,
    preference: Floats,
    alike: Indices,
    place: Indices,
    predictions: int,
) -> Outlook:
    """Expect what ``greedy-gt`` may do: ground truths choose one after the other, the k-th of all images at once.

    A candidate is out of the question if another one, which is free in any case, is better in any case: its lowest
    sigma is above the other's highest, or equal to it and it is preferred; or the two say the same words, so that
    their sigmas are equal whatever they are, and it is preferred.

    Args:
        pairs: candidates, without those that can never be similar enough to match.
        low: (c,) the lowest sigma.
        high: (c,) the highest sigma.
        certain: (c,) pairs that are similar enough in any case.
        preference: (c,) decides between equal sigma, then the lower row of the prediction does.
        alike: (c,) equal for predictions of the same words.
        place: (t,) place of each ground truth among those of its image.
        predictions: n.
    """
    turn = place[pairs.truth]
    falling = np.lexsort((np.arange(len(low)), -preference))
    rank = np.empty(len(low), np.int64)
    rank[falling] = np.arange(len(low), 0, -1)
    chooser = np.empty(len(place), np.int64)
    chooser[np.argsort(place, kind="stable")] = np.arange(len(place))
    group = chooser[pairs.truth] * (int(alike.max(initial=0)) + 1) + alike
    order = falling[np.argsort(group[falling], kind="stable")]
    turns = _Turns(
        truth=pairs.truth[order],
        prediction=pairs.prediction[order],
        low=np.where(certain, low, -np.inf)[order],
        high=high[order],
        certain=certain[order],
        rank=rank[order],
        alike=alike[order],
        free=np.ones(predictions, bool),
        maybe_free=np.ones(predictions, bool),
        possible=np.zeros(len(low), bool),
        least=np.full(len(place), -np.inf),
    )
    ends = np.cumsum(np.bincount(turn[order]))
    begin = 0
    for end in ends.tolist():
        if end > begin:
            turns.take(begin, end)
        begin = end
    possible = np.zeros(len(low), bool)
    possible[order] = turns.possible
    sure = turns.least > -np.inf
    return Outlook(possible, sure, np.where(sure, turns.least, 0.0), turns.maybe_free, turns.free)


@dataclass(slots=True, eq=False)
class _Turns:
    """Pairs in the order of turn, ground truth, words, and falling preference; and what the turns so far have left.

    ``rank`` grows with preference; no two pairs share one.
    """

    truth: Indices
    prediction: Indices
    low: Floats
    high: Floats
    certain: Mask
    rank: Indices
    alike: Indices
    free: Mask
    maybe_free: Mask
    possible: Mask
    least: Floats

    def take(self, begin: int, end: int) -> None:
        """Let the ground truths of one turn choose; no two of them have a candidate in common."""
        part = slice(begin, end)
        truth, prediction, high = self.truth[part], self.prediction[part], self.high[part]
        new_truth = first_of_each(truth)
        starts = np.flatnonzero(new_truth)
        owner = np.cumsum(new_truth) - 1
        there = self.free[prediction] & self.certain[part]
        low = np.where(there, self.low[part], -np.inf)
        bar = np.maximum.reduceat(low, starts)
        best = np.maximum.reduceat(np.where(there & (low == bar[owner]), self.rank[part], -1), starts)
        beaten = (high < bar[owner]) | ((high == bar[owner]) & (self.rank[part] < best[owner]))
        beaten |= _after_one(there, new_truth | first_of_each(self.alike[part]))
        may_win = self.maybe_free[prediction] & ~beaten
        alone = may_win & (np.add.reduceat(may_win.astype(np.int64), starts)[owner] == 1)
        self.possible[part] = may_win
        self.free[prediction[may_win]] = False
        # Who has no rival is taken, now or earlier, if it is similar enough.
        self.maybe_free[prediction[alone & self.certain[part]]] = False
        self.least[truth[starts]] = bar


def _after_one(marked: Mask, new_group: Mask) -> Mask:
    """Whether a marked element stands before each element in its group."""
    before: Indices = np.cumsum(marked) - marked
    after: Mask = before > before[new_group][np.cumsum(new_group) - 1]
    return after
