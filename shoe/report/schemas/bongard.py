"""Schema of ``shoe bongard score``."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import Closed, Count, Fraction, Span


class Outcomes(Closed):
    """How questions ended."""

    right: Count
    nothing_detected: Count
    nothing_left: Count
    missed: Count
    falsely_found: Count


class GroupScore(Closed):
    """How a group was answered."""

    group: str
    concepts: Count
    problems: Count
    accuracy: Fraction
    outcomes: Outcomes
    interval: Span | UnsetType = UNSET


class OracleScore(Closed):
    """How an oracle answered."""

    average: Fraction
    groups: list[GroupScore]
    interval: Span | UnsetType = UNSET


class BongardScore(Closed):
    """What both oracles make of predictions."""

    signature: str
    problems: Count
    concepts: Count
    images: Count
    named_images: Count
    oracle: OracleScore
    soft_oracle: OracleScore
    notes: list[str]
