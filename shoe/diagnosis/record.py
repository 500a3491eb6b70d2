"""A diagnosis as plain data: the keys of ``shoe diagnose --json``; fractions 0..1, what is absent left out."""

from __future__ import annotations

from typing import Any

from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnosis import Diagnosis


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Collect the figures in the documented keys."""
    return {
        "signature": str(diagnosis.signature),
        **present(diagnosis.means),
        "true_positives": diagnosis.counts["true_positive"],
        "errors": {
            name: {"count": diagnosis.counts[name], **present(delta, "delta_")}
            for name, delta in diagnosis.deltas.items()
        },
        "progression": [
            {"error": step.name, **present(step.means), **present(step.delta, "delta_")}
            for step in diagnosis.progression
        ],
    }


def present(means: Means, prefix: str = "") -> dict[str, float]:
    """Return the means that could be measured, by their names with a prefix."""
    return {prefix + name: value for name, value in means._asdict().items() if value is not None}
