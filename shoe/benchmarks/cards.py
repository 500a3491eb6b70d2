"""All datasets that shoe knows: those that predictions are scored on, and others that it reads or builds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.card import Card, CardFile, read_card
from shoe.core.documents import Count, Document

_OTHERS = Path(__file__).with_name("cards")
"""Cards of datasets that are no benchmark: NAME.json."""


def cards() -> dict[str, Card]:
    """Every card by its dataset's name."""
    others = {path.stem: read_card(path) for path in sorted(_OTHERS.glob("*.json"))}
    return {name: benchmark(name).card for name in benchmark_names()} | others


class ListedDataset(Document, frozen=True):
    """A dataset; one that predictions are not scored on has a title and a licence alone."""

    name: str
    title: str
    licence: str
    classes: Count | None = None
    verbs: Count | None = None
    objects: Count | None = None
    class_splits: list[str] | None = None


class DatasetList(Document, frozen=True):
    """All datasets."""

    datasets: list[ListedDataset]


class ClassCounts(Document, frozen=True):
    """What a class table has."""

    all: Count
    verbs: Count
    objects: Count
    rare: Count
    no_interaction: Count


class PublishedSize(Document, frozen=True, kw_only=True):
    """How large a split is, as published."""

    images: Count | None = None
    empty_images: Count | None = None
    triplets: Count | None = None
    classes: Count | None = None
    source: str


class CardSplit(Document, frozen=True):
    """A split of classes: how many classes each part has."""

    about: str
    digest: str
    parts: dict[str, Count]


class DatasetCard(Document, frozen=True):
    """A dataset in words and numbers."""

    name: str
    title: str
    papers: Sequence[str]
    licence: str
    files: Sequence[CardFile]
    notes: Sequence[str]
    classes: ClassCounts | None = None
    published: dict[str, PublishedSize] | None = None
    class_splits: dict[str, CardSplit] | None = None


def dataset_list() -> DatasetList:
    """List all datasets."""
    found = []
    for name, card in cards().items():
        known: tuple[Any, ...] = ()
        if name in benchmark_names():
            of = benchmark(name)
            known = len(of.classes), len(of.classes.verbs), len(of.classes.objects), list(of.class_splits)
        found.append(ListedDataset(name, card.title, card.licence, *known))
    return DatasetList(found)


def dataset_card(name: str) -> DatasetCard:
    """Collect what is known of a dataset."""
    card = cards()[name]
    words = name, card.title, card.papers, card.licence, card.files, card.notes
    if name not in benchmark_names():
        return DatasetCard(*words)
    of = benchmark(name)
    table, splits = of.classes, {split: load() for split, load in of.class_splits.items()}
    rare, no_interaction = int(table.rare.sum()), int(table.no_interaction.sum())
    return DatasetCard(
        *words,
        ClassCounts(len(table), len(table.verbs), len(table.objects), rare, no_interaction),
        {split: PublishedSize(**known.counts, source=known.source) for split, known in of.published.items()},
        {
            split: CardSplit(each.about, each.digest, {part: int(mask.sum()) for part, mask in each.parts.items()})
            for split, each in splits.items()
        },
    )
