"""All that a diagnosis of one model says, without the tables of triplets that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from shoe.benchmarks.hico_det.protocols import PROTOCOLS as STRICT
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnosis import Diagnosis, Step
from shoe.diagnosis.interactions import InteractionMap, NegativeAp
from shoe.diagnosis.misses import Kind, Misses, Mistaken
from shoe.diagnosis.pairs import PairFigures
from shoe.diagnosis.record import as_dict
from shoe.diagnosis.semantic import SemanticDiagnosis, diagnose_meaning
from shoe.diagnosis.semantic_record import semantic_dict
from shoe.diagnosis.sub_tasks import SubTasks, sub_tasks, sub_tasks_of_pairs
from shoe.diagnosis.sweeps import Sweep, nms_sweep, score_sweep
from shoe.diagnosis.wording import Wording
from shoe.predictions.pair_predictions import Pairs
from shoe.protocols.options import changed
from shoe.protocols.signature import Signature, sign
from shoe.scoring.score import coordinate_names


class ErrorWords(NamedTuple):
    """How an error is called, and what is wrong."""

    label: str
    meaning: str


ERRORS = {
    "human_box": ErrorWords("human box", "object box right, human box wrong"),
    "object_box": ErrorWords("object box", "human box right, object box or its label wrong"),
    "both_boxes": ErrorWords("both boxes", "neither box right"),
    "association": ErrorWords("association", "both boxes right, but not of one pair"),
    "duplicate": ErrorWords("duplicate", "right, but found before by a better-scored one"),
    "interaction": ErrorWords("interaction", "both boxes right, verb wrong"),
    "missed_gt": ErrorWords("missed GT", "ground truth that no prediction is about"),
}
"""The seven error types in the order of the papers."""
GROUPS = {
    "false_positive": ErrorWords("false positives", "all predictions but true positives"),
    "false_negative": ErrorWords("false negatives", "all ground truth without a true positive"),
}
"""The same errors, as all that is said too much and all that is said too little."""
_NO_TRIPLETS = "the file holds pairs, not triplets"
_NO_NEGATIVE = "no predicted pair does nothing"
_NO_VERB = "no ground truth has a pair that some prediction has"


@dataclass(frozen=True, slots=True)
class Errors:
    """The error analysis, as in ``Diagnosis``; ``record`` holds its figures as plain data."""

    variant: str
    choice: str
    seed: int
    counts: dict[str, int]
    means: Means
    deltas: dict[str, Means]
    progression: tuple[Step, ...]
    record: dict[str, Any]

    @classmethod
    def of(cls, found: Diagnosis) -> Errors:
        """Keep the figures of a diagnosis."""
        return cls(
            found.variant.name,
            found.choice,
            found.seed,
            found.counts,
            found.means,
            found.deltas,
            found.progression,
            as_dict(found),
        )

    @property
    def ranked(self) -> list[str]:
        """The seven error types, the one whose mending gains most first."""
        return sorted(ERRORS, key=lambda name: -(self.deltas[name].map or 0.0))

    @property
    def worst(self) -> str | None:
        """The error type that costs most; None if none costs anything."""
        first = self.ranked[0]
        return first if (self.deltas[first].map or 0.0) > 0 else None


@dataclass(frozen=True, slots=True)
class WrongWords:
    """Errors that got a word wrong, by how near it is; ``words`` has every confusion, the commonest first."""

    total: int
    kinds: tuple[Kind, ...]
    words: tuple[Mistaken, ...]

    @classmethod
    def of(cls, misses: Misses) -> WrongWords:
        """Keep the figures."""
        return cls(len(misses.prediction), misses.kinds, misses.words)


@dataclass(frozen=True, slots=True)
class Semantic:
    """The diagnosis by meaning, as in ``SemanticDiagnosis``; ``record`` holds its figures as plain data."""

    signature: Signature
    similarity: str
    means: Means
    deltas: dict[str, Means]
    verbs: WrongWords
    objects: WrongWords
    wording: Wording | None
    absent: dict[str, str]
    record: dict[str, Any]

    @classmethod
    def of(cls, found: SemanticDiagnosis) -> Semantic:
        """Keep the figures of a diagnosis by meaning."""
        return cls(
            signature=found.signature,
            similarity=found.facts["map"],
            means=found.means,
            deltas=found.deltas,
            verbs=WrongWords.of(found.interaction),
            objects=WrongWords.of(found.object_class),
            wording=found.wording,
            absent=found.absent,
            record=semantic_dict(found),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What was found out about one model.

    Attributes:
        name: what the model is called.
        predictions: number of triplets in its file; of pairs, where it holds no triplets.
        truths, images: numbers of ground truths that count, and of images that have some.
        signature: how the figures came about.
        errors: error types and what mending each gains; None for files of pairs.
        pairs: pair localisation.
        pairs_rare, pairs_non_rare: the same for the pairs of rare and of other classes.
        negative_ap, interaction_map: interaction classification; None where it cannot be measured.
        semantic: how near wrong words are and what wording costs; None unless asked for.
        sweeps: curves, if asked for.
        absent: for each part that could not be measured, why.
        remarks: what a reader has to know before quoting a figure, one line each.
    """

    name: str
    predictions: int
    truths: int
    images: int
    signature: Signature
    errors: Errors | None
    pairs: PairFigures
    pairs_rare: PairFigures
    pairs_non_rare: PairFigures
    negative_ap: NegativeAp | None = None
    interaction_map: InteractionMap | None = None
    semantic: Semantic | None = None
    sweeps: tuple[Sweep, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def findings(
    name: str,
    diagnosis: Diagnosis,
    *,
    similarity: str | Path | None = "hico-det",
    pairs: Pairs | None = None,
    action_scores: Floats | None = None,
    sweep: bool = False,
    remarks: Sequence[str] = (),
) -> Findings:
    """Collect all figures of diagnosed triplets.

    Args:
        name: what the model is called.
        diagnosis: of its triplets.
        similarity: map by which to read words for their meaning; None not to.
        pairs: its pairs, from a file of their own; those of the triplets if absent.
        action_scores: interaction scores of the triplets, if their file has them.
        sweep: whether to thin out pairs at several thresholds too.
        remarks: what was noticed when the files were read.
    """
    tasks = sub_tasks(diagnosis, pairs, action_scores)
    found = _findings(name, diagnosis.signature, len(diagnosis.task.predictions), tasks, remarks)
    semantic = None if similarity is None else Semantic.of(diagnose_meaning(diagnosis, similarity=similarity))
    curves = _sweeps(tasks, diagnosis) if sweep else ()
    return replace(found, errors=Errors.of(diagnosis), semantic=semantic, sweeps=curves)


def findings_of_pairs(
    name: str,
    pairs: Pairs,
    truth: GroundTruth,
    *,
    no_interaction: str = "exclude",
    sweep: bool = False,
    remarks: Sequence[str] = (),
) -> Findings:
    """Collect what a file of pairs alone can say; arguments as of :func:`findings`."""
    tasks = sub_tasks_of_pairs(pairs, truth, no_interaction=no_interaction)
    facts = {
        "coordinates": coordinate_names(pairs.table),
        "boxes": pairs.notes.boxes if pairs.notes else "",
        "diagnosis": "pairs",
    }
    options = changed(STRICT["diag"], [f"strict.no-interaction={no_interaction}"])
    signature = sign(truth.facts() | facts, options, protocols=truth.benchmark.protocols)
    found = _findings(name, signature, len(pairs.table), tasks, remarks)
    return replace(found, sweeps=_sweeps(tasks, None) if sweep else (), absent={"errors": _NO_TRIPLETS, **found.absent})


def _findings(name: str, signature: Signature, predictions: int, tasks: SubTasks, remarks: Sequence[str]) -> Findings:
    absent = dict(tasks.absent)
    if tasks.negative_ap is not None and tasks.negative_ap.all_points is None:
        absent["negative_ap"] = _NO_NEGATIVE
    if tasks.interaction_map is not None and tasks.interaction_map.map is None:
        absent["interaction_map"] = _NO_VERB
    return Findings(
        name=name,
        predictions=predictions,
        truths=len(tasks.localised.scope.truth),
        images=tasks.pairs.images,
        signature=signature,
        errors=None,
        pairs=tasks.pairs,
        pairs_rare=tasks.pairs_rare,
        pairs_non_rare=tasks.pairs_non_rare,
        negative_ap=tasks.negative_ap,
        interaction_map=tasks.interaction_map,
        absent=absent,
        remarks=(*remarks, *tasks.notes),
    )


def _sweeps(tasks: SubTasks, diagnosis: Diagnosis | None) -> tuple[Sweep, ...]:
    """The curves that the pairs allow."""
    made = [nms_sweep(tasks.localised, diagnosis=diagnosis)]
    if tasks.localised.pairs.triplets is not None or tasks.localised.pairs.detected:
        made.append(score_sweep(tasks.localised, diagnosis=diagnosis))
    return tuple(made)
