"""Schemas of the jobs that rate: ``shoe map build`` and ``complete``."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import Closed, Count, Fraction, MaybeText, Span


class Range(Closed):
    """What is likely, and between what it will lie."""

    low: float
    likely: float
    high: float


class RaterEstimate(Closed):
    """What one rater has still to do."""

    name: str
    kind: str
    answered: Count
    pairs: Range
    requests: Range | UnsetType = UNSET
    input_tokens: Range | UnsetType = UNSET
    output_tokens: Range | UnsetType = UNSET
    cost: Range | UnsetType = UNSET
    hours: Range | UnsetType = UNSET


class Estimate(Closed):
    """What a run will take."""

    rows: dict[str, Count]
    questions: dict[str, Count]
    currency: str
    raters: list[RaterEstimate]
    cost: Range
    assumptions: list[str]


class Column(Closed):
    """The answers of one rater, by part and state."""

    name: str
    verbs: dict[str, Count] | UnsetType = UNSET
    objects: dict[str, Count] | UnsetType = UNSET
    interactions: dict[str, Count] | UnsetType = UNSET


class RaterRun(Closed):
    """What asking one rater took."""

    name: str
    requests: Count
    retries: Count
    input_tokens: Count
    output_tokens: Count
    cost: float
    answers: Count
    failures: dict[str, Count]


class BuildRun(Closed):
    """What this run took."""

    requests: Count
    cost: float
    currency: str
    raters: list[RaterRun]
    stopped_by: MaybeText = UNSET


class PartPlan(Closed):
    """What was planned for one part."""

    rule: str
    rows: Count
    questions: Count
    unanswered: Count


class Prefilter(Closed):
    """What one rater's zeros spared the others."""

    rater: str
    zeros: Count
    sample: Count
    seed: int
    disagreement: dict[str, dict[str, Any]]
    share_in_the_paper: Span


class MapBuilt(Closed):
    """A map that was built, or begun."""

    complete: bool
    plan: dict[str, PartPlan]
    columns: list[Column]
    run: BuildRun
    prefilter: dict[str, Prefilter] | UnsetType = UNSET


class BuildEstimate(Closed):
    """With --dry-run."""

    estimate: Estimate


class Round(Closed):
    """A round of a completion."""

    map: Fraction
    map_interval: Span
    matches_interval: Span
    asked: Count
    rated: Count
    unanswered: Count
    requests: Count
    cost: float


class CompletedPairs(Closed):
    """How many pairs were rated, and how many other ways would have asked."""

    rated: Count
    unanswered: Count
    whole_build: Count
    looked_up: Count


class Spent(Closed):
    """What it took."""

    requests: Count
    cost: float


class MapCompleted(Closed):
    """A map completed for a file of predictions."""

    tolerance: Fraction
    why: str
    map: Fraction
    map_interval: Span
    pairs: CompletedPairs
    spent: Spent
    rounds: list[Round]
    out: MaybeText = UNSET


class CompleteEstimate(Closed):
    """With --dry-run."""

    map: Fraction
    map_interval: Span
    estimate: Estimate
