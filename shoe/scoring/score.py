"""Score predictions: strictly under any number of protocols, semantically, and signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from shoe.benchmarks.protocols import Options, Signature, choose, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.documents import Count, Document, narrowed
from shoe.core.errors import flag, many, printable
from shoe.core.interactions import Interactions, image_index
from shoe.core.public import Rows, as_lines, as_table
from shoe.lexicon.resolve import lexicon_facts, match_labels
from shoe.predictions.boxes.check import BoxReport, examine_boxes
from shoe.predictions.notes import ReadNotes
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.roles import ByPerson, RoleResult, role_scores
from shoe.scoring.semantic import Semantic, SemanticResult, semantic_score
from shoe.scoring.strict import Strict, StrictResult, strict_score
from shoe.similarity import Similarity, similarity_for

# What to know before any figure is believed, one line each, the most urgent first.

NOTHING = "the file holds no prediction: all figures are those of a model that says nothing"
_NAMES_SHOWN = 3


def warnings(task: Task, boxes: BoxReport) -> list[str]:
    """Collect them all: boxes that do not fit, images without predictions, words exchanged, images left out."""
    return [*boxes.lines(), *filter(None, [coverage(task)]), *exchanged(task), *left_out(task)]


def coverage(task: Task) -> str | None:
    """Say how many images of the ground truth have predictions; None if all have."""
    by_person = task.predictions.roles
    if not len(task.predictions) and not (by_person and len(by_person)):
        return NOTHING
    images, has = len(task.truth.interactions.images), task.image_rows[1] > 0
    if by_person is not None:
        found = image_index(by_person.images, task.truth.interactions.images)[by_person.image]
        has = has | (np.bincount(found[found >= 0], minlength=images) > 0)
    covered = int(has.sum())
    if covered == images:
        return None
    named = int((task.truth_image >= 0).sum())
    line = f"{covered:,} of {many(images, 'image')} {'has' if covered == 1 else 'have'} predictions"
    if named > covered:
        empty = named - covered
        line += f", {empty:,} more {'is' if empty == 1 else 'are'} in the file without any"
    unknown, given = len(task.unknown_images), len(task.predictions.images)
    if 2 * unknown > given:
        first = printable(task.unknown_images[0])
        line += f": {unknown:,} of the file's {given:,} images are not in the ground truth, as {first}"
    elif named < images:
        line += "; what the others show counts as missed (leave them out: --images-in-predictions; "
        line += "Python: truth.within(predictions.images))"
    return line


def exchanged(task: Task) -> list[str]:
    """Say so where most verbs are the dataset's objects, and most objects its verbs."""
    table, classes = task.predictions, task.truth.classes
    if 2 * int((task.verb_label >= 0).sum()) >= len(table.verbs):
        return []
    verbs = int((match_labels(table.objects, classes.verbs, "verb") >= 0).sum())
    objects = int((match_labels(table.verbs, classes.objects, "object") >= 0).sum())
    if 2 * verbs <= len(table.objects) or 2 * objects <= len(table.verbs):
        return []
    return [f"words: verb and object seem exchanged: {objects:,} of {len(table.verbs):,} verbs are names of objects"]


def left_out(task: Task) -> list[str]:
    """Say which images the ground truth does not have; none where it has all."""
    names = task.unknown_images
    if not names:
        return []
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    count = int(np.diff(task.predictions.offsets)[task.truth_image < 0].sum())
    return [
        f"images     {len(names):,} not in the ground truth and left out, with {many(count, 'prediction')}: {shown}"
    ]


SEMANTIC_FACTS = ("map", "map-sha", "lexicon", "lexicon-sha")
"""What the signature of a strict protocol leaves out of a report's facts."""


class SignedStrict(Strict, frozen=True):
    """The figures of one of several exact-label protocols, with how they came about."""

    signature: str


class Figures(Document, frozen=True, kw_only=True):
    """What one evaluation measured.

    Attributes:
        signature: how the figures of ``strict`` and ``semantic`` came about, in one line.
        dataset, split: what was scored on.
        images, ground_truths, predictions: how many.
        strict: the first strict protocol.
        protocols: where several strict protocols were asked for: each as ``strict``, with its own ``signature``.
        roles: of V-COCO: each protocol by person, with its own ``signature``.
        semantic: SHOE.
    """

    signature: str
    dataset: str
    split: str
    images: Count
    ground_truths: Count
    predictions: Count
    strict: Strict | None = None
    protocols: list[SignedStrict] = msgspec.field(default_factory=list)
    roles: list[ByPerson] = msgspec.field(default_factory=list)
    semantic: Semantic | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Everything that one evaluation found; what else its figures rest on, ``shoe.scoring.evidence`` says when asked.

    Attributes:
        task: what was scored, and against what.
        facts: what else is in the signature: how predictions were read, the map and its content hash.
        strict_results: one result a protocol, in the order asked for.
        role_results: one result a protocol by person, in the order asked for.
        semantic: the semantic result; None when not asked for, or not measurable.
        absent: for each part that could not be measured, why.
        notes: how the predictions were read; None for tables that were made otherwise.
    """

    task: Task
    facts: dict[str, str]
    strict_results: tuple[StrictResult, ...]
    semantic: SemanticResult | None
    similarities: HoiSimilarity | None
    absent: dict[str, str]
    notes: ReadNotes | None = None
    role_results: tuple[RoleResult, ...] = ()

    def __repr__(self) -> str:
        return as_lines(self._title, self._rows, self._notes)

    def _repr_html_(self) -> str:
        return as_table(self._title, self._rows, self._notes)

    @property
    def _title(self) -> str:
        return f"{self.truth!r}, {self.predicted:,} predictions, {self.signature.short()}"

    @property
    def _rows(self) -> Rows:
        rows: dict[str, dict[str, float | None]] = {
            each.options.protocol: {"mAP": each.map, "rare": each.map_rare, "non-rare": each.map_non_rare}
            for each in self.strict_results
        }
        rows |= {each.options.protocol: {"mAP": each.map} for each in self.role_results}
        if self.semantic is not None:
            rows[self.semantic.options.protocol] = {"SHOE-mAP": self.semantic.map, "SHOE-mF1": self.semantic.mf1}
        return rows

    @cached_property
    def box_check(self) -> BoxReport:
        """Whether another box convention would fit the ground truth far better; computed when first asked for."""
        applied = self.notes.applied(len(self.predictions)) if self.notes else "xyxy"
        return examine_boxes(self.predictions, self.truth.interactions, applied)

    @property
    def warnings(self) -> list[str]:
        """What to know before any figure is believed: images left out or without predictions, boxes that do not fit."""
        return [*(self.notes.urgent() if self.notes else []), *warnings(self.task, self.box_check)]

    @property
    def _notes(self) -> list[str]:
        absent = [f"{part}: not measured: {why}" for part, why in self.absent.items()]
        lines = [*self.warnings, *absent]
        return lines + [line for line in self.notes.lines() if line not in lines] if self.notes else lines

    def figures(self) -> Figures:
        """The figures, as ``shoe score --json`` has them."""
        results = self.strict_results if len(self.strict_results) > 1 else ()
        return Figures(
            signature=str(self.signature),
            dataset=self.truth.classes.name,
            split=self.truth.split,
            images=len(self.truth.interactions.images),
            ground_truths=len(self.truth.interactions),
            predictions=self.predicted,
            strict=self.strict and narrowed(self.strict, Strict),
            protocols=[
                SignedStrict(str(self.signature_of(each)), **structs.asdict(narrowed(each, Strict))) for each in results
            ],
            roles=[each.signed(self.signature_of(each)) for each in self.role_results],
            semantic=self.semantic and narrowed(self.semantic, Semantic),
        )

    def to_dict(self) -> dict[str, Any]:
        """Figures, and the most urgent notes, in the keys of ``shoe score --json`` (docs/reference/json.md)."""
        beside = {"absent": dict(self.absent), "notes": self._notes}
        return self.figures().to_dict() | {name: value for name, value in beside.items() if value}

    @property
    def truth(self) -> GroundTruth:
        """What was scored against."""
        return self.task.truth

    @property
    def predictions(self) -> Interactions:
        """What was scored."""
        return self.task.predictions

    @property
    def predicted(self) -> int:
        """How many predictions: triplets, or persons where the file names no object categories."""
        by_person = self.predictions.roles
        return len(self.predictions) or (0 if by_person is None else len(by_person))

    @property
    def strict(self) -> StrictResult | None:
        """The first strict result."""
        return self.strict_results[0] if self.strict_results else None

    @property
    def signature(self) -> Signature:
        """How the figures of ``strict`` and ``semantic`` came about."""
        strict, semantic = self.strict, self.semantic
        if strict is None and semantic is None and self.role_results:
            return self.signature_of(self.role_results[0])
        return sign(
            self.truth.facts() | self.facts,
            strict.options if strict else None,
            semantic.options if semantic else None,
            self.truth.benchmark.protocols,
        )

    def signature_of(self, result: StrictResult | RoleResult) -> Signature:
        """How the figures of one strict protocol, or one by person, came about."""
        facts = {k: v for k, v in self.facts.items() if k not in SEMANTIC_FACTS}
        of = self.truth.benchmark
        return sign(self.truth.facts() | facts, result.options, protocols={**of.protocols, **of.role_protocols})


def score(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    similarity: str | Path | Similarity = "dataset",
    protocols: Sequence[str] = (),
    options: Sequence[str] = (),
    notes: ReadNotes | None = None,
) -> Report:
    """Score predictions against a ground truth.

    Args:
        predictions: what a model said; words may be any.
        similarity: name of a shipped map or baseline, a map's folder, or "dataset": the benchmark's own map; or one
            that is loaded, whose raters are combined as the options say.
        protocols: names of strict protocols and at most one semantic; ``all`` means every strict protocol and ``shoe``,
            none the benchmark's defaults.
        options: ``NAME=VALUE`` settings that change the protocols' choices.
        notes: how the predictions were read, for the signature and the notes; absent, those that the table carries.

    Returns:
        A report; ``report.strict.map``, ``report.semantic.map``, ``str(report.signature)``.

    Raises:
        OptionError: for an unknown protocol, option or value, or arguments that are no tables.
        InputError: when predictions and ground truth have no image in common.
    """
    task, benchmark, labels = Task(predictions, truth), truth.benchmark, truth.image_labels is not None
    names = protocols or benchmark.usual_protocols
    chosen = choose(names, options, benchmark.protocols, benchmark.role_protocols, image_labels=labels)
    return score_by(chosen, task, similarity, notes)


def score_by(
    chosen: Options, task: Task, similarity: str | Path | Similarity, notes: ReadNotes | None = None
) -> Report:
    """Score a task by options as they stand; see :func:`score`."""
    task.check_images()
    predictions = task.predictions
    facts = {"coordinates": coordinate_names(predictions)}
    notes = notes or predictions.notes
    if notes is not None:
        facts |= notes.facts
    absent: dict[str, str] = {}
    semantic = similarities = None
    by_person = predictions.roles is not None and not len(predictions) and len(predictions.roles) > 0
    if by_person and (chosen.semantic or chosen.strict):
        absent["triplets"] = "the predictions name no object categories, as V-COCO's official file has none"
    elif chosen.semantic is not None:
        unfit = unfit_scores(predictions)
        if unfit is not None:
            absent["semantic"] = unfit
        else:
            source = similarity_for(task.truth.benchmark, similarity, chosen.semantic.ensemble)
            facts |= {"map": source.name, "map-sha": source.digest} | lexicon_facts()
            similarities = HoiSimilarity.of(task, source, chosen.semantic)
            semantic = semantic_score(task, similarities, chosen.semantic)
    strict = () if by_person else tuple(strict_score(task, o) for o in chosen.strict)
    if chosen.roles and task.truth.roles is None:
        absent["roles"] = f"{task.truth.format} does not hold the persons without object, and those nobody annotated"
    return Report(task, facts, strict, semantic, similarities, absent, notes, role_scores(task, chosen.roles))


def coordinate_names(predictions: Interactions) -> str:
    """Name the box coordinates of a table, as signatures do: "continuous", or several with + between them."""
    names = [
        Coordinates(kind).name.lower().replace("_", "-")
        for kind in np.flatnonzero(np.bincount(predictions.coordinates)).tolist()
    ]
    return "+".join(names) or "none"


def unfit_scores(predictions: Interactions) -> str | None:
    """Say why there are no semantic figures, and what to do, where a score is outside 0..1; None if none is."""
    low, high = float(predictions.score.min(initial=0.0)), float(predictions.score.max(initial=1.0))
    if low >= 0 and high <= 1:
        return None
    ways = "percent, minmax or rank" if low >= 0 and 10 < high <= 100 else "sigmoid (of logits), minmax or rank"
    remedy = f"read the file with {flag('scores')} {ways}"
    return f"a score of {low if low < 0 else high!r}: SHOE needs scores in 0..1; {remedy}"
