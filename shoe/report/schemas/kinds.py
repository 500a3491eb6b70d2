"""Kinds of values that several schemas have."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Gain = Annotated[float, Meta(ge=-1, le=1, description="difference of fractions")]
Span = Annotated[list[Fraction], Meta(min_length=2, max_length=2, description="lowest and highest")]
Box = Annotated[list[float], Meta(min_length=4, max_length=4, description="x1, y1, x2, y2")]
Rating = Annotated[int, Meta(ge=0, le=4)]

MaybeFraction = Fraction | UnsetType
MaybeGain = Gain | UnsetType
MaybeCount = Count | UnsetType
MaybeText = str | UnsetType


class Closed(Struct, forbid_unknown_fields=True, kw_only=True):
    """An object with these keys and no others."""


class Means(Closed):
    """Mean average precision over all, rare and non-rare classes."""

    map: MaybeFraction = UNSET
    map_rare: MaybeFraction = UNSET
    map_non_rare: MaybeFraction = UNSET


class Gains(Closed):
    """Differences of mean average precision."""

    map: MaybeGain = UNSET
    map_rare: MaybeGain = UNSET
    map_non_rare: MaybeGain = UNSET


class F1(Closed):
    """SHOE-mF1 and the miss rates."""

    mf1: MaybeFraction = UNSET
    gt_miss_rate: MaybeFraction = UNSET
    prediction_miss_rate: MaybeFraction = UNSET


class Part(Closed):
    """A part of a class split: mean average precision, SHOE-mF1 of semantic figures, and classes in the mean."""

    classes: Count
    map: MaybeFraction = UNSET
    mf1: MaybeFraction = UNSET


MaybeParts = dict[str, Part] | UnsetType
