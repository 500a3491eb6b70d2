"""Scoring of predictions under exact-label, person and semantic protocols, with signatures of the results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from msgspec import structs

from shoe.benchmarks.protocols import Options, choose
from shoe.benchmarks.scoring_options import TauBy
from shoe.benchmarks.signature import Signature, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Indices
from shoe.core.boxes import CommonCoordinates, Coordinates, Overlap, iou
from shoe.core.documents import Count, Document, as_base_class, flat_numbers
from shoe.core.errors import flag, pluralize, printable, quote
from shoe.core.interactions import Interactions, image_index
from shoe.core.public import Drawn, Rows, as_drawing, as_lines, as_table
from shoe.lexicon.resolve import lexicon_metadata, match_labels
from shoe.lexicon.senses import Part
from shoe.predictions.agreement import Sample, agreement, agreement_line, sample_pairs
from shoe.predictions.boxes.check import BoxReport, check_box_convention
from shoe.predictions.notes import ReadNotes
from shoe.predictions.numbering import check_numbering
from shoe.predictions.roles import best_triplets
from shoe.scoring.f1 import F1Figures
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.inverted import inverted_scores
from shoe.scoring.matching.repeats import repeated
from shoe.scoring.matching.task import Boxes, Task
from shoe.scoring.roles import ByPerson, RoleResult, exchanged_roles, role_scores
from shoe.scoring.semantic import Semantic, SemanticResult, semantic_score
from shoe.scoring.strict import Strict, StrictResult, strict_credits, strict_score
from shoe.similarity import Similarity, similarity_for

# Warnings about the input, one line each, the most urgent first.

NOTHING = "the file contains no predictions: all scores are those of a model that predicts nothing"
_NAMES_SHOWN, _ENOUGH, _NEARLY = 3, 20, 0.8
_TOKEN = re.compile(r"[^\W_]+")


def warnings(task: Task, boxes: BoxReport, numbering: Sequence[str], notes: ReadNotes | None) -> list[str]:
    """Return warnings about bad predictions, boxes, class IDs, missing images, words, and incomplete ground truth.

    ``boxes`` is the result of the check of box conventions; ``numbering`` are the warnings about class IDs. Both are
    left out if ``notes`` say that the IDs of boxes are wrong, because they would name a wrong cause.
    """
    cut = task.truth.cut
    lines = [f"truth: the file has {cut}: scores are not comparable with scores on the whole split"] if cut else []
    annotations = task.truth.interactions
    if repeats := len(repeated(annotations, np.arange(len(annotations)))):
        lines.append(f"truth: {pluralize(repeats, 'triplet')} of {len(annotations):,} {TWICE}")
    wrong_ids = notes is not None and notes.count("box_ids") + notes.count("other_boxes") > 0
    read = [*_bad(task), *([] if wrong_ids else [*boxes.lines(), *numbering])]
    if notes is None and 0 < (count := task.predictions.unscored) < (total := len(task.predictions)):
        read += [f"scores: no score given for {count:,} of {total:,} predictions, which rank below all others"]
    return [
        *read,
        *filter(None, [coverage(task)]),
        *exchanged_words(task),
        *foreign_words(task),
        *unscored_images(task),
        *lines,
    ]


TWICE = "repeat another exactly, so that no file can match them all: were two annotation files joined?"
_BAD = {"drop": "left out", "count": "kept: an invalid box matches nothing, an invalid score ranks last"}


def _bad(task: Task) -> list[str]:
    bad = {rule: pluralize(count, "prediction") for rule, count in task.predictions.bad.items() if count}
    if (roles := task.predictions.roles) is not None and not task.predictions.bad:  # not refused in files of persons
        count = roles.apply_bad_boxes("count")[1]
        bad = {"count": pluralize(count, "prediction")} if count else {}
    return [
        f"bad boxes: {n} with an invalid box or score {_BAD[rule]} (`--bad-boxes {rule}`)" for rule, n in bad.items()
    ]


def coverage(task: Task) -> str | None:
    """Return a warning if some or all images of the ground truth have no predictions, otherwise None."""
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
    line = f"{covered:,} of {pluralize(images, 'image')} {'has' if covered == 1 else 'have'} predictions"
    if named > covered:
        empty = named - covered
        line += f", {empty:,} more {'is' if empty == 1 else 'are'} in the file without predictions"
    unknown, given = len(task.unknown_images), len(task.predictions.images)
    if 2 * unknown > given and not task.truth.excluded:
        first = printable(task.unknown_images[0])
        line += f": {unknown:,} of the file's {given:,} images are not in the ground truth, such as {first}"
    elif named < images:
        line += "; ground truth in the other images counts as missed (to leave these images out: "
        line += "`--images-in-predictions`; Python: `truth.within(predictions.images)`)"
    return line


def exchanged_words(task: Task) -> list[str]:
    """Return one warning if most distinct predicted verbs are object names and most objects are verbs, else []."""
    table, classes = task.predictions, task.truth.classes
    if 2 * int((task.verb_label >= 0).sum()) >= len(table.verbs):
        return []
    verbs = int((match_labels(table.objects, classes.verbs, "verb") >= 0).sum())
    objects = int((match_labels(table.verbs, classes.objects, "object") >= 0).sum())
    if 2 * verbs <= len(table.objects) or 2 * objects <= len(table.verbs):
        return []
    return [f"words: verb and object seem exchanged: {objects:,} of {len(table.verbs):,} verbs are object names"]


def foreign_words(task: Task) -> list[str]:
    """Return warnings if most words are labels with extra tokens, or if most predictions have the same unknown verb."""
    table, classes, lines = task.predictions, task.truth.classes, list[str]()
    parts: tuple[tuple[Part, str], ...] = (("verb", "verbs"), ("object", "objects"))
    for part, words, labels in ((part, getattr(table, name), getattr(classes, name)) for part, name in parts):
        unknown = [word for word, label in zip(words, match_labels(words, labels, part), strict=True) if label < 0]
        tokens = map(_TOKEN.findall, unknown)
        cuts = [" ".join(cut) for each in tokens for cut in (each[1:], each[:-1], each[:-2])]
        are_labels = (match_labels(cuts, labels, part) >= 0).reshape(-1, 3).any(axis=1)
        if 2 * len(unknown) > len(words) and (count := int(are_labels.sum())) > _NEARLY * len(unknown):
            found = f"{count:,} of {len(words):,} {part}s ({quote(unknown[int(are_labels.argmax())])}, ...)"
            lines.append(f"words: {found} match no label because of another word, number or mark: remove it")
    counts = np.bincount(table.verb[task.verb_label[table.verb] < 0], minlength=1)
    if 2 * counts.max() > len(table) >= _ENOUGH and (verb := table.verbs[int(counts.argmax())]).strip():
        found = f"{counts.max():,} of {len(table):,} predictions have the verb {quote(verb)}"
        lines.append(f"words: {found}, which is no label: perhaps a word of the sentence around the answer")
    return lines


def empty_words(task: Task, unparsed: int = 0) -> list[str]:
    """Return one warning if predictions have an empty verb or object, else an empty list.

    ``unparsed`` is the number of such predictions that come from unparsed phrases; these do not count.
    """
    table, blank = task.predictions, np.zeros(len(task.predictions), bool)
    for words, index in ((table.verbs, table.verb), (table.objects, table.object)):
        blank |= np.isin(index, [i for i, word in enumerate(words) if not word.strip()])
    count = int(blank.sum()) - unparsed
    return [f"words: {pluralize(count, 'prediction')} with an empty verb or object match no class"] if count > 0 else []


def unscored_images(task: Task) -> list[str]:
    """Return one warning per reason why images of the predictions are not scored; empty if all are scored."""
    names, excluded = task.unknown_images, task.truth.excluded
    reasons = [*excluded.values(), "not in the ground truth"]
    sizes = np.diff(task.predictions.offsets)[task.truth_image < 0]
    if (by_person := task.predictions.by_person) is not None:
        sizes = np.bincount(by_person.image, minlength=len(by_person.images))[image_index(names, by_person.images)]
    rows: dict[str, list[int]] = {}
    for row, i in enumerate(image_index(names, tuple(excluded)).tolist()):  # -1, the last reason, for unknown names
        rows.setdefault(reasons[i], []).append(row)
    return [
        f"images     {len(own):,} {why} and left out, with {pluralize(int(sizes[own].sum()), 'prediction')}: "
        + ", ".join(printable(names[row]) for row in own[:_NAMES_SHOWN])
        for why, own in rows.items()
    ]


SEMANTIC_FACTS = ("map", "map-sha", "lexicon", "lexicon-sha")
"""Keys of ``Report.facts`` that are not part of the signature of an exact-label protocol."""


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
        roles: metrics of each V-COCO protocol with its own ``signature``; empty for other datasets.
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
    """Result of one evaluation; functions in ``shoe.scoring.evidence`` explain the metrics.

    Attributes:
        facts: further fields of the signature: how predictions were read, name and hash of the similarity map.
        strict_results: one result per exact-label protocol, in the order requested.
        role_results: one result per V-COCO protocol (agents, roles), in the order requested.
        semantic: result of SHOE; None if not requested or not measurable.
        similarities: similarities of words and classes behind ``semantic``; None without SHOE.
        absent: {name of a part of the report that could not be measured: reason}.
        notes: how the predictions were read; None for tables that were not read from a file.
        said: warnings about how the predictions were collected, as by :class:`shoe.Metric`.
    """

    task: Task
    facts: dict[str, str]
    strict_results: tuple[StrictResult, ...]
    semantic: SemanticResult | None
    similarities: HoiSimilarity | None
    absent: dict[str, str]
    notes: ReadNotes | None = None
    role_results: tuple[RoleResult, ...] = ()
    said: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return as_lines(self._title, self._rows, [*filter(None, [agreement_line(self.agreement)]), *self._notes])

    def _repr_html_(self) -> str:
        return as_table(self._title, self._rows, self._notes) + self._worst()

    def _worst(self) -> str:
        none = np.zeros(0, int), np.zeros(0)
        rows, credit = strict_credits(self.task, self.strict.options) if self.strict else none
        if not len(wrong := rows[credit == 0]):
            return ""
        row, truth = wrong[[np.argmax(self.predictions.score[wrong])]], self.truth.interactions
        image = int(self.task.image[row[0]])
        near = np.arange(truth.offsets[image], truth.offsets[image + 1])
        ours, theirs = (Boxes(table, CommonCoordinates.EDGES) for table in (self.predictions, truth))
        mine = np.repeat(row, len(near))
        humans = iou(ours.human(mine), theirs.human(near), Overlap.CONTINUOUS)
        objects = iou(ours.object(mine), theirs.object(near), Overlap.CONTINUOUS)
        nearest = int(np.argmax(humans + objects)) if len(near) else -1

        def drawn(boxes: Boxes, row: Indices) -> Drawn:
            table = boxes.table
            words = f"{table.verbs[table.verb[row[0]]]} {table.objects[table.object[row[0]]]}"
            return words, boxes.human(row)[0].tolist(), boxes.object(row)[0].tolist()

        title = f"{truth.images[image]}: most confident false positive ({self.predictions.score[row[0]]:.2f})"
        shown = drawn(theirs, near[[nearest]]) if len(near) else None
        overlaps = (humans[nearest], objects[nearest]) if len(near) else None
        return as_drawing(title, truth.sizes[image].tolist(), drawn(ours, row), shown, overlaps)

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
        """Result of checking whether another box convention fits the ground truth far better; computed at first use."""
        applied = self.notes.conventions_of(len(self.predictions)) if self.notes else "xyxy"
        return check_box_convention(self._checked, self.truth.interactions, applied)

    @cached_property
    def numbering_check(self) -> list[str]:
        """Warnings about class IDs that another numbering fits far better; computed at first use."""
        return check_numbering(self._checked, self.truth, self.notes, self._sample)

    @cached_property
    def agreement(self) -> dict[str, float]:
        """Fractions of the best predictions that agree with the annotations; computed at first use.

        Of the six best-scored predictions per image, those of "human boxes", "object boxes" and "pairs" (both boxes)
        overlap an annotation with IoU >= 0.5. Of these pairs, "objects" and "verbs" have an annotated label. {} if no
        image has predictions and annotations.
        """
        return agreement(self._checked, self.truth, self._sample)

    @cached_property
    def _sample(self) -> Sample:
        return sample_pairs(self._checked, self.truth.interactions)

    @cached_property
    def _checked(self) -> Interactions:
        """The triplets whose boxes and class IDs are checked; of predictions by person, see :func:`best_triplets`."""
        roles = self.predictions.by_person
        return self.predictions if roles is None else best_triplets(roles, self.truth.benchmark)

    @cached_property
    def warnings(self) -> list[str]:
        """Warnings to read before the metrics, such as boxes that do not fit, or images without predictions; or []."""
        return [
            *self.said,
            *(self.notes.urgent() if self.notes else []),
            *inverted_scores(self.task, self.strict.options if self.strict else None, self.role_results),
            *exchanged_roles(self.task, self.role_results),
            *empty_words(self.task, sum(self.notes.examples("unparsed").values()) if self.notes else 0),
            *warnings(self.task, self.box_check, self.numbering_check, self.notes),
        ]

    @cached_property
    def tau_readings(self) -> dict[str, F1Figures]:
        """SHOE-mF1 and miss rates by value of the option ``tau-by`` (docs/protocols.md A22); {} without SHOE results.

        Values of options that were not used are computed at first use.
        """
        if self.semantic is None:
            return {}
        scorer, known = self.semantic.scorer, self.semantic.by_tau
        others = {by: scorer.f1_rows_by(by) for by in get_args(TauBy) if by not in known}
        found = known | {by: scorer.f1_entries(scorer.match(rows)).figures() for by, rows in others.items()}
        return {by: found[by] for by in get_args(TauBy)}

    @cached_property
    def repeats(self) -> int:
        """Number of predictions that repeat another (same image, boxes and words); the original is not counted."""
        table = self.task.predictions
        return table.by_person.repeats if table.by_person else len(repeated(table, np.arange(len(table))))

    @property
    def has_equal_scores(self) -> bool:
        """Whether there are several predictions, all with the same score."""
        score = self.task.predictions.score
        return len(score) > 1 and bool((score == score[0]).all())

    @cached_property
    def doubts(self) -> list[str]:
        """Notes on exact repeats, words that are no labels, and mostly equal scores (if SHOE or mAP is affected)."""
        lines = []
        if self.repeats:
            verb = "repeats" if self.repeats == 1 else "repeat"
            is_charged = self.semantic is not None and self.semantic.options.repeats != "matched"
            charged = "; SHOE counts repeats as false positives: remove them" if is_charged else ""
            charged += "; perhaps the file joins two models or runs" if 4 * self.repeats > self.predicted else ""
            lines.append(
                f"repeats    {pluralize(self.repeats, 'prediction')} {verb} another prediction exactly{charged}"
            )
        score = self.predictions.score
        most = float(np.partition(score, len(score) // 2)[len(score) // 2]) if len(score) > 1 else 0.0
        tied, missing = int((score == most).sum()), self.notes.scores_defaulted if self.notes else 0
        if tied == len(score) > 1 or tied - missing > max(len(score) / 2, 1):
            equal = ["SHOE-mAP does not depend on their order"] if self.semantic else []
            if any(result.ties_matter for result in self.strict_results):
                equal.append("strict mAP depends on their order in the file")
            which = "all" if tied == len(score) else f"{tied:,} of {len(score):,}"
            lines += [f"scores     {which} predictions have the same score: {', and '.join(equal)}"] if equal else []
        roles = self.predictions.roles
        if self.role_results and roles is None and self.predicted:
            lines.append("by person  triplets hold no actions without an object (stand, walk), which are missed")
        for kind, scores in (("agent", roles.agent), ("role", roles.score)) if roles else ():
            given = scores[~np.isnan(scores)]
            if len(given) > 1 and (given == given[0]).all():
                lines.append(f"scores     all {kind} scores are equal: {kind} AP depends on the order in the file")
        known, count = self.task.labelled_words
        unknown = f"{count - known:,} of {pluralize(count, 'predicted word')}"
        return [*lines, *([f"words      {unknown} are no labels of the dataset"] if known < count else [])]

    @property
    def remarks(self) -> list[str]:
        """Warnings, notes on reading the predictions, and notes on doubtful predictions, without duplicates."""
        read = self.notes.lines() if self.notes else []
        return list(dict.fromkeys([*self.warnings, *read, *self.doubts]))

    @property
    def input_warnings(self) -> list[str]:
        """Lines that ``shoe.score`` issues as Python warnings: reasons in ``absent``, then ``warnings``, ``doubts``."""
        return [*self.absent.values(), *self.warnings, *self.doubts]

    @property
    def _notes(self) -> list[str]:
        absent = [f"{part}: not measured: {why}" for part, why in self.absent.items()]
        lines = [*self.warnings, *absent, *self.doubts]
        return lines + [line for line in self.notes.lines() if line not in lines] if self.notes else lines

    def figures(self) -> Figures:
        """Return the metrics as in ``shoe score --json``, without intervals, values by rater, and explanations."""
        results = self.strict_results if len(self.strict_results) > 1 else ()
        return Figures(
            signature=str(self.signature),
            dataset=self.truth.classes.name,
            split=self.truth.split,
            images=len(self.truth.interactions.images),
            ground_truths=len(self.truth.interactions),
            predictions=self.predicted,
            strict=self.strict and as_base_class(self.strict, Strict),
            protocols=[
                SignedStrict(str(self.signature_of(each)), **structs.asdict(as_base_class(each, Strict)))
                for each in results
            ],
            roles=[each.signed(self.signature_of(each)) for each in self.role_results],
            semantic=self.semantic and as_base_class(self.semantic, Semantic),
        )

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Return :meth:`figures`, reasons for absent parts, and notes, under keys of ``shoe score --json``.

        Keys with empty values, and other keys of this JSON, such as "profile", are left out.
        With ``flat``, return only numbers, by the path of their keys: {"strict/map": 0.68, ...}.
        """
        extra = {"absent": dict(self.absent), "notes": self._notes}
        found = self.figures().to_dict() | {name: value for name, value in extra.items() if value}
        return flat_numbers(found) if flat else found

    def classes_table(self) -> dict[str, Any]:
        """Return a table of the K classes as a dict of columns, for ``pandas.DataFrame`` and ``polars.DataFrame``.

        The columns are "verb", "object", "rare", "ground_truths", and the values of each exact-label and SHOE protocol,
        such as "hico-det/ap", "hico-det/recall", "shoe/ap" and "shoe/f1". Values are fractions, NaN for classes that
        are not in the mean of the protocol.
        """
        classes, semantic = self.truth.classes, self.semantic
        columns: dict[str, Any] = {
            "verb": [classes.verbs[verb] for verb in classes.verb],
            "object": [classes.objects[each] for each in classes.object],
            "rare": classes.rare,
            "ground_truths": self.truth.triplets_per_class,
        }
        for each in self.strict_results:
            columns |= {f"{each.options.protocol}/ap": each.ap, f"{each.options.protocol}/recall": each.recall}
        if semantic is not None:
            columns |= {f"{semantic.options.protocol}/ap": semantic.ap, f"{semantic.options.protocol}/f1": semantic.f1}
        return columns

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
        """Number of predicted triplets; if there are none, number of predicted persons (V-COCO)."""
        by_person = self.predictions.roles
        return len(self.predictions) or (0 if by_person is None else len(by_person))

    @property
    def strict(self) -> StrictResult | None:
        """Result of the first exact-label protocol; None if there is none."""
        return self.strict_results[0] if self.strict_results else None

    @property
    def signature(self) -> Signature:
        """Signature of ``strict`` and ``semantic``; if both are None, of the first V-COCO protocol."""
        strict, semantic = self.strict, self.semantic
        if strict is None and semantic is None and self.role_results:
            return self.signature_of(self.role_results[0])
        return sign(
            self.truth.signature_fields() | self.facts,
            strict.options if strict else None,
            semantic.options if semantic else None,
            self.truth.benchmark.protocols,
        )

    def signature_of(self, result: StrictResult | RoleResult) -> Signature:
        """Return the signature of one exact-label protocol, or of one V-COCO protocol."""
        facts = {k: v for k, v in self.facts.items() if k not in SEMANTIC_FACTS}
        benchmark = self.truth.benchmark
        protocols = {**benchmark.protocols, **benchmark.role_protocols}
        return sign(self.truth.signature_fields() | facts, result.options, protocols=protocols)


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
            loaded similarity, whose raters are combined by the option ``ensemble``.
        protocols: names of protocols, at most one of them semantic. "all" stands for ``shoe`` and all exact-label and
            V-COCO protocols of the benchmark. If empty, the benchmark's defaults.
        options: ``NAME=VALUE`` settings that change the options of the protocols.
        notes: notes on how the predictions were read, for signature and report; by default ``predictions.notes``.

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
    """Score a task under parsed options, and return the report, as :func:`score` does."""
    task.check_images()
    predictions = task.predictions
    notes = notes or predictions.notes
    facts = reading_facts(predictions, notes)
    absent: dict[str, str] = {}
    semantic = similarities = None
    by_person = predictions.roles is not None and not len(predictions) and len(predictions.roles) > 0
    if by_person and (chosen.semantic or chosen.strict):
        absent["triplets"] = "the predictions name no object categories (V-COCO's official prediction format has none)"
    elif chosen.semantic is not None:
        unfit = unfit_scores(predictions)
        if unfit is not None:
            absent["semantic"] = unfit
        else:
            source = similarity_for(task.truth.benchmark, similarity, chosen.semantic.ensemble)
            facts |= {"map": source.name, "map-sha": source.digest} | lexicon_metadata()
            similarities = HoiSimilarity.from_task(task, source, chosen.semantic)
            semantic = semantic_score(task, similarities, chosen.semantic)
    strict = () if by_person else tuple(strict_score(task, o) for o in chosen.strict)
    if chosen.roles and task.truth.roles is None:
        absent["roles"] = f"the ground truth ({task.truth.format}) lists no persons without an object or annotation"
    return Report(task, facts, strict, semantic, similarities, absent, notes, role_scores(task, chosen.roles))


def reading_facts(predictions: Interactions, notes: ReadNotes | None) -> dict[str, str]:
    """Return the signature fields on how predictions were read: box coordinates, reading notes, counts of bad boxes."""
    bad = " + ".join(f"{rule} {count}" for rule, count in sorted(predictions.bad.items()))
    facts = {"coordinates": coordinate_names(predictions)} | ({} if notes is None else notes.signature_fields)
    return facts | ({"bad-boxes": bad} if bad else {})


def coordinate_names(predictions: Interactions) -> str:
    """Return the names of a table's box coordinates for signatures, joined by "+"; "none" for an empty table."""
    kinds = np.flatnonzero(np.bincount(predictions.coordinates)).tolist()
    return "+".join(Coordinates(kind).name.lower().replace("_", "-") for kind in kinds) or "none"


def unfit_scores(predictions: Interactions) -> str | None:
    """Return None if all scores are in 0..1, otherwise a message why SHOE metrics are missing, and what to do."""
    low, high = float(predictions.score.min(initial=0.0)), float(predictions.score.max(initial=1.0))
    if low >= 0 and high <= 1:
        return None
    way = "percent (divide by 100)" if low >= 0 and 10 < high <= 100 else "sigmoid (of logits)"
    remedy = f"convert them by {way}, minmax or rank; for files: {flag('scores')}"
    return f"a score of {low if low < 0 else high!r}: SHOE needs scores in 0..1; {remedy}"
