"""A diagnosis as JSON (docs/diagnosis.md): fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import Diagnosis, PairDiagnosis
from shoe.diagnosis.localisation import PairFigures
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.diagnosis.sweeps import SweepPoint
from shoe.diagnosis.wrong_words import WrongWords
from shoe.io.json import encode
from shoe.scoring.entries import Means

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
    made = [_model(name, found, sweeps) for name, found in models.items()]
    return data | (made[0] if len(made) == 1 else {"models": made})


def _model(name: str, found: Diagnosis | PairDiagnosis, sweeps: bool) -> dict[str, Any]:
    negative, named = found.negative_ap, found.interaction_map
    return _present(
        {
            "name": name,
            "signature": str(found.signature),
            "images": found.pairs.images,
            "ground_truths": len(found.scope.truth),
            "predictions": len(found.table),
            **(_errors(found) if isinstance(found, Diagnosis) else {}),
            "pairs": _pairs(found.pairs) | {"rare": _pairs(found.pairs_rare), "non_rare": _pairs(found.pairs_non_rare)},
            "negative_ap": negative and negative.all_points,
            "negative_ap_diag": negative and negative.diag,
            "interaction_map": named and named.map,
            "interaction_map_rare": named and named.map_rare,
            "interaction_map_non_rare": named and named.map_non_rare,
            "semantic": found.semantic and _semantic(found.semantic),
            "sweeps": [{"by": c.by, "points": [_point(p) for p in c.points]} for c in found.sweeps] if sweeps else None,
            "absent": found.absent or None,
            "notes": list(found.notes) or None,
        }
    )


def _errors(found: Diagnosis) -> dict[str, Any]:
    return {
        **_means(found.means),
        "true_positives": found.counts["true_positive"],
        "errors": {
            name: {
                "count": found.counts[name],
                **_means(delta, "delta_"),
                **(_means(found.spreads[name], "sd_") if found.drawn else {}),
            }
            for name, delta in found.deltas.items()
        },
        "progression": [
            {"error": step.name, **_means(step.means), **_means(step.delta, "delta_")} for step in found.progression
        ],
    }


def _semantic(found: SemanticDiagnosis) -> dict[str, Any]:
    gap = found.vocabulary_gap
    return _present(
        {
            "signature": str(found.signature),
            **_means(found.means),
            "errors": {name: _means(delta, "delta_") for name, delta in found.deltas.items()},
            "interaction": _wrong_words(found.interaction),
            "object_class": _wrong_words(found.object_class),
            "vocabulary_gap": gap and {"gain": gap.gain, **asdict(gap)},
            "absent": found.absent or None,
        }
    )


def _wrong_words(found: WrongWords) -> dict[str, Any]:
    relations = {
        each.relation: {
            "count": each.count,
            "share": each.share,
            "similarity": each.similarity,
            "commonest": [word._asdict() for word in each.commonest],
        }
        for each in found.by_relation
    }
    return {"count": len(found.prediction), "types": found.types, "relation": relations}


def _means(means: Means, prefix: str = "") -> dict[str, float]:
    return _present({prefix + name: value for name, value in means._asdict().items()})


def _pairs(figures: PairFigures) -> dict[str, Any]:
    return _present(asdict(figures))


def _point(point: SweepPoint) -> dict[str, Any]:
    return {"threshold": point.threshold, **_pairs(point.pairs), **(_means(point.means) if point.means else {})}


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
