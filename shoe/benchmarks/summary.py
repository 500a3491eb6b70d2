"""Descriptions of all datasets, and counts of ground truth files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark, Card, CardFile, read_card
from shoe.benchmarks.pairs import distinct_pairs, exact_duplicates, merge_pairs, overlapping_triplets
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.documents import Count, Document, Fraction

_OTHERS = Path(__file__).with_name("cards")
"""Folder with the cards of datasets on which predictions are not scored."""


def cards() -> dict[str, Card]:
    """Return the descriptions of all datasets by name, including datasets that shoe cannot score."""
    others = {path.stem: read_card(path) for path in sorted(_OTHERS.glob("*.json"))}
    return {name: benchmark(name).card for name in benchmark_names()} | others


class ListedDataset(Document, frozen=True):
    """A dataset; for datasets that shoe cannot score, only name, title and licence are given."""

    name: str
    title: str
    licence: str
    classes: Count | None = None
    verbs: Count | None = None
    objects: Count | None = None
    class_splits: list[str] | None = None


class DatasetList(Document, frozen=True):
    """All datasets that shoe can describe."""

    datasets: list[ListedDataset]


class ClassCounts(Document, frozen=True):
    """Number of classes, verbs, objects, rare classes and no_interaction classes in a class table."""

    all: Count
    verbs: Count
    objects: Count
    rare: Count
    no_interaction: Count


class PublishedSize(Document, frozen=True, kw_only=True):
    """Published size of a split; None for counts that are not published."""

    images: Count | None = None
    empty_images: Count | None = None
    triplets: Count | None = None
    classes: Count | None = None
    source: str


class CardSplit(Document, frozen=True):
    """A class split, with the number of classes in each part."""

    about: str
    digest: str
    parts: dict[str, Count]


class DatasetCard(Document, frozen=True):
    """Description of a dataset."""

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
    """Return all datasets, with class counts for each dataset on which shoe can score predictions."""
    counts: dict[str, tuple[Any, ...]] = {}
    for data in map(benchmark, benchmark_names()):
        classes = data.classes
        counts[data.name] = len(classes), len(classes.verbs), len(classes.objects), list(data.class_splits)
    listed = (ListedDataset(name, card.title, card.licence, *counts.get(name, ())) for name, card in cards().items())
    return DatasetList(list(listed))


def dataset_card(name: str) -> DatasetCard:
    """Return the description of a dataset in :func:`cards`, with counts if shoe can score predictions on it."""
    card = cards()[name]
    texts = name, card.title, card.papers, card.licence, card.files, card.notes
    if name not in benchmark_names():
        return DatasetCard(*texts)
    data = benchmark(name)
    table, splits = data.classes, {}
    for name_of_split, load in data.class_splits.items():
        split = load()
        parts = {part: int(mask.sum()) for part, mask in split.parts.items()}
        splits[name_of_split] = CardSplit(split.about, split.digest, parts)
    counts = len(table), len(table.verbs), len(table.objects), int(table.rare.sum()), int(table.no_interaction.sum())
    published = {split: PublishedSize(**size.counts, source=size.source) for split, size in data.published.items()}
    return DatasetCard(*texts, ClassCounts(*counts), published, splits)


MERGED_AT = 0.5
"""Minimum IoU of the human boxes and of the object boxes of two box pairs that count as the same pair."""
FEWEST_OF_NON_RARE = 10
"""Minimum number of training triplets of a class that is not rare, as HICO-DET defines it."""


class BoxPairs(Document, frozen=True):
    """Number of annotated box pairs, before and after merging pairs whose IoUs are both at least ``merged_at``."""

    drawn: Count
    merged: Count
    merged_at: Fraction


class Differs(Document, frozen=True):
    """A count that differs: its value in the ground truth file, and the published value."""

    found: Count
    published: Count


class Published(Document, frozen=True):
    """Comparison of a file's counts with the published counts of a split; ``differs`` has the unequal counts."""

    split: str
    source: str
    matches: bool
    differs: dict[str, Differs]


class Recounted(Document, frozen=True):
    """Number of classes with fewer than 10 training triplets, and whether exactly these are rare in the class table."""

    classes: Count
    as_listed: bool


class DatasetInfo(Document, frozen=True, kw_only=True):
    """Numbers of images, triplets, classes and box pairs in a ground truth file; see :func:`summary`."""

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
    rare_recounted: Recounted | None = None
    left_out_images: Count | None = None
    published: Published | None = None


class Counted(Document, frozen=True):
    """Number of triplets and images of a verb or object."""

    name: str
    triplets: Count
    images: Count


class CountedClass(Counted, frozen=True):
    """Number of triplets and images of a class, and whether the class is rare."""

    rare: bool


class DatasetStats(Document, frozen=True):
    """Number of triplets and images per class, verb and object."""

    file: str
    classes: list[CountedClass]
    verbs: list[Counted]
    objects: list[Counted]


def sizes(truth: GroundTruth) -> dict[str, int]:
    """Return {"images", "empty_images" (without triplets), "triplets", "classes" (with triplets): number}."""
    table = truth.interactions
    return {
        "images": len(table.images),
        "empty_images": int((np.diff(table.offsets) == 0).sum()),
        "triplets": len(table),
        "classes": int((truth.triplets_per_class > 0).sum()),
    }


def summary(file: str, truth: GroundTruth) -> DatasetInfo:
    """Return the counts of a ground truth file; ``file`` is the file name to report.

    ``overlapping_triplets``: likely duplicate annotations, with IoUs of at least 0.5 to an earlier triplet of the same
    class and image. ``rare_recounted``: number of classes that are rare by the counts of this file; only for a
    training set, if the class table has rare classes. ``published``: published counts; only for a known split.
    """
    table, classes = truth.interactions, truth.classes
    present = truth.triplets_per_class > 0
    counts: dict[str, Any] = sizes(truth)
    recounted = truth.triplets_per_class < FEWEST_OF_NON_RARE
    rare = Recounted(int(recounted.sum()), bool((recounted == classes.rare).all()))
    return DatasetInfo(
        file=file,
        format=truth.format,
        dataset=classes.name,
        split=truth.split,
        **counts,
        rare_classes=int((present & classes.rare).sum()),
        non_rare_classes=int((present & classes.non_rare).sum()),
        no_interaction_triplets=int(classes.no_interaction[truth.hoi].sum()),
        pairs=BoxPairs(distinct_pairs(table), len(np.unique(merge_pairs(table, MERGED_AT))), MERGED_AT),
        repeated_triplets=int(exact_duplicates(table).sum()),
        overlapping_triplets=len(np.unique(overlapping_triplets(table, truth.hoi, MERGED_AT)[0])),
        coordinates={kind.name.lower(): n for kind in Coordinates if (n := int((table.coordinates == kind).sum()))},
        rare_recounted=rare if "train" in truth.split and classes.rare.any() else None,
        left_out_images=len(truth.left_out) or None,
        published=compare_with_published(truth.benchmark, truth.split, counts),
    )


def compare_with_published(data: Benchmark, split: str, counts: Mapping[str, int]) -> Published | None:
    """Compare the counts of a file, as :func:`sizes` returns them, with the published counts of its split.

    "/" and the text after it are ignored in ``split``. If several published splits have this name ("train2015" and
    "train2015, HAKE"), or if it is unknown, the published split with as many images and triplets as the file is used.
    Returns None if no published split is found by name or by these two counts.
    """
    split, size = split.partition("/")[0], [counts["images"], counts["triplets"]]
    known = [name for name in data.published if name.partition(",")[0] == split] or list(data.published)
    same_size = (name for name in known if [data.published[name].counts[key] for key in ("images", "triplets")] == size)
    chosen = next(same_size, split if split in data.published else None)
    if chosen is None:
        return None
    known_counts, source = data.published[chosen].counts, data.published[chosen].source
    differs = {name: Differs(counts[name], n) for name, n in known_counts.items() if counts[name] != n}
    return Published(chosen, source, not differs, differs)


def statistics(file: str, truth: GroundTruth) -> DatasetStats:
    """Return the number of triplets and images of every class, verb and object, most triplets first, of ``file``."""
    table, classes = truth.interactions, truth.classes
    rare, labels = classes.rare.tolist(), classes.labels
    return DatasetStats(
        file,
        [CountedClass(labels[i], t, m, rare[i]) for i, t, m in _counted(truth, truth.hoi, len(labels))],
        [Counted(classes.verbs[i], t, m) for i, t, m in _counted(truth, table.verb, len(classes.verbs))],
        [Counted(classes.objects[i], t, m) for i, t, m in _counted(truth, table.object, len(classes.objects))],
    )


def _counted(truth: GroundTruth, label: NDArray[np.int32], size: int) -> Iterator[tuple[int, int, int]]:
    """Return (index, number of triplets, number of images) of ``size`` labels, most triplets first."""
    triplets = np.bincount(label, minlength=size)
    images = np.bincount(np.unique(np.column_stack([truth.interactions.image, label]), axis=0)[:, 1], minlength=size)
    order = np.argsort(-triplets, kind="stable")
    return zip(order.tolist(), triplets[order].tolist(), images[order].tolist(), strict=True)
