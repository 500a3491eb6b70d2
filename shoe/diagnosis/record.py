"""A diagnosis as a record: fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shoe.core.shown import present
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.localisation import PairFigures
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.diagnosis.sweeps import SweepPoint
from shoe.diagnosis.wrong_words import WrongWords
from shoe.scoring.entries import Means

if TYPE_CHECKING:
    from shoe.diagnosis.diagnose import Diagnosis
    from shoe.diagnosis.pairs import PairDiagnosis


def record(found: Diagnosis | PairDiagnosis, *, sweeps: bool) -> dict[str, Any]:
    """All figures of one model, in the keys of ``shoe diagnose --json``."""
    negative, named = found.negative_ap, found.interaction_map
    return present(
        {
            "signature": str(found.signature),
            "images": found.pairs.images,
            "ground_truths": len(found.scope.truth),
            "predictions": len(found.table),
            **(_errors(found) if isinstance(found, ErrorAnalysis) else {}),
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


def _errors(found: ErrorAnalysis) -> dict[str, Any]:
    return {
        **_means(found.means),
        **({"parts": {part: _part(found, part) for part in found.parts}} if found.parts else {}),
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


def _part(found: ErrorAnalysis, part: str) -> dict[str, Any]:
    deltas = {name: present({"delta_map": delta}) for name, delta in found.part_deltas[part].items()}
    return present({**found.parts[part]._asdict(), "errors": deltas})


def _semantic(found: SemanticDiagnosis) -> dict[str, Any]:
    gap = found.vocabulary_gap
    return present(
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
    return present({prefix + name: value for name, value in means._asdict().items()})


def _pairs(figures: PairFigures) -> dict[str, Any]:
    return present(asdict(figures))


def _point(point: SweepPoint) -> dict[str, Any]:
    return {"threshold": point.threshold, **_pairs(point.pairs), **(_means(point.means) if point.means else {})}
