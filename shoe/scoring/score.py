"""Score predictions against a ground truth, by exact-label, person and semantic protocols, and sign the results."""

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

# Warnings about the input, one line each, the most urgent first.

NOTHING = "the file holds no prediction: all figures are those of a model that says nothing"
_NAMES_SHOWN = 3


def warnings(task: Task, boxes: BoxReport) -> list[str]:
    """Return all warnings: boxes that do not fit, images without predictions, exchanged words, unknown images."""
    return [*boxes.lines(), *filter(None, [coverage(task)]), *exchanged(task), *left_out(task)]


def coverage(task: Task) -> str | None:
    """Return a warning about ground-truth images without predictions; None if all images have predictions."""
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
    """Return a warning if most predicted verbs are object names of the dataset and most objects are verbs."""
    table, classes = task.predictions, task.truth.classes
    if 2 * int((task.verb_label >= 0).sum()) >= len(table.verbs):
        return []
    verbs = int((match_labels(table.objects, classes.verbs, "verb") >= 0).sum())
    objects = int((match_labels(table.verbs, classes.objects, "object") >= 0).sum())
    if 2 * verbs <= len(table.objects) or 2 * objects <= len(table.verbs):
        return []
    return [f"words: verb and object seem exchanged: {objects:,} of {len(table.verbs):,} verbs are names of objects"]


def left_out(task: Task) -> list[str]:
    """Return a warning that names images missing from the ground truth; an empty list if all are known."""
    names = task.unknown_images
    if not names:
        return []
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    count = int(np.diff(task.predictions.offsets)[task.truth_image < 0].sum())
    return [
        f"images     {len(names):,} not in the ground truth and left out, with {many(count, 'prediction')}: {shown}"
    ]


SEMANTIC_FACTS = ("map", "map-sha", "lexicon", "lexicon-sha")
"""Facts of a report that are not part of the signature of a strict protocol."""


class SignedStrict(Strict, frozen=True):
    """Metrics of one exact-label protocol, with its signature."""

    signature: str


class Figures(Document, frozen=True, kw_only=True):
    """All metrics of one evaluation.

    Attributes:
        signature: signature of ``strict`` and ``semantic``, in one line.
        dataset, split: name of the dataset, and of the part of it that was scored.
        images, ground_truths, predictions: number of images, of annotated triplets and of predictions.
        strict: metrics of the first exact-label protocol.
        protocols: metrics of each exact-label protocol with its own ``signature``, if there are several.
        roles: V-COCO only: metrics of each protocol by person, with its own ``signature``.
        semantic: metrics of SHOE.
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
    """Result of one evaluation; ``shoe.scoring.evidence`` has functions that explain its metrics.

    Attributes:
        facts: further items of the signature: how predictions were read, name and content hash of the map.
        strict_results: one result per exact-label protocol, in the order requested.
        role_results: one result per protocol by person, in the order requested.
        semantic: result of SHOE; None if not requested or not measurable.
        similarities: similarities behind ``semantic``.
        absent: reason for each part that could not be measured, by its name.
        notes: how the predictions were read; None for tables that were not read from a file.
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
        """Check whether another box convention would fit the ground truth far better; computed at first use."""
        applied = self.notes.applied(len(self.predictions)) if self.notes else "xyxy"
        return examine_boxes(self.predictions, self.truth.interactions, applied)

    @property
    def warnings(self) -> list[str]:
        """Warnings to read before the metrics: boxes that do not fit, images left out or without predictions, ..."""
        return [*(self.notes.urgent() if self.notes else []), *warnings(self.task, self.box_check)]

    @property
    def _notes(self) -> list[str]:
        absent = [f"{part}: not measured: {why}" for part, why in self.absent.items()]
        lines = [*self.warnings, *absent]
        return lines + [line for line in self.notes.lines() if line not in lines] if self.notes else lines

    def figures(self) -> Figures:
        """Return the metrics, as in ``shoe score --json``."""
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
        """Return the metrics and notes under the keys of ``shoe score --json`` (docs/reference/json.md)."""
        extra = {"absent": dict(self.absent), "notes": self._notes}
        return self.figures().to_dict() | {name: value for name, value in extra.items() if value}

    @property
    def truth(self) -> GroundTruth:
        """Ground truth of the evaluation."""
        return self.task.truth

    @property
    def predictions(self) -> Interactions:
        """Predictions that were scored."""
        return self.task.predictions

    @property
    def predicted(self) -> int:
        """Number of predictions: triplets, or persons if the file names no object categories."""
        by_person = self.predictions.roles
        return len(self.predictions) or (0 if by_person is None else len(by_person))

    @property
    def strict(self) -> StrictResult | None:
        """Result of the first exact-label protocol; None if there is none."""
        return self.strict_results[0] if self.strict_results else None

    @property
    def signature(self) -> Signature:
        """Signature of ``strict`` and ``semantic``; that of the first protocol by person if both are None."""
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
        """Return the signature of one exact-label protocol, or of one protocol by person."""
        facts = {k: v for k, v in self.facts.items() if k not in SEMANTIC_FACTS}
        benchmark = self.truth.benchmark
        protocols = {**benchmark.protocols, **benchmark.role_protocols}
        return sign(self.truth.facts() | facts, result.options, protocols=protocols)


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
        predictions: predicted triplets; verbs and objects may be any words.
        similarity: name of a built-in map or baseline, folder of a map, "dataset" for the benchmark's own map, or a
            loaded similarity, whose raters are combined as the options say.
        protocols: names of exact-label protocols and of at most one semantic protocol. "all" stands for every
            exact-label protocol and ``shoe``. If empty, the benchmark's defaults.
        options: ``NAME=VALUE`` settings that change the options of the protocols.
        notes: how the predictions were read, for the signature and the notes; by default those of the table.

    Returns:
        A report; see ``report.strict.map``, ``report.semantic.map``, ``str(report.signature)``.

    Raises:
        OptionError: for an unknown protocol, option or value, or arguments of the wrong type.
        InputError: if predictions and ground truth have no image in common.
    """
    task, benchmark, labels = Task(predictions, truth), truth.benchmark, truth.image_labels is not None
    names = protocols or benchmark.usual_protocols
    chosen = choose(names, options, benchmark.protocols, benchmark.role_protocols, image_labels=labels)
    return score_by(chosen, task, similarity, notes)


def score_by(
    chosen: Options, task: Task, similarity: str | Path | Similarity, notes: ReadNotes | None = None
) -> Report:
    """Score a task under parsed options; see :func:`score`."""
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
    """Return the name of a table's box coordinates for signatures, like "continuous"; several are joined by "+"."""
    kinds = np.flatnonzero(np.bincount(predictions.coordinates)).tolist()
    return "+".join(Coordinates(kind).name.lower().replace("_", "-") for kind in kinds) or "none"


def unfit_scores(predictions: Interactions) -> str | None:
    """Return why there are no semantic metrics and what to do, if a score is outside 0..1; else None."""
    low, high = float(predictions.score.min(initial=0.0)), float(predictions.score.max(initial=1.0))
    if low >= 0 and high <= 1:
        return None
    ways = "percent, minmax or rank" if low >= 0 and 10 < high <= 100 else "sigmoid (of logits), minmax or rank"
    remedy = f"read the file with {flag('scores')} {ways}"
    return f"a score of {low if low < 0 else high!r}: SHOE needs scores in 0..1; {remedy}"
