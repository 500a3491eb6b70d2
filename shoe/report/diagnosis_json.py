"""A diagnosis as JSON (docs/diagnosis.md): fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.io.json import encode

Models = Mapping[str, Diagnosis | PairDiagnosis]
"""Diagnoses by what the models are called."""


def as_json(models: Models, truth: GroundTruth, *, sweeps: bool = False) -> bytes:
    """Render diagnoses as indented JSON, one newline at its end."""
    return encode(as_dict(models, truth, sweeps=sweeps), readable=True)


def as_dict(models: Models, truth: GroundTruth, *, sweeps: bool = False) -> dict[str, Any]:
    """Collect figures in the documented keys: one model's own, or a list of several under ``models``.

    Args:
        models: one or several.
        truth: the ground truth of all.
        sweeps: whether to thin out pairs at several thresholds too.
    """
    data = {"dataset": truth.classes.name, "split": truth.split}
    made = [{"name": name, **found.to_dict(sweeps=sweeps)} for name, found in models.items()]
    return data | (made[0] if len(made) == 1 else {"models": made})
