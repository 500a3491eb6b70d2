"""Datasets in the terminal: the list of them, and one in words and numbers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.benchmarks.base import IMAGE_LABELS, Benchmark
from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit
from shoe.benchmarks.summary import DatasetCard, ListedDataset, PublishedSize
from shoe.core.arrays import Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import many
from shoe.predictions.formats.registry import BONGARD
from shoe.predictions.inventory import Found, Inventory
from shoe.report.text import count, fixed, say, table, words
from shoe.scoring.evidence.facts import nearest_seen
from shoe.similarity import load_similarity

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


# A split of classes, described: its parts, what is wholly unseen, and how near unseen classes are to seen ones.


class SplitPart(Document, frozen=True):
    """A part of a split of classes."""

    classes: Count
    no_interaction: Count
    rare: Count


class NearestSeen(Document, frozen=True, rename={"unseen": "class"}):
    """An unseen class, and the seen one most similar to it."""

    unseen: str
    seen: str
    similarity: Fraction


class RangeOfSimilarity(Document, frozen=True, rename={"low": "from", "high": "to"}):
    """How many unseen classes have a nearest seen class about as similar."""

    low: Fraction
    high: Fraction
    classes: Count


class ClassSplitInfo(Document, frozen=True):
    """A split of a dataset's classes."""

    split: str
    dataset: str
    about: str
    source: str
    digest: str
    parts: dict[str, SplitPart]
    lost_verbs: list[str] | None = None
    lost_objects: list[str] | None = None
    similarity: str | None = None
    nearest: list[NearestSeen] | None = None
    by_nearest_seen: list[RangeOfSimilarity] | None = None


def class_split_info(of: Benchmark, name: str) -> ClassSplitInfo:
    """Describe a split of a benchmark's classes."""
    split, classes = of.class_splits[name](), of.classes
    parts = {
        part: SplitPart(*(int(each.sum()) for each in (mask, mask & classes.no_interaction, mask & classes.rare)))
        for part, mask in split.parts.items()
    }
    two = {SEEN, UNSEEN} <= split.parts.keys()
    near = nearest_seen(split, classes, load_similarity(of.similarity))
    pairs = zip(near.unseen, near.seen, near.similarity.tolist(), strict=True) if near else ()
    return ClassSplitInfo(
        name,
        of.name,
        split.about,
        split.source,
        split.digest,
        parts,
        lost_verbs=_lost(classes.verbs, classes.verb, split) if two else None,
        lost_objects=_lost(classes.objects, classes.object, split) if two else None,
        similarity=of.similarity if near else None,
        nearest=[NearestSeen(classes.labels[a], classes.labels[b], round(value, 6)) for a, b, value in pairs]
        if near
        else None,
        by_nearest_seen=[RangeOfSimilarity(each.low, each.high, each.classes) for each in near.by_similarity({})]
        if near
        else None,
    )


def _lost(names: Sequence[str], of_class: NDArray[np.integer], split: ClassSplit) -> list[str]:
    """The words all of whose classes are unseen."""

    def there(mask: Mask) -> Mask:
        return np.bincount(of_class[mask], minlength=len(names)) > 0

    return [names[i] for i in np.flatnonzero(there(split.parts[UNSEEN]) & ~there(split.parts[SEEN])).tolist()]


def print_class_split(described: ClassSplitInfo, to: Console) -> None:
    """Print a split of classes."""
    say(to, f"{described.split} · {described.dataset} · {described.about}", "bold")
    rows = []
    for part, of in described.parts.items():
        numbers = of.classes, of.no_interaction, of.classes - of.no_interaction, of.rare
        rows.append(cells(part, *map(count, numbers)))
    to.print(table("part", "classes", "no_interaction", "without these", "rare", rows=rows))
    for noun, lost in (("verb", described.lost_verbs), ("object", described.lost_objects)):
        if lost:
            say(to, f"unseen     {many(len(lost), noun)} without a seen class: {', '.join(lost)}")
        elif lost is not None:
            say(to, f"unseen     every {noun} has a seen class")
    if ranges := described.by_nearest_seen:
        shares = ", ".join(f"{each.low:g} to {each.high:g}: {each.classes}" for each in ranges)
        say(
            to,
            f"nearest    unseen classes by similarity to their nearest seen one ({described.similarity}): {shares}",
        )
    say(to, f"source     {described.source}")
    say(to, f"digest     {described.digest}")


# What a ground truth holds, in the terminal.

# Keys of the summary, as they are called in the table.
_TITLES = {
    "format": "format",
    "dataset": "dataset",
    "split": "split",
    "images": "images",
    "empty_images": "  without triplets",
    "left_out_images": "  left out (triplets point to boxes that are missing)",
    "triplets": "triplets",
    "no_interaction_triplets": "  no_interaction",
    "repeated_triplets": "  exact repeats of an earlier one",
    "overlapping_triplets": "  overlapping an earlier one of their class",
    "classes": "classes with triplets",
    "rare_classes": "  rare",
    "non_rare_classes": "  non-rare",
}
_COORDINATES = {"continuous": "continuous", "pixels_0": "pixel indices from 0", "pixels_1": "pixel indices from 1"}
_LONGEST = 1000


def print_summary(title: str, facts: Mapping[str, Any], to: Console) -> None:
    """Print what :func:`shoe.benchmarks.summary.summary` counts."""
    pairs, coordinates = facts["pairs"], facts["coordinates"].items()
    rows = [(name, facts[key]) for key, name in _TITLES.items() if key in facts]
    rows += [
        ("box pairs as drawn", pairs["drawn"]),
        (f"  merged where both boxes overlap by {pairs['merged_at']}", pairs["merged"]),
        *(("boxes", f"{_COORDINATES[kind]} ({many(images, 'image')})") for kind, images in coordinates),
    ]
    if recounted := facts.get("rare_recounted"):
        verdict = "the class table's" if recounted["as_listed"] else "others than the class table's"
        rows.append(("rare by these triplets (fewer than 10)", f"{recounted['classes']}, {verdict}"))
    if published := facts.get("published"):
        verdict = "matches" if published["matches"] else "differs"
        rows.append((f"published counts of {published['split']}", verdict))
        for name, pair in published["differs"].items():
            rows.append((f"  {_TITLES[name].strip()}", f"{pair['found']:,}, published {pair['published']:,}"))
        rows.append(("  source", published["source"]))
    say(to, title)
    _print_table(["", ""], rows, to)


def print_statistics(counts: Mapping[str, Sequence[Mapping[str, Any]]], to: Console) -> None:
    """Print what :func:`shoe.benchmarks.summary.statistics` counts, a table each of objects, verbs and classes."""
    for kind in ("objects", "verbs", "classes"):
        header = [kind, "triplets", "images", *([""] if kind == "classes" else [])]
        rows = [(r["name"], r["triplets"], r["images"], "rare" if r.get("rare") else "") for r in counts[kind]]
        _print_table(header, [row[: len(header)] for row in rows], to)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str | int]], to: Console) -> None:
    table = Table(box=box.SIMPLE, show_header=any(header))
    for name in header:
        table.add_column(name, justify="right" if name in ("triplets", "images") else "left")
    for row in rows:
        table.add_row(*(words(f"{cell:,}" if isinstance(cell, int) else cell, _LONGEST) for cell in row))
    to.print(table)


# What a folder has of a dataset, in the terminal and as JSON.


def inventory_dict(folder: str, found: Inventory, wanted: Sequence[Benchmark]) -> dict[str, Any]:
    """The keys of ``shoe dataset check --json``."""
    return {
        "folder": folder,
        "pictures": found.pictures,
        "files": [_file_dict(file) for file in found.files],
        "missing": [
            {
                "dataset": of.name,
                "holds": holds,
                "files": [{"name": file.name, "purpose": file.purpose, "place": file.place} for file in files],
            }
            for of in wanted
            for holds, files in found.missing(of).items()
        ],
        "commands": list(_commands(folder, found)),
    }


def print_inventory(folder: str, found: Inventory, wanted: Sequence[Benchmark], to: Console) -> None:
    """Print what there is of each dataset wanted, what is missing, and what can be done with it."""
    say(to, f"{folder}: {many(len(found.files), 'file')}, {many(found.pictures, 'picture')}", "bold")
    for of in wanted:
        say(to, of.name, "bold")
        for file in found.files:
            if file.dataset == of.name:
                say(to, f"you have   {_said(file)}")
        for holds, files in found.missing(of).items():
            places = "; or ".join(f"{file.name} from {file.place}" for file in files)
            say(to, f"missing    {holds} ({files[0].purpose}): get {places}")
    for command in _commands(folder, found):
        say(to, f"you can    {command}")
    loose = [file for file in found.files if (file.kind or file.problem) and not file.dataset]
    for file in loose:
        say(to, f"also       {_said(file)}")
    if others := [file.path for file in found.files if not (file.kind or file.problem or file.dataset)]:
        say(to, f"not read   {', '.join(others)}", "dim")
    if not found.datasets and all(file.kind != BONGARD for file in found.files):
        say(to, "nothing here is a dataset's; shoe dataset list names those that shoe knows")


def _said(file: Found) -> str:
    if file.problem:
        return f"{file.path}, which cannot be read: {file.problem}"
    if file.kind == IMAGE_LABELS:
        return f"{file.path}: {file.holds}"
    if file.kind == BONGARD:
        return f"{file.path}: {BONGARD}, which shoe bongard score answers from predictions"
    counts = f"{many(file.counts['images'], 'image')}, {many(file.counts['triplets'], 'triplet')} ({file.format})"
    if file.kind == "predictions":
        return f"{file.path}: predictions, {counts}"
    if file.published is None:
        verdict = "nothing published to hold it to"
    elif file.published["matches"]:
        verdict = "as published"
    else:
        differs = file.published["differs"].items()
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {of['found']:,}, not {of['published']:,}" for name, of in differs
        )
        verdict = f"not as published: {numbers}; figures on it are none on {file.holds}"
    return f"{file.path}: {file.holds}, {counts}, {verdict}"


def _commands(folder: str, found: Inventory) -> Iterator[str]:
    """What can be asked of the files that are there."""
    labels = {file.dataset: file.path for file in found.files if file.holds == IMAGE_LABELS}
    for file in found.files:
        if file.kind == "ground truth" and "train" not in file.holds:
            of = f" --dataset {file.dataset}" if file.dataset != "hico-det" else ""
            truth = shlex.quote(f"{folder}/{file.path}")
            command = f"shoe score PREDICTIONS --ground-truth {truth}{of}"
            yield command
            if file.dataset in labels and "test" in file.holds:
                path = shlex.quote(f"{folder}/{labels[file.dataset]}")
                yield f"{command} --protocol {file.dataset}-known-object --image-labels {path}"


def _file_dict(file: Found) -> dict[str, Any]:
    said = {"kind": file.kind, "dataset": file.dataset, "format": file.format, "holds": file.holds}
    known: dict[str, Any] = {key: value for key, value in said.items() if value} | file.counts
    if file.published is not None:
        known["published"] = file.published
    return {"file": file.path, **known, **({"problem": file.problem} if file.problem else {})}


# A split as it was made, in the terminal.

_COUNTS = ("images", "triplets", "combinations")
_PARTS = ("train", "test")


def print_split(folder: str, card: Mapping[str, Any], to: Console) -> None:
    """Print the table of the paper that describes splits, and what was found to hold in the files."""
    say(to, f"{folder}: {card['dataset']}, split by combinations with seed {card['seed']}", "bold")
    made = table("", *(f"{name}, {part}" for name in _COUNTS for part in _PARTS))
    for name, key in (("original", "original"), ("split", "statistics")):
        cells = (card[key].get(part, {}).get(what) for what in _COUNTS for part in _PARTS)
        made.add_row(name, *("" if cell is None else count(cell) for cell in cells))
    to.print(made)
    shared, single, nearest = card["shared"], card["single"], card["nearest"]
    combinations, low, high = card["combinations"], nearest["quartiles"][0], nearest["quartiles"][-1]
    empty = {part: card["statistics"][part]["empty_images"] for part in _PARTS}
    lines = [
        f"both files share {many(shared['combinations'], 'combination')} and {many(shared['images'], 'image')}",
        f"{combinations['held_out']:,} of {combinations['all']:,} combinations are held out; "
        f"{many(card['dropped_images'], 'image')} in neither file",
        f"images without triplets: {empty['train']:,} in train, {empty['test']:,} in test",
        *(
            f"{what.replace('_', ' ')}: {of['all']} in all, {of['train']} in training images, which lack {of['absent']}"
            for what, of in single.items()
        ),
        f"similarity to the nearest training combination: {fixed(low, 2)} to {fixed(high, 2)}, "
        f"mean {fixed(nearest['mean'], 2)} ({nearest['similarity']})",
    ]
    for line in lines:
        say(to, line)
