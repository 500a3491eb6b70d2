"""A split of classes, described: its parts, what is wholly unseen, and how near unseen classes are to seen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.class_splits import SEEN, UNSEEN, ClassSplit
from shoe.core.arrays import Mask
from shoe.core.errors import many
from shoe.evidence.distance import nearest_seen
from shoe.report.cards import cells
from shoe.report.text import count, say, table
from shoe.similarity import load_similarity


def split_dict(of: Benchmark, name: str) -> dict[str, Any]:
    """Describe a split of a benchmark's classes, in the keys of ``shoe dataset info SPLIT --json``."""
    split, classes = of.class_splits[name](), of.classes
    described: dict[str, Any] = {
        "split": name,
        "dataset": of.name,
        "about": split.about,
        "source": split.source,
        "digest": split.digest,
        "parts": {
            part: {
                "classes": int(mask.sum()),
                "no_interaction": int((mask & classes.no_interaction).sum()),
                "rare": int((mask & classes.rare).sum()),
            }
            for part, mask in split.parts.items()
        },
    }
    if {SEEN, UNSEEN} <= split.parts.keys():
        described["lost_verbs"] = _lost(classes.verbs, classes.verb, split)
        described["lost_objects"] = _lost(classes.objects, classes.object, split)
    if near := nearest_seen(split, classes, load_similarity(of.similarity)):
        described["similarity"] = of.similarity
        described["nearest"] = [
            {"class": classes.labels[unseen], "seen": classes.labels[seen], "similarity": round(similarity, 6)}
            for unseen, seen, similarity in zip(near.unseen, near.seen, near.similarity.tolist(), strict=True)
        ]
        described["by_nearest_seen"] = [
            {"from": each.low, "to": each.high, "classes": each.classes} for each in near.by_similarity({})
        ]
    return described


def _lost(names: Sequence[str], of_class: NDArray[np.integer], split: ClassSplit) -> list[str]:
    """The words all of whose classes are unseen."""

    def there(mask: Mask) -> Mask:
        return np.bincount(of_class[mask], minlength=len(names)) > 0

    return [names[i] for i in np.flatnonzero(there(split.parts[UNSEEN]) & ~there(split.parts[SEEN])).tolist()]


def print_split(described: Mapping[str, Any], to: Console) -> None:
    """Print what :func:`split_dict` says."""
    say(to, f"{described['split']} · {described['dataset']} · {described['about']}", "bold")
    rows = []
    for part, of in described["parts"].items():
        numbers = of["classes"], of["no_interaction"], of["classes"] - of["no_interaction"], of["rare"]
        rows.append(cells(part, *map(count, numbers)))
    to.print(table("part", "classes", "no_interaction", "without these", "rare", rows=rows))
    for noun in ("verb", "object"):
        lost = described.get(f"lost_{noun}s")
        if lost:
            say(to, f"unseen     {many(len(lost), noun)} without a seen class: {', '.join(lost)}")
        elif lost is not None:
            say(to, f"unseen     every {noun} has a seen class")
    if ranges := described.get("by_nearest_seen"):
        shares = ", ".join(f"{each['from']:g} to {each['to']:g}: {each['classes']}" for each in ranges)
        say(
            to,
            f"nearest    unseen classes by similarity to their nearest seen one ({described['similarity']}): {shares}",
        )
    say(to, f"source     {described['source']}")
    say(to, f"digest     {described['digest']}")
