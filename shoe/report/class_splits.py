"""A split of classes, described: its parts, what is wholly unseen, and how near unseen classes are to seen ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.class_splits import SEEN, UNSEEN, ClassSplit
from shoe.core.arrays import Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import many
from shoe.evidence.distance import nearest_seen
from shoe.report.cards import cells
from shoe.report.text import count, say, table
from shoe.similarity import load_similarity


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


def print_split(described: ClassSplitInfo, to: Console) -> None:
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
