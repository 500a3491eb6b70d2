"""Schemas of ``shoe score``, ``shoe audit`` and ``shoe explain``."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from shoe.report.schemas.kinds import (
    F1,
    Closed,
    Count,
    Fraction,
    Gain,
    Gains,
    MaybeCount,
    MaybeFraction,
    MaybeGain,
    MaybeParts,
    Means,
    Span,
)


class Strict(Means, kw_only=True):
    """The figures of one exact-label protocol."""

    protocol: str
    classes: Count
    ranked_predictions: Count
    max_recall: MaybeFraction = UNSET
    tied_share: MaybeFraction = UNSET
    parts: MaybeParts = UNSET
    harmonic_mean: MaybeFraction = UNSET


class Signed(Strict, kw_only=True):
    """One of several protocols, with how its figures came about."""

    signature: str


class OfAction(Closed):
    """An action, or one of its roles."""

    ap: Fraction
    ground_truths: Count


class ByPerson(Closed):
    """The figures of one protocol by person, with how they came about."""

    signature: str
    protocol: str
    entries: Count
    ranked_predictions: Count
    actions: dict[str, OfAction]
    map: MaybeFraction = UNSET
    left_out: str | UnsetType = UNSET
    map_without_left_out: MaybeFraction = UNSET


class Semantic(F1, kw_only=True):
    """The figures of SHOE, and, with --bounds, how sure they are."""

    protocol: str
    classes: Count
    map: MaybeFraction = UNSET
    map_without_no_interaction: MaybeFraction = UNSET
    map_standard_error: MaybeFraction = UNSET
    tied_share: MaybeFraction = UNSET
    components_share: MaybeFraction = UNSET
    parts: MaybeParts = UNSET
    harmonic_mean: MaybeFraction = UNSET
    above_delta: F1 | UnsetType = UNSET
    tau_readings: dict[str, F1] | UnsetType = UNSET
    map_interval: Span | UnsetType = UNSET
    mf1_interval: Span | UnsetType = UNSET
    unrated_pairs: MaybeCount = UNSET
    raters: Annotated[dict[str, Fraction], Meta(description="SHOE-mAP by each rater alone")] | UnsetType = UNSET


class Words(Closed):
    """How the words of one part of speech fared."""

    words: Count
    dataset_labels: Count
    unresolved: list[str]


class Resolution(Closed):
    """What the similarities of matches rest on, as shares of comparisons."""

    verbs: Words
    objects: Words
    basis: dict[str, Fraction] | UnsetType = UNSET
    rated_share: MaybeFraction = UNSET
    fallback_share: MaybeFraction = UNSET
    learned_share: MaybeFraction = UNSET
    unrated_share: MaybeFraction = UNSET


class Profile(Closed):
    """Facts about the predictions."""

    images_with_predictions: Count
    covered_images: Count
    named_images: Count
    unknown_images: Count
    constant_scores: bool
    repeats: Count
    outside_share: MaybeFraction = UNSET


class Reading(Closed):
    """What one part of a wording was taken to say."""

    word: str
    sense: str
    found_by: str
    similarity: Fraction
    basis: str


class Wording(Closed):
    """One way of saying an interaction, and what it earned."""

    phrases: list[str]
    verb: Reading
    object: Reading
    count: Count
    matched: Count
    earned: Annotated[float, Meta(ge=0)]
    lost: Annotated[float, Meta(ge=0)]
    nearest_class: str
    similarity: Fraction
    compared_with: str


class NearestRange(Closed, rename={"low": "from", "high": "to"}):
    """Unseen classes whose nearest seen class is about as similar: mean average precision by protocol."""

    low: Fraction
    high: Fraction
    classes: Count
    map: dict[str, Fraction]


class Score(Closed):
    """One evaluation."""

    signature: str
    dataset: str
    split: str
    images: Count
    ground_truths: Count
    predictions: Count
    profile: Profile
    strict: Strict | UnsetType = UNSET
    protocols: list[Signed] | UnsetType = UNSET
    roles: list[ByPerson] | UnsetType = UNSET
    semantic: Semantic | UnsetType = UNSET
    resolution: Resolution | UnsetType = UNSET
    by_nearest_seen: list[NearestRange] | UnsetType = UNSET
    order_spans: dict[str, Span] | UnsetType = UNSET
    absent: dict[str, str] | UnsetType = UNSET
    wordings: list[Wording] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET


class AuditFigures(F1, kw_only=True):
    """What an audit looks at under one protocol."""

    map: MaybeFraction = UNSET


class AuditGains(Closed):
    """What an attack adds to each."""

    map: MaybeGain = UNSET
    mf1: MaybeGain = UNSET
    gt_miss_rate: MaybeGain = UNSET
    prediction_miss_rate: MaybeGain = UNSET


class Attacked(Closed):
    """One attack under one protocol."""

    figures: AuditFigures
    gains: AuditGains


class Attack(Closed):
    """One attack."""

    name: str
    about: str
    protocols: dict[str, Attacked]


class Audit(Closed):
    """What attacks on a file would earn."""

    protocols: dict[str, AuditFigures]
    attacks: list[Attack]


class SignedMeans(Means, kw_only=True):
    """A protocol's figures."""

    signature: str


class RuleShare(Gains, kw_only=True):
    """What switching one rule adds, as the mean over all orders of switching."""

    name: str
    before: str
    after: str


class MovedClass(Closed, rename={"name": "class"}):
    """A class under two protocols."""

    name: str
    before: Fraction
    after: Fraction
    rules: dict[str, Gain]


class Difference(Gains, kw_only=True):
    """Two protocols; the shares of rules sum to the difference."""

    before: str
    after: str
    rules: list[RuleShare]
    classes: list[MovedClass]
    left_mean: Count
    entered_mean: Count


class NearDuplicates(Closed):
    """What the ground truth has twice from one IoU on."""

    threshold: Fraction
    humans: Count
    objects: Count
    triplets: Count
    images: Count
    classes: Count
    protocols: dict[str, Means]


class Verdicts(Closed):
    """False positives by what image labels say of their class."""

    in_image: Count
    verified_wrong: Count
    ambiguous: Count
    never_verified: Count


class FalsePositives(Closed):
    """The false positives of one protocol."""

    all: Verdicts
    top: Verdicts
    without_never_verified: Means
    verified_only: Means


class Explain(Closed):
    """Why protocols give different figures."""

    protocols: dict[str, SignedMeans]
    differences: list[Difference]
    near_duplicates: list[NearDuplicates]
    false_positives: dict[str, FalsePositives] | UnsetType = UNSET
