"""Datasets in the terminal: the list of them, and one in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from shoe.benchmarks.cards import DatasetCard, ListedDataset, PublishedSize
from shoe.report.text import count, say, table, words

_OF_CLASSES = ("classes", "verbs", "objects")
_SIZES = ("images", "empty_images", "triplets", "classes")


def print_list(datasets: Sequence[ListedDataset], to: Console) -> None:
    """Print a line for each dataset."""
    rows = [
        cells(each.name, each.title, *_counts(each, _OF_CLASSES), " ".join(each.class_splits or ()))
        for each in datasets
    ]
    made = table("dataset", "what it is", "classes", "verbs", "objects", "splits of classes", names=2, rows=rows)
    for column in (1, 5):
        made.columns[column].no_wrap = False
    made.columns[5].justify = "left"
    to.print(made)
    say(to, "shoe dataset info NAME says more; shoe dataset check FOLDER, what you have of it", "dim")


def print_card(card: DatasetCard, to: Console) -> None:
    """Print what a dataset is, how large, and where to get it."""
    say(to, f"{card.name} · {card.title}", "bold")
    for line in (*card.papers, f"licence    {card.licence}"):
        say(to, line)
    if classes := card.classes:
        say(
            to,
            f"classes    {classes.all:,}: {classes.verbs:,} verbs, {classes.objects:,} objects, "
            f"{classes.rare:,} rare, {classes.no_interaction:,} no_interaction",
        )
    if published := card.published:
        rows = [cells(name, *_counts(known, _SIZES), known.source) for name, known in published.items()]
        made = table("as published", "images", "without triplets", "triplets", "classes", "source", rows=rows)
        _fold(made, 5)
        to.print(made)
    if splits := card.class_splits:
        rows = [
            cells(name, ", ".join(f"{part} {size:,}" for part, size in of.parts.items()), of.about)
            for name, of in splits.items()
        ]
        made = table("split of classes", "classes", "what is held out", names=3, rows=rows)
        _fold(made, 2)
        to.print(made)
    if files := card.files:
        rows = [cells(of.name, of.purpose, of.place) for of in files]
        made = table("file", "for", "where to get it", names=3, rows=rows)
        _fold(made, 1)
        _fold(made, 2)
        to.print(made)
    for line in card.notes:
        say(to, line)


def cells(*texts: str) -> list[Text]:
    """Texts as cells of a row."""
    return [words(text, 300) for text in texts]


def _counts(of: ListedDataset | PublishedSize, keys: Sequence[str]) -> list[str]:
    return ["" if (number := getattr(of, key)) is None else count(number) for key in keys]


def _fold(made: Any, column: int) -> None:
    """Let a column of words take several lines, at the left."""
    made.columns[column].no_wrap = False
    made.columns[column].justify = "left"
