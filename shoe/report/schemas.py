"""Documents that commands write with ``--json``, and their JSON schemas."""

from typing import Any

import msgspec

from shoe.benchmarks.summary import DatasetCard, DatasetInfo, DatasetList, DatasetStats
from shoe.benchmarks.systematic import DatasetSplit
from shoe.comparison.verify import Verdict
from shoe.diagnosis.protocol_differences import Explained
from shoe.maps.ablate import MapAblate
from shoe.maps.built_map import MapBuilt
from shoe.maps.complete import CompleteEstimate, MapCompleted
from shoe.maps.cost_estimate import BuildEstimate
from shoe.maps.diff import MapDiff
from shoe.maps.info import MapInfo
from shoe.maps.learn import MapLearned
from shoe.predict.scored import Predict
from shoe.report.average import Average
from shoe.report.comparison import Compare
from shoe.report.datasets import ClassSplitInfo, DatasetCheck
from shoe.report.diagnosis import OneModel, SeveralModels
from shoe.report.score import Score
from shoe.report.similarity import ExplainedSimilarity
from shoe.scoring.bongard.build import BongardBuild
from shoe.scoring.bongard.score import BongardScore
from shoe.scoring.evidence.audit import Audit
from shoe.scoring.evidence.collect import CalibrationReport
from shoe.study.analysis import StudyReport
from shoe.study.metric.rankings import MeasureComparison
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
    "study metric": (MeasureComparison,),
}
"""Types of the documents that each command writes; commands without ``--json`` are left out."""


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the documents that a command, such as "map info", writes as JSON."""
    kinds, definitions = msgspec.json.schema_components(SCHEMAS[command], ref_template="#/$defs/{name}")
    for kind in documents_of(command):
        if not kind.__struct_config__.omit_defaults:
            definitions[kind.__name__]["required"] = list(kind.__struct_encode_fields__)
    for definition in definitions.values():
        definition["description"] = definition.get("description", "").split("\n\n")[0]
        for schema in definition["properties"].values():
            # A field with its default, such as None, is left out: so the schema needs no default and no null.
            if schema.pop("default", ...) is None:
                some = [each for each in schema.pop("anyOf") if each != {"type": "null"}]
                schema |= some[0] if len(some) == 1 else {"anyOf": some}
            schema.pop("propertyNames", None)  # only msgspec >= 0.23 states the names
    document = kinds[0] if len(kinds) == 1 else {"oneOf": list(kinds)}
    title = f"shoe {command} --json"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **document, "$defs": definitions}


def documents_of(command: str) -> list[type[msgspec.Struct]]:
    """Return the types of all objects, including nested objects, in a command's documents, outermost types first."""
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
