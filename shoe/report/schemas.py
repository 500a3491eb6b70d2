"""What every ``--json`` holds, as types; JSON schemas are made from them, and tests hold the commands to them.

A key that need not be there is unset by default: what cannot be measured, or was not asked for, is left out.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks.summary import DatasetCard, DatasetList
from shoe.comparison.verify import Verdict
from shoe.diagnosis.protocol_differences import Explained
from shoe.maps.ablate import MapAblate
from shoe.maps.built_map import MapBuilt
from shoe.maps.complete import CompleteEstimate, MapCompleted
from shoe.maps.diff import MapDiff
from shoe.maps.estimate import BuildEstimate
from shoe.maps.info import MapInfo
from shoe.maps.learn import MapLearned
from shoe.report.average import Average
from shoe.report.comparison import Compare
from shoe.report.datasets import ClassSplitInfo
from shoe.report.diagnosis import OneModel, SeveralModels
from shoe.report.score_files import Score
from shoe.report.similarity import ExplainedSimilarity
from shoe.scoring.bongard.build import BongardBuild
from shoe.scoring.bongard.score import BongardScore
from shoe.scoring.evidence.audit import Audit
from shoe.scoring.evidence.collect import CalibrationReport
from shoe.study.analysis import StudyReport
from shoe.study.metric.systems import Against
from shoe.study.testers import TestersReport

# Kinds of values that several schemas have.

Count = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Box = Annotated[list[float], Meta(min_length=4, max_length=4, description="x1, y1, x2, y2")]

MaybeFraction = Fraction | UnsetType
MaybeCount = Count | UnsetType
MaybeText = str | UnsetType


class Closed(Struct, forbid_unknown_fields=True, kw_only=True):
    """An object with these keys and no others."""


# Schemas of ``shoe dataset info`` of a file, ``stats`` and ``split``.


class BoxPairs(Closed):
    """Box pairs as drawn, and merged where both boxes overlap."""

    drawn: Count
    merged: Count
    merged_at: Fraction


class Differs(Closed):
    """A count that is not the published one."""

    found: Count
    published: Count


class Published(Closed):
    """What was published of a split."""

    split: str
    source: str
    matches: bool
    differs: dict[str, Differs]


class Recounted(Closed):
    """Classes that are rare by the counts of a training set, and whether they are those of the class table."""

    classes: Count
    as_listed: bool


class DatasetInfo(Closed):
    """What a ground truth file holds."""

    file: str
    format: str
    dataset: str
    split: str
    images: Count
    empty_images: Count
    triplets: Count
    classes: Count
    rare_classes: Count
    non_rare_classes: Count
    no_interaction_triplets: Count
    pairs: BoxPairs
    repeated_triplets: Count
    overlapping_triplets: Count
    coordinates: dict[str, Count]
    left_out_images: MaybeCount = UNSET
    rare_recounted: Recounted | UnsetType = UNSET
    published: Published | UnsetType = UNSET


class Counted(Closed):
    """How often a verb or object is there."""

    name: str
    triplets: Count
    images: Count


class CountedClass(Counted, kw_only=True):
    """How often a class is there."""

    rare: bool


class DatasetStats(Closed):
    """How often everything is there."""

    file: str
    classes: list[CountedClass]
    verbs: list[Counted]
    objects: list[Counted]


class SplitRules(Closed):
    """How a split was made: the options of ``shoe dataset split``."""

    ratio: Fraction
    verify: str
    draw: str
    mixed: str
    empty: str
    min_similarity: Fraction
    max_similarity: Fraction
    tries: Count


class SplitSource(Closed):
    """A file that was split."""

    file: str
    split: str
    truth_sha: str


class SplitFile(Closed):
    """A file that was written."""

    file: str
    sha256: str


class SplitCounts(Closed):
    """How much a file holds; combinations are distinct pairs of object and verb."""

    images: Count
    empty_images: Count
    triplets: Count
    combinations: Count


class HeldOut(Closed):
    """Combinations that were split, and those that training must not show."""

    all: Count
    held_out: Count


class Shared(Closed):
    """What both files have."""

    combinations: Count
    images: Count


class Partners(Closed):
    """How many have one partner in all, and one or none in training images."""

    all: Count
    train: Count
    absent: Count


class Single(Closed):
    """How many objects are with one verb, and verbs with one object."""

    objects_of_one_verb: Partners
    verbs_of_one_object: Partners


class Nearest(Closed):
    """How similar test combinations are to the most similar one in training, under a map."""

    similarity: str
    mean: Fraction
    quartiles: Annotated[list[Fraction], Meta(min_length=5, max_length=5, description="lowest to highest")]


class DatasetSplit(Closed):
    """The card of a split."""

    shoe: str
    dataset: str
    kind: str
    seed: Count
    tries: Count
    rules: SplitRules
    inputs: dict[str, SplitSource]
    original: dict[str, SplitCounts]
    files: dict[str, SplitFile]
    dropped_images: Count
    statistics: dict[str, SplitCounts]
    combinations: HeldOut
    shared: Shared
    single: Single
    held_out: list[str]
    nearest: Nearest


# Schema of ``shoe dataset check``.


class FoundFile(Closed):
    """A file of a folder."""

    file: str
    kind: MaybeText = UNSET
    dataset: MaybeText = UNSET
    format: MaybeText = UNSET
    holds: MaybeText = UNSET
    images: MaybeCount = UNSET
    empty_images: MaybeCount = UNSET
    triplets: MaybeCount = UNSET
    classes: MaybeCount = UNSET
    published: Published | UnsetType = UNSET
    problem: MaybeText = UNSET


class WantedFile(Closed):
    """A file that is missing, and where to get it."""

    name: str
    purpose: str
    place: str


class Missing(Closed):
    """A part of a dataset that no file holds; one of these files does."""

    dataset: str
    holds: str
    files: list[WantedFile]


class DatasetCheck(Closed):
    """What a folder has of datasets."""

    folder: str
    pictures: Count
    files: list[FoundFile]
    missing: list[Missing]
    commands: list[str]


# What ``shoe predict --json`` holds.


class Ceiling(Closed):
    """Which true pairs, persons and objects are within reach of what is asked; absent where there are none."""

    truths: Count
    recall: MaybeFraction = UNSET
    human_recall: MaybeFraction = UNSET
    object_recall: MaybeFraction = UNSET


class Questions(Closed):
    """Questions, those of them that were answered before, and what the others may take at most."""

    total: Count
    known: Count
    text_tokens: Count
    answer_tokens: Count
    cost: Annotated[float, Meta(ge=0, description="in the currency of the price")] | UnsetType = UNSET


class Predict(Closed):
    """What was asked, and what came of it; a dry run has no predictions."""

    by: Annotated[dict[str, Any], Meta(description="every choice, as in the file's first line")]
    pictures: Count
    questions: Questions
    part: Annotated[str, Meta(description="which one of how many, as 3/16")] | UnsetType = UNSET
    pairs: MaybeCount = UNSET
    ceiling: Ceiling | UnsetType = UNSET
    seconds_per_question: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    predictions: MaybeCount = UNSET
    tied: MaybeCount = UNSET
    refused: MaybeCount = UNSET
    unread: MaybeCount = UNSET


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
