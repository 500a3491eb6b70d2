"""What every ``--json`` holds, as types; JSON schemas are made from them, and tests hold the commands to them.

A key that need not be there is unset by default: what cannot be measured, or was not asked for, is left out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe.attribution.explain import Explained
from shoe.benchmarks.cards import DatasetCard, DatasetList
from shoe.bongard.build import BongardBuild
from shoe.bongard.score import BongardScore
from shoe.evidence.audit import Audit
from shoe.evidence.calibration import CalibrationReport
from shoe.maps.ablate import MapAblate
from shoe.maps.complete import CompleteEstimate, MapCompleted
from shoe.maps.diff import MapDiff
from shoe.maps.info import MapInfo
from shoe.maps.teach import MapLearned
from shoe.rating.built import MapBuilt
from shoe.rating.estimate import BuildEstimate
from shoe.report.average import Average
from shoe.report.class_splits import ClassSplitInfo
from shoe.report.comparison import Compare
from shoe.report.diagnosis_json import OneModel, SeveralModels
from shoe.report.json import Score
from shoe.report.schemas.cards import DatasetCheck
from shoe.report.schemas.datasets import DatasetInfo, DatasetSplit, DatasetStats
from shoe.report.schemas.predict import Predict
from shoe.report.similarity import ExplainedSimilarity
from shoe.runs.verify import Verdict
from shoe.study.analysis import StudyReport
from shoe.study.metric.result import Against
from shoe.study.testers import TestersReport

SCHEMAS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "score": (Score,),
    "submit": (Score,),
    "diagnose": (OneModel, SeveralModels),
    "audit": (Audit,),
    "explain": (Explained,),
    "calibration": (CalibrationReport,),
    "compare": (Compare,),
    "average": (Average,),
    "verify": (Verdict,),
    "predict": (Predict,),
    "similarity": (ExplainedSimilarity,),
    "dataset list": (DatasetList,),
    "dataset info": (DatasetInfo, DatasetCard, ClassSplitInfo),
    "dataset check": (DatasetCheck,),
    "dataset stats": (DatasetStats,),
    "bongard build": (BongardBuild,),
    "bongard score": (BongardScore,),
    "dataset split": (DatasetSplit,),
    "map build": (MapBuilt, BuildEstimate),
    "map complete": (MapCompleted, CompleteEstimate),
    "map learn": (MapLearned,),
    "map info": (MapInfo,),
    "map diff": (MapDiff,),
    "map ablate": (MapAblate,),
    "study report": (StudyReport, TestersReport),
    "study metric": (Against,),
}
"""By command, each kind of document that it writes; commands without ``--json`` have none."""


def json_schema(command: str) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what a command writes under ``--json``."""
    kinds, definitions = msgspec.json.schema_components(SCHEMAS[command], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["description"] = definition.get("description", "").split("\n\n")[0]
        properties = definition["properties"]
        properties |= {name: _without_default(kind) for name, kind in properties.items()}
    one = kinds[0] if len(kinds) == 1 else {"oneOf": list(kinds)}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"shoe {command} --json"}
    return {**head, **one, "$defs": definitions}


def documents_of(command: str) -> list[type[msgspec.Struct]]:
    """The types of the objects in what a command writes, the outermost first."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting: list[Any] = [msgspec.inspect.type_info(kind) for kind in SCHEMAS[command]]
    for info in waiting:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in found:
                continue
            found[info.cls] = None
        inner = [getattr(info, name, None) for name in ("type", "value_type", "item_type")]
        inner += [*getattr(info, "types", ()), *(field.type for field in getattr(info, "fields", ()))]
        waiting += [each for each in inner if isinstance(each, msgspec.inspect.Type)]
    return list(found)


def _without_default(kind: dict[str, Any]) -> dict[str, Any]:
    """The kind of a key that is left out where its value is the default, None among these."""
    kept = {name: value for name, value in kind.items() if name != "default"}
    if kind.get("default", ...) is None:
        kinds = [each for each in kept.pop("anyOf") if each != {"type": "null"}]
        return kept | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
    return kept
