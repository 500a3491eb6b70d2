"""A report as JSON: fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoe.core.shown import present
from shoe.evidence.distance import figures_by_distance
from shoe.evidence.facts import Resolution, Words
from shoe.io.json import encode
from shoe.report.notes import Evidence, notes
from shoe.scoring.score import Report


def as_json(report: Report, evidence: Evidence | None = None) -> bytes:
    """Render a report as indented JSON, one newline at its end."""
    return encode(as_dict(report, evidence), readable=True)


def as_dict(report: Report, evidence: Evidence | None = None) -> dict[str, Any]:
    """Collect a report's figures, and what they rest on, in the documented keys."""
    evidence = evidence or Evidence.of(report)
    profile = evidence.profile
    figures = report.to_dict()
    if report.semantic is not None:
        figures["semantic"] |= _beside_semantic(evidence)
    absent = figures.pop("absent", None)
    figures.pop("notes", None)  # all of them stand at the end
    return figures | present(
        {
            "resolution": _resolution(evidence.resolution) if evidence.resolution else None,
            "profile": present(
                {
                    "images_with_predictions": profile.images,
                    "covered_images": profile.covered,
                    "named_images": profile.named,
                    "unknown_images": len(profile.unknown_images),
                    "constant_scores": profile.constant_scores,
                    "repeats": profile.repeats,
                    "outside_share": profile.outside_share,
                }
            ),
            "by_nearest_seen": [
                {"from": each.low, "to": each.high, "classes": each.classes, "map": present(each.figures)}
                for each in figures_by_distance(report, evidence.nearest)
            ]
            if evidence.nearest is not None
            else None,
            "order_spans": {name: list(span) for name, span in evidence.orders.items()} if evidence.orders else None,
            "absent": absent,
            "wordings": [asdict(wording) for wording in evidence.wordings] or None,
            "notes": notes(report, evidence) or None,
        }
    )


def _beside_semantic(evidence: Evidence) -> dict[str, Any]:
    interval, spread = evidence.interval, evidence.spread
    return present(
        {
            "tau_readings": {by: present(figures._asdict()) for by, figures in evidence.tau.items()},
            "map_interval": list(interval.map) if interval and interval.map else None,
            "mf1_interval": list(interval.mf1) if interval and interval.mf1 else None,
            "unrated_pairs": interval.unrated_pairs if interval else None,
            "raters": spread.raters if spread else None,
        }
    )


def _resolution(resolution: Resolution) -> dict[str, Any]:
    def words(part: Words) -> dict[str, Any]:
        return {"words": part.words, "dataset_labels": part.labels, "unresolved": list(part.unresolved)}

    return present(
        {
            "verbs": words(resolution.verbs),
            "objects": words(resolution.objects),
            "rated_share": resolution.rated_share,
            "fallback_share": resolution.fallback_share,
            "learned_share": resolution.learned_share,
            "unrated_share": resolution.unrated_share,
            "basis": resolution.basis or None,
        }
    )
