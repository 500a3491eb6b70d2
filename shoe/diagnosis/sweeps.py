"""Curves of pair localisation and mAP when pairs are thinned out, by overlap or by score.

The papers use them to test whether pairs are the bottleneck (IJCV paper 5.3, Tables 3 and 4; first version, Tables 5
and 6), each with one threshold that they do not name. Boxes are compared once for a whole curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import asdict

from shoe.benchmarks.checks import triplet_name
from shoe.core.arrays import Floats, Mask
from shoe.core.documents import Document, Fraction
from shoe.core.errors import InputError, OptionError
from shoe.core.interactions import Interactions
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import ErrorType, before_fixes
from shoe.diagnosis.localisation import Localised, PairFigures, pair_figures
from shoe.predictions.pair_predictions import find_pairs
from shoe.scoring.entries import Means
from shoe.scoring.matching.repeats import Suppression

NMS_THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Overlaps up to which a pair stays beside a better one; at 1 all stay."""
SCORE_THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Scores from which on predictions stay; at 0 all probabilities do."""


class _PairsAndMap(PairFigures, frozen=True, kw_only=True):
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None


class SweepPoint(_PairsAndMap, frozen=True):
    """Figures of the pairs that remain at one threshold.

    Attributes:
        map, map_rare, map_non_rare: mAP of the triplets that remain, under the variant of the analysis; None without
            one.
    """

    threshold: float


class Sweep(Document, frozen=True):
    """A curve.

    Attributes:
        by: criterion: ``nms``; ``detection``, the score of a pair's detection; or ``score``, that of a triplet, which
            includes the interaction.
        points: in the order of the thresholds.
    """

    by: str
    points: tuple[SweepPoint, ...]


def sweeps(localised: Localised, analysis: ErrorAnalysis | None) -> tuple[Sweep, ...]:
    """Compute the curves that the pairs allow, with mAP where an analysis of triplets of the same model is given."""
    made = [nms_sweep(localised, analysis=analysis)]
    if localised.pairs.triplets is not None or localised.pairs.detected:
        made.append(score_sweep(localised, analysis=analysis))
    return tuple(made)


def nms_sweep(
    localised: Localised, thresholds: Sequence[float] = NMS_THRESHOLDS, analysis: ErrorAnalysis | None = None
) -> Sweep:
    """Suppress pairs that overlap with better ones, at several thresholds of overlap.

    Overlap is human IoU times the root of object IoU, as in CDN (protocols.md 2.2, ``shoe.scoring.matching.repeats``).
    Pairs from triplets: triplets of one verb and object suppress each other, and the pairs of the remaining triplets
    remain; mAP is that of the option ``strict.nms``. Pairs of a file of their own suppress each other within an object,
    by the scores of their detection (without scores, the first ones stay).
    ``thresholds`` are 0 to 1; ``analysis`` is of triplets of the same model, for their mAP.

    Raises:
        OptionError: for a threshold out of range.
    """
    for threshold in thresholds:
        if not 0 <= threshold <= 1:
            raise OptionError(f"NMS threshold: found {threshold:g}, expected 0 to 1")
    lowest = min(thresholds, default=1.0)

    def suppressed(table: Interactions) -> Callable[[float], Mask]:
        return Suppression(table, np.arange(len(table)), lowest).kept

    return _sweep("nms", localised, thresholds, analysis, suppressed)


def score_sweep(
    localised: Localised, thresholds: Sequence[float] = SCORE_THRESHOLDS, analysis: ErrorAnalysis | None = None
) -> Sweep:
    """Keep pairs whose score reaches a threshold, at several thresholds.

    Pairs of a file of their own, and their triplets, stay by the lower score of their two detections. Triplets alone do
    not separate detection from interaction, so they stay by their whole score, and pairs with them.

    ``analysis`` is of triplets of the same model, for their mAP.

    Raises:
        InputError: for pairs of a file without scores of detection, or a triplet whose pair is not among the pairs.
    """
    pairs = localised.pairs
    if pairs.triplets is not None:
        return _sweep("score", localised, thresholds, analysis, lambda table: _from(table.score))
    if not pairs.detected:
        found, expected = "pairs without scores of detection", "h_score and o_score of each pair"
        raise InputError("pairs", found=found, expected=expected)

    def of_detection(table: Interactions) -> Callable[[float], Mask]:
        if table is pairs.table or analysis is None:
            return _from(table.score)
        rows, pair = analysis.scope.prediction, find_pairs(pairs, table)
        lost = rows[pair[rows] < 0]
        if len(lost):
            record = triplet_name((table.images, table.image.astype(np.int64)), int(lost[0]))
            found, expected = "no pair with exactly its boxes and object", "all pairs of the triplets"
            raise InputError("pairs", record=record, found=found, expected=expected)
        return _from(np.append(pairs.table.score, np.nan)[pair])

    return _sweep("detection", localised, thresholds, analysis, of_detection)


def _from(score: Floats) -> Callable[[float], Mask]:
    return lambda threshold: score >= threshold


Thinned = Callable[[Interactions], Callable[[float], Mask]]
"""Prepares a table, and then tells (n,) which of its rows stay at a threshold."""


def _sweep(
    by: str, localised: Localised, thresholds: Sequence[float], analysis: ErrorAnalysis | None, thinned: Thinned
) -> Sweep:
    pairs = localised.pairs
    table = pairs.table if pairs.triplets is None else pairs.triplets
    kept = thinned(table)
    triplets = table if analysis is None else analysis.task.predictions
    kept_triplets = kept if triplets is table else thinned(triplets)
    means_of = None if analysis is None else _means_of_some(analysis)
    points = []
    for threshold in thresholds:
        mask = kept(threshold)
        rows = np.flatnonzero(mask)
        first = np.full(len(pairs.table), -1, np.int64)  # row that is left of each pair, -1 if none is
        of_row = rows if pairs.of_triplet is None else pairs.of_triplet[rows]
        first[of_row[::-1]] = rows[::-1]  # what is written last stays
        found = asdict(pair_figures(localised, first))
        if means_of is not None:
            found |= means_of(mask if kept_triplets is kept else kept_triplets(threshold))._asdict()
        points.append(SweepPoint(threshold, **found))
    return Sweep(by, tuple(points))


def _means_of_some(analysis: ErrorAnalysis) -> Callable[[Mask], Means]:
    """Prepare to score some rows of the predictions; the ground truth of each does not depend on the others."""
    scope, types = analysis.scope, analysis.assigned.types
    right = np.flatnonzero((types == ErrorType.TRUE_POSITIVE) | (types == ErrorType.DUPLICATE))
    truth = analysis.assigned.target[right]

    def means(kept_rows: Mask) -> Means:
        kept = kept_rows[scope.prediction]
        left = kept[right]
        found_by = scope.best_of(right[left], truth[left])
        return analysis.means_after(replace(before_fixes(found_by, len(kept)), kept=kept))

    return means
