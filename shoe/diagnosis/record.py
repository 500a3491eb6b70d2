"""JSON document of one model in ``shoe diagnose --json``."""

from typing import Any

import msgspec

from shoe.core.documents import Count, Document, Fraction, Gain
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.localisation import PairFigures, Sweep
from shoe.diagnosis.semantics import Related, SemanticDiagnosis
from shoe.diagnosis.vocabulary_gap import VocabularyGap
from shoe.scoring.entries import Means


class Deltas(Document, frozen=True, kw_only=True):
    """Gain in mAP from fixing an error type, over all, rare and non-rare classes."""

    delta_map: Gain | None = None
    delta_map_rare: Gain | None = None
    delta_map_non_rare: Gain | None = None


class Error(Document, frozen=True, kw_only=True):
    """Number of errors of one type, gain in mAP from fixing them (delta), and standard deviation over seeds (sd)."""

    count: Count
    delta_map: Gain | None = None
    delta_map_rare: Gain | None = None
    delta_map_non_rare: Gain | None = None
    sd_map: Fraction | None = None
    sd_map_rare: Fraction | None = None
    sd_map_non_rare: Fraction | None = None


class FixedStep(Deltas, frozen=True):
    """Step of fixing error types one after another: mAP after all fixes so far, and gain of the step (delta)."""

    error: str
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None


class PartDelta(Document, frozen=True):
    """Gain in the mAP of a part of a class split from fixing an error type."""

    delta_map: Gain | None = None


class DiagnosedPart(Document, frozen=True, kw_only=True):
    """Part of a class split: mAP before any fix, number of classes, and gain from fixing each error type."""

    map: Fraction | None = None
    classes: Count
    errors: dict[str, PartDelta]


class AllPairs(PairFigures, frozen=True, kw_only=True):
    """Pair localisation over the ground-truth pairs of all classes, of rare classes and of non-rare classes."""

    rare: PairFigures
    non_rare: PairFigures


class WordErrors(Document, frozen=True):
    """Number of predictions with a wrong verb (or object), by error type and by relation to the right word."""

    count: Count
    types: dict[str, Count]
    relation: dict[str, Related]


class SemanticFigures(Document, frozen=True, kw_only=True):
    """Semantic part of a diagnosis, with words compared by meaning.

    Attributes:
        signature: signature of the semantic results.
        map, map_rare, map_non_rare: SHOE-mAP before any fix.
        errors: gain in SHOE-mAP from fixing the errors of the analysis with exact labels, by error type.
        interaction, object_class: wrong verbs of predictions with right boxes and object, and wrong objects of
            predictions with right boxes.
        vocabulary_gap: gain of SHOE-mAP over exact word matching, and its causes.
        absent: reason for each part that could not be measured, by name.
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
    """Diagnosis of one model. The diagnosis of a file of pairs has no errors and no mAP.

    Attributes:
        signature: signature of the results with exact labels.
        images, ground_truths: number of images and ground truths evaluated.
        predictions: number of all predictions (or pairs) of the model, evaluated or not.
        map, map_rare, map_non_rare: mAP before any fix.
        parts: results for each part of a class split, by name.
        true_positives: number of true positives.
        errors: results per error type, and for all false positives and all false negatives.
        progression: mAP as error types are fixed one after another.
        pairs: pair localisation, regardless of verbs.
        negative_ap, negative_ap_diag: average precision of detecting predicted pairs that are not in the ground truth:
            all-point, and as in the papers' toolbox (docs/protocols.md 8.8).
        interaction_map, interaction_map_rare, interaction_map_non_rare: mAP of the predictions that match a pair of the
            ground truth, ranked by interaction scores only (docs/protocols.md 8.9).
        semantic: diagnosis with words compared by meaning.
        sweeps: threshold sweeps over pairs, with ``--sweep``.
        absent: reason for each part that could not be measured, by name.
        notes: notes on the results, as text.
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


def error_figures(found: ErrorAnalysis) -> dict[str, Any]:
    """Return the results of an error analysis as fields of :class:`ModelFigures`, by name."""
    parts = {}
    for part, mean in found.parts.items():
        of_part = {name: PartDelta(delta) for name, delta in found.part_deltas[part].items()}
        parts[part] = DiagnosedPart(map=mean.map, classes=mean.classes, errors=of_part)
    errors = {}
    for name, delta in found.deltas.items():
        spread = _prefixed("sd_", found.spreads[name]) if found.drawn else {}
        errors[name] = Error(count=found.counts[name], **_prefixed("delta_", delta), **spread)
    steps = [FixedStep(error=s.name, **s.means._asdict(), **_prefixed("delta_", s.delta)) for s in found.progression]
    beside = {"parts": parts, "errors": errors, "progression": steps}
    return {**found.means._asdict(), "true_positives": found.counts["true_positive"], **beside}


def semantic_figures(found: SemanticDiagnosis) -> SemanticFigures:
    """Return the results of a semantic diagnosis for the JSON document of a model."""
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
