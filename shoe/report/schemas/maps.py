"""Schemas of ``shoe similarity`` and of ``shoe map``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from shoe.report.schemas.kinds import (
    Closed,
    Count,
    Fraction,
    MaybeFraction,
    MaybeText,
    Rating,
)

Correlation = Annotated[float, Meta(ge=-1, le=1)]
MaybeCorrelation = Correlation | UnsetType
MaybeFloat = float | UnsetType


class MapName(Closed):
    """Which map, and how its raters are combined."""

    name: str
    digest: str
    ensemble: MaybeText = UNSET


class Candidate(Closed):
    """A sense that a word may mean, and how similar it is."""

    synset: str
    lemma: str
    reason: str
    value: MaybeFraction = UNSET
    predicted: MaybeFraction = UNSET
    ratings: dict[str, Rating] | UnsetType = UNSET


class ExplainedPart(Closed):
    """A class's sense and a word."""

    part: Literal["verb", "object"]
    class_word: str
    class_synset: str
    word: str
    value: Fraction
    basis: str
    candidates: list[Candidate]
    sense: MaybeText = UNSET


class Combined(Closed):
    """The similarity of whole interactions."""

    combine: str
    weight: Fraction
    value: Fraction


class Similarity(Closed):
    """How similar two words or interactions are, and why."""

    similarity: MapName
    parts: list[ExplainedPart]
    interaction: Combined | UnsetType = UNSET


class Rated(Closed):
    """What a rater gave to pairs of one part of speech; ``histogram`` counts ratings 0 to 4."""

    rated: Count
    missing: Count
    histogram: Annotated[list[Count], Meta(min_length=5, max_length=5)]


class RaterInfo(Closed):
    """One rater of a map."""

    name: str
    model: str
    note: str
    weight: float
    omits: bool
    details: dict[str, Any]
    verbs: Rated
    objects: Rated


class Agreement(Closed):
    """How far two raters agree."""

    raters: list[str]
    pairs: Count
    exact: MaybeFraction = UNSET
    pearson: MaybeCorrelation = UNSET
    quadratic_weighted_kappa: MaybeCorrelation = UNSET


class PartInfo(Closed):
    """The pairs of one part of speech."""

    pairs: Count
    rated_pairs: Count
    class_senses: Count
    agreement: list[Agreement]
    coverage: dict[str, Count] | UnsetType = UNSET
    classes_without_ratings: list[str] | UnsetType = UNSET


class MapInfo(Closed):
    """What a map holds."""

    name: str
    dataset: str
    digest: str
    ensemble: str
    raters: list[RaterInfo]
    verbs: PartInfo
    objects: PartInfo
    provenance: dict[str, Any]
    warnings: list[str]


class MapSide(MapName, kw_only=True):
    """One of two maps."""

    raters: list[str]


class DifferentPair(Closed):
    """A pair of senses that two maps value differently."""

    class_synset: str
    synset: str
    a: Fraction
    b: Fraction
    lemmas: list[str]
    glosses: list[str] | UnsetType = UNSET


class PartDiff(Closed):
    """The pairs of one part of speech in two maps."""

    shared: Count
    only_a: Count
    only_b: Count
    largest: list[DifferentPair]
    pearson: MaybeCorrelation = UNSET
    spearman: MaybeCorrelation = UNSET
    mean_difference: MaybeFloat = UNSET


class ScoredBy(Closed):
    """SHOE under one of two maps."""

    signature: str
    map: MaybeFraction = UNSET
    mf1: MaybeFraction = UNSET


class ClassMove(Closed):
    """A class whose average precision moves."""

    label: str
    ground_truths: Count
    a: Fraction
    b: Fraction


class ScoreDiff(Closed):
    """A file scored under both maps."""

    a: ScoredBy
    b: ScoredBy
    classes: list[ClassMove]


class MapDiff(Closed):
    """Two maps beside each other."""

    a: MapSide
    b: MapSide
    ensemble: str
    verbs: PartDiff
    objects: PartDiff
    score: ScoreDiff | UnsetType = UNSET


class Correlated(Closed):
    """Two raters."""

    raters: list[str]
    pairs: Count
    pearson: MaybeCorrelation = UNSET


class Human(Closed):
    """Agreement with people."""

    pairs: Count
    agreement: MaybeFloat = UNSET
    pearson: MaybeCorrelation = UNSET
    spearman: MaybeCorrelation = UNSET
    among_best: bool | UnsetType = UNSET


class Subset(Closed):
    """Some raters of a map."""

    raters: list[str]
    rated: dict[str, Count]
    map: MaybeFraction = UNSET
    mf1: MaybeFraction = UNSET
    human: dict[str, Human] | UnsetType = UNSET


class Spread(Closed):
    """How a figure varies over subsets."""

    subsets: Count
    mean: float
    lowest: float
    highest: float
    standard_deviation: MaybeFloat = UNSET


class Spreads(Closed):
    """Figures over subsets."""

    map: Spread | UnsetType = UNSET
    mf1: Spread | UnsetType = UNSET
    human_agreement: dict[str, Spread] | UnsetType = UNSET


class Size(Spreads, kw_only=True):
    """The subsets of one size."""

    size: Count
    subsets: Count


class HumanRatings(Closed):
    """How many ratings of people there are."""

    pairs: Count
    ratings: Count


class MapAblate(Closed):
    """What each subset of a map's raters would have made of it."""

    name: str
    digest: str
    ensemble: str
    raters: list[str]
    correlations: dict[str, list[Correlated]]
    subsets: list[Subset]
    sizes: list[Size]
    all_subsets: Spreads
    signature: MaybeText = UNSET
    human: dict[str, HumanRatings] | UnsetType = UNSET
