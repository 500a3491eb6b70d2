"""All that the figures of a report rest on, collected once for the terminal, the JSON and a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoe.scoring.entries import F1Figures
from shoe.scoring.evidence.distance import Range, distance, figures_by_distance
from shoe.scoring.evidence.facts import Profile, Resolution, profile, resolution, tau_readings
from shoe.scoring.evidence.wordings import Wording, wordings
from shoe.scoring.score import Report

if TYPE_CHECKING:
    from shoe.scoring.evidence.draws import Interval
    from shoe.scoring.evidence.facts import Spread

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
