"""Schemas of ``shoe dataset info`` of a file, ``stats`` and ``split``."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

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


class SplitRules(Closed):
    """How a split was made: the options of ``shoe dataset split``."""

    ratio: Fraction
    verify: str
    draw: str
    mixed: str
    empty: str
    min_similarity: Fraction
    max_similarity: Fraction
    tries: Count


class SplitSource(Closed):
    """A file that was split."""

    file: str
    split: str
    truth_sha: str


class SplitFile(Closed):
    """A file that was written."""

    file: str
    sha256: str


class SplitCounts(Closed):
    """How much a file holds; combinations are distinct pairs of object and verb."""

    images: Count
    empty_images: Count
    triplets: Count
    combinations: Count


class HeldOut(Closed):
    """Combinations that were split, and those that training must not show."""

    all: Count
    held_out: Count


class Shared(Closed):
    """What both files have."""

    combinations: Count
    images: Count


class Partners(Closed):
    """How many have one partner in all, and one or none in training images."""

    all: Count
    train: Count
    absent: Count


class Single(Closed):
    """How many objects are with one verb, and verbs with one object."""

    objects_of_one_verb: Partners
    verbs_of_one_object: Partners


class Nearest(Closed):
    """How similar test combinations are to the most similar one in training, under a map."""

    similarity: str
    mean: Fraction
    quartiles: Annotated[list[Fraction], Meta(min_length=5, max_length=5, description="lowest to highest")]


class DatasetSplit(Closed):
    """The card of a split."""

    shoe: str
    dataset: str
    kind: str
    seed: Count
    tries: Count
    rules: SplitRules
    inputs: dict[str, SplitSource]
    original: dict[str, SplitCounts]
    files: dict[str, SplitFile]
    dropped_images: Count
    statistics: dict[str, SplitCounts]
    combinations: HeldOut
    shared: Shared
    single: Single
    held_out: list[str]
    nearest: Nearest
