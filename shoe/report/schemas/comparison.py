"""Schemas of ``shoe compare`` and ``shoe verify``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from shoe.report.schemas.kinds import (
    Closed,
    Count,
    Fraction,
    Gain,
    MaybeCount,
    MaybeFraction,
    MaybeGain,
    MaybeText,
    Span,
)

GainSpan = Annotated[list[float], Meta(min_length=2, max_length=2, description="lowest and highest difference")]
Pair = Annotated[list[str], Meta(min_length=2, max_length=2)]


class Figure(Closed):
    """One figure of one model."""

    value: Fraction
    rank: Count
    interval: Span | UnsetType = UNSET


class Compared(Closed):
    """One model."""

    name: str
    signature: str
    figures: dict[str, Figure]
    predictions: MaybeText = UNSET
    predictions_sha: MaybeText = UNSET
    gain: MaybeGain = UNSET
    raters: dict[str, Fraction] | UnsetType = UNSET
    map_interval: Span | UnsetType = UNSET
    absent: dict[str, str] | UnsetType = UNSET


class Test(Closed):
    """A probability, and the same by Holm's correction."""

    p: Fraction
    adjusted: Fraction


class Tested(Closed):
    """The difference of two models by one figure: the first less the second."""

    models: Pair
    figure: str
    value: Annotated[float, Meta(ge=-1, le=1)]
    bootstrap: Test
    randomisation: Test
    significant: bool
    interval: GainSpan | UnsetType = UNSET


class Ranking(Closed):
    """Whether strict and semantic mAP rank the models alike; ``moved``: pairs that they do not."""

    figures: Pair
    moved: list[Pair]
    tau: Annotated[float, Meta(ge=-1, le=1)] | UnsetType = UNSET


class MovedGroup(Closed):
    """A class, or the classes of a verb or object, under two models: means of average precision."""

    name: str
    classes: Count
    truths: Count
    before: Fraction
    after: Fraction


class Apart(Closed):
    """What sets two models apart, by falling gain of the second."""

    models: Pair
    figure: str
    classes: list[MovedGroup]
    verbs: list[MovedGroup]
    objects: list[MovedGroup]


class Setting(Closed):
    """One choice of the metric changed; ``rater``: one rater of the map alone."""

    option: Literal["weight", "delta", "threshold", "tau", "ensemble", "rater"]
    value: float | str


class SweptSetting(Setting, kw_only=True):
    """The figures of all models under it."""

    asked: bool
    figures: dict[str, dict[str, Fraction]]


class Survival(Closed):
    """Under how many settings two models change places."""

    figure: str
    settings: Count
    changed: list[Setting]
    lowest_tau: Annotated[float, Meta(ge=-1, le=1)] | UnsetType = UNSET


class Sweep(Closed):
    """Every choice varied alone, and whether rankings survive."""

    points: list[SweptSetting]
    rankings: list[Survival]


class Compare(Closed):
    """Models beside each other."""

    models: list[Compared]
    resamples: MaybeCount = UNSET
    seed: MaybeCount = UNSET
    differences: list[Tested] | UnsetType = UNSET
    ranking: Ranking | UnsetType = UNSET
    apart: list[Apart] | UnsetType = UNSET
    sweep: Sweep | UnsetType = UNSET
    unlike: list[str] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET


class VerifiedFigure(Closed):
    """A figure of a run, and what it is now."""

    equal: bool
    run: MaybeFraction = UNSET
    now: MaybeFraction = UNSET


class Mismatch(Closed):
    """What identifies a result and is not as it was."""

    name: str
    run: str
    now: str
    why: str


class Verify(Closed):
    """Whether a published result can be had again."""

    equal: bool
    figures: dict[str, VerifiedFigure]
    reasons: list[str] | UnsetType = UNSET
    mismatches: list[Mismatch] | UnsetType = UNSET


class AveragedReport(Closed):
    """A report that is put together with others."""

    file: str
    split: str
    signature: str
    figures: dict[str, Fraction]


class Average(Closed):
    """Mean and standard deviation over reports."""

    reports: list[AveragedReport]
    mean: dict[str, Fraction]
    standard_deviation: dict[str, Fraction]
    beside: AveragedReport | UnsetType = UNSET
    difference: dict[str, Gain] | UnsetType = UNSET
