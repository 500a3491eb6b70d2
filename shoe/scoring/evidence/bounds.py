"""Who may be matched with whom when similarities are only known to lie between two bounds.

Whatever the similarities turn out to be, within their bounds and independently of one another: every match is among
the ``possible`` pairs, every ``sure`` ground truth is matched with a sigma of at least ``least``, every unmatched
prediction is among the ``maybe_unmatched``, and all ``surely_unmatched`` are unmatched. The converse need not hold:
what is possible pair by pair may not be possible together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.protocol_options import Interpolation
from shoe.core.arrays import Floats, Indices, Mask, distinct, first_of_each, runs
from shoe.scoring.entries import mean_over
from shoe.scoring.evidence.draws import Imputation
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.repeats import repeated
from shoe.scoring.matching.task import Overlaps
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
        pairs = scorer.near
        keep = playing[pairs.prediction]
        if scorer.options.repeats == "charged" and scorer.prefers_originals:  # repeats that cannot match are left out
            once = np.ones(len(playing), bool)
            once[repeated(predictions, distinct(pairs.prediction[keep]))] = False
            keep &= once[pairs.prediction]
        pairs = pairs if keep.all() else pairs.select(keep)
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

    ``pairs`` are without those that can never be similar enough to match; of each, (c,) ``low`` is the lowest sigma,
    and (c,) ``certain`` says whether it is similar enough in any case.
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


def best_pairs_first(
    pairs: Overlaps,
    low: Floats,
    high: Floats,
    certain: Mask,
    rank: Indices,
    kind: Indices,
    truths: int,
    predictions: int,
) -> Outcomes:
    """Expect what ``best-first`` may do.

    A pair is better than another one in any case if its lowest sigma is above the other's highest, or equal to it and
    its rank is higher; or if the two are of one kind, so that their sigmas are equal whatever they are, and its rank is
    higher. A pair that is better in any case than all others of its prediction can only be passed over for a better one
    of its ground truth: that one is matched in any case, and none of its worse pairs is. So with the sides exchanged.
    What is then out of the question is no rival to others any more.

    Args:
        pairs: candidates, without those that can never be similar enough to match.
        low: (c,) the lowest sigma.
        high: (c,) the highest sigma.
        certain: (c,) pairs that are similar enough in any case.
        rank: (c,) decides between equal sigma, the higher first; no two pairs share one.
        kind: (c,) equal for pairs of one class and the same words.
    """
    every = _Open(pairs.truth, pairs.prediction, low, np.where(certain, low, -np.inf), high, rank, kind)
    least, taken = np.full(truths, -np.inf), np.zeros(predictions, bool)
    left = np.arange(len(low))
    while True:
        now = every.select(left)
        by_prediction = np.argsort(now.prediction, kind="stable")
        turned = now.select(by_prediction)
        best_of_prediction = np.zeros(len(left), bool)
        best_of_prediction[by_prediction] = turned.unrivalled(turned.prediction)
        best_of_truth = now.unrivalled(now.truth)
        np.maximum.at(least, now.truth[best_of_prediction], now.low[best_of_prediction])
        taken[now.prediction[best_of_truth]] = True
        beaten = now.beaten(now.truth, best_of_prediction)
        beaten[by_prediction] |= turned.beaten(turned.prediction, best_of_truth[by_prediction])
        if not beaten.any():
            break
        left = left[~beaten]
    possible = np.zeros(len(low), bool)
    possible[left] = True
    sure = least > -np.inf
    wanted = np.bincount(pairs.prediction[left], minlength=predictions) > 0
    return Outcomes(possible, sure, np.where(sure, least, 0.0), ~taken, ~wanted)


class _Open(NamedTuple):
    """Pairs that may be matched; see :func:`best_pairs_first`. ``lowest`` is -inf where a pair may not match."""

    truth: Indices
    prediction: Indices
    low: Floats
    lowest: Floats
    high: Floats
    rank: Indices
    kind: Indices

    def select(self, rows: Indices) -> _Open:
        return _Open._make(column[rows] for column in self)

    def unrivalled(self, owner: Indices) -> Mask:
        """Which pairs are better, in any case, than all others of their owner; pairs stand by owner."""
        if not len(owner):
            return np.zeros(0, bool)
        start, size = runs(owner)
        bar, best = self._best(np.ones(len(owner), bool), start, size)
        of_kind = np.repeat(np.maximum.reduceat(np.where(self.rank == best, self.kind, -1), start), size)
        worse = (self.rank < best) & ((self.high <= bar) | (self.kind == of_kind))
        worse |= (self.high < bar) | (self.rank == best)
        unrivalled: Mask = (self.rank == best) & np.repeat(np.logical_and.reduceat(worse, start), size)
        return unrivalled

    def beaten(self, owner: Indices, strong: Mask) -> Mask:
        """Which pairs are worse, in any case, than a strong one of their owner; pairs stand by owner."""
        if not strong.any():
            return np.zeros(len(owner), bool)
        bar, best = self._best(strong, *runs(owner))
        beaten: Mask = (self.high < bar) | ((self.high == bar) & (self.rank < best))
        order = np.lexsort((self.kind, owner))
        start = np.flatnonzero(first_of_each(owner[order]) | first_of_each(self.kind[order]))
        best = np.maximum.reduceat(np.where(strong, self.rank, -1)[order], start)
        beaten[order] |= self.rank[order] < np.repeat(best, np.diff(start, append=len(order)))
        return beaten

    def _best(self, among: Mask, start: Indices, size: Indices) -> tuple[Floats, Indices]:
        """(c,) highest lowest sigma, and (c,) the highest rank with it, of some pairs of each pair's owner."""
        lowest = np.where(among, self.lowest, -np.inf)
        bar = np.repeat(np.maximum.reduceat(lowest, start), size)
        rank = np.where((lowest == bar) & (bar > -np.inf), self.rank, -1)
        return bar, np.repeat(np.maximum.reduceat(rank, start), size)


def _outcomes(scorer: Scorer, pairs: Overlaps, low: Floats, high: Floats) -> Outcomes:
    options, predictions = scorer.options, scorer.task.predictions
    certain = scorer.may_match(low)
    if options.assign != "best-first":
        return any_maximal(pairs, low, certain, len(scorer.hoi), len(predictions))
    words = predictions.verb.astype(np.int64) * len(predictions.objects) + predictions.object
    kind = scorer.hoi[pairs.truth] * (len(predictions.verbs) * len(predictions.objects)) + words[pairs.prediction]
    rank = np.empty(len(low), np.int64)
    rank[scorer.order(pairs, np.zeros(len(low)))] = np.arange(len(low), 0, -1)
    return best_pairs_first(pairs, low, high, certain, rank, kind, len(scorer.hoi), len(predictions))


# Between which values a score lies were the pairs rated that a map leaves unrated (docs/protocols.md 10.7).
#
# What is proved holds for any values 0..1 of the map's unrated pairs: credit, who is matched, and who is unmatched. Of
# which class an unmatched prediction is a false positive cannot be bounded usefully, as a single rating of 1 can make
# any
# of them one of any class. There, ``low`` and ``high`` hold for all values under which each unmatched prediction is a
# false positive of the class that today's map says, or of the other possible class by a cautious guess
# (:func:`other_class`), and the near repeats of another prediction (``repeats=near``) are those by today's map.
#
# The proof, class by class. A list of entries (score, credit) loses no average precision when a credit is raised, an
# entry without credit is removed, an entry moves up past entries of no more credit, or one is added whose credit is no
# lower than any other's; and gains none by the opposite. All hold for each order of tied entries, so for their mean.
#
# - ``high``: each ground truth with a possible match has the highest sigma of its possible matches. If their scores
#   differ, or there may be no match, it has the highest sigma of the class's list, above the highest score. Only
#   predictions that are unmatched in any case, and false positives of this class in either, are its false positives.
# - ``low``: each sure ground truth has the lowest sigma that its match can have. If the scores of its possible matches
#   differ, an entry without credit stands above the highest of them, and the credit below the lowest (not with the
#   trapezoid rule, which such an entry may please: there the credit is 0). Ground truths that may have no match have
#   an entry without credit. All predictions that may be unmatched and count for this class are its false positives.

Bounds = tuple[float, float]


class FalsePositives(NamedTuple):
    """Of which class each of u unmatched predictions would be a false positive.

    Attributes:
        nearest: (u,) the class that it is most similar to, -1 for none.
        sigma: (u,) how similar they are.
        counts: (u,) whether that is enough to be one.
    """

    nearest: Indices
    sigma: Floats
    counts: Mask

    @property
    def category(self) -> Indices:
        """(u,) the class that it is a false positive of, -1 for none."""
        return np.where(self.counts, self.nearest, -1)


def false_positives(scorer: Scorer, similarities: HoiSimilarity, unmatched: Indices) -> FalsePositives:
    """Decide by some similarities what unmatched predictions are false positives of."""
    nearest, sigma = scorer.nearest(unmatched, similarities)
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma) & (nearest >= 0))


def other_class(scorer: Scorer, guess: HoiSimilarity, unmatched: Indices, today: FalsePositives) -> FalsePositives:
    """Find the class that, by a guess, may come before today's nearest.

    Today's nearest stays as similar as it is; else a guess that lifts all classes would hide that any of them may win.
    Where only the image's classes count, it is simply the nearest by the guess.

    ``guess`` has guessed values for unrated pairs, and ``unmatched`` are the (u,) predictions that may be unmatched.
    """
    if scorer.options.fp_scope != "dataset" or not scorer.counted.any():
        return false_positives(scorer, guess, unmatched)
    words, allowed = scorer.task.predictions, np.flatnonzero(scorer.counted)
    verb, object_ = words.verb[unmatched], words.object[unmatched]
    nearest, sigma = guess.nearest_class(verb, object_, allowed, (today.nearest, today.sigma))
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma))


@dataclass(frozen=True, slots=True, eq=False)
class OpenScore:
    """What an evaluation may come to.

    Attributes:
        scorer: with similarities whose unrated pairs are 0.
        matches: who may be matched with whom.
        today, other: what unmatched predictions are false positives of by today's map, and what else they may be.
    """

    scorer: Scorer
    imputation: Imputation
    matches: PossibleMatches
    today: FalsePositives
    other: FalsePositives

    @classmethod
    def of(cls, scorer: Scorer, imputation: Imputation, rows: Indices) -> OpenScore:
        """Look at some predictions; the scorer's similarities are ``imputation.low``, its ``near`` that of today's."""
        matches = PossibleMatches.of(scorer, imputation, rows)
        today = false_positives(scorer, imputation.today, matches.unmatched)
        other = other_class(scorer, imputation.guess, matches.unmatched, today)
        return cls(scorer, imputation, matches, today, other)

    def mean_bounds(self, ap: tuple[Floats, Floats]) -> list[float | None]:
        """SHOE-mAP of lowest and of highest average precisions."""
        return [mean_over(values, self.scorer.in_mean) for values in ap]


def hull(figures: Sequence[float | None]) -> Bounds | None:
    """Lowest and highest of the figures that there are."""
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def precision_bounds(score: OpenScore, other: FalsePositives) -> tuple[Floats, Floats]:
    """(K,) lowest and (K,) highest average precision of each class; proof: see the module.

    Each unmatched prediction may be a false positive of ``other`` in place of what today's map says.
    """
    scorer, matches = score.scorer, score.matches
    settled, least = matches.settled, matches.outcomes.least
    matched = np.flatnonzero(matches.number)
    fixed = settled[matched]
    # Just above, or just below, what it may tie with: that bounds no worse, and leaves fewer orders to look at.
    first, last = matches.first[matched], matches.last[matched]
    first = np.where(first == last, first, np.nextafter(first, np.inf))
    highest = np.zeros(len(scorer.truths))
    np.maximum.at(highest, scorer.hoi[matched], matches.most[matched])
    most = np.where(fixed, matches.most[matched], highest[scorer.hoi[matched]])
    surely, maybe = _false_positive_of(score, other)
    high = scorer.entries_of(matched, first, most, *_false(score, surely)).scores()

    later = np.flatnonzero(~settled & (least > 0)) if scorer.options.ap != Interpolation.TRAPEZOID else matched[:0]
    missed = _missed(scorer, matches)
    low = scorer.entries_of(
        np.concatenate([matched, later, missed]),
        np.concatenate([first, np.nextafter(matches.last[later], -np.inf), np.zeros(len(missed))]),
        np.concatenate([np.where(fixed, least[matched], 0.0), least[later], np.zeros(len(missed))]),
        *_false(score, *maybe),
    ).scores()
    return low.ap, high.ap


def _false_positive_of(score: OpenScore, other: FalsePositives) -> tuple[Indices, tuple[Indices, Indices]]:
    """The class of each unmatched prediction in any case, and the two classes that are possible; -1 for none."""
    today, else_ = score.today.category, other.category
    surely = np.where((today == else_) & score.matches.surely, today, -1)
    return surely, (today, np.where(today == else_, -1, else_))


def _false(score: OpenScore, *false_positive_of: Indices) -> tuple[Indices, Indices]:
    """The predictions that are false positives of a class with ground truth, and of which class."""
    unmatched, counts = score.matches.unmatched, np.append(score.scorer.truths > 0, False)
    kept = [counts[category] for category in false_positive_of]
    return (
        np.concatenate([unmatched[mask] for mask in kept]),
        np.concatenate([category[mask] for category, mask in zip(false_positive_of, kept, strict=True)]),
    )


def _missed(scorer: Scorer, matches: PossibleMatches) -> Indices:
    """Ground truths that may be missed, where an entry (0, 0) for them may stand above credit."""
    if scorer.options.missed == "drop" or not (matches.last <= 0).any():
        return np.zeros(0, np.int64)
    return scorer.truth_rows[~matches.outcomes.sure[scorer.truth_rows]]
