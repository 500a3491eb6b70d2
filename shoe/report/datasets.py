"""Reports on datasets, their files and their splits, in the terminal and as JSON."""

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
from shoe.benchmarks.summary import DatasetCard, DatasetInfo, DatasetStats, ListedDataset, PublishedSize
from shoe.benchmarks.systematic import PARTS, DatasetSplit
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import pluralize
from shoe.predictions.formats.registry import BONGARD
from shoe.predictions.inventory import FoundFile, Inventory
from shoe.report.text import count, decimals, print_line, print_lines, table, words
from shoe.scoring.evidence.facts import nearest_seen
from shoe.similarity import load_similarity


def print_list(datasets: Sequence[ListedDataset], to: Console) -> None:
    """Print a table with one row per dataset."""
    keys = ("classes", "verbs", "objects")
    rows = (cells(d.name, d.title, *_counts(d, keys), " ".join(d.class_splits or ())) for d in datasets)
    to.print(_fold(table("dataset", "what it is", *keys, "splits of classes", names=2, rows=rows), 1, 5))
    hint = "`shoe dataset info NAME` describes a dataset; `shoe dataset check FOLDER` lists its files in a folder"
    print_line(to, hint, "dim")


def print_card(card: DatasetCard, to: Console) -> None:
    """Print the description and the sizes of a dataset, and where to get its files."""
    print_line(to, f"{card.name} · {card.title}", "bold")
    print_lines(to, (*card.papers, f"licence    {card.licence}"))
    if classes := card.classes:
        parts = f"{classes.verbs:,} verbs, {classes.objects:,} objects, {classes.rare:,} rare"
        print_line(to, f"classes    {classes.all:,}: {parts}, {classes.no_interaction:,} no_interaction")
    if published := card.published:
        keys = ("images", "empty_images", "triplets", "classes")
        rows = [cells(name, *_counts(size, keys), size.source) for name, size in published.items()]
        made = table("as published", "images", "without triplets", "triplets", "classes", "source", rows=rows)
        to.print(_fold(made, 5))
    if splits := card.class_splits:
        sizes = {name: ", ".join(f"{part} {n:,}" for part, n in split.parts.items()) for name, split in splits.items()}
        rows = [cells(name, sizes[name], split.about) for name, split in splits.items()]
        to.print(_fold(table("split of classes", "classes", "what is held out", names=3, rows=rows), 2))
    if card.files:
        rows = [cells(file.name, file.purpose, file.place) for file in card.files]
        to.print(_fold(table("file", "for", "where to get it", names=3, rows=rows), 1, 2))
    print_lines(to, card.notes)


def cells(*texts: str) -> list[Text]:
    """Return texts as table cells, each shortened to 300 characters."""
    return [words(text, 300) for text in texts]


def _counts(sizes: ListedDataset | PublishedSize, keys: Sequence[str]) -> list[str]:
    return ["" if (number := getattr(sizes, key)) is None else count(number) for key in keys]


def _fold(grid: Table, *columns: int) -> Table:
    for column in columns:
        grid.columns[column].no_wrap, grid.columns[column].justify = False, "left"
    return grid


class SplitPart(Document, frozen=True):
    """Numbers of all classes, of no_interaction classes and of rare classes in a part of a class split."""

    classes: Count
    no_interaction: Count
    rare: Count


class NearestSeen(Document, frozen=True, rename={"unseen": "class"}):
    """An unseen class, and the seen class most similar to it."""

    unseen: str
    seen: str
    similarity: Fraction


class RangeOfSimilarity(Document, frozen=True, rename={"low": "from", "high": "to"}):
    """Number of unseen classes with a similarity to the nearest seen class in [``low``, ``high``)."""

    low: Fraction
    high: Fraction
    classes: Count


class ClassSplitInfo(Document, frozen=True):
    """A split of a dataset's classes; fields from ``lost_verbs`` on are None without seen and unseen classes.

    Attributes:
        digest: hash of the classes in each part.
        parts: class counts by part, such as "seen" and "unseen".
        lost_verbs, lost_objects: verbs and objects that occur only in unseen classes.
        nearest: the most similar seen class of each unseen class, under the map ``similarity``.
        by_nearest_seen: number of unseen classes by similarity to their nearest seen class.
    """

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
    """Return the description of the class split ``name`` of a dataset."""
    split, classes = benchmark.class_splits[name](), benchmark.classes
    parts = {
        part: SplitPart(*(int(each.sum()) for each in (mask, mask & classes.no_interaction, mask & classes.rare)))
        for part, mask in split.parts.items()
    }
    found: dict[str, Any] = {}
    if {SEEN, UNSEEN} <= split.parts.keys():
        found["lost_verbs"] = _lost(classes.verbs, classes.verb, split)
        found["lost_objects"] = _lost(classes.objects, classes.object, split)
    if near := nearest_seen(split, classes, load_similarity(benchmark.similarity)):
        pairs = zip(near.unseen, near.seen, near.similarity.tolist(), strict=True)
        found["similarity"] = benchmark.similarity
        found["nearest"] = [NearestSeen(classes.labels[a], classes.labels[b], round(value, 6)) for a, b, value in pairs]
        found["by_nearest_seen"] = [RangeOfSimilarity(r.low, r.high, r.classes) for r in near.by_similarity({})]
    return ClassSplitInfo(name, benchmark.name, split.about, split.source, split.digest, parts, **found)


def _lost(names: Sequence[str], of_class: NDArray[np.integer], split: ClassSplit) -> list[str]:
    return [names[i] for i in np.setdiff1d(of_class[split.parts[UNSEEN]], of_class[split.parts[SEEN]]).tolist()]


def print_class_split(described: ClassSplitInfo, to: Console) -> None:
    """Print the description of a class split."""
    print_line(to, f"{described.split} · {described.dataset} · {described.about}", "bold")
    rows = []
    for name, part in described.parts.items():
        numbers = part.classes, part.no_interaction, part.classes - part.no_interaction, part.rare
        rows.append(cells(name, *map(count, numbers)))
    to.print(table("part", "classes", "no_interaction", "without these", "rare", rows=rows))
    for noun, lost in (("verb", described.lost_verbs), ("object", described.lost_objects)):
        if lost is not None:
            some = f"{pluralize(len(lost), noun)} only in unseen classes: {', '.join(lost)}"
            print_line(to, f"unseen     {some if lost else f'every {noun} is in a seen class'}")
    if ranges := described.by_nearest_seen:
        text = ", ".join(f"{each.low:g} to {each.high:g}: {each.classes}" for each in ranges)
        title = f"number of unseen classes by similarity to their nearest seen class ({described.similarity})"
        print_line(to, f"nearest    {title}: {text}")
    print_lines(to, (f"source     {described.source}", f"digest     {described.digest}"))


_TITLES = {
    "format": "format",
    "dataset": "dataset",
    "split": "split",
    "images": "images",
    "empty_images": "  without triplets",
    "left_out_images": "  left out (triplets point to boxes that are missing)",
    "triplets": "triplets",
    "no_interaction_triplets": "  no_interaction",
    "repeated_triplets": "  exact repeats of an earlier triplet",
    "overlapping_triplets": "  overlapping an earlier triplet of the same class",
    "classes": "classes with triplets",
    "rare_classes": "  rare",
    "non_rare_classes": "  non-rare",
}
"""Row titles of the fields of :class:`~shoe.benchmarks.summary.DatasetInfo`."""
_COORDINATES = {"continuous": "continuous", "pixels_0": "pixel indices from 0", "pixels_1": "pixel indices from 1"}


def print_summary(info: DatasetInfo, to: Console) -> None:
    """Print the counts of a ground truth file, and their differences from the published counts."""
    rows = [(name, value) for key, name in _TITLES.items() if (value := getattr(info, key)) is not None]
    rows += [
        ("annotated box pairs", info.pairs.drawn),
        (f"  merged where both boxes overlap by {info.pairs.merged_at}", info.pairs.merged),
        *(("boxes", f"{_COORDINATES[kind]} ({pluralize(n, 'image')})") for kind, n in info.coordinates.items()),
    ]
    if recounted := info.rare_recounted:
        verdict = "as in the class table" if recounted.as_listed else "not as in the class table"
        rows.append(("rare by these counts (fewer than 10 triplets)", f"{recounted.classes}, {verdict}"))
    if published := info.published:
        rows.append((f"published counts of {published.split}", "matches" if published.matches else "differs"))
        differs = published.differs.items()
        rows += [(f"  {_TITLES[name].strip()}", f"{of.found:,}, published {of.published:,}") for name, of in differs]
        rows.append(("  source", published.source))
    print_line(to, info.file)
    _print_table(["", ""], rows, to)


def print_statistics(stats: DatasetStats, to: Console) -> None:
    """Print the number of triplets and images in three tables: by object, by verb and by class."""
    for kind, counts in (("objects", stats.objects), ("verbs", stats.verbs)):
        _print_table([kind, "triplets", "images"], [(each.name, each.triplets, each.images) for each in counts], to)
    rows = [(each.name, each.triplets, each.images, "rare" if each.rare else "") for each in stats.classes]
    _print_table(["classes", "triplets", "images", ""], rows, to)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str | int]], to: Console) -> None:
    table = Table(box=box.SIMPLE, show_header=any(header))
    for name in header:
        table.add_column(name, justify="right" if name in ("triplets", "images") else "left")
    for row in rows:
        table.add_row(*(words(f"{cell:,}" if isinstance(cell, int) else cell, 1000) for cell in row))
    to.print(table)


class WantedFile(Document, frozen=True):
    """A missing file: its name, its use, and where to get it."""

    name: str
    purpose: str
    place: str


class Missing(Document, frozen=True):
    """A split or other part of a dataset (``holds``) that is missing in a folder; any file in ``files`` contains it."""

    dataset: str
    holds: str
    files: list[WantedFile]


class DatasetCheck(Document, frozen=True):
    """Files in a folder (images are only counted), missing dataset files, and commands that score with the files."""

    folder: str
    pictures: Count
    files: list[FoundFile]
    missing: list[Missing]
    commands: list[str]


def dataset_check(folder: str, inventory: Inventory, wanted: Sequence[Benchmark]) -> DatasetCheck:
    """Return the files in a folder, the missing files of the ``wanted`` benchmarks, and scoring commands."""
    missing = [
        Missing(benchmark.name, holds, [WantedFile(file.name, file.purpose, file.place) for file in options])
        for benchmark in wanted
        for holds, options in inventory.missing(benchmark).items()
    ]
    commands = list(_commands(folder, inventory.files))
    return DatasetCheck(folder, inventory.pictures, [*inventory.files], missing, commands)


def print_inventory(check: DatasetCheck, datasets: Sequence[str], to: Console) -> None:
    """Print the existing and the missing files of each dataset in a folder, scoring commands, and the other files."""
    sizes = f"{pluralize(len(check.files), 'file')}, {pluralize(check.pictures, 'picture')}"
    print_line(to, f"{check.folder}: {sizes}", "bold")
    for dataset in datasets:
        print_line(to, dataset, "bold")
        print_lines(to, (f"you have   {_description(file)}" for file in check.files if file.dataset == dataset))
        for missing in (each for each in check.missing if each.dataset == dataset):
            places = "; or ".join(f"{file.name} from {file.place}" for file in missing.files)
            print_line(to, f"missing    {missing.holds} ({missing.files[0].purpose}): get {places}")
    print_lines(to, (f"you can    {command}" for command in check.commands))
    others = (file for file in check.files if (file.kind or file.problem) and not file.dataset)
    print_lines(to, (f"also       {_description(file)}" for file in others))
    if unread := [file.file for file in check.files if not (file.kind or file.problem or file.dataset)]:
        print_line(to, f"not read   {', '.join(unread)}", "dim")
    if not any(file.dataset or file.kind == BONGARD for file in check.files):
        print_line(to, "no file of a known dataset found; `shoe dataset list` prints the known datasets")


def _description(file: FoundFile) -> str:
    if file.problem:
        return f"{file.file}: cannot be read: {file.problem}"
    if file.kind == IMAGE_LABELS:
        return f"{file.file}: {file.holds}"
    if file.kind == BONGARD:
        return f"{file.file}: {BONGARD}, for `shoe bongard score`"
    counts = f"{pluralize(file.images or 0, 'image')}, {pluralize(file.triplets or 0, 'triplet')} ({file.format or ''})"
    if file.kind == "predictions":
        return f"{file.file}: predictions, {counts}"
    verdict = "no published counts" if file.published is None else "as published"
    if file.published is not None and not file.published.matches:
        pairs = ((name.replace("_", " "), of.found, of.published) for name, of in file.published.differs.items())
        numbers = ", ".join(f"{name} {found:,}, not {published:,}" for name, found, published in pairs)
        verdict = f"not as published: {numbers}; scores on this file are not comparable with scores on {file.holds}"
    return f"{file.file}: {file.holds or ''}, {counts}, {verdict}"


def _commands(folder: str, files: Sequence[FoundFile]) -> Iterator[str]:
    """Yield a scoring command for each ground truth file of test images."""
    labels = {file.dataset: file.file for file in files if file.holds == IMAGE_LABELS}
    for file in (each for each in files if each.kind == "ground truth" and "train" not in (each.holds or "")):
        option = f" --dataset {file.dataset}" if file.dataset != "hico-det" else ""
        command = f"shoe score PREDICTIONS --ground-truth {shlex.quote(f'{folder}/{file.file}')}{option}"
        yield command
        if file.dataset in labels and "test" in (file.holds or ""):
            path = shlex.quote(f"{folder}/{labels[file.dataset]}")
            yield f"{command} --protocol {file.dataset}-known-object --image-labels {path}"


_COUNTS = ("images", "triplets", "combinations")


def print_split(folder: str, card: DatasetSplit, to: Console) -> None:
    """Print a split by verb-object combinations: sizes of training and test set, and what occurs in both."""
    print_line(to, f"{folder}: {card.dataset}, split by combinations with seed {card.seed}", "bold")
    made = table("", *(f"{name}, {part}" for name in _COUNTS for part in PARTS))
    for title, parts in (("original", card.original), ("split", card.statistics)):
        numbers = (getattr(parts.get(part), name, None) for name in _COUNTS for part in PARTS)
        made.add_row(title, *("" if number is None else count(number) for number in numbers))
    to.print(made)
    both = ((card.shared.combinations, "combination"), (card.shared.images, "image"))
    nearest, (train, test) = card.nearest, (card.statistics[part] for part in PARTS)
    lines = [
        f"both files share {' and '.join(pluralize(*each) for each in both)}",
        f"{card.combinations.held_out:,} of {card.combinations.all:,} combinations are held out; "
        f"{pluralize(card.dropped_images, 'image')} in neither file",
        f"images without triplets: {train.empty_images:,} in train, {test.empty_images:,} in test",
    ]
    objects, verbs = card.single.objects_of_one_verb, card.single.verbs_of_one_object
    for title, found in (("objects of one verb", objects), ("verbs of one object", verbs)):
        lines.append(f"{title}: {found.all} in all, {found.train} in training images, {found.absent} missing there")
    ends = " to ".join(decimals(nearest.quartiles[end], 2) for end in (0, -1))
    mean = f"mean {decimals(nearest.mean, 2)} ({nearest.similarity})"
    lines.append(f"similarity to the nearest training combination: {ends}, {mean}")
    print_lines(to, lines)
