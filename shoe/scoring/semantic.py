"""SHOE-mAP and SHOE-mF1: words are compared by meaning, boxes by IoU (Algorithms 1 and 2 of the SHOE supplement)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.arrays import Floats, Indices, Mask
from shoe.frames import BoxSpace
from shoe.iou import Overlap, OverlapRule
from shoe.matching.assign import assign
from shoe.matching.caps import best_of_each
from shoe.matching.meaning import Meaning
from shoe.matching.nms import pair_nms
from shoe.matching.repeats import repeated
from shoe.matching.spatial import Candidates, candidates
from shoe.matching.task import Boxes, Task
from shoe.ragged import distinct, places
from shoe.scoring.average_precision import EPSILON, GRID_TOLERANCE, GRIDS, Interpolation
from shoe.scoring.options import SemanticOptions
from shoe.scoring.ranking import ClassScores, Ties, class_scores, mean_over

_ROUNDING = 1e-9
"""0.07 of 100 predictions are 7, though their product is a little more."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The outcome of matching; t ground truths, n predictions.

    Attributes:
        prediction: (t,) row of the matched prediction, -1 for a missed ground truth and for one that takes no part.
        sigma: (t,) similarity of the match, 0 where there is none.
        unmatched: rows of the predictions without a ground truth, ascending.
        charged: (unmatched,) class that the prediction is a false positive of, -1 where of none.
    """

    prediction: Indices
    sigma: Floats
    unmatched: Indices
    charged: Indices


@dataclass(frozen=True, slots=True, eq=False)
class SemanticResult:
    """Figures of SHOE, fractions 0..1; what cannot be measured is None.

    Attributes:
        options: the protocol as it was applied.
        matches: who was matched with whom for SHOE-mAP.
        ap, f1: (K,) per class, NaN for classes outside the mean.
        map: SHOE-mAP.
        map_bounds: its value were all ties broken in the worst, and in the best, way; None where ties keep an order.
        map_error: standard error of ``map`` from orders of ties that were drawn, not listed; 0 where exact.
        map_interactions: mean over the classes that are not no_interaction.
        mf1: SHOE-mF1.
        gt_miss_rate, prediction_miss_rate: shares without a match, of the matching for mF1.
        classes: classes in the mean of ``map``.
        tied_share: share of ranked predictions whose score another of their class has.
    """

    options: SemanticOptions
    matches: Matches
    ap: Floats
    f1: Floats
    map: float | None
    map_bounds: tuple[float, float] | None
    map_error: float
    map_interactions: float | None
    mf1: float | None
    gt_miss_rate: float | None
    prediction_miss_rate: float | None
    classes: int
    tied_share: float | None


def semantic_score(task: Task, meaning: Meaning, options: SemanticOptions) -> SemanticResult:
    """Score predictions by meaning. Scores must be in 0..1 (docs/protocols.md A6)."""
    scorer = _Scorer(task, meaning, options)
    rows = scorer.rows
    for_map = rows if options.map_tau is None else rows[task.predictions.score[rows] >= options.map_tau]
    for_f1 = _confident(task, rows, options)
    matches = scorer.match(for_map)
    scores, tied_share = scorer.average_precision(matches)
    f1_matches = matches if len(for_f1) == len(for_map) and (for_f1 == for_map).all() else scorer.match(for_f1)
    f1, f1_mean = scorer.f1(f1_matches)

    in_mean = scorer.truths > 0 if options.classes == "truth" else scorer.counted
    worst, best = mean_over(scores.worst, in_mean), mean_over(scores.best, in_mean)
    bounds = None if worst is None or best is None or options.ties == "input" else (worst, best)
    missed = scorer.truth_rows[f1_matches.prediction[scorer.truth_rows] < 0]
    misses = (f1_matches.charged >= 0).sum() if options.prediction_misses == "charged" else len(f1_matches.unmatched)
    return SemanticResult(
        options=options,
        matches=matches,
        ap=np.where(in_mean, scores.ap, np.nan),
        f1=np.where(f1_mean, f1, np.nan),
        map=mean_over(scores.ap, in_mean),
        map_bounds=bounds,
        map_error=float(np.sqrt((scores.error[in_mean] ** 2).sum()) / max(1, in_mean.sum())),
        map_interactions=mean_over(scores.ap, in_mean & ~task.truth.classes.no_interaction),
        mf1=mean_over(f1, f1_mean),
        gt_miss_rate=len(missed) / len(scorer.truth_rows) if len(scorer.truth_rows) else None,
        prediction_miss_rate=float(misses) / len(for_f1) if len(for_f1) else None,
        classes=int(in_mean.sum()),
        tied_share=tied_share,
    )


class _Scorer:
    """One task under one set of options: what both algorithms share."""

    def __init__(self, task: Task, meaning: Meaning, options: SemanticOptions) -> None:
        truth, classes = task.truth, task.truth.classes
        self.task, self.meaning, self.options = task, meaning, options
        self.hoi = truth.hoi
        self.truth_image = truth.interactions.image.astype(np.int64)
        self.truth_place = np.arange(len(self.hoi)) - truth.interactions.offsets[self.truth_image]
        self.counted = np.ones(len(classes), bool)
        if options.no_interaction == "exclude":
            self.counted &= ~classes.no_interaction
        self.truth_rows = np.flatnonzero(self.counted[self.hoi])
        self.truths = np.where(self.counted, truth.triplets_per_class, 0)
        self.rows = _rows(task, meaning, options)
        self.pairs = self._candidates()
        hoi, words = self.hoi[self.pairs.truth], self.pairs.prediction
        self.sigma = meaning.sigma(hoi, task.predictions.verb[words], task.predictions.object[words])
        self._apply_floor()

    def _candidates(self) -> Candidates:
        task, options = self.task, self.options
        pixels = options.pixels == "+1"
        space = BoxSpace.INDICES if pixels else BoxSpace.EDGES
        overlap = Overlap.PIXELS if pixels else Overlap.CONTINUOUS
        rule = OverlapRule(overlap, options.theta, options.theta_at == ">=")
        first, count = task.alignment.rows_of(task.predictions, len(task.truth.interactions.images))
        pairs = candidates(Boxes(task.truth.interactions, space), Boxes(task.predictions, space), first, count, rule)
        playing = np.zeros(len(task.predictions), bool)
        playing[self.rows] = True
        if options.repeats == "charged" and not self._prefers_originals:
            near = np.zeros(len(task.predictions), bool)
            near[pairs.prediction] = True
            playing[repeated(task.predictions, np.flatnonzero(near & playing))] = False
        keep = playing[pairs.prediction]
        if not self.counted.all():
            keep &= self.counted[self.hoi[pairs.truth]]
        return pairs if keep.all() else pairs.select(keep)

    @property
    def _prefers_originals(self) -> bool:
        """Whether the original of a repeat, more confident or earlier, is always chosen before the repeat."""
        return self.options.assign == "greedy-gt" and self.options.sigma_ties == "confidence"

    def _apply_floor(self) -> None:
        if self.options.min_sigma == "none":
            return
        keep = self.sigma > 0 if self.options.min_sigma == "positive" else self._reaches_delta(self.sigma)
        self.pairs, self.sigma = self.pairs.select(keep), self.sigma[keep]

    def _reaches_delta(self, sigma: Floats) -> Mask:
        options = self.options
        return sigma >= options.delta if options.delta_at == ">=" else sigma > options.delta

    def match(self, rows: Indices) -> Matches:
        """Match the given predictions with the ground truth, and charge those left over."""
        score = self.task.predictions.score
        playing = np.zeros(len(score), bool)
        playing[rows] = True
        pairs, sigma = self.pairs, self.sigma
        if len(rows) < len(self.rows):
            keep = playing[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
        pairs, sigma = self._chosen(pairs, sigma)
        prediction = np.full(len(self.hoi), -1, np.int64)
        credit = np.zeros(len(self.hoi))
        prediction[pairs.truth] = pairs.prediction
        credit[pairs.truth] = sigma
        playing[pairs.prediction] = False
        unmatched = np.flatnonzero(playing)
        return Matches(prediction, credit, unmatched, self._charge(unmatched))

    def _chosen(self, pairs: Candidates, sigma: Floats) -> tuple[Candidates, Floats]:
        """The candidates that are matched, and their similarities."""
        chosen = self._assign(pairs, sigma)
        if self.options.repeats == "matched" or not self._prefers_originals:
            return pairs.select(chosen), sigma[chosen]
        # Where originals are preferred, a repeat is matched only if its original is: looking there is enough.
        table = self.task.predictions
        if len(repeated(table, np.sort(pairs.prediction[chosen]))):
            once = np.ones(len(table), bool)
            once[repeated(table, distinct(pairs.prediction))] = False
            keep = once[pairs.prediction]
            pairs, sigma = pairs.select(keep), sigma[keep]
            chosen = self._assign(pairs, sigma)
        return pairs.select(chosen), sigma[chosen]

    def _assign(self, pairs: Candidates, sigma: Floats) -> Indices:
        options = self.options
        confidence = self.task.predictions.score[pairs.prediction]
        preference = {"confidence": confidence, "iou": pairs.iou, "index": np.zeros(len(sigma))}
        return assign(
            pairs,
            sigma,
            preference[options.sigma_ties],
            self.truth_image,
            self.truth_place,
            confidence,
            options.assign,
        )

    def _charge(self, unmatched: Indices) -> Indices:
        """The class that each unmatched prediction is a false positive of (Algorithm 1, lines 23-30; A7, A8)."""
        verb, object_ = self.task.predictions.verb[unmatched], self.task.predictions.object[unmatched]
        charged = np.full(len(unmatched), -1, np.int64)
        if not self.counted.any():
            return charged
        if self.options.fp_scope == "dataset":
            nearest, sigma = self.meaning.nearest_class(verb, object_, np.flatnonzero(self.counted))
            return np.where(self._reaches_delta(sigma), nearest, charged)
        image = self.task.image[unmatched]
        offsets = np.searchsorted(
            self.truth_image[self.truth_rows], np.arange(len(self.task.truth.interactions.images) + 1)
        )
        first, count = offsets[:-1][image], np.diff(offsets)[image]
        near = np.flatnonzero(count > 0)
        hoi = self.hoi[self.truth_rows]
        nearest, sigma = self.meaning.nearest_truth(hoi, first[near], count[near], verb[near], object_[near])
        charged[near] = np.where(self._reaches_delta(sigma), nearest, -1)
        return charged

    def average_precision(self, matches: Matches) -> tuple[ClassScores, float | None]:
        """Algorithm 1, lines 32-40, over matched (score, sigma), missed (0, 0) and charged (score, 0) entries."""
        options, score = self.options, self.task.predictions.score
        matched = np.flatnonzero(matches.prediction >= 0)
        # A charge on a class without ground truth costs nothing: its average precision is 0, or not in the mean.
        counts = np.append(self.truths > 0, False)[matches.charged]
        false, category = matches.unmatched[counts], matches.charged[counts]
        missed = self.truth_rows[matches.prediction[self.truth_rows] < 0]
        if options.missed == "drop" or not (score[matches.prediction[matched]] <= 0).any():
            # Below every credited entry they change nothing; left out, they do not count as ties.
            missed = missed[:0]
        entries = (
            np.concatenate([self.hoi[matched], self.hoi[missed], category]),
            np.concatenate([score[matches.prediction[matched]], np.zeros(len(missed)), score[false]]),
            np.concatenate([matches.sigma[matched], np.zeros(len(missed) + len(false))]),
        )
        if options.ties == "input":
            image = np.concatenate([self.truth_image[matched], self.truth_image[missed], self.task.image[false]])
            place = np.concatenate([matched, missed, len(self.hoi) + false])
            order = np.lexsort((place, image))
            entries = (entries[0][order], entries[1][order], entries[2][order])
        interpolation = Interpolation(options.ap)
        scores = class_scores(
            *entries,
            self.truths,
            interpolation=interpolation,
            ties=Ties(options.ties),
            epsilon=GRID_TOLERANCE if interpolation in GRIDS else EPSILON,
        )
        ranked = len(entries[0]) - len(missed)
        return scores, min(1.0, scores.tied / ranked) if ranked else None

    def f1(self, matches: Matches) -> tuple[Floats, Mask]:
        """Algorithm 2, lines 9-36: F1 per class, and which classes are in the mean."""
        classes, matched = len(self.truths), matches.prediction >= 0
        true = np.bincount(self.hoi, weights=matches.sigma, minlength=classes)
        false = np.bincount(self.hoi[matched], weights=1 - matches.sigma[matched], minlength=classes)
        false += np.bincount(matches.charged[matches.charged >= 0], minlength=classes)
        found = np.bincount(self.hoi[matched], minlength=classes)
        wanted = true + (self.truths - found) if self.options.recall == "fn" else self.truths
        precision = true / (true + false + EPSILON)
        recall = true / (wanted + EPSILON)
        f1: Floats = 2 * precision * recall / (precision + recall + EPSILON)
        if self.options.f1_classes == "counted":
            return f1, self.counted & ((self.truths > 0) | (false > 0))
        return f1, self.truths > 0


def _rows(task: Task, meaning: Meaning, options: SemanticOptions) -> Indices:
    """Rows of the predictions that take part, ascending."""
    predictions, classes = task.predictions, task.truth.classes
    keep = task.image >= 0
    if options.no_interaction == "exclude":
        silent = {classes.verbs[v] for v in classes.verb[classes.no_interaction]}
        silent_words = np.array([v >= 0 and classes.verbs[v] in silent for v in task.verb_label], bool)
        keep &= ~silent_words[predictions.verb]
    if options.unrated == "drop":
        keep &= meaning.rated_verbs[predictions.verb] & meaning.rated_objects[predictions.object]
    rows = np.flatnonzero(keep)
    if options.cap is not None:
        rows = rows[best_of_each(task.image[rows], predictions.score[rows], options.cap)]
    return rows if options.nms is None else pair_nms(predictions, rows, options.nms)


def _confident(task: Task, rows: Indices, options: SemanticOptions) -> Indices:
    """Rows that reach tau (Algorithm 2, line 2; A22)."""
    score = task.predictions.score[rows]
    if options.tau_by == "score":
        return rows[score >= options.tau]
    group = task.image[rows] if options.tau_by == "image" else np.zeros(len(rows), np.int32)
    order = np.lexsort((rows, -score, group))
    sizes = np.bincount(group, minlength=1)
    kept = np.ceil(options.tau * sizes - _ROUNDING).astype(np.int64)
    return np.sort(rows[order[places(sizes) < np.repeat(kept, sizes)]])
