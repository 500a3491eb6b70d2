"""Schemas of ``shoe dataset info`` and ``shoe dataset stats``."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import Closed, Count, Fraction, MaybeCount


class BoxPairs(Closed):
    """Box pairs as drawn, and merged where both boxes overlap."""

    drawn: Count
    merged: Count
    merged_at: Fraction


class Differs(Closed):
    """A count that is not the published one."""

    found: Count
    published: Count


class Published(Closed):
    """What was published of a split."""

    split: str
    source: str
    matches: bool
    differs: dict[str, Differs]


class Recounted(Closed):
    """Classes that are rare by the counts of a training set, and whether they are those of the class table."""

    classes: Count
    as_listed: bool


class DatasetInfo(Closed):
    """What a ground truth file holds."""

    file: str
    format: str
    dataset: str
    split: str
    images: Count
    empty_images: Count
    triplets: Count
    classes: Count
    rare_classes: Count
    non_rare_classes: Count
    no_interaction_triplets: Count
    pairs: BoxPairs
    repeated_triplets: Count
    overlapping_triplets: Count
    coordinates: dict[str, Count]
    left_out_images: MaybeCount = UNSET
    rare_recounted: Recounted | UnsetType = UNSET
    published: Published | UnsetType = UNSET


class Counted(Closed):
    """How often a verb or object is there."""

    name: str
    triplets: Count
    images: Count


class CountedClass(Counted, kw_only=True):
    """How often a class is there."""

    rare: bool


class DatasetStats(Closed):
    """How often everything is there."""

    file: str
    classes: list[CountedClass]
    verbs: list[Counted]
    objects: list[Counted]
