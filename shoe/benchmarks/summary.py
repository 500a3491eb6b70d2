"""What a ground truth holds, in numbers: as a whole, and per class, verb and object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark, Card, CardFile, read_card
from shoe.benchmarks.pairs import distinct_pairs, merged, overlapping, repeats
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.documents import Count, Document

# All datasets that shoe knows: those that predictions are scored on, and others that it reads or builds.

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


MERGED_AT = 0.5
FEWEST_OF_NON_RARE = 10
"""Training triplets of a class that is not rare; with fewer it is."""


def sizes(truth: GroundTruth) -> dict[str, int]:
    """Count images, those without triplets, triplets, and classes that have any."""
    table = truth.interactions
    return {
        "images": len(table.images),
        "empty_images": int((np.diff(table.offsets) == 0).sum()),
        "triplets": len(table),
        "classes": int((truth.triplets_per_class > 0).sum()),
    }


def summary(truth: GroundTruth) -> dict[str, Any]:
    """Count what a ground truth holds.

    Returns:
        Plain numbers and texts, in reading order. ``pairs`` counts box pairs, drawn ones and those left when pairs of
        one object class that overlap by 0.5 or more are merged; ``overlapping_triplets`` those that overlap an earlier
        one of their class and image as much, and are therefore likely the same thing annotated twice.
        ``rare_recounted`` is there of training sets: classes that are rare by their counts, and whether they are those
        of the class table; ``published`` if the split is known.
    """
    table, classes = truth.interactions, truth.classes
    present = truth.triplets_per_class > 0
    counts = sizes(truth)
    facts: dict[str, Any] = {
        "format": truth.format,
        "dataset": classes.name,
        "split": truth.split,
        **counts,
        "rare_classes": int((present & classes.rare).sum()),
        "non_rare_classes": int((present & classes.non_rare).sum()),
        "no_interaction_triplets": int(classes.no_interaction[truth.hoi].sum()),
        "pairs": {
            "drawn": distinct_pairs(table),
            "merged": len(np.unique(merged(table, MERGED_AT))),
            "merged_at": MERGED_AT,
        },
        "repeated_triplets": int(repeats(table).sum()),
        "overlapping_triplets": len(np.unique(overlapping(table, truth.hoi, MERGED_AT)[0])),
        "coordinates": {
            kind.name.lower(): int((table.coordinates == kind).sum())
            for kind in Coordinates
            if kind in table.coordinates
        },
    }
    if "train" in truth.split and classes.rare.any():
        recounted = truth.triplets_per_class < FEWEST_OF_NON_RARE
        listed = bool((recounted == classes.rare).all())
        facts["rare_recounted"] = {"classes": int(recounted.sum()), "as_listed": listed}
    if truth.left_out:
        facts["left_out_images"] = len(truth.left_out)
    published = compare(truth.benchmark, truth.split, counts)
    if published is not None:
        facts["published"] = published
    return facts


def compare(of: Benchmark, split: str, counts: Mapping[str, int]) -> dict[str, Any] | None:
    """Hold counts to the published ones.

    Args:
        of: the benchmark.
        split: the split's name, if it can be told.
        counts: at least images, empty_images, triplets and classes of the file.

    Returns:
        The comparison with the split of that name (of "train2015" and "train2015, HAKE" the one of that size), else
        with the one that has as many images and triplets: split, source, whether all matches, and found and published
        numbers of what does not; None if there is no such split.
    """
    size = [counts["images"], counts["triplets"]]
    known = [name for name in of.published if name.partition(",")[0] == split] or list(of.published)
    same_size = (name for name in known if [of.published[name].counts[key] for key in ("images", "triplets")] == size)
    chosen = next(same_size, split if split in of.published else None)
    if chosen is None:
        return None
    published = of.published[chosen]
    differs = {
        name: {"found": counts[name], "published": number}
        for name, number in published.counts.items()
        if counts[name] != number
    }
    return {"split": chosen, "source": published.source, "matches": not differs, "differs": differs}


def statistics(truth: GroundTruth) -> dict[str, list[dict[str, Any]]]:
    """Count triplets and images per class, verb and object; the most frequent first, those without any last."""
    table, classes = truth.interactions, truth.classes
    by_class = _counted(truth, truth.hoi, classes.labels)
    rare = dict(zip(classes.labels, classes.rare.tolist(), strict=True))
    return {
        "classes": [{**row, "rare": rare[row["name"]]} for row in by_class],
        "verbs": _counted(truth, table.verb, classes.verbs),
        "objects": _counted(truth, table.object, classes.objects),
    }


def _counted(truth: GroundTruth, label: NDArray[np.int32], names: Sequence[str]) -> list[dict[str, Any]]:
    triplets = np.bincount(label, minlength=len(names))
    shown = np.unique(np.column_stack([truth.interactions.image, label]), axis=0)
    images = np.bincount(shown[:, 1], minlength=len(names))
    order = np.argsort(-triplets, kind="stable")
    return [{"name": names[i], "triplets": int(triplets[i]), "images": int(images[i])} for i in order]
