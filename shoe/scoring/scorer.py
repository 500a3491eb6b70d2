"""Steps of the algorithms for SHOE-mAP and SHOE-mF1: selection of predictions, matching, and false positives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoe.benchmarks.scoring_options import At, FpScope, SemanticOptions, TauBy, Ties
from shoe.core.arrays import (
    Floats,
    Indices,
    Ints,
    Mask,
    best_of_each,
    distinct,
    mask_of,
    number_distinct,
    row_order,
    scatter,
)
from shoe.scoring.entries import AveragingRule, Entries, mean_over
from shoe.scoring.f1 import F1Entries, F1Rule
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.assignment import ByContent, assign, best_first, in_order
from shoe.scoring.matching.repeats import near_repeats, pair_nms, repeated
from shoe.scoring.matching.task import Boxes, Overlaps, Task
from shoe.similarity import SimilarityTable

_ROUNDING = 1e-9  # tolerance for products: 0.07 x 100 is a little more than 7 in floating point


def confident(task: Task, rows: Indices, ranked: Mask, options: SemanticOptions) -> Indices:
    """Return the ``rows`` whose predictions pass the threshold tau (Algorithm 2, line 2; docs/protocols.md A22).

    With ``tau-by=score``, predictions with a score of at least tau pass. Otherwise, the threshold is the highest score
    reached by at least a fraction 1 - tau of the predictions in the (r,) mask ``ranked``, in the data set or per image.
    It also applies to rows outside ``ranked``; without predictions in ``ranked``, all rows pass.
    """
    tau, score = options.tau, task.predictions.score[rows]
    if options.tau_by == "score":
        return rows.take(np.flatnonzero(score >= tau))
    # Ties with the last row that is kept are kept too: no order of lines decides between equal scores.
    decisive = score.take(np.flatnonzero(ranked))  # faster than indexing with the mask
    if options.tau_by == "dataset":
        lowest = len(decisive) - max(1, math.ceil((1 - tau) * len(decisive) - _ROUNDING))
        return rows.take(np.flatnonzero(score >= np.partition(decisive, lowest)[lowest])) if len(decisive) else rows
    image = task.image[rows]
    sizes = np.bincount(image[ranked], minlength=int(image.max(initial=0)) + 1)
    most = np.minimum(sizes, np.maximum(1, np.ceil((1 - tau) * sizes - _ROUNDING).astype(np.int64)))
    falling = np.append(decisive[row_order(image[ranked], decisive)], -np.inf)
    last = falling[np.where(most > 0, np.cumsum(sizes) - sizes + most - 1, len(decisive))]
    return rows[score >= last[image]]


def participants(task: Task, similarities: HoiSimilarity, options: SemanticOptions) -> Indices:
    """Return the ascending rows of evaluated predictions, which are on known images and pass all options.

    Options remove predictions of no_interaction, of unrated words, beyond the cap per image, or suppressed by NMS.
    """
    predictions, classes = task.predictions, task.truth.classes
    keep = task.image >= 0
    if options.no_interaction == "exclude":
        keep &= ~np.isin(task.verb_label, classes.verb[classes.no_interaction])[predictions.verb]
    if options.unrated == "drop":
        keep &= similarities.rated_verbs[predictions.verb] & similarities.rated_objects[predictions.object]
    rows = np.flatnonzero(keep)
    if options.cap is not None:
        rows = rows[best_of_each(task.image[rows], predictions.score[rows], options.cap)]
    return rows if options.nms is None else pair_nms(predictions, rows, options.nms)


def have_meaning(words: Sequence[str], label: Ints, table: SimilarityTable) -> Mask:
    """Return a (W,) mask of the predicted ``words`` that are labels (``label`` >= 0) or have a sense in the lexicon."""
    unresolved = frozenset(table.unresolved)
    return np.array([word not in unresolved for word in words], bool) | (label >= 0)


_TRIED_SIZES = 2.0 ** np.arange(-3, 3.25, 0.5)
"""Numbers of predictions that ``tau-by=best`` tries to keep, in multiples of the number of ground truths."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Result of matching t ground truths with n predictions."""

    prediction: Indices  # (t,) row of the prediction matched with each ground truth, -1 without a match
    sigma: Floats  # (t,) similarity of each ground truth and its matched prediction, 0 without a match
    unmatched: Indices  # (u,) rows of the predictions without a match, ascending
    # (u,) class of which each unmatched prediction is a false positive for mAP, -1 for no class
    false_positive_of: Indices


class Scorer:
    """Scorer of one task under one set of SHOE options: t ground truths, n predictions, K classes.

    Attributes:
        hoi: (t,) class of each ground truth.
        turn: (t,) index of each ground truth in its image.
        counted: (K,) whether each class is evaluated (option ``no-interaction``).
        truth_rows: ascending rows of the ground truths of evaluated classes.
        truths: (K,) number of ground truths per class, 0 for classes that are not evaluated.
        rows: ascending rows of the evaluated predictions.
        near: pairs of an evaluated ground truth and prediction whose boxes overlap, whatever their words.
        pairs, sigma: c pairs of ``near`` that are similar enough to match, and their (c,) similarities.
    """

    def __init__(
        self, task: Task, similarities: HoiSimilarity, options: SemanticOptions, near: Overlaps | None = None
    ) -> None:
        """Prepare a task; boxes are not compared if ``near`` of a scorer with the same task and options is given."""
        truth, classes = task.truth, task.truth.classes
        self.task, self.similarities, self.options = task, similarities, options
        self.hoi = truth.hoi
        self.truth_image = truth.interactions.image.astype(np.int64)
        self.turn = np.arange(len(self.hoi)) - truth.interactions.offsets[self.truth_image]
        self.counted = classes.evaluated(options.no_interaction)
        self.truth_rows = np.flatnonzero(self.counted[self.hoi])
        self.truths = np.where(self.counted, truth.triplets_per_class, 0)
        self.rows = participants(task, similarities, options)
        self.near = self._candidates() if near is None else near
        self.sigma = self.sigma_of(self.near, similarities)
        keep = self.may_match(self.sigma)
        self.pairs, self.sigma = self.near.select(keep), self.sigma[keep]

    def above_delta(self) -> Scorer:
        """Return a scorer of the same task that only matches pairs more similar than delta (``min-sigma=delta``)."""
        strict = copy(self)  # with all cached values: only the pairs depend on the option
        strict.__dict__.pop("_rows_of_best_f1", None)
        strict.options = replace(self.options, min_sigma="delta")
        keep = strict.may_match(self.sigma)
        strict.pairs, strict.sigma = self.pairs.select(keep), self.sigma[keep]
        return strict

    def under(self, similarities: HoiSimilarity) -> Scorer:
        """Return a scorer of the same task and options with other similarities.

        The pairs ``near`` are computed again only if the new similarities change which predictions are evaluated, or
        which words have the same meaning (:attr:`HoiSimilarity.meanings`).
        """
        same = all(map(np.array_equal, similarities.meanings, self.similarities.meanings))
        same &= np.array_equal(participants(self.task, similarities, self.options), self.rows)
        return Scorer(self.task, similarities, self.options, self.near if same else None)

    @property
    def map_rows(self) -> Indices:
        """Ascending rows of the predictions for SHOE-mAP: evaluated predictions with at least the score ``map-tau``."""
        tau = self.options.map_tau
        return self.rows if tau is None else self.rows[self.task.predictions.score[self.rows] >= tau]

    @property
    def f1_rows(self) -> Indices:
        """Ascending rows of the predictions for SHOE-mF1: evaluated predictions that pass the threshold tau."""
        return self.f1_rows_by(self.options.tau_by)

    def f1_rows_by(self, by: TauBy) -> Indices:
        """Return the ascending rows of the predictions for SHOE-mF1 under a value of the option ``tau-by``."""
        if by == "best":
            return self._rows_of_best_f1
        return confident(self.task, self.rows, self.counts_for_tau[self.rows], replace(self.options, tau_by=by))

    @cached_property
    def _rows_of_best_f1(self) -> Indices:
        # Down to the confidence with the highest mF1 (docs/protocols.md A22). Only predictions that can change mF1 are
        # counted: meaningless predictions must not change which confidences are tried.
        score = self.task.predictions.score
        in_mean = (self.truths > 0) | (self.counted & (self.options.f1_classes == "counted"))
        moves = mask_of(self.pairs.prediction, len(score)) | np.append(in_mean, False)[self.f1_false_of]
        moving = self.rows.take(np.flatnonzero(moves.take(self.rows)))
        falling = np.sort(score.take(moving.take(np.flatnonzero(self.counts_for_tau.take(moving)))))[::-1]
        sizes = np.ceil(len(self.truth_rows) * _TRIED_SIZES).astype(np.int64)
        tried = np.unique(falling[np.minimum(sizes, len(falling)) - 1]) if len(falling) else falling
        lowest, highest = -np.inf, -1.0
        for least, f1 in zip(tried.tolist(), self._f1_above(tried, moving), strict=True):
            if f1 >= highest:  # the fewest predictions of equally good ones
                lowest, highest = least, f1
        return self.rows.take(np.flatnonzero(score.take(self.rows) >= lowest))

    def _f1_above(self, lowest: Floats, rows: Indices) -> Iterator[float]:
        """Yield mF1 of the predictions in ``rows`` with at least each score in ``lowest``, which ascends."""
        score, classes = self.task.predictions.score, len(self.truths)
        of_pair, image, rule = score[self.pairs.prediction], self.truth_image, F1Rule.from_options(self.options)
        image_of_pair = image[self.pairs.truth]
        prediction, sigma = np.full(len(self.hoi), -1), np.zeros(len(self.hoi))
        again = np.ones(len(self.task.truth.interactions.images), bool)
        # (scores, K + 1) number of rows with at least each score that would be false positives of no class and each.
        step = np.searchsorted(lowest, score.take(rows), side="right")
        charged_at = np.bincount(
            step * (classes + 1) + self.f1_false_of.take(rows) + 1, minlength=(len(lowest) + 1) * (classes + 1)
        )
        charged_above = charged_at.reshape(-1, classes + 1)[:0:-1].cumsum(axis=0)[::-1]
        for least, charged in zip(lowest.tolist(), charged_above, strict=True):
            # Only images that lose a matched prediction are matched again: unmatched predictions decide nothing.
            if (prediction >= 0).any():
                again[:] = False
                again[image[(prediction >= 0) & (score[prediction] < least)]] = True
            keep = np.flatnonzero(again[image_of_pair] & (of_pair >= least))
            pairs, found = self._chosen(self.pairs.select(keep), self.sigma[keep])
            prediction[again[image]] = -1
            prediction[pairs.truth], sigma[pairs.truth] = pairs.prediction, found
            matched = np.flatnonzero(prediction >= 0)
            true = np.bincount(self.hoi[matched], sigma[matched], classes)
            count = np.bincount(self.hoi[matched], minlength=classes)
            charged -= np.bincount(self.f1_false_of[prediction[matched]] + 1, minlength=classes + 1)
            yield mean_over(*rule.f1(true, count - true + charged[1:], count, self.truths, self.counted)) or 0.0

    @cached_property
    def counts_for_tau(self) -> Mask:
        """(n,) whether each prediction counts in computing the tau threshold: both words are labels or have a sense."""
        words, similarities, task = self.task.predictions, self.similarities, self.task
        verb_counts = have_meaning(words.verbs, task.verb_label, similarities.verbs)
        object_counts = have_meaning(words.objects, task.object_label, similarities.objects)
        return np.asarray(verb_counts[words.verb] & object_counts[words.object])

    @cached_property
    def overlaps_truth(self) -> Mask:
        """(n,) whether both boxes of each prediction overlap the boxes of an evaluated ground truth with any labels."""
        pairs = self.task.overlaps(self.options.coordinates, self.options.rule)
        return mask_of(pairs.prediction[self.counted[self.hoi[pairs.truth]]], len(self.task.predictions))

    @cached_property
    def map_false_of(self) -> Indices:
        """(n,) class in which each prediction counts as a false positive for mAP if unmatched, -1 for no class."""
        return self._false_of(self.options.fp_scope, self.options.delta_at)

    @cached_property
    def f1_false_of(self) -> Indices:
        """(n,) class in which each prediction counts as a false positive for mF1 if unmatched, -1 for no class."""
        options = self.options
        if (options.f1_fp_scope, options.f1_delta_at) == (options.fp_scope, options.delta_at):
            return self.map_false_of
        return self._false_of(options.f1_fp_scope, options.f1_delta_at)

    def _false_of(self, scope: FpScope, at: At) -> Indices:
        false_of = np.full(len(self.task.predictions), -1, np.int64)
        nearest, sigma, which = self._nearest(scope)
        found = np.where(self.reaches_delta(sigma, at), nearest, -1)
        false_of[self.rows] = found.take(which if len(self.rows) == len(which) else which[self.rows])
        return false_of

    def _nearest(self, scope: FpScope) -> tuple[Indices, Floats, Indices]:
        """Return the most similar class, and its similarity, for k kinds of predictions, and the (n,) kind of each.

        Candidates are all evaluated classes or, with ``scope`` "image", those annotated on the image; class -1 if none.
        An unmatched prediction can be a false positive of the class (SHOE's Algorithm 1; docs/protocols.md, A7).
        """
        verb, object_, which = self.task.word_pairs
        if scope == "dataset" and self.counted.any():
            return *self.similarities.nearest_class(verb, object_, np.flatnonzero(self.counted)), which
        image, pair, which = self.task.words_by_image
        images, classes = len(self.task.truth.interactions.images), len(self.counted)
        labels = distinct(self.truth_image[self.truth_rows] * classes + self.hoi[self.truth_rows])
        offsets = np.searchsorted(labels, np.arange(images + 1) * classes)
        of_image = self.task.truth_image[image]
        count = np.append(np.diff(offsets), 0)[of_image]  # unknown images, index -1, have no class
        near, nearest, sigma = np.flatnonzero(count), np.full(len(pair), -1, np.int64), np.zeros(len(pair))
        words = verb[pair[near]], object_[pair[near]]
        nearest[near], sigma[near] = self.similarities.nearest_truth(
            labels % classes, offsets[of_image[near]], count[near], *words
        )
        return nearest, sigma, which

    @property
    def in_mean(self) -> Mask:
        """(K,) whether each class is in the mean of SHOE-mAP."""
        return AveragingRule.from_options(self.options).in_mean(self.truths, self.counted)

    def sigma_of(self, pairs: Overlaps, similarities: HoiSimilarity) -> Floats:
        """Return the (c,) similarity between ground truth and prediction in each pair, taken from ``similarities``."""
        words, row = self.task.predictions, pairs.prediction
        return similarities.sigma(self.hoi[pairs.truth], words.verb[row], words.object[row])

    def _candidates(self) -> Overlaps:
        task, options = self.task, self.options
        pairs = task.overlaps(options.coordinates, options.rule)
        takes_part = mask_of(self.rows, len(task.predictions))
        near = mask_of(pairs.prediction, len(task.predictions))
        if options.repeats == "charged" and not self.prefers_originals:
            takes_part[repeated(task.predictions, np.flatnonzero(near & takes_part))] = False
        if options.repeats == "near":
            of_verb, of_object = self.similarities.meanings
            (verb, object_, _), (image, pair, which) = task.word_pairs, task.words_by_image
            meanings = np.int64(of_object.max(initial=0) + 1)
            meaning = number_distinct(of_verb[verb] * meanings + of_object[object_], len(of_verb) * int(meanings))[1]
            group = number_distinct(
                image * np.int64(len(verb)) + meaning[pair], len(task.predictions.images) * len(verb)
            )[1]
            boxes = Boxes(task.predictions, options.coordinates)
            takes_part[near_repeats(boxes, self.rows, near, group.take(which), options.rule)] = False
        keep = takes_part[pairs.prediction]
        return pairs.select(keep & self.counted[self.hoi[pairs.truth]])

    @property
    def prefers_originals(self) -> bool:
        """Whether matching always prefers the best of several equal triplets (highest score, then first row)."""
        return self.options.assign in ("greedy-gt", "best-first") and self.options.sigma_ties == "confidence"

    def may_match(self, sigma: Floats) -> Mask:
        """Return a (c,) mask of similarities that allow a match: by ``min-sigma``, all, those > 0 or those > delta."""
        if self.options.min_sigma == "none":
            return np.ones(len(sigma), bool)
        return sigma > (0 if self.options.min_sigma == "positive" else self.options.delta)

    def reaches_delta(self, sigma: Floats, at: At) -> Mask:
        """Return whether each similarity is high enough for a false positive: >= delta, or > delta if ``at`` is ">"."""
        return sigma >= self.options.delta if at == ">=" else sigma > self.options.delta

    def match(self, rows: Indices) -> Matches:
        """Match the predictions in ``rows`` with the ground truths; return matches and unmatched predictions."""
        takes_part = mask_of(rows, len(self.task.predictions))
        pairs, sigma = self.pairs, self.sigma
        if len(rows) < len(self.rows):
            keep = takes_part[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
        pairs, sigma = self._chosen(pairs, sigma)
        prediction = scatter(pairs.prediction, pairs.truth, len(self.hoi))
        credit = np.zeros(len(self.hoi))
        credit[pairs.truth] = sigma
        takes_part[pairs.prediction] = False
        unmatched = np.flatnonzero(takes_part)
        return Matches(prediction, credit, unmatched, self.map_false_of[unmatched])

    def _chosen(self, pairs: Overlaps, sigma: Floats) -> tuple[Overlaps, Floats]:
        chosen = self._assign(pairs, sigma)
        if self.options.repeats != "charged" or not self.prefers_originals:
            return pairs.select(chosen), sigma[chosen]
        # If originals are preferred, a repeat is matched only if its original is: matched pairs tell if repeats matter.
        table = self.task.predictions
        if len(repeated(table, np.sort(pairs.prediction[chosen]))):
            keep = ~mask_of(repeated(table, distinct(pairs.prediction)), len(table))[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
            chosen = self._assign(pairs, sigma)
        return pairs.select(chosen), sigma[chosen]

    def _assign(self, pairs: Overlaps, sigma: Floats) -> Indices:
        if self.options.assign == "best-first":
            return best_first(pairs.truth, pairs.prediction, self.criteria(pairs, sigma), *self._content)
        preference, score = self.criteria(pairs, sigma)[1], self.task.predictions.score[pairs.prediction]
        of_truth = self.truth_image, self.turn
        return assign(pairs.truth, pairs.prediction, sigma, preference, *of_truth, score, self.options.assign)

    @cached_property
    def _content(self) -> tuple[ByContent, ByContent]:
        return ByContent(self.task.truth.interactions), ByContent(self.task.predictions)

    def criteria(self, pairs: Overlaps, sigma: Floats) -> list[Floats]:
        """Return (c,) arrays by which pairs are ranked: the similarity, then the tie-breaks of ``sigma-ties``."""
        score = self.task.predictions.score[pairs.prediction]
        match self.options.sigma_ties:
            case "confidence":
                return [sigma, score, pairs.iou]
            case "iou":
                return [sigma, pairs.iou, score]
            case "index":
                return [sigma, *(-rows.astype(np.float64) for rows in (pairs.prediction, pairs.truth))]

    def order(self, pairs: Overlaps, sigma: Floats) -> Indices:
        """Return the (c,) indices of the pairs from best to worst, in the order in which ``best-first`` tries them."""
        return in_order(self.criteria(pairs, sigma), pairs.truth, pairs.prediction, *self._content)

    def entries(self, matches: Matches) -> Entries:
        """Return the ranked entries for SHOE-mAP (Algorithm 1, lines 32-40).

        A match has its score and credit sigma, a false positive credit 0, and a missed ground truth score and credit 0.
        False positives and missed ground truths that cannot change AP are left out.
        """
        score, matched = self.task.predictions.score, np.flatnonzero(matches.prediction >= 0)
        # False positives of a class without ground truth change nothing: its AP is 0 or not in the mean.
        counts = np.flatnonzero(np.append(self.truths > 0, False)[matches.false_positive_of])
        missed = self.truth_rows[matches.prediction[self.truth_rows] < 0]
        if self.options.missed == "drop" or not (score[matches.prediction[matched]] <= 0).any():
            # Below every entry with credit they change nothing; without them, they are not counted as ties.
            missed = missed[:0]
        return self.entries_of(
            np.concatenate([matched, missed]),
            np.concatenate([score[matches.prediction[matched]], np.zeros(len(missed))]),
            np.concatenate([matches.sigma[matched], np.zeros(len(missed))]),
            matches.unmatched[counts],
            matches.false_positive_of[counts],
        )

    def entries_of(self, truth: Indices, score: Floats, credit: Floats, false: Indices, category: Indices) -> Entries:
        """Return the entries of e ground truths, matched or missed, and of f false positives.

        False positives come last; with ``ties=input``, all entries are sorted by image.

        ``truth`` are the (e,) rows of the ground truths, with the ``score`` and ``credit`` of their entries. ``false``
        are the (f,) rows of false positives, and ``category`` is the class in which each counts.
        """
        entries = Entries(
            category=np.concatenate([self.hoi[truth], category]),
            image=np.concatenate([self.truth_image[truth].astype(np.int32), self.task.image[false]]),
            score=np.concatenate([score, self.task.predictions.score[false]]),
            credit=np.concatenate([credit, np.zeros(len(false))]),
            truth_category=self.hoi,
            truth_image=self.truth_image,
            counted=self.counted,
            rare=self.task.truth.classes.rare,
            unseen=self.task.truth.classes.unseen,
            rule=AveragingRule.from_options(self.options),
            parts=self.task.truth.class_parts,
        )
        if self.options.ties is not Ties.INPUT:
            return entries
        return entries.select(np.lexsort((np.concatenate([truth, len(self.hoi) + false]), entries.image)))

    def map(self) -> float | None:
        """Return SHOE-mAP, 0..1, without computing other metrics; None without a class in the mean."""
        return self.entries(self.match(self.map_rows)).means().map

    def f1_entries(self, matches: Matches) -> F1Entries:
        """Return the matches and unmatched predictions as entries for SHOE-mF1 (Algorithm 2)."""
        matched = np.flatnonzero(matches.prediction >= 0)
        return F1Entries(
            category=self.hoi[matched],
            image=self.truth_image[matched].astype(np.int32),
            sigma=matches.sigma[matched],
            unmatched_category=self.f1_false_of[matches.unmatched],
            unmatched_image=self.task.image[matches.unmatched],
            unmatched_overlaps=self.overlaps_truth[matches.unmatched],
            truth_category=self.hoi,
            truth_image=self.truth_image,
            counted=self.counted,
            rule=F1Rule.from_options(self.options),
        )
