"""SHOE-mAP and SHOE-mF1: words are compared by meaning, boxes by IoU (Algorithms 1 and 2 of the SHOE supplement)."""

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats
from shoe.core.documents import Count, Document, Fraction, Span, as_base_class
from shoe.scoring.average_precision import number_tied
from shoe.scoring.entries import PartMean, harmonic_mean, mean_over
from shoe.scoring.f1 import F1Figures
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Matches, Scorer


class Semantic(Document, frozen=True, kw_only=True):
    """Metrics of SHOE, fractions 0..1; None for values that cannot be measured.

    Attributes:
        protocol: name of the protocol.
        map: SHOE-mAP.
        map_interactions: SHOE-mAP over all classes except no_interaction classes.
        map_error: standard error of ``map`` from randomly drawn orders of ties; None if exact.
        mf1: SHOE-mF1.
        mf1_best_tau: SHOE-mF1 at the confidence threshold with the highest SHOE-mF1 (``tau-by=best``).
        gt_miss_rate: fraction of ground truths without a match, in the matching for mF1.
        prediction_miss_rate: fraction of the predictions that pass the threshold tau and have no match.
        no_overlap_rate: fraction of the predictions that pass tau whose boxes overlap no ground-truth pair.
        above_delta: ``mf1`` and the miss rates if a match must be more similar than delta (``min-sigma=delta``). The
            published rule has no such minimum: with the right object, a prediction of any verb can match.
        classes: number of classes in the mean of ``map``.
        tied_share: fraction of ranked predictions whose score equals the score of another prediction of the class.
        components_share: only with ``compare=interactions``: fraction of the inexact matches and false positives of
            ``map`` in which verb and object were compared separately, because the two together have no rating.
        parts: means over each part of the class split, by name.
        harmonic_mean: harmonic mean of the SHOE-mAP of seen and unseen classes.
        tau_readings: SHOE-mF1 and the miss rates for each value of the option ``tau-by``.
        map_interval, mf1_interval: with ``--bounds``, 90 % predictive interval of the metric if all pairs were rated.
        unrated_pairs: with ``--bounds``, number of unrated pairs of a class sense and a sense of a matched word.
        raters: with ``--bounds``, SHOE-mAP under the ratings of each single rater of the map, by rater name.
    """

    protocol: str
    map: Fraction | None = None
    map_interactions: Fraction | None = msgspec.field(default=None, name="map_without_no_interaction")
    map_error: Fraction | None = msgspec.field(default=None, name="map_standard_error")
    mf1: Fraction | None = None
    mf1_best_tau: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None
    no_overlap_rate: Fraction | None = None
    above_delta: F1Figures | None = None
    classes: Count
    tied_share: Fraction | None = None
    components_share: Fraction | None = None
    parts: dict[str, PartMean] = msgspec.field(default_factory=dict)
    harmonic_mean: Fraction | None = None
    tau_readings: dict[str, F1Figures] = msgspec.field(default_factory=dict)
    map_interval: Span | None = None
    mf1_interval: Span | None = None
    unrated_pairs: Count | None = None
    raters: Annotated[dict[str, Fraction] | None, Meta(description="SHOE-mAP by each rater alone")] = None


class SemanticResult(Semantic, frozen=True, eq=False, kw_only=True):
    """Metrics of SHOE, the matching for SHOE-mAP, and the values of each class."""

    options: SemanticOptions
    matches: Matches  # matching for SHOE-mAP
    scorer: Scorer  # also has the pairs whose boxes overlap (``near``), which another scorer of the task can reuse
    # ap, f1: (K,) values per class, NaN for classes outside the mean
    ap: Floats
    f1: Floats
    above_delta: F1Figures
    by_tau: dict[str, F1Figures]  # of ``tau_readings``, the values that were computed anyway
    ties_matter: bool  # whether the order of equal scores may change a metric

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.to_dict()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics, under the keys of ``shoe score --json``."""
        return as_base_class(self, Semantic).to_dict()


def semantic_score(task: Task, similarities: HoiSimilarity, options: SemanticOptions) -> SemanticResult:
    """Return the SHOE metrics of a task. Prediction scores must be in 0..1 (docs/protocols.md A6)."""
    scorer = Scorer(task, similarities, options)
    for_map, for_f1 = scorer.map_rows, scorer.f1_rows
    matches = scorer.match(for_map)
    entries = scorer.entries(matches)
    scores = entries.scores()
    in_mean = scores.in_mean
    f1_entries = scorer.f1_entries(matches if np.array_equal(for_f1, for_map) else scorer.match(for_f1))
    f1, f1_mean = f1_entries.f1()
    figures = above_delta = f1_entries.figures()
    if options.min_sigma != "delta":
        strict = scorer.above_delta()
        rows = strict.f1_rows if options.tau_by == "best" else for_f1  # other thresholds do not depend on pairs
        above_delta = strict.f1_entries(strict.match(rows)).figures()
    by_tau: dict[str, F1Figures] = {options.tau_by: figures}
    if options.tau_by != "best":
        by_tau["best"] = scorer.f1_entries(scorer.match(scorer.f1_rows_by("best"))).figures()
    # Entries may also be missed ground truths, which are not predictions.
    false = np.append(scorer.truths > 0, False)[matches.false_positive_of]
    matched = np.flatnonzero(matches.prediction >= 0)
    ranked = len(matched) + int(false.sum())
    tied = scores.tied
    if ranked < len(entries.category):
        rows = np.concatenate([matches.prediction[matched], matches.unmatched[false]])
        category = np.concatenate([scorer.hoi[matched], matches.false_positive_of[false]])
        tied = number_tied(category, task.predictions.score[rows])
    parts = {
        part: msgspec.structs.replace(mean, mf1=mean_over(f1, f1_mean & entries.parts[part]))
        for part, mean in scores.part_means(entries.parts).items()
    }
    return SemanticResult(
        protocol=options.protocol,
        options=options,
        matches=matches,
        scorer=scorer,
        ap=np.where(in_mean, scores.ap, np.nan),
        f1=np.where(f1_mean, f1, np.nan),
        map=mean_over(scores.ap, in_mean),
        map_error=float(np.sqrt((scores.error[in_mean] ** 2).sum()) / max(1, in_mean.sum())) or None,
        map_interactions=mean_over(scores.ap, in_mean & ~task.truth.classes.no_interaction),
        **msgspec.structs.asdict(figures),
        mf1_best_tau=by_tau["best"].mf1,
        above_delta=above_delta,
        by_tau=by_tau,
        classes=int(in_mean.sum()),
        tied_share=tied / ranked if ranked else None,
        ties_matter=scores.ties_matter or (tied > 0 and not options.order_free),
        components_share=_components_share(scorer, matches),
        parts=parts,
        harmonic_mean=harmonic_mean(parts),
    )


def _components_share(scorer: Scorer, matches: Matches) -> float | None:
    whole, task = scorer.similarities.whole, scorer.task
    if whole is None:
        return None
    matched, charged = np.flatnonzero(matches.prediction >= 0), matches.false_positive_of >= 0
    row = np.concatenate([matches.prediction[matched], matches.unmatched[charged]])
    hoi = np.concatenate([scorer.hoi[matched], matches.false_positive_of[charged]])
    open_ = task.hoi[row] != hoi
    row, hoi = row[open_], hoi[open_]
    known, _ = whole.look_up(hoi, task.predictions.verb[row], task.predictions.object[row])
    return float(1 - known.mean()) if len(row) else None
