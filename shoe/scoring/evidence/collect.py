"""All that the figures of a report rest on, collected once; and the calibration of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from shoe.core.documents import Count, Document, Fraction
from shoe.scoring.average_precision import number_tied
from shoe.scoring.entries import Entries, F1Figures
from shoe.scoring.evidence.facts import (
    Profile,
    Range,
    Resolution,
    Wording,
    distance,
    figures_by_distance,
    profile,
    resolution,
    tau_readings,
    wordings,
)
from shoe.scoring.score import Report

if TYPE_CHECKING:
    from shoe.scoring.evidence.draws import Interval
    from shoe.scoring.evidence.facts import Spread

# Whether scores mean what they say: of predictions with a score of 0.8, eight in ten are to be right.
#
# What is right is what a protocol gives credit: a true positive's 1 under exact labels, up to 1 for a similar class
# under
# SHOE. mAP looks at the order of scores alone, which says nothing of their size, and at nothing where scores are equal.

BINS = 15
"""As Guo et al. (On Calibration of Modern Neural Networks, 2017) have it."""


class ScoreBin(Document, frozen=True):
    """Predictions whose scores lie between two bounds.

    Attributes:
        low, high: bounds; the upper one belongs to the bin.
        predictions: how many there are.
        score: their mean score; None where there are none.
        right: their mean credit; None where there are none.
    """

    low: Fraction
    high: Fraction
    predictions: Count
    score: Fraction | None = None
    right: Fraction | None = None


class Calibration(Document, frozen=True):
    """How the scores and the credits of a protocol go together.

    Attributes:
        protocol: its name.
        signature: how the figures came about.
        map: mean average precision; None where it cannot be measured.
        ranked: predictions that were ranked; this and what follows is None without predictions, or where a score is no
            probability (outside 0 to 1).
        error: expected calibration error: the mean over predictions of how far score and credit of their bin differ.
        tied_share: share of predictions that have the same score as another of their class.
        bins: of the reliability diagram, from 0 to 1.
    """

    protocol: str
    signature: str
    map: Fraction | None = None
    ranked: Count | None = msgspec.field(default=None, name="ranked_predictions")
    error: Fraction | None = msgspec.field(default=None, name="expected_calibration_error")
    tied_share: Fraction | None = None
    bins: tuple[ScoreBin, ...] = ()


class ModelCalibration(Document, frozen=True):
    """One file of predictions."""

    predictions: str
    protocols: list[Calibration]


class CalibrationReport(Document, frozen=True):
    """All files, in the order given."""

    models: list[ModelCalibration]


def calibration(entries: Entries, bins: int = BINS, protocol: str = "", signature: str = "") -> Calibration:
    """Measure how far scores are from the share of predictions that are right.

    Example:
        >>> from shoe.scoring.entries import Interpolation, Rule, Ties
        >>> all_ = np.ones(1, bool)
        >>> entries = Entries(
        ...     category=np.zeros(4, int), image=np.arange(4), score=np.array([0.9, 0.9, 0.8, 0.1]),
        ...     credit=np.array([1.0, 0.0, 1.0, 0.0]), truth_category=np.array([0]), truth_image=np.array([0]),
        ...     counted=all_, rare=~all_, rule=Rule(Interpolation.ALL_POINTS, Ties.INPUT),
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
    found = []
    for i, entries_in_bin in enumerate(count.tolist()):
        means = [float(values[i] / entries_in_bin) if entries_in_bin else None for values in sums]
        found.append(ScoreBin(float(edges[i]), float(edges[i + 1]), entries_in_bin, *means))
    order = np.lexsort((score, entries.category))
    tied = number_tied((np.diff(entries.category[order]) == 0) & (np.diff(score[order]) == 0))
    return Calibration(protocol, signature, mean, number, error, tied / number, tuple(found))


_WORDINGS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the figures of a report rest on.

    Attributes:
        resolution: how predicted words fared; None without the semantic part.
        wordings: of those that are no labels of the dataset, the 10 that lost most and the 10 that earned most.
        tau: SHOE-mF1 and the miss rates by each reading of tau; empty without the semantic part.
        by_nearest_seen: unseen classes by the similarity of the nearest seen one; empty without a split of the classes,
            or without a map.
        orders: lowest and highest mAP of the protocols that an order moves; empty if not asked for.
        interval, spread: where figures would lie were all pairs rated, and figures by single raters; None if not asked
            for, or if nothing is open.
    """

    profile: Profile
    resolution: Resolution | None
    wordings: tuple[Wording, ...]
    tau: dict[str, F1Figures]
    by_nearest_seen: list[Range]
    orders: dict[str, tuple[float, float]]
    interval: Interval | None
    spread: Spread | None

    @classmethod
    def of(cls, report: Report, *, bounds: bool = False) -> Evidence:
        """Collect it; ``bounds`` asks for orders, interval and spread, which cost several scorings."""
        orders: dict[str, tuple[float, float]] = {}
        interval = spread = None
        if bounds:
            from shoe.scoring import evidence

            interval, spread, orders = evidence.interval(report), evidence.spread(report), evidence.order_spans(report)
        nearest = distance(report)
        ranges = [] if nearest is None else figures_by_distance(report, nearest)
        most, facts = wordings(report, _WORDINGS_SHOWN), (profile(report), resolution(report))
        return cls(*facts, most, tau_readings(report), ranges, orders, interval, spread)
