"""SHOE-mAP and SHOE-mF1: words are compared by meaning, boxes by IoU (Algorithms 1 and 2 of the SHOE supplement)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.shown import present
from shoe.matching.overlaps import Overlaps
from shoe.matching.task import Task
from shoe.protocols.options import SemanticOptions
from shoe.scoring.entries import PartMean, mean_over, parts_dict
from shoe.scoring.f1_entries import F1Figures
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.ranking import number_tied
from shoe.scoring.scorer import Matches, Scorer


@dataclass(frozen=True, slots=True, eq=False)
class SemanticResult:
    """Figures of SHOE, fractions 0..1; what cannot be measured is None.

    Attributes:
        options: the protocol as it was applied.
        matches: who was matched with whom for SHOE-mAP.
        near: pairs that could have been, by their boxes; who scores the task in another way need not find them anew.
        ap, f1: (K,) per class, NaN for classes outside the mean.
        map: SHOE-mAP.
        map_error: standard error of ``map`` from orders of ties that were drawn, not listed; 0 where exact.
        map_interactions: mean over the classes that are not no_interaction.
        mf1: SHOE-mF1.
        gt_miss_rate, prediction_miss_rate: shares without a match, of the matching for mF1.
        above_delta: these three where a match must be more similar than delta (``min-sigma=delta``): as published, the
            right object with any verb is a match.
        classes: classes in the mean of ``map``.
        parts: means over the parts of the ground truth's class split, by name; none without one.
        tied_share: share of ranked predictions whose score another of their class has.
        ties_matter: whether some of those differ in credit, or the protocol asks for an order elsewhere, too.
        components_share: of the matches and false positives that SHOE-mAP rests on and that are not the class's own
            labels, the share whose interaction nobody rated as a whole; None unless ``compare=interactions``.
    """

    options: SemanticOptions
    matches: Matches
    near: Overlaps
    ap: Floats
    f1: Floats
    map: float | None
    map_error: float
    map_interactions: float | None
    mf1: float | None
    gt_miss_rate: float | None
    prediction_miss_rate: float | None
    above_delta: F1Figures
    classes: int
    tied_share: float | None
    ties_matter: bool
    components_share: float | None = None
    parts: Mapping[str, PartMean] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.to_dict()}>"

    def to_dict(self) -> dict[str, Any]:
        """The means, in the keys of ``shoe score --json``."""
        return present(
            {
                "protocol": self.options.protocol,
                "map": self.map,
                "map_without_no_interaction": self.map_interactions,
                "map_standard_error": self.map_error or None,
                "mf1": self.mf1,
                "gt_miss_rate": self.gt_miss_rate,
                "prediction_miss_rate": self.prediction_miss_rate,
                "above_delta": present(self.above_delta._asdict()),
                "classes": self.classes,
                "tied_share": self.tied_share,
                "components_share": self.components_share,
                **parts_dict(self.parts),
            }
        )


def semantic_score(task: Task, similarities: HoiSimilarity, options: SemanticOptions) -> SemanticResult:
    """Score predictions by meaning. Scores must be in 0..1 (docs/protocols.md A6)."""
    return result_of(Scorer(task, similarities, options))


def result_of(scorer: Scorer) -> SemanticResult:
    """Score by what a scorer has prepared."""
    task, options = scorer.task, scorer.options
    for_map, for_f1 = scorer.map_rows, scorer.f1_rows
    matches = scorer.match(for_map)
    entries = scorer.entries(matches)
    scores = entries.scores()
    in_mean = scores.in_mean
    f1_matches = matches if len(for_f1) == len(for_map) and (for_f1 == for_map).all() else scorer.match(for_f1)
    f1_entries = scorer.f1_entries(f1_matches)
    f1, f1_mean = f1_entries.f1()
    figures = f1_entries.figures()
    above_delta = figures
    if options.min_sigma != "delta":
        strict = scorer.above_delta()
        above_delta = strict.f1_entries(strict.match(strict.f1_rows)).figures()
    # Entries may also be of missed ground truths, which are no predictions.
    false = np.append(scorer.truths > 0, False)[matches.false_positive_of]
    matched = np.flatnonzero(matches.prediction >= 0)
    ranked = len(matched) + int(false.sum())
    tied = scores.tied
    if ranked < len(entries.category):
        rows = np.concatenate([matches.prediction[matched], matches.unmatched[false]])
        category = np.concatenate([scorer.hoi[matched], matches.false_positive_of[false]])
        score = task.predictions.score[rows]
        order = np.lexsort((score, category))
        tied = number_tied((np.diff(category[order]) == 0) & (np.diff(score[order]) == 0))
    return SemanticResult(
        options=options,
        matches=matches,
        near=scorer.near,
        ap=np.where(in_mean, scores.ap, np.nan),
        f1=np.where(f1_mean, f1, np.nan),
        map=mean_over(scores.ap, in_mean),
        map_error=float(np.sqrt((scores.error[in_mean] ** 2).sum()) / max(1, in_mean.sum())),
        map_interactions=mean_over(scores.ap, in_mean & ~task.truth.classes.no_interaction),
        **figures._asdict(),
        above_delta=above_delta,
        classes=int(in_mean.sum()),
        tied_share=tied / ranked if ranked else None,
        ties_matter=scores.ties_matter or (tied > 0 and not options.order_free),
        components_share=_components_share(scorer, matches),
        parts={
            part: mean._replace(mf1=mean_over(f1, f1_mean & entries.parts[part]))
            for part, mean in scores.part_means(entries.parts).items()
        },
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
    known, _ = whole.found(hoi, task.predictions.verb[row], task.predictions.object[row])
    return float(1 - known.mean()) if len(row) else None
