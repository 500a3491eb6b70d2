"""What ``shoe diagnose --json`` has of one model."""

from __future__ import annotations

from typing import Any

import msgspec

from shoe.core.documents import Count, Document, Fraction, Gain
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.localisation import PairFigures
from shoe.diagnosis.semantics import Related, SemanticDiagnosis
from shoe.diagnosis.sweeps import Sweep
from shoe.diagnosis.vocabulary_gap import VocabularyGap
from shoe.scoring.entries import Means


class Deltas(Document, frozen=True, kw_only=True):
    """What fixing an error adds to mAP."""

    delta_map: Gain | None = None
    delta_map_rare: Gain | None = None
    delta_map_non_rare: Gain | None = None


class Error(Document, frozen=True, kw_only=True):
    """One error type: how often, what it costs, and over several seeds the standard deviation of that."""

    count: Count
    delta_map: Gain | None = None
    delta_map_rare: Gain | None = None
    delta_map_non_rare: Gain | None = None
    sd_map: Fraction | None = None
    sd_map_rare: Fraction | None = None
    sd_map_non_rare: Fraction | None = None


class FixedStep(Document, frozen=True, kw_only=True):
    """mAP after this and all errors before it are fixed, and what this step adds."""

    error: str
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None
    delta_map: Gain | None = None
    delta_map_rare: Gain | None = None
    delta_map_non_rare: Gain | None = None


class PartDelta(Document, frozen=True):
    """What fixing an error adds to the mAP of a part."""

    delta_map: Gain | None = None


class DiagnosedPart(Document, frozen=True, kw_only=True):
    """A part of a class split: mAP before any fix, classes in it, and what each error costs it."""

    map: Fraction | None = None
    classes: Count
    errors: dict[str, PartDelta]


class AllPairs(PairFigures, frozen=True, kw_only=True):
    """Pair localisation over all pairs, those of rare classes, and the others."""

    rare: PairFigures
    non_rare: PairFigures


class WordErrors(Document, frozen=True):
    """Predictions with a wrong verb, or a wrong object, by error type and by how the words are related."""

    count: Count
    types: dict[str, Count]
    relation: dict[str, Related]


class SemanticFigures(Document, frozen=True, kw_only=True):
    """The diagnosis in meaning.

    Attributes:
        signature: how the figures came about.
        map, map_rare, map_non_rare: SHOE-mAP before any fix.
        errors: what fixing each strict error adds to SHOE-mAP.
        interaction, object_class: wrong verbs of localised pairs, and wrong objects between right boxes.
        vocabulary_gap: what meaning adds to exact words, and where it comes from.
        absent: for each part that could not be measured, why.
    """

    signature: str
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None
    errors: dict[str, Deltas]
    interaction: WordErrors
    object_class: WordErrors
    vocabulary_gap: VocabularyGap | None = None
    absent: dict[str, str] = msgspec.field(default_factory=dict)


class ModelFigures(Document, frozen=True, kw_only=True):
    """The diagnosis of one model; of a file of pairs alone, without errors and mAP.

    Attributes:
        signature: how the strict figures came about.
        images, ground_truths, predictions: how many count.
        map, map_rare, map_non_rare: before any fix.
        parts: with a split of the classes, by part.
        true_positives: how many.
        errors: by error type, and for all false positives and false negatives.
        progression: fixes one after the other.
        pairs: how well pairs are found, whatever their verbs.
        negative_ap, negative_ap_diag: how well pairs that do nothing are known (docs/protocols.md 8.8).
        interaction_map, interaction_map_rare, interaction_map_non_rare: how well the interactions of localised pairs
            are known (docs/protocols.md 8.9).
        semantic: the same in meaning.
        sweeps: with ``--sweep``, what is left as pairs are thinned out.
        absent: for each part that could not be measured, why.
        notes: what a reader of the figures has to know, as text.
    """

    signature: str
    images: Count
    ground_truths: Count
    predictions: Count
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None
    parts: dict[str, DiagnosedPart] = msgspec.field(default_factory=dict)
    true_positives: Count | None = None
    errors: dict[str, Error] | None = None
    progression: list[FixedStep] | None = None
    pairs: AllPairs
    negative_ap: Fraction | None = None
    negative_ap_diag: Fraction | None = None
    interaction_map: Fraction | None = None
    interaction_map_rare: Fraction | None = None
    interaction_map_non_rare: Fraction | None = None
    semantic: SemanticFigures | None = None
    sweeps: tuple[Sweep, ...] | None = None
    absent: dict[str, str] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: ErrorAnalysis | None, semantic: SemanticDiagnosis | None, **others: Any) -> ModelFigures:
        """Compute all parts of an error analysis and of its meaning, beside others that are known."""
        errors = {} if found is None else _error_figures(found)
        return cls(**errors, semantic=None if semantic is None else _semantic_figures(semantic), **others)


def _error_figures(found: ErrorAnalysis) -> dict[str, Any]:
    parts = {
        part: DiagnosedPart(
            map=mean.map,
            classes=mean.classes,
            errors={name: PartDelta(delta) for name, delta in found.part_deltas[part].items()},
        )
        for part, mean in found.parts.items()
    }
    spreads = {name: _prefixed("sd_", spread) for name, spread in found.spreads.items()} if found.drawn else {}
    errors = {
        name: Error(count=found.counts[name], **_prefixed("delta_", delta), **spreads.get(name, {}))
        for name, delta in found.deltas.items()
    }
    progression = [
        FixedStep(error=step.name, **step.means._asdict(), **_prefixed("delta_", step.delta))
        for step in found.progression
    ]
    beside = {"parts": parts, "errors": errors, "progression": progression}
    return {**found.means._asdict(), "true_positives": found.counts["true_positive"], **beside}


def _semantic_figures(found: SemanticDiagnosis) -> SemanticFigures:
    interaction, object_class = (
        WordErrors(len(words.prediction), words.types, words.by_relation)
        for words in (found.interaction, found.object_class)
    )
    return SemanticFigures(
        signature=str(found.signature),
        **found.means._asdict(),
        errors={name: Deltas(**_prefixed("delta_", delta)) for name, delta in found.deltas.items()},
        interaction=interaction,
        object_class=object_class,
        vocabulary_gap=found.vocabulary_gap,
        absent=found.absent,
    )


def _prefixed(prefix: str, means: Means) -> dict[str, float | None]:
    return {prefix + name: value for name, value in means._asdict().items()}
