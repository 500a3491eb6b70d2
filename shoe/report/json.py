"""A report as JSON: fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoe.evidence.facts import Resolution, Words
from shoe.io.json import encode
from shoe.report.notes import Evidence, notes
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult
from shoe.scoring.strict import StrictResult


def as_json(report: Report, evidence: Evidence | None = None) -> bytes:
    """Render a report as indented JSON, one newline at its end."""
    return encode(as_dict(report, evidence), readable=True)


def as_dict(report: Report, evidence: Evidence | None = None) -> dict[str, Any]:
    """Collect a report's figures, and what they rest on, in the documented keys."""
    truth, evidence = report.truth, evidence or Evidence.of(report)
    profile = evidence.profile
    return _present(
        {
            "signature": str(report.signature),
            "dataset": truth.classes.name,
            "split": truth.split,
            "images": len(truth.interactions.images),
            "ground_truths": len(truth.interactions),
            "predictions": len(report.predictions),
            "strict": _strict(report.strict) if report.strict else None,
            "protocols": [
                {"signature": str(report.signature_of(result)), **_strict(result)} for result in report.strict_results
            ]
            if len(report.strict_results) > 1
            else None,
            "semantic": _semantic(report.semantic, evidence) if report.semantic else None,
            "resolution": _resolution(evidence.resolution) if evidence.resolution else None,
            "profile": _present(
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
            "order_spans": {name: list(span) for name, span in evidence.orders.items()} if evidence.orders else None,
            "absent": report.absent or None,
            "wordings": [asdict(wording) for wording in evidence.wordings] or None,
            "notes": notes(report, evidence) or None,
        }
    )


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _strict(result: StrictResult) -> dict[str, Any]:
    return _present(
        {
            "protocol": result.options.protocol,
            "map": result.map,
            "map_rare": result.map_rare,
            "map_non_rare": result.map_non_rare,
            "max_recall": result.max_recall,
            "classes": result.classes,
            "ranked_predictions": result.ranked,
            "tied_share": result.tied_share,
        }
    )


def _semantic(result: SemanticResult, evidence: Evidence) -> dict[str, Any]:
    interval, spread = evidence.interval, evidence.spread
    return _present(
        {
            "protocol": result.options.protocol,
            "map": result.map,
            "map_without_no_interaction": result.map_interactions,
            "map_standard_error": result.map_error or None,
            "mf1": result.mf1,
            "gt_miss_rate": result.gt_miss_rate,
            "prediction_miss_rate": result.prediction_miss_rate,
            "tau_readings": {by: _present(figures._asdict()) for by, figures in evidence.tau.items()},
            "classes": result.classes,
            "tied_share": result.tied_share,
            "map_interval": list(interval.map) if interval and interval.map else None,
            "mf1_interval": list(interval.mf1) if interval and interval.mf1 else None,
            "unrated_pairs": interval.unrated_pairs if interval else None,
            "raters": spread.raters if spread else None,
        }
    )


def _resolution(resolution: Resolution) -> dict[str, Any]:
    def words(part: Words) -> dict[str, Any]:
        return {"words": part.words, "dataset_labels": part.labels, "unresolved": list(part.unresolved)}

    return _present(
        {
            "verbs": words(resolution.verbs),
            "objects": words(resolution.objects),
            "rated_share": resolution.rated_share,
            "fallback_share": resolution.fallback_share,
            "unrated_share": resolution.unrated_share,
            "basis": resolution.basis or None,
        }
    )
