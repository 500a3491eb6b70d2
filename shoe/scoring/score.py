"""Score predictions: strictly under any number of protocols, semantically, and signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.coordinates import Coordinates
from shoe.core.interactions import Interactions
from shoe.evidence.profile import Profile, profile_of
from shoe.evidence.resolution import Resolution, resolution_of
from shoe.lexicon.resolve import lexicon_digest
from shoe.matching.task import Task
from shoe.predictions.box_check import BoxReport, examine_boxes
from shoe.predictions.notes import ReadNotes
from shoe.protocols.named import choose
from shoe.protocols.options import SemanticOptions
from shoe.protocols.signature import Signature, sign
from shoe.scoring.meaning import Meaning
from shoe.scoring.semantic import SemanticResult, semantic_score
from shoe.scoring.strict import StrictResult, strict_score
from shoe.similarity import Similarity, load_similarity

if TYPE_CHECKING:
    from shoe.evidence.bounds import Interval
    from shoe.evidence.spread import Spread

DEFAULT_PROTOCOLS = ("hico-det", "shoe")
_SEMANTIC_FACTS = ("map", "map-sha", "lexicon-sha")


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that one evaluation says.

    Attributes:
        task: what was scored, and against what.
        facts: what else is in the signature: how predictions were read, the map and its content hash.
        strict_results: one result a protocol, in the order asked for.
        semantic: the semantic result; None when not asked for, or not measurable.
        meaning: the similarities behind it.
        absent: for each part that could not be measured, why.
        notes: how the predictions were read; None for tables that were made otherwise.
    """

    task: Task
    facts: dict[str, str]
    strict_results: tuple[StrictResult, ...]
    semantic: SemanticResult | None
    meaning: Meaning | None
    absent: dict[str, str]
    notes: ReadNotes | None = None

    @property
    def truth(self) -> GroundTruth:
        """What was scored against."""
        return self.task.truth

    @property
    def predictions(self) -> Interactions:
        """What was scored."""
        return self.task.predictions

    @cached_property
    def profile(self) -> Profile:
        """Facts about the predictions."""
        return profile_of(self.task)

    @cached_property
    def boxes(self) -> BoxReport:
        """Whether another box convention would fit the ground truth far better."""
        # A native table's numbers are what its frame says; no convention was applied to them.
        convention = self.notes.boxes if self.notes and self.notes.format != "native" else "xyxy"
        return examine_boxes(self.predictions, self.truth.interactions, convention)

    @cached_property
    def resolution(self) -> Resolution | None:
        """How predicted words fared; None without the semantic part."""
        if self.semantic is None or self.meaning is None:
            return None
        return resolution_of(self.task, self.meaning, self.semantic)

    @cached_property
    def interval(self) -> Interval | None:
        """Between which values SHOE lies, whatever the unrated pairs of the map are; None where nothing is open."""
        from shoe.evidence.bounds import interval_of
        from shoe.evidence.completions import completions_of

        if self.semantic is None or self.meaning is None:
            return None
        completions = completions_of(self.task, self.meaning, self.semantic.options)
        found = completions and interval_of(self.task, completions, self.semantic)
        return found if found and found.open else None

    @cached_property
    def spread(self) -> Spread | None:
        """SHOE-mAP under each single rater of the map; None where there are not several."""
        from shoe.evidence.spread import spread_of

        if self.semantic is None or self.meaning is None:
            return None
        return spread_of(self.task, self.meaning, self.semantic.options)

    @property
    def strict(self) -> StrictResult | None:
        """The first strict result."""
        return self.strict_results[0] if self.strict_results else None

    @property
    def signature(self) -> Signature:
        """How the figures of ``strict`` and ``semantic`` came about."""
        strict = self.strict.options if self.strict else None
        return sign(
            self.truth.facts() | self.facts,
            strict,
            self.semantic.options if self.semantic else None,
            self.truth.benchmark.protocols,
        )

    def signature_of(self, result: StrictResult) -> Signature:
        """How the figures of one strict protocol came about."""
        facts = {k: v for k, v in self.facts.items() if k not in _SEMANTIC_FACTS}
        return sign(self.truth.facts() | facts, result.options, protocols=self.truth.benchmark.protocols)


def score(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    similarity: str | Path = "hico-det",
    protocols: Sequence[str] = DEFAULT_PROTOCOLS,
    options: Sequence[str] = (),
    notes: ReadNotes | None = None,
) -> Report:
    """Score predictions against a ground truth.

    Args:
        predictions: what a model said; words may be any.
        truth: what is so.
        similarity: name of a shipped map or baseline, or a map's folder.
        protocols: names of strict protocols and at most one semantic; ``all`` means every strict protocol and ``shoe``.
        options: ``NAME=VALUE`` settings that change the protocols' choices.
        notes: how the predictions were read (``read_predictions_with_notes``), for the signature and the remarks.

    Returns:
        A report; ``report.strict.map``, ``report.semantic.map``, ``str(report.signature)``.

    Raises:
        OptionError: for an unknown protocol, option or value.
        InputError: when predictions and ground truth have no image in common.
    """
    chosen = choose(protocols, options, truth.benchmark.protocols, image_labels=truth.image_labels is not None)
    strict_options, semantic_options = chosen.strict, chosen.semantic
    task = Task(predictions, truth)
    task.check_images()
    facts = {"coordinates": coordinate_names(predictions)}
    if notes is not None:
        facts |= {"boxes": notes.boxes, "scores": notes.scores}
    absent: dict[str, str] = {}
    semantic = meaning = None
    if semantic_options is not None:
        outside = score_outside(predictions)
        if outside is not None:
            absent["semantic"] = f"a score of {outside!r}: SHOE needs scores in 0..1"
        else:
            source = load_similarity(similarity, semantic_options.ensemble)
            facts |= {"map": source.name, "map-sha": source.digest, "lexicon-sha": lexicon_digest()}
            meaning = build_meaning(task, source, semantic_options)
            semantic = semantic_score(task, meaning, semantic_options)
    return Report(
        task=task,
        facts=facts,
        strict_results=tuple(strict_score(task, o) for o in strict_options),
        semantic=semantic,
        meaning=meaning,
        absent=absent,
        notes=notes,
    )


def build_meaning(task: Task, similarity: Similarity, options: SemanticOptions) -> Meaning:
    """Tables of similarities for a task under the options of a semantic protocol."""
    return Meaning.build(task, similarity, options)


def coordinate_names(predictions: Interactions) -> str:
    """Name the box frames of a table, as signatures do: "continuous", or several with + between them."""
    names = [
        Coordinates(f).name.lower().replace("_", "-")
        for f in np.flatnonzero(np.bincount(predictions.coordinates)).tolist()
    ]
    return "+".join(names) or "none"


def score_outside(predictions: Interactions) -> float | None:
    """Return a score that is outside 0..1; None if there is none."""
    low, high = predictions.score.min(initial=0.0), predictions.score.max(initial=1.0)
    if low < 0:
        return float(low)
    return float(high) if high > 1 else None
