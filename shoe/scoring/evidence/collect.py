"""Explanations of a report's metrics collected in one object, and the calibration of scores."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from shoe.core.documents import Count, Document, Fraction
from shoe.scoring.average_precision import number_tied
from shoe.scoring.entries import Entries
from shoe.scoring.evidence import draws, facts
from shoe.scoring.score import Report

# Calibration compares scores with the credit that a protocol gives: 0 or 1 under exact labels, 0 to 1 under SHOE. mAP
# depends on the order of scores only.

BINS = 15  # number of bins as in Guo et al. (On Calibration of Modern Neural Networks, 2017).


class ScoreBin(Document, frozen=True):
    """Predictions whose scores lie between two bounds.

    Attributes:
        low, high: lower and upper bound of the scores. A score equal to a bound is in the lower bin; 0 is in the first.
        predictions: number of predictions.
        score, right: mean score and mean credit; None without predictions.
    """

    low: Fraction
    high: Fraction
    predictions: Count
    score: Fraction | None = None
    right: Fraction | None = None


class Calibration(Document, frozen=True):
    """Calibration of scores under one protocol.

    Attributes:
        protocol: name of the protocol.
        signature: signature of these metrics.
        map: mean average precision; None if it cannot be measured.
        ranked: number of ranked predictions; this and the following values are None without predictions, or if a score
            is outside 0..1.
        error: expected calibration error: mean over the bins, weighted by their number of predictions, of the absolute
            difference between mean score and mean credit.
        tied_share: fraction of predictions whose score equals the score of another prediction of the same class.
        bins: bins of the reliability diagram, from 0 to 1.
    """

    protocol: str
    signature: str
    map: Fraction | None = None
    ranked: Count | None = msgspec.field(default=None, name="ranked_predictions")
    error: Fraction | None = msgspec.field(default=None, name="expected_calibration_error")
    tied_share: Fraction | None = None
    bins: tuple[ScoreBin, ...] = ()


class ModelCalibration(Document, frozen=True):
    """Calibration of one file of predictions under each protocol.

    Attributes:
        notes: warnings and notes on the predictions.
    """

    predictions: str
    protocols: list[Calibration]
    notes: list[str] = msgspec.field(default_factory=list)


class CalibrationReport(Document, frozen=True):
    """Calibration of all files, in the order given."""

    models: list[ModelCalibration]


def calibration(entries: Entries, bins: int = BINS, protocol: str = "", signature: str = "") -> Calibration:
    """Return the calibration of ranked entries in ``bins`` score intervals of equal width.

    ``protocol`` and ``signature`` are copied into the result.

    >>> from shoe.scoring.entries import Interpolation, AveragingRule, Ties
    >>> all_ = np.ones(1, bool)
    >>> entries = Entries(
    ...     category=np.zeros(4, int), image=np.arange(4), score=np.array([0.9, 0.9, 0.8, 0.1]),
    ...     credit=np.array([1.0, 0.0, 1.0, 0.0]), truth_category=np.array([0]), truth_image=np.array([0]),
    ...     counted=all_, rare=~all_, rule=AveragingRule(Interpolation.ALL_POINTS, Ties.INPUT),
    ... )
    >>> found = calibration(entries, bins=2)
    >>> round(found.error, 3), found.tied_share, [one.predictions for one in found.bins]
    (0.175, 0.5, [1, 3])
    """
    mean = entries.means().map
    score, credit, number = entries.score, entries.credit, len(entries.score)
    if not number or not ((score >= 0) & (score <= 1)).all():
        return Calibration(protocol, signature, mean)
    edges = np.linspace(0, 1, bins + 1)
    which = np.maximum(np.searchsorted(edges, score) - 1, 0)
    count = np.bincount(which, minlength=bins)
    sums = [np.bincount(which, values, minlength=bins) for values in (score, credit)]
    error = float(np.abs(sums[0] - sums[1]).sum() / number)
    reliability = []
    for i, entries_in_bin in enumerate(count.tolist()):
        means = [float(values[i] / entries_in_bin) if entries_in_bin else None for values in sums]
        reliability.append(ScoreBin(float(edges[i]), float(edges[i + 1]), entries_in_bin, *means))
    tied_share = number_tied(entries.category, score) / number
    return Calibration(protocol, signature, mean, number, error, tied_share, tuple(reliability))


_WORDINGS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """Explanations of a report's metrics."""

    profile: facts.Profile
    # how predicted words were mapped to senses and labels; None if SHOE was not computed
    resolution: facts.Resolution | None
    # at most 20 predicted (verb, object) combinations: those that lost most credit, then those that gained most,
    # without combinations that are classes of the dataset
    wordings: tuple[facts.Wording, ...]
    # mAP of unseen classes by similarity to the nearest seen class; empty without a class split or without a similarity
    # map
    by_nearest_seen: list[facts.Range]
    # lowest and highest mAP of the protocols that depend on the order of the file; empty if not requested
    orders: dict[str, tuple[float, float]]
    # 90 % predictive intervals if all pairs were rated; None if not requested or not applicable
    interval: draws.Interval | None
    # SHOE-mAP under the ratings of each single rater; None if not requested or not applicable
    spread: facts.Spread | None

    @classmethod
    def from_report(cls, report: Report, *, bounds: bool = False) -> Evidence:
        """Collect the explanations of a report.

        With ``bounds``, the predictions are scored several more times for ``orders``, ``interval`` and ``spread``.
        """
        nearest = facts.nearest_seen_of_report(report)
        ap = {each.options.protocol: each.ap for each in (report.strict, report.semantic) if each is not None}
        return cls(
            profile=facts.profile(report),
            resolution=facts.resolution(report),
            wordings=facts.wordings(report, _WORDINGS_SHOWN),
            by_nearest_seen=nearest.by_similarity(ap) if nearest else [],
            orders=facts.order_spans(report) if bounds else {},
            interval=draws.interval(report) if bounds else None,
            spread=facts.spread(report) if bounds else None,
        )
