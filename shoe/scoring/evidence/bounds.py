"""Bounds of SHOE-mAP (protocol ``shoe``) if each similarity is only known to lie between two bounds.

:class:`Outcomes` is cautious: what it calls sure or impossible is so for all values of the unrated pairs, but what it
calls possible need not happen. For example, matches that are possible one by one may be impossible together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.protocols import SEMANTIC
from shoe.core.arrays import Floats, Indices, Mask, first_of_each, mask_of, runs
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Overlaps, Task
from shoe.scoring.scorer import Scorer
from shoe.similarity.unrated import ImputedSimilarity, SenseLookups

OPTIONS = SEMANTIC["shoe"]  # options for which the bounds hold


@dataclass(frozen=True, slots=True, eq=False)
class Imputation:
    """Similarities of classes to predicted words, with and without imputed values for pairs that no rater rated."""

    current: HoiSimilarity  # similarities under the map, with unrated pairs treated as the protocol says
    # low, high: similarities with all unrated pairs at 0 and at 1
    low: HoiSimilarity
    high: HoiSimilarity
    guess: HoiSimilarity  # similarities with unrated pairs predicted from WordNet and the rated pairs
    # verbs, objects: pairs of verb senses, and of object senses, that determine these similarities
    verbs: SenseLookups
    objects: SenseLookups


def imputation_of(task: Task, current: HoiSimilarity) -> Imputation | None:
    """Return the similarities of a task with bounds and guesses for the pairs of senses that its map does not rate.

    Return None if ``current`` has no map (``source``), or if no unrated pair matters.
    """
    if (source := current.source) is None:
        return None
    classes = frozenset({*current.verb_senses.tolist(), *current.object_senses.tolist()} - {-1})
    low, high, guess = (
        HoiSimilarity.from_task(task, ImputedSimilarity(source, classes, value), OPTIONS) for value in (0.0, 1.0, None)
    )
    tables = (low.verbs, high.verbs), (low.objects, high.objects)
    if all(np.array_equal(lowest.values, highest.values) for lowest, highest in tables):
        return None
    words, labels = task.predictions, task.truth.classes
    look_up = SenseLookups.from_vocabulary
    verbs = look_up(source, "verb", current.verb_senses, words.verbs, OPTIONS, labels.verbs)
    objects = look_up(source, "object", current.object_senses, words.objects, OPTIONS, labels.objects)
    return Imputation(current, low, high, guess, verbs, objects)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Possible matches of t ground truths and n predictions (c candidate pairs), if similarities have bounds."""

    possible: Mask  # (c,) whether each pair may be matched
    sure: Mask  # (t,) whether each ground truth is always matched
    least: Floats  # (t,) lowest possible similarity (sigma) of the match; 0 if not ``sure``
    maybe_unmatched: Mask  # (n,) whether each prediction may be unmatched
    surely_unmatched: Mask  # (n,) whether each prediction is always unmatched


@dataclass(frozen=True, slots=True, eq=False)
class PossibleMatches:
    """Possible matches of an evaluation, with t ground truths and u predictions that may be unmatched."""

    pairs: Overlaps  # candidate pairs of a ground truth and a prediction
    outcomes: Outcomes  # possible results of matching these pairs
    number: Indices  # (t,) number of possible matches of each ground truth
    # first, last: (t,) highest and lowest score of the predictions in these matches; -inf and inf without a match
    first: Floats
    last: Floats
    most: Floats  # (t,) highest possible similarity (sigma) of these matches; 0 without a match
    unmatched: Indices  # (u,) predictions that may be unmatched, ascending
    surely: Mask  # (u,) whether each prediction in ``unmatched`` is always unmatched

    @property
    def settled(self) -> Mask:
        """(t,) whether each ground truth is always matched, with the same score in every outcome."""
        return np.asarray(self.outcomes.sure & (self.first == self.last))

    @classmethod
    def from_scorer(cls, scorer: Scorer, imputation: Imputation) -> PossibleMatches:
        """Return the possible matches of the evaluated predictions within the similarity bounds of ``imputation``."""
        predictions, pairs, truths = scorer.task.predictions, scorer.near, len(scorer.hoi)
        low, high = (scorer.sigma_of(pairs, similarities) for similarities in (imputation.low, imputation.high))
        words, _, which = scorer.task.word_pairs
        kind = scorer.hoi[pairs.truth] * np.int64(len(words)) + which[pairs.prediction]
        rank = np.empty(len(low), np.int64)
        rank[scorer.order(pairs, np.zeros(len(low)))] = np.arange(len(low), 0, -1)
        outcomes = best_pairs_first(pairs, low, high, rank, kind, truths, len(predictions))
        truth, score = pairs.truth[outcomes.possible], predictions.score[pairs.prediction[outcomes.possible]]
        first, last, most = np.full(truths, -np.inf), np.full(truths, np.inf), np.zeros(truths)
        np.maximum.at(first, truth, score)
        np.minimum.at(last, truth, score)
        np.maximum.at(most, truth, high[outcomes.possible])
        unmatched = scorer.rows[outcomes.maybe_unmatched[scorer.rows]]
        surely = outcomes.surely_unmatched[unmatched]
        return cls(pairs, outcomes, np.bincount(truth, minlength=truths), first, last, most, unmatched, surely)


def best_pairs_first(
    pairs: Overlaps, low: Floats, high: Floats, rank: Indices, kind: Indices, truths: int, predictions: int
) -> Outcomes:
    """Return the possible outcomes of the assignment rule ``best-first``, if similarities (sigma) lie in bounds.

    Pair a is always better than pair b if its lowest sigma is above b's highest sigma, or equals it and a has the
    higher rank. It is also always better if both pairs have the same ``kind``, and therefore equal sigmas, and a has
    the higher rank. If a pair is always better than all other pairs of its prediction, its ground truth is always
    matched, in this pair or in a better one. The pairs of this ground truth that are always worse are therefore
    removed. The same holds with ground truths and predictions exchanged. The remaining pairs are then compared again,
    until no pair is removed.

    Args:
        pairs: candidates.
        low, high: (c,) lowest and highest sigma of each pair.
        rank: (c,) distinct numbers that decide between pairs of equal sigma, the higher rank first.
        kind: (c,) number that is equal for pairs with the same class and the same predicted words.
        truths, predictions: number of ground truths, t, and of predictions, n.
    """
    every = _CandidatePairs(pairs.truth, pairs.prediction, low, high, rank, kind)
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
    """Candidate pairs; see :func:`best_pairs_first`."""

    truth: Indices
    prediction: Indices
    low: Floats
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
        """Return the highest ``low`` of the pairs ``among`` of each pair's owner, and the best rank of these."""
        lowest = np.where(among, self.low, -np.inf)
        bar = np.repeat(np.maximum.reduceat(lowest, start), size)
        rank = np.where((lowest == bar) & (bar > -np.inf), self.rank, -1)
        return bar, np.repeat(np.maximum.reduceat(rank, start), size)


# Bounds if the pairs were rated that a map leaves unrated (docs/protocols.md 10.7).
#
# Proved for any values 0..1 of the unrated pairs: credit, and which ground truths and predictions are matched. Not
# bounded: the class of which an unmatched prediction is a false positive, because one rating of 1 can make it one of
# any class. ``low`` and ``high`` hold if each unmatched prediction is a false positive of the class by the current map
# or by a cautious guess (``OpenScore.other``), and if near repeats are those under the current map.
#
# Proof per class. The average precision of a list of entries (score, credit) does not fall if a credit is raised, an
# entry without credit is removed, an entry moves up past entries of no more credit, or an entry is added whose credit
# is at least that of all others. It does not rise by the opposite. Both hold for each order of ties, so for their mean.
#
# - ``high``: each ground truth with a possible match has the highest sigma of these matches. If their scores differ, or
#   if it may have no match, it has the highest sigma of the class's list, above the highest score. False positives are
#   only the predictions that are always unmatched and always false positives of this class.
# - ``low``: each sure ground truth has the lowest sigma of its match. If the scores of its possible matches differ, an
#   entry without credit is above the highest of them, and the credit below the lowest. Ground truths that may have no
#   match have an entry without credit. All predictions that may be unmatched and may count for this class are its false
#   positives.

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


def false_positives(
    scorer: Scorer, similarities: HoiSimilarity, unmatched: Indices, current: FalsePositives | None = None
) -> FalsePositives:
    """Return the class in which each unmatched prediction counts as a false positive under ``similarities``.

    If ``current``, the false positives under the similarity map, is given, the nearest class under the map keeps its
    similarity, even if that in ``similarities`` is higher, so that another class can become the nearest.
    """
    words, known = scorer.task.predictions, None if current is None else (current.nearest, current.sigma)
    columns = words.verb[unmatched], words.object[unmatched], np.flatnonzero(scorer.counted)
    nearest, sigma = similarities.nearest_class(*columns, known)
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma, OPTIONS.delta_at))


@dataclass(frozen=True, slots=True, eq=False)
class OpenScore:
    """Possible results of an evaluation under a similarity map with unrated pairs."""

    scorer: Scorer  # scorer in which unrated pairs are 0
    imputation: Imputation  # similarities, with bounds and guesses for unrated pairs
    matches: PossibleMatches  # possible matches of the evaluated predictions
    current: FalsePositives  # false positives under the map, with unrated pairs treated as the options say
    # false positives if unrated pairs have guessed similarities (:func:`false_positives` with ``current``)
    other: FalsePositives

    @classmethod
    def from_scorer(cls, scorer: Scorer, imputation: Imputation) -> OpenScore:
        """Return the possible results of a task.

        ``scorer`` must have the similarities ``imputation.low``, but the overlapping pairs (``near``) of a scorer with
        ``imputation.current``.
        """
        matches = PossibleMatches.from_scorer(scorer, imputation)
        current = false_positives(scorer, imputation.current, matches.unmatched)
        other = false_positives(scorer, imputation.guess, matches.unmatched, current)
        return cls(scorer, imputation, matches, current, other)

    def mean_bounds(self, score: float, ap: tuple[Floats, Floats]) -> Bounds:
        """Return the lowest and highest SHOE-mAP from (K,) lowest and highest AP, extended to include ``score``."""
        means = [mean_over(values, self.scorer.in_mean) for values in ap]
        known = [score, *(mean for mean in means if mean is not None)]
        return min(known), max(known)


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

    later = np.flatnonzero(~settled & (least > 0))
    # Entries (0, 0) of ground truths that may be missed change the result only beside predictions with scores up to 0.
    missed = scorer.truth_rows[~matches.outcomes.sure[scorer.truth_rows]]
    if not (matches.last <= 0).any():
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
