"""Run: saved results of one scoring of one model, without boxes and words.

A run contains the ranked entries and matches from which all metrics are computed, by class and image. Metrics can
therefore be computed again, resampled and compared without the predictions. The metadata (``facts``) of a run identify
predictions, ground truth and options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit, HoiClasses
from shoe.benchmarks.protocols import RoleOptions
from shoe.benchmarks.scoring_options import SemanticOptions, StrictOptions
from shoe.benchmarks.signature import Signature
from shoe.comparison.tau import TauLevels
from shoe.core.errors import pluralize
from shoe.core.interactions import Interactions
from shoe.scoring.entries import Entries, harmonic_mean
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from shoe.scoring.f1 import F1Entries
from shoe.scoring.roles import person_matches, role_entries
from shoe.scoring.score import Report
from shoe.scoring.strict import strict_entries
from shoe.version import __version__

PARTS = ("full", "rare", "non_rare")
"""Names of the means over classes of an exact-label protocol, in the order of :class:`Means`."""
SEMANTIC = ("map", "mf1", "mf1_best_tau", "gt_miss_rate", "prediction_miss_rate", "no_overlap_rate")
"""Names of the metrics of SHOE."""
OF_RUN = ("predictions", "predictions-sha")
"""Metadata of a run that are not in its signatures."""

PART, HARMONIC_MEAN = "part-{}", "harmonic-mean"
"""Last part of the keys of metrics: mean over a part of a class split, and harmonic mean of seen and unseen classes."""
NO_CONFIDENCE = ", no confidence"
"""Suffix of the name of a model whose scores were all set to the same value."""


@dataclass(frozen=True, slots=True, eq=False)
class StrictRun:
    """Ranked entries under one exact-label protocol, with the options and the signature."""

    options: StrictOptions
    signature: Signature
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class RoleRun:
    """Ranked entries under one protocol by person, as for V-COCO.

    Attributes:
        names: names of the categories (action and role), such as "hold-obj".
        left_out: category that is left out of the second mean; "" without a second mean.
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
        f1: matches for SHOE-mF1 and the miss rates.
        best: matches as in ``f1`` at the confidence threshold with the highest SHOE-mF1 (``tau-by=best``).
        above_delta: matches as in ``f1``, if the similarity of a match must exceed the option ``delta``.
        tau: matches as in ``f1`` at other thresholds, for resampled images; None if resamples do not need them.
    """

    options: SemanticOptions
    entries: Entries
    f1: F1Entries
    best: F1Entries
    above_delta: F1Entries
    tau: TauLevels | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Saved results of one scoring of one model.

    Attributes:
        facts: metadata: version of shoe; dataset, split and hashes of the ground truth; how the predictions were read,
            their number and their hash (``predictions-sha``); similarity map and its hash.
        images, classes: images of the ground truth in its order, and classes of the dataset. Entries contain indices
            into them.
        strict, by_person: entries per exact-label protocol and per protocol by person, in the order requested.
        semantic: entries of SHOE; None if not requested or not measurable.
        notes: warnings and notes of the report.
        absent: reason for each part that could not be measured, by name of the part.
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
        return f"<Run: {self.name}, {pluralize(len(self.images), 'image')}, {self.signature.short()}>"

    @classmethod
    def from_report(
        cls, report: Report, name: str, spread: Spread | None = None, interval: Interval | None = None
    ) -> Run:
        """Return the run of a report, with SHOE-mAP by rater (``spread``) and predictive intervals, if measured."""
        facts = {"shoe": __version__, **report.truth.signature_fields(), **report.facts}
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
            notes=tuple(report.remarks),
            absent=report.absent or None,
            spread=spread,
            interval=interval,
            class_split=report.truth.class_split,
            by_person=tuple(_by_person(report)),
        )

    @property
    def ranked(self) -> dict[str, tuple[tuple[str, str, str], Entries]]:
        """Names of the means over all, rare and non-rare classes, and ranked entries, by prefix of the metric keys.

        A prefix is such as "strict:qpic". Means with the name "" are not metrics.
        """
        ranked = {f"strict:{each.options.protocol}": (PARTS, each.entries) for each in self.strict}
        ranked |= {f"roles:{each.options.protocol}": ((PARTS[0], "", ""), each.entries) for each in self.by_person}
        return ranked | ({"semantic": ((SEMANTIC[0], "", ""), self.semantic.entries)} if self.semantic else {})

    @property
    def parts(self) -> dict[str, Entries | F1Entries]:
        """Entries and matches of the exact-label protocols and of SHOE, by name, such as "strict:PROTOCOL"."""
        parts: dict[str, Entries | F1Entries] = {f"strict:{r.options.protocol}": r.entries for r in self.strict}
        if (semantic := self.semantic) is not None:
            parts |= {"semantic:map": semantic.entries, "semantic:mf1": semantic.f1}
            parts |= {"semantic:mf1_best_tau": semantic.best, "above delta": semantic.above_delta}
        return parts

    @property
    def all_parts(self) -> dict[str, Entries | F1Entries]:
        """Entries and matches as in :attr:`parts`, then of the protocols by person, as "roles:PROTOCOL"."""
        return {**self.parts, **{f"roles:{each.options.protocol}": each.entries for each in self.by_person}}

    @property
    def truth(self) -> tuple[NDArray[np.integer], NDArray[np.integer]] | None:
        """Class (t,) and image (t,) of each ground-truth triplet; None if all protocols of the run score by person."""
        part = next(iter(self.parts.values()), None)
        return None if part is None else (part.truth_category, part.truth_image)

    def other_truth(
        self, images: Sequence[str], classes: HoiClasses, truth: tuple[NDArray[np.integer], NDArray[np.integer]] | None
    ) -> str | None:
        """Return what differs: "images", "classes" or "truths", the (t,) classes and images of triplets; else None."""
        if tuple(images) != self.images:
            return "images"
        if classes.table != self.classes.table:
            return "classes"
        own = self.truth
        return "truths" if own and truth and not all(map(np.array_equal, own, truth)) else None

    def figures(self) -> dict[str, float | None]:
        """Return the value of every metric by its key, as a fraction, or None if there is nothing to measure.

        - Exact-label protocols: ``strict:PROTOCOL:full``, ``strict:PROTOCOL:rare`` and ``strict:PROTOCOL:non_rare``.
        - SHOE: ``semantic:NAME`` for each name in ``SEMANTIC``.
        - With a class split: also ``strict:PROTOCOL:part-NAME`` and ``semantic:part-NAME`` for each part, and
          ``strict:PROTOCOL:harmonic-mean`` and ``semantic:harmonic-mean``.
        - Protocols by person: ``roles:PROTOCOL:full``; if one entry is left out: ``roles:PROTOCOL:part-without-NAME``.
        """
        found: dict[str, float | None] = {}
        for key, (names, entries) in self.ranked.items():
            scores = entries.scores()
            values: dict[str, float | None] = dict(zip(names, scores.means(entries.rare, entries.unseen), strict=True))
            if self.semantic is not None and key == "semantic":
                others = asdict(self.semantic.f1.figures()) | {"mf1_best_tau": self.semantic.best.figures().mf1}
                values |= {name: others[name] for name in SEMANTIC[1:]}
            parts = scores.part_means(entries.parts)
            values |= {PART.format(part): mean.map for part, mean in parts.items()}
            if {SEEN, UNSEEN} <= parts.keys():
                values[HARMONIC_MEAN] = harmonic_mean(parts)
            found |= {f"{key}:{name}": value for name, value in values.items() if name}
        return found


def digest_of(table: Interactions) -> str:
    """Return a hash (16 hex digits) of all prediction data that affect scores, whatever the file format."""
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
        entries = role_entries(task, found[result.options.overlap], result.options)
        yield RoleRun(result.options, report.signature_of(result), result.names, result.left_out, entries)


def _semantic(report: Report) -> SemanticRun | None:
    result = report.semantic
    if result is None:
        return None
    scorer = result.scorer
    f1 = best = above = scorer.f1_entries(scorer.match(scorer.f1_rows))
    if result.options.tau_by != "best":
        best = scorer.f1_entries(scorer.match(scorer.f1_rows_by("best")))
    if result.options.min_sigma != "delta":
        strict = scorer.above_delta()
        above = strict.f1_entries(strict.match(strict.f1_rows))
    levels = TauLevels.from_scorer(scorer)
    return SemanticRun(result.options, scorer.entries(result.matches), f1, best, above, levels)
