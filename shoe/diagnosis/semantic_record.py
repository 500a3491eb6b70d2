"""A semantic diagnosis as plain data, for JSON: fractions 0..1, what is absent left out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoe.diagnosis.misses import Misses
from shoe.diagnosis.record import present
from shoe.diagnosis.semantic import SemanticDiagnosis
from shoe.diagnosis.wording import Wording


def semantic_dict(found: SemanticDiagnosis) -> dict[str, Any]:
    """Collect the figures in the documented keys (docs/diagnosis.md)."""
    record = {
        "signature": str(found.signature),
        **present(found.means),
        "errors": {name: present(delta, "delta_") for name, delta in found.deltas.items()},
        "interaction": _misses(found.interaction),
        "object_class": _misses(found.object_class),
    }
    if found.wording is not None:
        record["wording"] = _wording(found.wording)
    if found.absent:
        record["absent"] = found.absent
    return record


def _misses(found: Misses) -> dict[str, Any]:
    kinds = {
        kind.nearness: {
            "count": kind.count,
            "share": kind.share,
            "similarity": kind.similarity,
            "commonest": [word._asdict() for word in kind.commonest],
        }
        for kind in found.kinds
    }
    return {"count": len(found.prediction), "types": found.types, "nearness": kinds}


def _wording(found: Wording) -> dict[str, Any]:
    return {"gain": found.gain, **asdict(found)}
