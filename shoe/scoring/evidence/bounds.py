"""Bounds of SHOE-mAP if each similarity is only known to lie between two bounds.

:class:`Outcomes` is cautious: what it calls sure or impossible is so for all values of the unrated pairs, but what it
calls possible need not happen. For example, matches that are possible one by one may be impossible together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.scoring_options import Interpolation
from shoe.core.arrays import Floats, Indices, Mask, distinct, first_of_each, mask_of, runs
from shoe.scoring.entries import mean_over
from shoe.scoring.evidence.draws import Imputation
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.repeats import repeated
from shoe.scoring.matching.task import Overlaps
from shoe.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Possible matches of t ground truths and n predictions (c candidate pairs), if similarities have bounds.

    Attributes:
        possible: (c,) whether each pair may be matched.
        sure: (t,) whether each ground truth is always matched.
        least: (t,) lowest possible similarity (sigma) of the match; 0 if not ``sure``.
        maybe_unmatched: (n,) whether each prediction may be unmatched.
        surely_unmatched: (n,) whether each prediction is always unmatched.
    """

    possible: Mask
    sure: Mask
    least: Floats
    maybe_unmatched: Mask
    surely_unmatched: Mask


@dataclass(frozen=True, slots=True, eq=False)
class PossibleMatches:
    """Possible matches of an evaluation, with t ground truths and u predictions that may be unmatched.

    Attributes:
        pairs: candidate pairs of a ground truth and a prediction that may be similar enough to match.
        outcomes: possible results of matching these pairs.
        number: (t,) number of possible matches of each ground truth.
        first, last: (t,) highest and lowest score of the predictions in these matches; -inf and inf without a match.
        most: (t,) highest possible similarity (sigma) of these matches; 0 without a match.
        unmatched: (u,) predictions that may be unmatched, ascending.
        surely: (u,) whether each prediction in ``unmatched`` is always unmatched.
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
        """(t,) whether each ground truth is always matched, with the same score in every outcome."""
        return np.asarray(self.outcomes.sure & (self.first == self.last))

    @classmethod
    def from_scorer(cls, scorer: Scorer, imputation: Imputation, rows: Indices) -> PossibleMatches:
        """Return the possible matches of the predictions in ``rows`` within the similarity bounds of ``imputation``."""
        predictions, pairs = scorer.task.predictions, scorer.near
        takes_part = mask_of(rows, len(predictions))
        keep = takes_part[pairs.prediction]
        if scorer.options.repeats == "charged" and scorer.prefers_originals:  # then repeats cannot match
            repeats = repeated(predictions, distinct(pairs.prediction[keep]))
            keep &= ~mask_of(repeats, len(predictions))[pairs.prediction]
        pairs = pairs.select(keep)
        low, high = (scorer.sigma_of(pairs, similarities) for similarities in (imputation.low, imputation.high))
        may = scorer.may_match(high)
        pairs, low, high = pairs.select(may), low[may], high[may]
        outcomes = _outcomes(scorer, pairs, low, high)
        truths = len(scorer.hoi)
        truth, score = pairs.truth[outcomes.possible], predictions.score[pairs.prediction[outcomes.possible]]
        first, last, most = np.full(truths, -np.inf), np.full(truths, np.inf), np.zeros(truths)
        np.maximum.at(first, truth, score)
        np.minimum.at(last, truth, score)
        np.maximum.at(most, truth, high[outcomes.possible])
        number, unmatched = np.bincount(truth, minlength=truths), np.flatnonzero(takes_part & outcomes.maybe_unmatched)
        surely = outcomes.surely_unmatched[unmatched]
        return cls(pairs, outcomes, number, first, last, most, unmatched, surely)


def any_maximal(pairs: Overlaps, low: Floats, certain: Mask, truths: int, predictions: int) -> Outcomes:
    """Return the possible outcomes over all maximal matchings, among which are the results of all assignment rules.

    A matching is maximal if no pair can be added. A ground truth is always matched if one of its ``certain`` pairs has
    a prediction without another candidate ground truth.

    Args:
        pairs: candidates, without pairs that are never similar enough to match.
        low: (c,) lowest similarity (sigma) of each pair.
        certain: (c,) whether each pair is always similar enough.
        truths, predictions: number of ground truths, t, and of predictions, n.
    """
    wanted_by = np.bincount(pairs.prediction, minlength=predictions)
    wants = np.bincount(pairs.truth, minlength=truths)
    sure = mask_of(pairs.truth[certain & (wanted_by[pairs.prediction] == 1)], truths)
    taken = mask_of(pairs.prediction[certain & (wants[pairs.truth] == 1)], predictions)
    least = np.full(truths, np.inf)
    np.minimum.at(least, pairs.truth, low)
    return Outcomes(np.ones(len(low), bool), sure, np.where(sure, least, 0.0), ~taken, wanted_by == 0)


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
    """Return the possible outcomes of the assignment rule ``best-first``, if similarities (sigma) lie in bounds.

    Pair a is always better than pair b if a is ``certain`` and its lowest sigma is above b's highest sigma, or equals
    it and a has the higher rank. It is also always better if both pairs have the same ``kind``, and therefore equal
    sigmas, and a has the higher rank. If a certain pair is always better than all other pairs of its prediction, its
    ground truth is always matched, in this pair or in a better one. The pairs of this ground truth that are always
    worse are therefore removed. The same holds with ground truths and predictions exchanged. The remaining pairs are
    then compared again, until no pair is removed.

    Args:
        pairs: candidates, without pairs that are never similar enough to match.
        low, high: (c,) lowest and highest sigma of each pair.
        certain: (c,) whether each pair is always similar enough.
        rank: (c,) distinct numbers that decide between pairs of equal sigma, the higher rank first.
        kind: (c,) number that is equal for pairs with the same class and the same predicted words.
        truths, predictions: number of ground truths, t, and of predictions, n.
    """
    every = _CandidatePairs(pairs.truth, pairs.prediction, low, np.where(certain, low, -np.inf), high, rank, kind)
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
    sure, wanted = least > -np.inf, mask_of(pairs.prediction[left], predictions)
    return Outcomes(mask_of(left, len(low)), sure, np.where(sure, least, 0.0), ~taken, ~wanted)


class _CandidatePairs(NamedTuple):
    """Candidate pairs; see :func:`best_pairs_first`. ``lowest`` is -inf if a pair may be too dissimilar to match."""

    truth: Indices
    prediction: Indices
    low: Floats
    lowest: Floats
    high: Floats
    rank: Indices
    kind: Indices

    def select(self, rows: Indices) -> _CandidatePairs:
        return _CandidatePairs._make(column[rows] for column in self)

    def unrivalled(self, owner: Indices) -> Mask:
        """Return (c,) whether each pair is always better than all other pairs of its owner; sorted by ``owner``."""
        if not len(owner):
            return np.zeros(0, bool)
        start, size = runs(owner)
        bar, best = self._best(np.ones(len(owner), bool), start, size)
        of_kind = np.repeat(np.maximum.reduceat(np.where(self.rank == best, self.kind, -1), start), size)
        worse = (self.rank < best) & ((self.high <= bar) | (self.kind == of_kind))
        worse |= (self.high < bar) | (self.rank == best)
        return np.asarray((self.rank == best) & np.repeat(np.logical_and.reduceat(worse, start), size))

    def beaten(self, owner: Indices, strong: Mask) -> Mask:
        """Return (c,) whether each pair always loses to a ``strong`` pair of the same owner; sorted by ``owner``."""
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
        """Return the highest ``lowest`` of the pairs ``among`` of each pair's owner, and the best rank of these."""
        lowest = np.where(among, self.lowest, -np.inf)
        bar = np.repeat(np.maximum.reduceat(lowest, start), size)
        rank = np.where((lowest == bar) & (bar > -np.inf), self.rank, -1)
        return bar, np.repeat(np.maximum.reduceat(rank, start), size)


def _outcomes(scorer: Scorer, pairs: Overlaps, low: Floats, high: Floats) -> Outcomes:
    options, predictions = scorer.options, scorer.task.predictions
    certain = scorer.may_match(low)
    if options.assign != "best-first":
        return any_maximal(pairs, low, certain, len(scorer.hoi), len(predictions))
    words, _, which = scorer.task.word_pairs
    kind = scorer.hoi[pairs.truth] * np.int64(len(words)) + which[pairs.prediction]
    rank = np.empty(len(low), np.int64)
    rank[scorer.order(pairs, np.zeros(len(low)))] = np.arange(len(low), 0, -1)
    return best_pairs_first(pairs, low, high, certain, rank, kind, len(scorer.hoi), len(predictions))


# Bounds if the pairs were rated that a map leaves unrated (docs/protocols.md 10.7).
#
# Proved for any values 0..1 of the unrated pairs: credit, and which ground truths and predictions are matched. Not
# bounded: the class of which an unmatched prediction is a false positive, because one rating of 1 can make it one of
# any class. ``low`` and ``high`` hold if each unmatched prediction is a false positive of the class by the current map
# or by a cautious guess (:func:`other_class`), and if near repeats (``repeats=near``) are those under the current map.
#
# Proof per class. The average precision of a list of entries (score, credit) does not fall if a credit is raised, an
# entry without credit is removed, an entry moves up past entries of no more credit, or an entry is added whose credit
# is at least that of all others. It does not rise by the opposite. Both hold for each order of ties, so for their mean.
#
# - ``high``: each ground truth with a possible match has the highest sigma of these matches. If their scores differ, or
#   if it may have no match, it has the highest sigma of the class's list, above the highest score. False positives are
#   only the predictions that are always unmatched and always false positives of this class.
# - ``low``: each sure ground truth has the lowest sigma of its match. If the scores of its possible matches differ, an
#   entry without credit is above the highest of them, and the credit below the lowest. With the trapezoid rule, which
#   such an entry may raise, the credit is 0. Ground truths that may have no match have an entry without credit. All
#   predictions that may be unmatched and may count for this class are its false positives.

Bounds = tuple[float, float]


class FalsePositives(NamedTuple):
    """Class in which each of u unmatched predictions may count as a false positive.

    Attributes:
        nearest, sigma: (u,) most similar class, -1 without a class, and the similarity to it.
        counts: (u,) whether this similarity is high enough to count as a false positive of the class.
    """

    nearest: Indices
    sigma: Floats
    counts: Mask

    @property
    def category(self) -> Indices:
        """(u,) class in which each prediction counts as a false positive, -1 for no class."""
        return np.where(self.counts, self.nearest, -1)


def false_positives(scorer: Scorer, similarities: HoiSimilarity, unmatched: Indices) -> FalsePositives:
    """Return the class in which each unmatched prediction counts as a false positive under ``similarities``."""
    nearest, sigma = scorer.nearest(unmatched, similarities, scorer.options.fp_scope)
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma, scorer.options.delta_at) & (nearest >= 0))


def other_class(scorer: Scorer, guess: HoiSimilarity, unmatched: Indices, current: FalsePositives) -> FalsePositives:
    """Return the class in which each unmatched prediction counts as a false positive under the similarities ``guess``.

    ``current`` are the false positives under the similarity map. With ``fp-scope=dataset``, the nearest class under the
    map keeps its similarity, even if ``guess`` is higher, so that another class can become the nearest.
    """
    if scorer.options.fp_scope != "dataset" or not scorer.counted.any():
        return false_positives(scorer, guess, unmatched)
    words, allowed = scorer.task.predictions, np.flatnonzero(scorer.counted)
    verb, object_ = words.verb[unmatched], words.object[unmatched]
    nearest, sigma = guess.nearest_class(verb, object_, allowed, (current.nearest, current.sigma))
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma, scorer.options.delta_at))


@dataclass(frozen=True, slots=True, eq=False)
class OpenScore:
    """Possible results of an evaluation under a similarity map with unrated pairs.

    Attributes:
        scorer: scorer in which unrated pairs are 0.
        imputation: similarities, with bounds and guesses for unrated pairs.
        matches: possible matches of the evaluated predictions.
        current: false positives under the map, with unrated pairs treated as the options say.
        other: false positives if unrated pairs have guessed similarities; see :func:`other_class`.
    """

    scorer: Scorer
    imputation: Imputation
    matches: PossibleMatches
    current: FalsePositives
    other: FalsePositives

    @classmethod
    def from_scorer(cls, scorer: Scorer, imputation: Imputation, rows: Indices) -> OpenScore:
        """Return the possible results for the predictions in ``rows``.

        ``scorer`` must have the similarities ``imputation.low``, but the overlapping pairs (``near``) of a scorer with
        ``imputation.current``.
        """
        matches = PossibleMatches.from_scorer(scorer, imputation, rows)
        current = false_positives(scorer, imputation.current, matches.unmatched)
        other = other_class(scorer, imputation.guess, matches.unmatched, current)
        return cls(scorer, imputation, matches, current, other)

    def mean_bounds(self, ap: tuple[Floats, Floats]) -> list[float | None]:
        """Return [lowest, highest] SHOE-mAP from (K,) lowest and (K,) highest AP; [None, None] if no class counts."""
        return [mean_over(values, self.scorer.in_mean) for values in ap]


def value_range(figures: Sequence[float | None]) -> Bounds | None:
    """Return (lowest, highest) of the values that are not None; None if all are None."""
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def precision_bounds(score: OpenScore, other: FalsePositives) -> tuple[Floats, Floats]:
    """Return (K,) lower and (K,) upper bounds of the average precision of each class over all possible matches.

    Each unmatched prediction may be a false positive of its class in ``score.current`` or of its class in ``other``.
    The comment in this module has the proof.
    """
    scorer, matches = score.scorer, score.matches
    settled, least = matches.settled, matches.outcomes.least
    matched = np.flatnonzero(matches.number)
    fixed = settled[matched]
    # Scores just above or below possible ties give equally good bounds with fewer orders of ties.
    first, last = matches.first[matched], matches.last[matched]
    first = np.where(first == last, first, np.nextafter(first, np.inf))
    highest = np.zeros(len(scorer.truths))
    np.maximum.at(highest, scorer.hoi[matched], matches.most[matched])
    most = np.where(fixed, matches.most[matched], highest[scorer.hoi[matched]])
    current, else_ = score.current.category, other.category
    surely = np.where((current == else_) & matches.surely, current, -1)
    high = scorer.entries_of(matched, first, most, *_false(score, surely)).scores()

    later = np.flatnonzero(~settled & (least > 0)) if scorer.options.ap != Interpolation.TRAPEZOID else matched[:0]
    # Entries (0, 0) of ground truths that may be missed change the result only beside predictions with scores up to 0.
    missed = scorer.truth_rows[~matches.outcomes.sure[scorer.truth_rows]]
    if scorer.options.missed == "drop" or not (matches.last <= 0).any():
        missed = missed[:0]
    low = scorer.entries_of(
        np.concatenate([matched, later, missed]),
        np.concatenate([first, np.nextafter(matches.last[later], -np.inf), np.zeros(len(missed))]),
        np.concatenate([np.where(fixed, least[matched], 0.0), least[later], np.zeros(len(missed))]),
        *_false(score, current, np.where(current == else_, -1, else_)),
    ).scores()
    return low.ap, high.ap


def _false(score: OpenScore, *false_positive_of: Indices) -> tuple[Indices, Indices]:
    """Return the predictions that are false positives of classes with ground truth, and the class of each."""
    unmatched, counts = score.matches.unmatched, np.append(score.scorer.truths > 0, False)
    masks = [counts[category] for category in false_positive_of]
    categories = [category[mask] for category, mask in zip(false_positive_of, masks, strict=True)]
    return np.concatenate([unmatched[mask] for mask in masks]), np.concatenate(categories)
