"""Schema of ``shoe similarity``."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import (
    Closed,
    Fraction,
    MaybeFraction,
    MaybeText,
    Rating,
)


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
