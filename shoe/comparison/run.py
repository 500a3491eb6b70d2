"""A run: what one scoring of one model measured, without its boxes and words.

It holds what every figure is a mean or a sum of, by class and image, so that figures can be computed again, resampled
and compared without the predictions; and what identifies predictions, ground truth and options.
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
"""Classes that a strict mean is over: all, rare, and the others; as :class:`Means` orders them."""
SEMANTIC = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")
OF_RUN = ("predictions", "predictions-sha")
"""Facts of a run that signatures have not."""

PART, HARMONIC_MEAN = "part-{}", "harmonic-mean"
"""How figures of a part of a class split are called, and that of seen and unseen classes."""
NO_CONFIDENCE = ", no confidence"
"""Ends the name of a model whose scores were all made equal."""


@dataclass(frozen=True, slots=True, eq=False)
class StrictRun:
    """What one exact-label protocol measured."""

    options: StrictOptions
    signature: Signature
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class RoleRun:
    """What one protocol by person measured.

    Attributes:
        names: of its entries, as "hold-obj".
        left_out: the name that its second mean leaves out; "" for none.
        entries: what it ranked; a category is one of the names.
    """

    options: RoleOptions
    signature: Signature
    names: tuple[str, ...]
    left_out: str
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class SemanticRun:
    """What SHOE measured.

    Attributes:
        entries: what SHOE-mAP ranked.
        f1: the matching behind SHOE-mF1 and the miss rates.
        above_delta: that matching where a match must be more similar than delta.
    """

    options: SemanticOptions
    entries: Entries
    f1: F1Entries
    above_delta: F1Entries


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One scoring of one model.

    Attributes:
        signature: how the figures came about, as the report's.
        facts: what identifies them beside the options: version, data, split and hashes of the ground truth, how the
            predictions were read, their number and ``predictions-sha``, the map and its hash.
        images: of the ground truth, in its order; entries number them.
        classes: of the dataset; entries number them.
        strict: one a protocol, in the order asked for.
        by_person: one a protocol by person, in the order asked for.
        semantic: None where not asked for, or not measurable.
        notes: what the report said of how the predictions were read, and is to be known before a figure is believed.
        absent: for each part that could not be measured, why.
        class_split: the parts of the classes that have figures of their own; None where none was asked for.
        spread, interval: SHOE by single raters, and where it would lie were all pairs rated; None where not asked for.
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
        """Keep what a report measured.

        ``spread`` and ``interval`` are there if they were measured.
        """
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
        """What its figures are means and sums of, by what it is behind."""
        parts: dict[str, Entries | F1Entries] = {
            f"strict:{each.options.protocol}": each.entries for each in self.strict
        }
        if (of := self.semantic) is not None:
            parts |= {"semantic:map": of.entries, "semantic:mf1": of.f1, "above delta": of.above_delta}
        return parts

    @property
    def all_parts(self) -> dict[str, Entries | F1Entries]:
        """The same, with what figures by person are means of."""
        return {**self.parts, **{f"roles:{each.options.protocol}": each.entries for each in self.by_person}}

    @property
    def truth(self) -> tuple[NDArray[np.integer], NDArray[np.integer]] | None:
        """(t,) class and (t,) image of each ground truth, those of all parts; None where all figures are by person."""
        part = next(iter(self.parts.values()), None)
        return None if part is None else (part.truth_category, part.truth_image)

    def other_truth(
        self, images: Sequence[str], classes: HoiClasses, truth: tuple[NDArray[np.integer], NDArray[np.integer]] | None
    ) -> str | None:
        """Say what of a ground truth is not as the run has it: images, classes, or truths; None where all is."""
        if tuple(images) != self.images:
            return "images"
        if classes.table != self.classes.table:
            return "classes"
        own = self.truth
        return "truths" if own and truth and not all(map(np.array_equal, own, truth)) else None

    def figures(self) -> dict[str, float | None]:
        """Every figure by its key, as fractions: the report's; None where there is nothing to measure.

        Keys are ``strict:PROTOCOL:full``, ``:rare`` and ``:non_rare`` for each protocol, and ``semantic:map``,
        ``semantic:mf1``, ``semantic:gt_miss_rate`` and ``semantic:prediction_miss_rate``; with a class split also
        ``:part-NAME`` of each part and ``:harmonic-mean``, for each protocol and for SHOE-mAP; by person
        ``roles:PROTOCOL:full``, and ``:part-without-NAME`` where a second mean leaves an entry out.
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
    """The means of a protocol by their keys."""
    return {f"strict:{protocol}:{part}": value for part, value in zip(PARTS, means, strict=True)}


def semantic_figures(means: Means, f1: F1Figures) -> dict[str, float | None]:
    """The figures of SHOE by their keys."""
    return {f"semantic:{name}": value for name, value in zip(SEMANTIC, (means.map, *astuple(f1)), strict=True)}


def _part_figures(of: str, scores: ClassScores, entries: Entries) -> dict[str, float | None]:
    parts = scores.part_means(entries.parts)
    found = {f"{of}:{PART.format(part)}": mean.map for part, mean in parts.items()}
    return found | ({f"{of}:{HARMONIC_MEAN}": harmonic_mean(parts)} if {SEEN, UNSEEN} <= parts.keys() else {})


def digest_of(table: Interactions) -> str:
    """16 hex digits of everything in predictions that can change a score, whatever kind of file they came from."""
    digest = hashlib.sha256("\n".join([*table.images, "", *table.verbs, "", *table.objects]).encode("utf-8", "replace"))
    for column in (table.offsets, table.coordinates, table.human_boxes, table.object_boxes, table.verb, table.object):
        digest.update(np.ascontiguousarray(column).data)
    digest.update(np.ascontiguousarray(table.score).data)
    if (said := table.roles) is not None:
        digest.update("\n".join(said.images).encode("utf-8", "replace"))
        for values in (said.image, said.person_boxes, said.agent, said.score, said.role, said.boxes):
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
