"""Datasets, their files and their splits: in the terminal and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.benchmarks.base import IMAGE_LABELS, Benchmark
from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit
from shoe.benchmarks.summary import DatasetCard, DatasetInfo, DatasetStats, ListedDataset, Published, PublishedSize
from shoe.benchmarks.systematic import PARTS, DatasetSplit
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import many
from shoe.predictions.formats.registry import BONGARD
from shoe.predictions.inventory import Inventory
from shoe.report.text import count, fixed, say, table, words
from shoe.scoring.evidence.facts import nearest_seen
from shoe.similarity import load_similarity

_OF_CLASSES = ("classes", "verbs", "objects")
_SIZES = ("images", "empty_images", "triplets", "classes")


def print_list(datasets: Sequence[ListedDataset], to: Console) -> None:
    """Print a table with one row per dataset."""
    rows = [
        cells(each.name, each.title, *_counts(each, _OF_CLASSES), " ".join(each.class_splits or ()))
        for each in datasets
    ]
    made = table("dataset", "what it is", "classes", "verbs", "objects", "splits of classes", names=2, rows=rows)
    to.print(_fold(made, 1, 5))
    say(to, "shoe dataset info NAME says more; shoe dataset check FOLDER, what you have of it", "dim")


def print_card(card: DatasetCard, to: Console) -> None:
    """Print the description of a dataset, its sizes, and where to get it."""
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
        rows = [cells(name, *_counts(size, _SIZES), size.source) for name, size in published.items()]
        made = table("as published", "images", "without triplets", "triplets", "classes", "source", rows=rows)
        to.print(_fold(made, 5))
    if splits := card.class_splits:
        rows = [
            cells(name, ", ".join(f"{part} {size:,}" for part, size in split.parts.items()), split.about)
            for name, split in splits.items()
        ]
        to.print(_fold(table("split of classes", "classes", "what is held out", names=3, rows=rows), 2))
    if card.files:
        rows = [cells(file.name, file.purpose, file.place) for file in card.files]
        to.print(_fold(table("file", "for", "where to get it", names=3, rows=rows), 1, 2))
    for line in card.notes:
        say(to, line)


def cells(*texts: str) -> list[Text]:
    """Return texts as cells of a row."""
    return [words(text, 300) for text in texts]


def _counts(sizes: ListedDataset | PublishedSize, keys: Sequence[str]) -> list[str]:
    return ["" if (number := getattr(sizes, key)) is None else count(number) for key in keys]


def _fold(made: Table, *columns: int) -> Table:
    for column in columns:
        made.columns[column].no_wrap, made.columns[column].justify = False, "left"
    return made


class SplitPart(Document, frozen=True):
    """Number of classes in a part of a class split."""

    classes: Count
    no_interaction: Count
    rare: Count


class NearestSeen(Document, frozen=True, rename={"unseen": "class"}):
    """An unseen class, and the seen class most similar to it."""

    unseen: str
    seen: str
    similarity: Fraction


class RangeOfSimilarity(Document, frozen=True, rename={"low": "from", "high": "to"}):
    """Number of unseen classes whose similarity to the nearest seen class is in a range."""

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


def class_split_info(benchmark: Benchmark, name: str) -> ClassSplitInfo:
    """Return the parts of a class split, unseen words, and the similarity of unseen classes to the nearest seen."""
    split, classes = benchmark.class_splits[name](), benchmark.classes
    parts = {
        part: SplitPart(*(int(each.sum()) for each in (mask, mask & classes.no_interaction, mask & classes.rare)))
        for part, mask in split.parts.items()
    }
    two = {SEEN, UNSEEN} <= split.parts.keys()
    near = nearest_seen(split, classes, load_similarity(benchmark.similarity))
    pairs = zip(near.unseen, near.seen, near.similarity.tolist(), strict=True) if near else ()
    return ClassSplitInfo(
        name,
        benchmark.name,
        split.about,
        split.source,
        split.digest,
        parts,
        lost_verbs=_lost(classes.verbs, classes.verb, split) if two else None,
        lost_objects=_lost(classes.objects, classes.object, split) if two else None,
        similarity=benchmark.similarity if near else None,
        nearest=[NearestSeen(classes.labels[a], classes.labels[b], round(value, 6)) for a, b, value in pairs]
        if near
        else None,
        by_nearest_seen=[RangeOfSimilarity(each.low, each.high, each.classes) for each in near.by_similarity({})]
        if near
        else None,
    )


def _lost(names: Sequence[str], of_class: NDArray[np.integer], split: ClassSplit) -> list[str]:
    """Return the words of which all classes are unseen, given the word of each class."""
    unseen = np.setdiff1d(of_class[split.parts[UNSEEN]], of_class[split.parts[SEEN]])
    return [names[i] for i in unseen.tolist()]


def print_class_split(described: ClassSplitInfo, to: Console) -> None:
    """Print the description of a class split."""
    say(to, f"{described.split} · {described.dataset} · {described.about}", "bold")
    rows = []
    for name, part in described.parts.items():
        numbers = part.classes, part.no_interaction, part.classes - part.no_interaction, part.rare
        rows.append(cells(name, *map(count, numbers)))
    to.print(table("part", "classes", "no_interaction", "without these", "rare", rows=rows))
    for noun, lost in (("verb", described.lost_verbs), ("object", described.lost_objects)):
        if lost:
            say(to, f"unseen     {many(len(lost), noun)} without a seen class: {', '.join(lost)}")
        elif lost is not None:
            say(to, f"unseen     every {noun} has a seen class")
    if ranges := described.by_nearest_seen:
        text = ", ".join(f"{each.low:g} to {each.high:g}: {each.classes}" for each in ranges)
        title = f"unseen classes by similarity to their nearest seen one ({described.similarity})"
        say(to, f"nearest    {title}: {text}")
    say(to, f"source     {described.source}")
    say(to, f"digest     {described.digest}")


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
"""Row titles of the fields of :class:`~shoe.benchmarks.summary.DatasetInfo`."""
_COORDINATES = {"continuous": "continuous", "pixels_0": "pixel indices from 0", "pixels_1": "pixel indices from 1"}
_LONGEST = 1000


def print_summary(info: DatasetInfo, to: Console) -> None:
    """Print the counts of a ground truth file, and their differences from the published ones."""
    rows = [(name, value) for key, name in _TITLES.items() if (value := getattr(info, key)) is not None]
    rows += [
        ("box pairs as drawn", info.pairs.drawn),
        (f"  merged where both boxes overlap by {info.pairs.merged_at}", info.pairs.merged),
        *(("boxes", f"{_COORDINATES[kind]} ({many(n, 'image')})") for kind, n in info.coordinates.items()),
    ]
    if recounted := info.rare_recounted:
        verdict = "the class table's" if recounted.as_listed else "others than the class table's"
        rows.append(("rare by these triplets (fewer than 10)", f"{recounted.classes}, {verdict}"))
    if published := info.published:
        rows.append((f"published counts of {published.split}", "matches" if published.matches else "differs"))
        for name, pair in published.differs.items():
            rows.append((f"  {_TITLES[name].strip()}", f"{pair.found:,}, published {pair.published:,}"))
        rows.append(("  source", published.source))
    say(to, info.file)
    _print_table(["", ""], rows, to)


def print_statistics(stats: DatasetStats, to: Console) -> None:
    """Print a table each of objects, verbs and classes with their number of triplets and images."""
    for kind, counts in (("objects", stats.objects), ("verbs", stats.verbs)):
        _print_table([kind, "triplets", "images"], [(each.name, each.triplets, each.images) for each in counts], to)
    rows = [(each.name, each.triplets, each.images, "rare" if each.rare else "") for each in stats.classes]
    _print_table(["classes", "triplets", "images", ""], rows, to)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str | int]], to: Console) -> None:
    table = Table(box=box.SIMPLE, show_header=any(header))
    for name in header:
        table.add_column(name, justify="right" if name in ("triplets", "images") else "left")
    for row in rows:
        table.add_row(*(words(f"{cell:,}" if isinstance(cell, int) else cell, _LONGEST) for cell in row))
    to.print(table)


class FoundFile(Document, frozen=True, kw_only=True):
    """A file of a folder."""

    file: str
    kind: str | None = None
    dataset: str | None = None
    format: str | None = None
    holds: str | None = None
    images: Count | None = None
    empty_images: Count | None = None
    triplets: Count | None = None
    classes: Count | None = None
    published: Published | None = None
    problem: str | None = None


class WantedFile(Document, frozen=True):
    """A missing file, and where to get it."""

    name: str
    purpose: str
    place: str


class Missing(Document, frozen=True):
    """A part of a dataset that no file of the folder contains, and the files that contain it."""

    dataset: str
    holds: str
    files: list[WantedFile]


class DatasetCheck(Document, frozen=True):
    """Dataset files of a folder, missing files, and commands for the files that are there."""

    folder: str
    pictures: Count
    files: list[FoundFile]
    missing: list[Missing]
    commands: list[str]


def dataset_check(folder: str, inventory: Inventory, wanted: Sequence[Benchmark]) -> DatasetCheck:
    """Return what an inventory has and lacks of the wanted benchmarks."""
    files = []
    for file in inventory.files:
        counts: dict[str, Any] = file.counts
        files.append(
            FoundFile(
                file=file.path,
                kind=file.kind or None,
                dataset=file.dataset or None,
                format=file.format or None,
                holds=file.holds or None,
                **counts,
                published=file.published,
                problem=file.problem or None,
            )
        )
    missing = [
        Missing(benchmark.name, holds, [WantedFile(file.name, file.purpose, file.place) for file in options])
        for benchmark in wanted
        for holds, options in inventory.missing(benchmark).items()
    ]
    return DatasetCheck(folder, inventory.pictures, files, missing, list(_commands(folder, files)))


def print_inventory(check: DatasetCheck, datasets: Sequence[str], to: Console) -> None:
    """Print the files that a folder has and lacks of some datasets, and the commands that can use them."""
    say(to, f"{check.folder}: {many(len(check.files), 'file')}, {many(check.pictures, 'picture')}", "bold")
    for dataset in datasets:
        say(to, dataset, "bold")
        for file in check.files:
            if file.dataset == dataset:
                say(to, f"you have   {_description(file)}")
        for missing in check.missing:
            if missing.dataset == dataset:
                places = "; or ".join(f"{file.name} from {file.place}" for file in missing.files)
                say(to, f"missing    {missing.holds} ({missing.files[0].purpose}): get {places}")
    for command in check.commands:
        say(to, f"you can    {command}")
    for file in check.files:
        if (file.kind or file.problem) and not file.dataset:
            say(to, f"also       {_description(file)}")
    if others := [file.file for file in check.files if not (file.kind or file.problem or file.dataset)]:
        say(to, f"not read   {', '.join(others)}", "dim")
    if not any(file.dataset or file.kind == BONGARD for file in check.files):
        say(to, "nothing here is a dataset's; shoe dataset list names those that shoe knows")


def _description(file: FoundFile) -> str:
    if file.problem:
        return f"{file.file}, which cannot be read: {file.problem}"
    if file.kind == IMAGE_LABELS:
        return f"{file.file}: {file.holds}"
    if file.kind == BONGARD:
        return f"{file.file}: {BONGARD}, which shoe bongard score answers from predictions"
    counts = f"{many(file.images or 0, 'image')}, {many(file.triplets or 0, 'triplet')} ({file.format or ''})"
    if file.kind == "predictions":
        return f"{file.file}: predictions, {counts}"
    if file.published is None:
        verdict = "nothing published to hold it to"
    elif file.published.matches:
        verdict = "as published"
    else:
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {differs.found:,}, not {differs.published:,}"
            for name, differs in file.published.differs.items()
        )
        verdict = f"not as published: {numbers}; figures on it are none on {file.holds}"
    return f"{file.file}: {file.holds or ''}, {counts}, {verdict}"


def _commands(folder: str, files: Sequence[FoundFile]) -> Iterator[str]:
    """Yield a scoring command for each ground truth file of test images."""
    labels = {file.dataset: file.file for file in files if file.holds == IMAGE_LABELS}
    for file in files:
        holds = file.holds or ""
        if file.kind == "ground truth" and "train" not in holds:
            option = f" --dataset {file.dataset}" if file.dataset != "hico-det" else ""
            truth = shlex.quote(f"{folder}/{file.file}")
            command = f"shoe score PREDICTIONS --ground-truth {truth}{option}"
            yield command
            if file.dataset in labels and "test" in holds:
                path = shlex.quote(f"{folder}/{labels[file.dataset]}")
                yield f"{command} --protocol {file.dataset}-known-object --image-labels {path}"


_COUNTS = ("images", "triplets", "combinations")


def print_split(folder: str, card: DatasetSplit, to: Console) -> None:
    """Print the sizes of a split as in the table of the paper, and the counts of the written files."""
    say(to, f"{folder}: {card.dataset}, split by combinations with seed {card.seed}", "bold")
    made = table("", *(f"{name}, {part}" for name in _COUNTS for part in PARTS))
    for title, parts in (("original", card.original), ("split", card.statistics)):
        numbers = (getattr(parts.get(part), name, None) for name in _COUNTS for part in PARTS)
        made.add_row(title, *("" if number is None else count(number) for number in numbers))
    to.print(made)
    nearest, quartiles, (train, test) = card.nearest, card.nearest.quartiles, (card.statistics[part] for part in PARTS)
    lines = [
        f"both files share {many(card.shared.combinations, 'combination')} and {many(card.shared.images, 'image')}",
        f"{card.combinations.held_out:,} of {card.combinations.all:,} combinations are held out; "
        f"{many(card.dropped_images, 'image')} in neither file",
        f"images without triplets: {train.empty_images:,} in train, {test.empty_images:,} in test",
        *(
            f"{title}: {partners.all} in all, {partners.train} in training images, which lack {partners.absent}"
            for title, partners in (
                ("objects of one verb", card.single.objects_of_one_verb),
                ("verbs of one object", card.single.verbs_of_one_object),
            )
        ),
        f"similarity to the nearest training combination: {fixed(quartiles[0], 2)} to {fixed(quartiles[-1], 2)}, "
        f"mean {fixed(nearest.mean, 2)} ({nearest.similarity})",
    ]
    for line in lines:
        say(to, line)
