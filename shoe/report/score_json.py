"""A report as JSON: fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

import msgspec
from msgspec import structs

from shoe.core.documents import Span
from shoe.core.io.json import encode
from shoe.report.notes import notes
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.evidence.distance import Range
from shoe.scoring.evidence.facts import Profile, Resolution
from shoe.scoring.evidence.wordings import Wording
from shoe.scoring.score import Figures, Report


class Score(Figures, frozen=True, kw_only=True):
    """One evaluation: its figures, and what they rest on.

    Attributes:
        resolution: how predicted words fared.
        profile: facts about the predictions.
        by_nearest_seen: with a split of the classes, unseen classes by the similarity of the nearest seen one.
        order_spans: with ``--bounds``, the lowest and highest mAP over some orders of the file, by protocol, where an
            order moves it.
        absent: for each part that could not be measured, why.
        wordings: of the wordings that are no labels of the dataset, the 10 that lost most, then those that earned most.
        notes: the lines below the tables, as text.
    """

    resolution: Resolution | None = None
    profile: Profile
    by_nearest_seen: list[Range] = msgspec.field(default_factory=list)
    order_spans: dict[str, Span] = msgspec.field(default_factory=dict)
    absent: dict[str, str] = msgspec.field(default_factory=dict)
    wordings: list[Wording] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @classmethod
    def from_report(cls, report: Report, evidence: Evidence | None = None) -> Score:
        """Put the figures of a report beside what they rest on."""
        evidence = evidence or Evidence.of(report)
        figures, interval, spread = report.figures(), evidence.interval, evidence.spread
        if figures.semantic is not None:
            semantic = structs.replace(
                figures.semantic,
                tau_readings=evidence.tau,
                map_interval=interval and interval.map,
                mf1_interval=interval and interval.mf1,
                unrated_pairs=interval and interval.unrated_pairs,
                raters=spread and spread.raters,
            )
            figures = structs.replace(figures, semantic=semantic)
        return cls(
            **structs.asdict(figures),
            resolution=evidence.resolution,
            profile=evidence.profile,
            by_nearest_seen=evidence.by_nearest_seen,
            order_spans={**evidence.orders},
            absent=dict(report.absent),
            wordings=list(evidence.wordings),
            notes=notes(report, evidence),
        )


def as_json(report: Report, evidence: Evidence | None = None) -> bytes:
    """Render a report as indented JSON, one newline at its end."""
    return encode(Score.from_report(report, evidence), readable=True)
