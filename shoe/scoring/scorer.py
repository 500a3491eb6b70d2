"""Steps of both SHOE algorithms for one task: which predictions take part, matching, and false positives per class."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoe.benchmarks.protocol_options import SemanticOptions, Ties
from shoe.core.arrays import Floats, Indices, Mask, best_of_each, distinct
from shoe.scoring.entries import Entries, F1Entries, F1Rule, Rule, mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.assignment import ByContent, assign, best_first, in_order
from shoe.scoring.matching.repeats import near_repeats, pair_nms, repeated
from shoe.scoring.matching.task import Overlaps, Task

_ROUNDING = 1e-9
"""Tolerance for products: 0.07 x 100 is a little more than 7 in floating point."""


def confident(task: Task, rows: Indices, options: SemanticOptions) -> Indices:
    """Return the rows, of some ascending rows, that tau keeps (Algorithm 2, line 2; A22)."""
    tau, score = options.tau, task.predictions.score[rows]
    if options.tau_by == "score":
        return rows[score >= tau]
    # Ties with the last row that is kept are kept too: no order of lines decides between equal scores.
    if options.tau_by == "dataset":
        kept = max(1, math.ceil((1 - tau) * len(rows) - _ROUNDING))
        return rows[score >= np.partition(score, len(rows) - kept)[len(rows) - kept]] if len(rows) else rows
    image = task.image[rows]
    sizes = np.bincount(image, minlength=1)
    most = np.minimum(sizes, np.maximum(1, np.ceil((1 - tau) * sizes - _ROUNDING).astype(np.int64)))
    order = np.lexsort((-score, image))
    last = np.append(score[order], np.inf)[np.where(most > 0, np.cumsum(sizes) - sizes + most - 1, len(order))]
    return rows[score >= last[image]]


def participants(task: Task, similarities: HoiSimilarity, options: SemanticOptions) -> Indices:
    """Return the ascending rows of the predictions that take part, after the options for words, cap and NMS."""
    predictions, classes = task.predictions, task.truth.classes
    keep = task.image >= 0
    if options.no_interaction == "exclude":
        silent = {classes.verbs[v] for v in classes.verb[classes.no_interaction]}
        silent_words = np.array([v >= 0 and classes.verbs[v] in silent for v in task.verb_label], bool)
        keep &= ~silent_words[predictions.verb]
    if options.unrated == "drop":
        keep &= similarities.rated_verbs[predictions.verb] & similarities.rated_objects[predictions.object]
    rows = np.flatnonzero(keep)
    if options.cap is not None:
        rows = rows[best_of_each(task.image[rows], predictions.score[rows], options.cap)]
    return rows if options.nms is None else pair_nms(predictions, rows, options.nms)


_TRIED_SIZES = 2.0 ** np.arange(-3, 3.25, 0.5)
"""Numbers of predictions that ``tau-by=best`` tries to keep, in multiples of the number of ground truths."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Outcome of matching t ground truths and n predictions.

    Attributes:
        prediction: (t,) row of the matched prediction, -1 if missed or if the ground truth takes no part.
        sigma: (t,) similarity of the match, 0 without a match.
        unmatched: (u,) rows of the predictions without a ground truth, ascending.
        false_positive_of: (u,) class of which each unmatched prediction is a false positive, -1 for none.
    """

    prediction: Indices
    sigma: Floats
    unmatched: Indices
    false_positive_of: Indices


class Scorer:
    """One task under one set of SHOE options: t ground truths, n predictions, K classes.

    Attributes:
        hoi: (t,) class of each ground truth.
        turn: (t,) index of each ground truth among those of its image.
        counted: (K,) classes that take part.
        truth_rows: ascending rows of the ground truths of these classes.
        truths: (K,) number of ground truths per class, 0 for other classes.
        rows: ascending rows of the predictions that take part.
        near: pairs whose boxes overlap, whatever their words.
        pairs, sigma: pairs similar enough to match, and their (c,) similarities.
    """

    def __init__(
        self, task: Task, similarities: HoiSimilarity, options: SemanticOptions, near: Overlaps | None = None
    ) -> None:
        """Prepare a task; ``near`` of another scorer of the same task and options avoids comparing boxes again."""
        truth, classes = task.truth, task.truth.classes
        self.task, self.similarities, self.options = task, similarities, options
        self.hoi = truth.hoi
        self.truth_image = truth.interactions.image.astype(np.int64)
        self.turn = np.arange(len(self.hoi)) - truth.interactions.offsets[self.truth_image]
        self.counted = classes.counted(options.no_interaction)
        self.truth_rows = np.flatnonzero(self.counted[self.hoi])
        self.truths = np.where(self.counted, truth.triplets_per_class, 0)
        self.rows = participants(task, similarities, options)
        self.near = self._candidates() if near is None else near
        self.sigma = self.sigma_of(self.near, similarities)
        keep = self.may_match(self.sigma)
        self.pairs, self.sigma = self.near.select(keep), self.sigma[keep]

    def above_delta(self) -> Scorer:
        """Return the scorer whose matches must be more similar than delta, as published (``min-sigma=delta``)."""
        return Scorer(self.task, self.similarities, replace(self.options, min_sigma="delta"), self.near)

    def under(self, similarities: HoiSimilarity) -> Scorer:
        """Return the scorer with other similarities.

        Near repeats are recomputed if other predictions take part or other words mean the same.
        """
        same = all(map(np.array_equal, similarities.meanings, self.similarities.meanings))
        same &= np.array_equal(participants(self.task, similarities, self.options), self.rows)
        return Scorer(self.task, similarities, self.options, self.near if same else None)

    @property
    def map_rows(self) -> Indices:
        """Ascending rows of the predictions that take part in SHOE-mAP."""
        tau = self.options.map_tau
        return self.rows if tau is None else self.rows[self.task.predictions.score[self.rows] >= tau]

    @cached_property
    def f1_rows(self) -> Indices:
        """Ascending rows of the predictions that take part in SHOE-mF1 (Algorithm 2, line 2; A22)."""
        if self.options.tau_by == "best":
            return self._rows_of_best_f1()
        return confident(self.task, self.rows, self.options)

    def _rows_of_best_f1(self) -> Indices:
        # Keep the predictions down to the confidence with the highest mF1, so that neither stretched scores nor added
        # worse predictions help. Tried are confidences that keep 1/8 to 8 times as many predictions as ground truths.
        # Only predictions that could change mF1 are counted: meaningless ones must not change which are tried.
        rows, score = self.rows, self.task.predictions.score[self.rows]
        sizes = np.ceil(len(self.truth_rows) * _TRIED_SIZES).astype(np.int64)
        falling = -np.sort(-score[self._moves_f1(rows)])
        lowest = np.unique(falling[np.minimum(sizes, len(falling)) - 1]) if len(falling) else falling
        tried = [rows[score >= least] for least in lowest[::-1]]
        return max(tried, key=lambda some: mean_over(*self.f1(self.match(some))) or 0.0, default=rows)

    def _moves_f1(self, rows: Indices) -> Mask:
        """Return which rows may be matched, or be false positives of a class that can be in the mean of F1."""
        moves = np.zeros(len(self.task.predictions), bool)
        moves[self.pairs.prediction] = True
        nearest, sigma = self.nearest(rows, self.similarities)
        in_mean = (self.truths > 0) | (self.counted & (self.options.f1_classes == "counted"))
        charged: Mask = self.reaches_delta(sigma) & np.append(in_mean, False)[nearest]
        return moves[rows] | charged

    @property
    def in_mean(self) -> Mask:
        """(K,) classes in the mean of SHOE-mAP."""
        return Rule.of(self.options).in_mean(self.truths, self.counted)

    def sigma_of(self, pairs: Overlaps, similarities: HoiSimilarity) -> Floats:
        """Return the (c,) similarity of each pair."""
        words, row = self.task.predictions, pairs.prediction
        return similarities.sigma(self.hoi[pairs.truth], words.verb[row], words.object[row])

    def _candidates(self) -> Overlaps:
        task, options = self.task, self.options
        pairs = task.overlaps(options.coordinates, options.rule)
        takes_part = np.zeros(len(task.predictions), bool)
        takes_part[self.rows] = True
        near = np.zeros(len(task.predictions), bool)
        near[pairs.prediction] = True
        if options.repeats == "charged" and not self.prefers_originals:
            takes_part[repeated(task.predictions, np.flatnonzero(near & takes_part))] = False
        if options.repeats == "near":
            meanings = self.similarities.meanings
            copies = near_repeats(task.predictions, self.rows, near, *meanings, options.coordinates, options.rule)
            takes_part[copies] = False
        keep = takes_part[pairs.prediction]
        return pairs.select(keep & self.counted[self.hoi[pairs.truth]])

    @property
    def prefers_originals(self) -> bool:
        """Whether a repeat's original (higher score, or earlier) is always matched before the repeat."""
        return self.options.assign in ("greedy-gt", "best-first") and self.options.sigma_ties == "confidence"

    def may_match(self, sigma: Floats) -> Mask:
        """Return which pairs, by their similarity, may be matched (A5)."""
        if self.options.min_sigma == "none":
            return np.ones(len(sigma), bool)
        return sigma > (0 if self.options.min_sigma == "positive" else self.options.delta)

    def reaches_delta(self, sigma: Floats) -> Mask:
        """Return which unmatched predictions, by their similarity to a class, are false positives of it (A8)."""
        options = self.options
        return sigma >= options.delta if options.delta_at == ">=" else sigma > options.delta

    def match(self, rows: Indices) -> Matches:
        """Match the predictions of some rows, and choose the class of which each unmatched one is a false positive."""
        score = self.task.predictions.score
        takes_part = np.zeros(len(score), bool)
        takes_part[rows] = True
        pairs, sigma = self.pairs, self.sigma
        if len(rows) < len(self.rows):
            keep = takes_part[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
        pairs, sigma = self._chosen(pairs, sigma)
        prediction = np.full(len(self.hoi), -1, np.int64)
        credit = np.zeros(len(self.hoi))
        prediction[pairs.truth] = pairs.prediction
        credit[pairs.truth] = sigma
        takes_part[pairs.prediction] = False
        unmatched = np.flatnonzero(takes_part)
        nearest, similarity = self.nearest(unmatched, self.similarities)
        return Matches(prediction, credit, unmatched, np.where(self.reaches_delta(similarity), nearest, -1))

    def _chosen(self, pairs: Overlaps, sigma: Floats) -> tuple[Overlaps, Floats]:
        chosen = self._assign(pairs, sigma)
        if self.options.repeats != "charged" or not self.prefers_originals:
            return pairs.select(chosen), sigma[chosen]
        # If originals are preferred, a repeat is matched only if its original is: matched pairs tell if repeats matter.
        table = self.task.predictions
        if len(repeated(table, np.sort(pairs.prediction[chosen]))):
            once = np.ones(len(table), bool)
            once[repeated(table, distinct(pairs.prediction))] = False
            keep = once[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
            chosen = self._assign(pairs, sigma)
        return pairs.select(chosen), sigma[chosen]

    def _assign(self, pairs: Overlaps, sigma: Floats) -> Indices:
        if self.options.assign == "best-first":
            return best_first(pairs.truth, pairs.prediction, self.criteria(pairs, sigma), *self._content)
        return assign(
            pairs.truth,
            pairs.prediction,
            sigma,
            self.preference(pairs),
            self.truth_image,
            self.turn,
            self.task.predictions.score[pairs.prediction],
            self.options.assign,
        )

    @cached_property
    def _content(self) -> tuple[ByContent, ByContent]:
        return ByContent(self.task.truth.interactions), ByContent(self.task.predictions)

    def criteria(self, pairs: Overlaps, sigma: Floats) -> list[Floats]:
        """Return the (c,) criteria by which ``best-first`` compares pairs: similarity first, then as A2 says."""
        score = self.task.predictions.score[pairs.prediction]
        match self.options.sigma_ties:
            case "confidence":
                return [sigma, score, pairs.iou]
            case "iou":
                return [sigma, pairs.iou, score]
            case "index":
                return [sigma, *(-rows.astype(np.float64) for rows in (pairs.prediction, pairs.truth))]

    def order(self, pairs: Overlaps, sigma: Floats) -> Indices:
        """Return the order in which ``best-first`` considers the (c,) pairs while nothing is matched yet."""
        return in_order(self.criteria(pairs, sigma), pairs.truth, pairs.prediction, *self._content)

    def preference(self, pairs: Overlaps) -> Floats:
        """Return the (c,) value that decides between pairs of equal similarity if ground truths choose (A2)."""
        match self.options.sigma_ties:
            case "confidence":
                return self.task.predictions.score[pairs.prediction]
            case "iou":
                return pairs.iou
            case "index":
                return np.zeros(len(pairs))

    def nearest(self, rows: Indices, similarities: HoiSimilarity) -> tuple[Indices, Floats]:
        """Return the (r,) most similar class per prediction, -1 if no class is available, and its (r,) similarity.

        An unmatched prediction counts as a false positive of that class (Algorithm 1, lines 23-30; A7).
        """
        verb, object_ = self.task.predictions.verb[rows], self.task.predictions.object[rows]
        nearest, sigma = np.full(len(rows), -1, np.int64), np.zeros(len(rows))
        if not self.counted.any():
            return nearest, sigma
        if self.options.fp_scope == "dataset":
            return similarities.nearest_class(verb, object_, np.flatnonzero(self.counted))
        image, images = self.task.image[rows], len(self.task.truth.interactions.images)
        offsets = np.searchsorted(self.truth_image[self.truth_rows], np.arange(images + 1))
        first, count = offsets[:-1][image], np.diff(offsets)[image]
        near = np.flatnonzero(count > 0)
        hoi, verb, object_ = self.hoi[self.truth_rows], verb[near], object_[near]
        nearest[near], sigma[near] = similarities.nearest_truth(hoi, first[near], count[near], verb, object_)
        return nearest, sigma

    def entries(self, matches: Matches) -> Entries:
        """Return the entries of Algorithm 1, lines 32-40: matched (score, sigma), missed (0, 0), false (score, 0)."""
        score, matched = self.task.predictions.score, np.flatnonzero(matches.prediction >= 0)
        # False positives of a class without ground truth change nothing: its AP is 0 or not in the mean.
        counts = np.append(self.truths > 0, False)[matches.false_positive_of]
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
        """Return the entries of all classes.

        Args:
            truth: (e,) ground truth of each entry that may have credit.
            score: (e,) confidence of these entries.
            credit: (e,) credit of these entries, 0..1.
            false: (f,) rows of predictions that are false positives.
            category: (f,) class of which each is a false positive.
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
            rule=Rule.of(self.options),
            parts=self.task.truth.class_parts,
        )
        if self.options.ties is not Ties.INPUT:
            return entries
        return entries.select(np.lexsort((np.concatenate([truth, len(self.hoi) + false]), entries.image)))

    def map(self) -> float | None:
        """Return SHOE-mAP alone."""
        return self.entries(self.match(self.map_rows)).means().map

    def f1_entries(self, matches: Matches) -> F1Entries:
        """Return the matched and unmatched entries that Algorithm 2 counts."""
        matched = np.flatnonzero(matches.prediction >= 0)
        return F1Entries(
            category=self.hoi[matched],
            image=self.truth_image[matched].astype(np.int32),
            sigma=matches.sigma[matched],
            unmatched_category=matches.false_positive_of,
            unmatched_image=self.task.image[matches.unmatched],
            truth_category=self.hoi,
            truth_image=self.truth_image,
            counted=self.counted,
            rule=F1Rule.of(self.options),
        )

    def f1(self, matches: Matches) -> tuple[Floats, Mask]:
        """Return F1 per class, and which classes are in the mean (Algorithm 2, lines 9-36)."""
        return self.f1_entries(matches).f1()
