"""Saved results of one scoring of one model, without its boxes and words.

A run holds the ranked entries and matches behind every metric, by class and image. Metrics can therefore be computed
again, resampled and compared without the predictions. Its facts identify predictions, ground truth and options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit, HoiClasses
from shoe.benchmarks.protocol_options import SemanticOptions, StrictOptions
from shoe.benchmarks.protocols import RoleOptions, Signature
from shoe.core.errors import many
from shoe.core.interactions import Interactions
from shoe.scoring.entries import ClassScores, Entries, F1Entries, F1Figures, Means, harmonic_mean
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from shoe.scoring.roles import person_matches, role_entries
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.scoring.strict import strict_entries
from shoe.version import __version__

PARTS = ("full", "rare", "non_rare")
"""Parts of the classes with a strict mean, in the order of :class:`Means`."""
SEMANTIC = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")
OF_RUN = ("predictions", "predictions-sha")
"""Facts of a run that are not part of signatures."""

PART, HARMONIC_MEAN = "part-{}", "harmonic-mean"
"""Last part of the keys of a part of a class split, and of the harmonic mean of seen and unseen classes."""
NO_CONFIDENCE = ", no confidence"
"""Suffix of the name of a model whose scores were all made equal."""


@dataclass(frozen=True, slots=True, eq=False)
class StrictRun:
    """Entries of one exact-label protocol."""

    options: StrictOptions
    signature: Signature
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class RoleRun:
    """Entries of one protocol by person.

    Attributes:
        names: names of its categories, like "hold-obj".
        left_out: name that its second mean leaves out; "" for none.
        entries: ranked entries; a category is an index into ``names``.
    """

    options: RoleOptions
    signature: Signature
    names: tuple[str, ...]
    left_out: str
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class SemanticRun:
    """Entries and matches of SHOE.

    Attributes:
        entries: ranked entries of SHOE-mAP.
        f1: matching behind SHOE-mF1 and the miss rates.
        above_delta: that matching if a match must be more similar than delta.
    """

    options: SemanticOptions
    entries: Entries
    f1: F1Entries
    above_delta: F1Entries


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Saved results of one scoring of one model.

    Attributes:
        signature: signature of the metrics, as in the report.
        facts: version, data, split and hashes of the ground truth, how the predictions were read, their number and
            ``predictions-sha``, the map and its hash.
        images, classes: images of the ground truth in its order, and classes of the dataset; entries index both.
        strict, by_person: entries per exact-label protocol and per protocol by person, in the order requested.
        semantic: entries of SHOE; None if not requested or not measurable.
        notes: warnings and notes of the report.
        absent: reason for each part that could not be measured.
        class_split: split of the classes into parts with their own means; None if not requested.
        spread, interval: SHOE-mAP by single raters, and predictive intervals; None if not requested.
    """

    name: str
    signature: Signature
    facts: Mapping[str, str]
    images: tuple[str, ...]
    classes: HoiClasses
    strict: tuple[StrictRun, ...]
    semantic: SemanticRun | None
    notes: tuple[str, ...] = ()
    absent: Mapping[str, str] | None = None
    spread: Spread | None = None
    interval: Interval | None = None
    class_split: ClassSplit | None = None
    by_person: tuple[RoleRun, ...] = ()

    def __repr__(self) -> str:
        return f"<Run: {self.name}, {many(len(self.images), 'image')}, {self.signature.short()}>"

    @classmethod
    def of(cls, report: Report, name: str, spread: Spread | None = None, interval: Interval | None = None) -> Run:
        """Return the run of a report, with ``spread`` and ``interval`` if they were measured."""
        facts = {"shoe": __version__, **report.truth.facts(), **report.facts}
        facts |= {"predictions": str(report.predicted), "predictions-sha": digest_of(report.predictions)}
        return cls(
            name=name,
            signature=report.signature,
            facts=facts,
            images=report.truth.interactions.images,
            classes=report.truth.classes,
            strict=tuple(
                StrictRun(each.options, report.signature_of(each), strict_entries(report.task, each.options))
                for each in report.strict_results
            ),
            semantic=_semantic(report),
            notes=tuple(dict.fromkeys([*report.warnings, *(report.notes.lines() if report.notes else [])])),
            absent=report.absent or None,
            spread=spread,
            interval=interval,
            class_split=report.truth.class_split,
            by_person=tuple(_by_person(report)),
        )

    @property
    def parts(self) -> dict[str, Entries | F1Entries]:
        """Entries and matches behind the metrics, by name."""
        parts: dict[str, Entries | F1Entries] = {
            f"strict:{each.options.protocol}": each.entries for each in self.strict
        }
        if (semantic := self.semantic) is not None:
            parts |= {
                "semantic:map": semantic.entries,
                "semantic:mf1": semantic.f1,
                "above delta": semantic.above_delta,
            }
        return parts

    @property
    def all_parts(self) -> dict[str, Entries | F1Entries]:
        """``parts``, and the entries of protocols by person."""
        return {**self.parts, **{f"roles:{each.options.protocol}": each.entries for each in self.by_person}}

    @property
    def truth(self) -> tuple[NDArray[np.integer], NDArray[np.integer]] | None:
        """(t,) class and (t,) image of each ground truth, the same in all parts; None with protocols by person only."""
        part = next(iter(self.parts.values()), None)
        return None if part is None else (part.truth_category, part.truth_image)

    def other_truth(
        self, images: Sequence[str], classes: HoiClasses, truth: tuple[NDArray[np.integer], NDArray[np.integer]] | None
    ) -> str | None:
        """Return which part of a ground truth differs from that of the run: images, classes or truths; else None."""
        if tuple(images) != self.images:
            return "images"
        if classes.table != self.classes.table:
            return "classes"
        own = self.truth
        return "truths" if own and truth and not all(map(np.array_equal, own, truth)) else None

    def figures(self) -> dict[str, float | None]:
        """Return every metric by its key, as a fraction; None if there is nothing to measure.

        Keys are ``strict:PROTOCOL:full``, ``:rare`` and ``:non_rare`` for each protocol, and ``semantic:map``,
        ``semantic:mf1``, ``semantic:gt_miss_rate`` and ``semantic:prediction_miss_rate``. With a class split there are
        also ``:part-NAME`` of each part and ``:harmonic-mean``, for each protocol and for SHOE-mAP. Protocols by person
        have ``roles:PROTOCOL:full``, and ``:part-without-NAME`` if a second mean leaves an entry out.
        """
        found: dict[str, float | None] = {}
        for each in self.strict:
            protocol, entries, scores = each.options.protocol, each.entries, each.entries.scores()
            found |= strict_figures(protocol, scores.means(entries.rare, entries.unseen))
            found |= _part_figures(f"strict:{protocol}", scores, entries)
        for by_person in self.by_person:
            key, entries = f"roles:{by_person.options.protocol}", by_person.entries
            scores = entries.scores()
            found[f"{key}:{PARTS[0]}"] = scores.means(entries.rare, entries.unseen).map
            found |= _part_figures(key, scores, entries)
        if self.semantic is not None:
            entries, scores = self.semantic.entries, self.semantic.entries.scores()
            found |= semantic_figures(scores.means(entries.rare, entries.unseen), self.semantic.f1.figures())
            found |= _part_figures("semantic", scores, entries)
        return found


def strict_figures(protocol: str, means: Means) -> dict[str, float | None]:
    """Return the means of an exact-label protocol by their keys."""
    return {f"strict:{protocol}:{part}": value for part, value in zip(PARTS, means, strict=True)}


def semantic_figures(means: Means, f1: F1Figures) -> dict[str, float | None]:
    """Return the metrics of SHOE by their keys."""
    return {f"semantic:{name}": value for name, value in zip(SEMANTIC, (means.map, *astuple(f1)), strict=True)}


def _part_figures(prefix: str, scores: ClassScores, entries: Entries) -> dict[str, float | None]:
    parts = scores.part_means(entries.parts)
    means = {f"{prefix}:{PART.format(part)}": mean.map for part, mean in parts.items()}
    return means | ({f"{prefix}:{HARMONIC_MEAN}": harmonic_mean(parts)} if {SEEN, UNSEEN} <= parts.keys() else {})


def digest_of(table: Interactions) -> str:
    """Return 16 hex digits that identify everything in predictions that can change a score, in any file format."""
    digest = hashlib.sha256("\n".join([*table.images, "", *table.verbs, "", *table.objects]).encode("utf-8", "replace"))
    boxes = table.human_boxes, table.object_boxes
    for column in (table.offsets, table.coordinates, *boxes, table.verb, table.object, table.score):
        digest.update(np.ascontiguousarray(column).data)
    if (roles := table.roles) is not None:
        digest.update("\n".join(roles.images).encode("utf-8", "replace"))
        for values in (roles.image, roles.person_boxes, roles.agent, roles.score, roles.role, roles.boxes):
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:16]


def _by_person(report: Report) -> Iterator[RoleRun]:
    task, truth = report.task, report.truth.roles
    if truth is None:
        return
    found = person_matches(task, truth, (result.options for result in report.role_results))
    for result in report.role_results:
        options = result.options
        entries = role_entries(task, found[options.overlap], options)
        yield RoleRun(options, report.signature_of(result), result.names, result.left_out, entries)


def _semantic(report: Report) -> SemanticRun | None:
    result = report.semantic
    if result is None or report.similarities is None:
        return None
    scorer = Scorer(report.task, report.similarities, result.options, result.near)
    f1 = above = scorer.f1_entries(scorer.match(scorer.f1_rows))
    if result.options.min_sigma != "delta":
        strict = scorer.above_delta()
        above = strict.f1_entries(strict.match(strict.f1_rows))
    return SemanticRun(result.options, scorer.entries(result.matches), f1, above)
