"""A diagnosis as JSON: fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.pairs import PairFigures
from shoe.diagnosis.sweeps import Sweep, SweepPoint
from shoe.report.findings import Findings


def as_json(found: Sequence[Findings], truth: GroundTruth) -> bytes:
    """Render findings as indented JSON, one newline at its end."""
    return orjson.dumps(as_dict(found, truth), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_dict(found: Sequence[Findings], truth: GroundTruth) -> dict[str, Any]:
    """Collect figures in the documented keys: one model's own, or a list of several under ``models``."""
    data = {"dataset": truth.classes.name, "split": truth.split}
    if len(found) == 1:
        return data | _model(found[0])
    return data | {"models": [_model(model) for model in found]}


def _model(found: Findings) -> dict[str, Any]:
    negative, named = found.negative_ap, found.interaction_map
    return _present(
        {
            "name": found.name,
            "signature": str(found.signature),
            "images": found.images,
            "ground_truths": found.truths,
            "predictions": found.predictions,
            **(found.errors.record if found.errors else {}),
            "pairs": _pairs(found.pairs) | {"rare": _pairs(found.pairs_rare), "non_rare": _pairs(found.pairs_non_rare)},
            "negative_ap": negative and negative.all_points,
            "negative_ap_diag": negative and negative.diag,
            "interaction_map": named and named.map,
            "interaction_map_rare": named and named.map_rare,
            "interaction_map_non_rare": named and named.map_non_rare,
            "semantic": found.semantic.record if found.semantic else None,
            "sweeps": [_sweep(curve) for curve in found.sweeps] or None,
            "absent": found.absent or None,
            "notes": list(found.remarks) or None,
        }
    )


def _pairs(figures: PairFigures) -> dict[str, Any]:
    return _present(asdict(figures))


def _sweep(curve: Sweep) -> dict[str, Any]:
    return {"by": curve.by, "points": [_point(point) for point in curve.points]}


def _point(point: SweepPoint) -> dict[str, Any]:
    means = point.means._asdict() if point.means else {}
    return {"threshold": point.threshold, **_pairs(point.pairs), **_present(means)}


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
