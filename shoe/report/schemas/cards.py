"""Schema of ``shoe dataset check``."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from shoe.report.schemas.datasets import Published
from shoe.report.schemas.kinds import Closed, Count, MaybeCount, MaybeText


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
