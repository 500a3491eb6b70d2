"""Curves of pair localisation and mAP when pairs are removed by overlap or by score.

The papers test in this way whether pairs are the bottleneck (IJCV paper 5.3, Tables 3 and 4; first version, Tables 5
and 6), with one threshold per table, which they do not report. Boxes are compared only once for a whole curve.
"""

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
"""Maximum overlaps of a pair with a better-scored pair; at 1, no pair is removed."""
SCORE_THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Minimum scores of predictions; at 0, no prediction with a score from 0 to 1 is removed."""


class _PairsAndMap(PairFigures, frozen=True, kw_only=True):
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None


class SweepPoint(_PairsAndMap, frozen=True):
    """Metrics of the pairs that remain at one threshold.

    Attributes:
        map, map_rare, map_non_rare: mAP of the triplets that remain, under the variant of the error analysis; None
            without an error analysis of triplets.
    """

    threshold: float


class Sweep(Document, frozen=True):
    """Curve of metrics over the thresholds of one criterion.

    Attributes:
        by: criterion that removes pairs: ``nms`` for the overlap with a better-scored pair, ``detection`` for the lower
            detection score of a pair's boxes, or ``score`` for the score of a triplet, which includes the interaction.
        points: metrics per threshold, in the order of the thresholds.
    """

    by: str
    points: tuple[SweepPoint, ...]


def sweeps(localised: Localised, analysis: ErrorAnalysis | None) -> tuple[Sweep, ...]:
    """Return the sweeps by NMS and, if pairs have scores, by score; with mAP if ``analysis`` is given."""
    made = [nms_sweep(localised, analysis=analysis)]
    if localised.pairs.triplets is not None or localised.pairs.detected:
        made.append(score_sweep(localised, analysis=analysis))
    return tuple(made)


def nms_sweep(
    localised: Localised, thresholds: Sequence[float] = NMS_THRESHOLDS, analysis: ErrorAnalysis | None = None
) -> Sweep:
    """Return the metrics after non-maximum suppression (NMS) of pairs at several overlap thresholds.

    The overlap is human IoU * sqrt(object IoU), as in CDN (protocols.md 2.2, ``shoe.scoring.matching.repeats``). If the
    pairs come from triplets, NMS is applied to triplets of equal verb and object, and the pairs of the remaining
    triplets remain; mAP is then that of the option ``strict.nms``. Pairs from a separate file are compared with pairs
    of equal object label, ranked by detection score, or in file order without scores.

    Args:
        thresholds: maximum overlaps, 0 to 1.
        analysis: error analysis of the model's triplets, for mAP; None for no mAP.

    Raises:
        OptionError: if a threshold is out of range.
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
    """Return the metrics of the pairs whose score is at least each threshold.

    The score of a pair from a separate file is the lower detection score of its two boxes; a triplet has the score of
    its pair. If pairs come from triplets, detection scores are unknown: the score of a triplet is its confidence, and a
    pair remains if one of its triplets remains.

    Args:
        thresholds: minimum scores.
        analysis: error analysis of the model's triplets, for mAP; None for no mAP.

    Raises:
        InputError: if pairs from a separate file have no detection scores, or do not contain the pair of a triplet.
    """
    pairs = localised.pairs
    if pairs.triplets is not None:
        return _sweep("score", localised, thresholds, analysis, lambda table: _from(table.score))
    if not pairs.detected:
        found, expected = "pairs without detection scores", "h_score and o_score for each pair"
        raise InputError("pairs", found=found, expected=expected)

    def of_detection(table: Interactions) -> Callable[[float], Mask]:
        if table is pairs.table or analysis is None:
            return _from(table.score)
        rows, pair = analysis.scope.prediction, find_pairs(pairs, table)
        lost = rows[pair[rows] < 0]
        if len(lost):
            record = triplet_name((table.images, table.image.astype(np.int64)), int(lost[0]))
            found, expected = "no pair with exactly the same boxes and object", "the pairs of all triplets"
            raise InputError("pairs", record=record, found=found, expected=expected)
        return _from(np.append(pairs.table.score, np.nan)[pair])

    return _sweep("detection", localised, thresholds, analysis, of_detection)


def _from(score: Floats) -> Callable[[float], Mask]:
    return lambda threshold: score >= threshold


Thinned = Callable[[Interactions], Callable[[float], Mask]]
"""Function that prepares a table, and returns a function from a threshold to the (n,) mask of the rows that remain."""


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
        rows = np.flatnonzero(mask := kept(threshold))
        first = np.full(len(pairs.table), -1, np.int64)  # row that is left of each pair, -1 if none is
        of_row = rows if pairs.of_triplet is None else pairs.of_triplet[rows]
        first[of_row[::-1]] = rows[::-1]  # what is written last stays
        found = asdict(pair_figures(localised, first))
        if means_of is not None:
            found |= means_of(mask if kept_triplets is kept else kept_triplets(threshold))._asdict()
        points.append(SweepPoint(threshold, **found))
    return Sweep(by, tuple(points))


def _means_of_some(analysis: ErrorAnalysis) -> Callable[[Mask], Means]:
    """Return a function that computes the mean AP from the predictions in an (n,) mask of rows.

    Each prediction keeps its ground truth, because this does not depend on the other predictions.
    """
    scope, types = analysis.scope, analysis.assigned.types
    right = np.flatnonzero((types == ErrorType.TRUE_POSITIVE) | (types == ErrorType.DUPLICATE))
    truth = analysis.assigned.target[right]

    def means(kept_rows: Mask) -> Means:
        kept = kept_rows[scope.prediction]
        found_by = scope.best_of(right[kept[right]], truth[kept[right]])
        return analysis.means_after(replace(before_fixes(found_by, len(kept)), kept=kept))

    return means
