"""Schema of ``shoe diagnose``."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import (
    Box,
    Closed,
    Count,
    Fraction,
    Gain,
    MaybeCount,
    MaybeFraction,
    MaybeGain,
    Means,
)


class Deltas(Closed):
    """What fixing an error adds to mAP."""

    delta_map: MaybeGain = UNSET
    delta_map_rare: MaybeGain = UNSET
    delta_map_non_rare: MaybeGain = UNSET


class Error(Deltas, kw_only=True):
    """One error type: how often, what it costs, and how that varies over seeds."""

    count: Count
    sd_map: MaybeFraction = UNSET
    sd_map_rare: MaybeFraction = UNSET
    sd_map_non_rare: MaybeFraction = UNSET


class Step(Deltas, kw_only=True):
    """mAP after this and all errors before it are fixed."""

    error: str
    map: MaybeFraction = UNSET
    map_rare: MaybeFraction = UNSET
    map_non_rare: MaybeFraction = UNSET


class PartDelta(Closed):
    """What fixing an error adds to the mAP of a part."""

    delta_map: MaybeGain = UNSET


class DiagnosedPart(Closed):
    """A part of a class split: mAP before any fix, classes in it, and what each error costs it."""

    classes: Count
    errors: dict[str, PartDelta]
    map: MaybeFraction = UNSET


class PairFigures(Closed):
    """How well pairs are found, whatever their verbs."""

    truths: Count
    predictions: Count
    images: Count
    recall: MaybeFraction = UNSET
    recall_one_to_one: MaybeFraction = UNSET
    precision: MaybeFraction = UNSET
    per_image: float | UnsetType = UNSET
    human_recall: MaybeFraction = UNSET
    object_recall: MaybeFraction = UNSET


class Pairs(PairFigures, kw_only=True):
    """The same for all pairs, those of rare classes, and the others."""

    rare: PairFigures
    non_rare: PairFigures


class Confused(Closed):
    """One word predicted for another, and how often."""

    label: str
    predicted: str
    times: Count


class Related(Closed):
    """Wrong words that are so related to the right one."""

    count: Count
    share: Fraction
    commonest: list[Confused]
    similarity: MaybeFraction = UNSET


class WrongWords(Closed):
    """Predictions with a wrong verb, or a wrong object, by error type and by how the words are related."""

    count: Count
    types: dict[str, Count]
    relation: dict[str, Related]


class WordPair(Closed):
    """A label and what was predicted for it."""

    label: str
    label_sense: str
    predicted: str
    sense: str
    similarity: Fraction
    relation: str


class Match(Closed):
    """A ground truth and the prediction that it was matched with."""

    image: str
    truth: Count
    prediction: Count
    true_human_box: Box
    true_object_box: Box
    human_box: Box
    object_box: Box
    verb: WordPair
    object: WordPair
    similarity: Fraction
    score: Fraction
    iou: Fraction
    gain: Gain


class Confusion(Closed):
    """One word predicted for another, and what it gains by meaning."""

    part: Literal["verb", "object"]
    word: WordPair
    matches: Count
    gain: Gain
    share: float
    examples: list[Match]


class VocabularyGap(Closed):
    """What meaning adds to exact words, and where it comes from."""

    gain: Gain
    exact_map: Fraction
    identity_map: Fraction
    map: Fraction
    matching: Gain
    false_positives: Gain
    credit: Gain
    verb_credit: Gain
    object_credit: Gain
    confusions: list[Confusion]
    further: Count
    further_gain: Gain


class SemanticDiagnosis(Means, kw_only=True):
    """The same in meaning."""

    signature: str
    errors: dict[str, Deltas]
    interaction: WrongWords
    object_class: WrongWords
    vocabulary_gap: VocabularyGap | UnsetType = UNSET
    absent: dict[str, str] | UnsetType = UNSET


class SweepPoint(PairFigures, kw_only=True):
    """What is left of pairs and mAP at one threshold."""

    threshold: float
    map: MaybeFraction = UNSET
    map_rare: MaybeFraction = UNSET
    map_non_rare: MaybeFraction = UNSET


class Curve(Closed):
    """What is left as pairs are thinned out."""

    by: str
    points: list[SweepPoint]


class Model(Means, kw_only=True):
    """The diagnosis of one model; of a file of pairs alone, without errors and mAP."""

    name: str
    signature: str
    images: Count
    ground_truths: Count
    predictions: Count
    pairs: Pairs
    parts: dict[str, DiagnosedPart] | UnsetType = UNSET
    true_positives: MaybeCount = UNSET
    errors: dict[str, Error] | UnsetType = UNSET
    progression: list[Step] | UnsetType = UNSET
    negative_ap: MaybeFraction = UNSET
    negative_ap_diag: MaybeFraction = UNSET
    interaction_map: MaybeFraction = UNSET
    interaction_map_rare: MaybeFraction = UNSET
    interaction_map_non_rare: MaybeFraction = UNSET
    semantic: SemanticDiagnosis | UnsetType = UNSET
    sweeps: list[Curve] | UnsetType = UNSET
    absent: dict[str, str] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET


class OneModel(Model, kw_only=True):
    """The diagnosis of one model, and of what."""

    dataset: str
    split: str


class SeveralModels(Closed):
    """The diagnoses of several models."""

    dataset: str
    split: str
    models: list[Model]
