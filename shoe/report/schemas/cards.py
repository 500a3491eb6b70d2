"""Schemas of ``shoe dataset list``, ``info`` of a dataset or a split of classes, and ``check``."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from shoe.report.schemas.datasets import Published
from shoe.report.schemas.kinds import Closed, Count, Fraction, MaybeCount, MaybeText


class ListedDataset(Closed):
    """A dataset; one that predictions are not scored on has a title and a licence alone."""

    name: str
    title: str
    licence: str
    classes: MaybeCount = UNSET
    verbs: MaybeCount = UNSET
    objects: MaybeCount = UNSET
    class_splits: list[str] | UnsetType = UNSET


class DatasetList(Closed):
    """All datasets."""

    datasets: list[ListedDataset]


class CardFile(Closed):
    """A file and where to get it."""

    name: str
    holds: str
    purpose: str
    place: str


class ClassCounts(Closed):
    """What a class table has."""

    all: Count
    verbs: Count
    objects: Count
    rare: Count
    no_interaction: Count


class PublishedSize(Closed):
    """How large a split is, as published."""

    source: str
    images: MaybeCount = UNSET
    empty_images: MaybeCount = UNSET
    triplets: MaybeCount = UNSET
    classes: MaybeCount = UNSET


class CardSplit(Closed):
    """A split of classes: how many classes each part has."""

    about: str
    digest: str
    parts: dict[str, Count]


class DatasetCard(Closed):
    """A dataset in words and numbers."""

    name: str
    title: str
    papers: list[str]
    licence: str
    files: list[CardFile]
    notes: list[str]
    classes: ClassCounts | UnsetType = UNSET
    published: dict[str, PublishedSize] | UnsetType = UNSET
    class_splits: dict[str, CardSplit] | UnsetType = UNSET


class SplitPart(Closed):
    """A part of a split of classes."""

    classes: Count
    no_interaction: Count
    rare: Count


class NearestSeen(Closed, rename={"unseen": "class"}):
    """An unseen class, and the seen one most similar to it."""

    unseen: str
    seen: str
    similarity: Fraction


class RangeOfSimilarity(Closed, rename={"low": "from", "high": "to"}):
    """How many unseen classes have a nearest seen class about as similar."""

    low: Fraction
    high: Fraction
    classes: Count


class ClassSplitInfo(Closed):
    """A split of a dataset's classes."""

    split: str
    dataset: str
    about: str
    source: str
    digest: str
    parts: dict[str, SplitPart]
    lost_verbs: list[str] | UnsetType = UNSET
    lost_objects: list[str] | UnsetType = UNSET
    similarity: MaybeText = UNSET
    nearest: list[NearestSeen] | UnsetType = UNSET
    by_nearest_seen: list[RangeOfSimilarity] | UnsetType = UNSET


class FoundFile(Closed):
    """A file of a folder."""

    file: str
    kind: MaybeText = UNSET
    dataset: MaybeText = UNSET
    format: MaybeText = UNSET
    holds: MaybeText = UNSET
    images: MaybeCount = UNSET
    empty_images: MaybeCount = UNSET
    triplets: MaybeCount = UNSET
    classes: MaybeCount = UNSET
    published: Published | UnsetType = UNSET
    problem: MaybeText = UNSET


class WantedFile(Closed):
    """A file that is missing, and where to get it."""

    name: str
    purpose: str
    place: str


class Missing(Closed):
    """A part of a dataset that no file holds; one of these files does."""

    dataset: str
    holds: str
    files: list[WantedFile]


class DatasetCheck(Closed):
    """What a folder has of datasets."""

    folder: str
    pictures: Count
    files: list[FoundFile]
    missing: list[Missing]
    commands: list[str]
