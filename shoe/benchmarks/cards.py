"""All datasets that shoe knows: those that predictions are scored on, and others that it reads or builds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.card import Card, read_card

_OTHERS = Path(__file__).with_name("cards")
"""Cards of datasets that are no benchmark: NAME.json."""


def cards() -> dict[str, Card]:
    """Every card by its dataset's name."""
    others = {path.stem: read_card(path) for path in sorted(_OTHERS.glob("*.json"))}
    return {name: benchmark(name).card for name in benchmark_names()} | others


def dataset_list() -> list[dict[str, Any]]:
    """A record for each dataset, in the keys of ``shoe dataset list --json``; one that is no benchmark has no sizes."""
    found = []
    for name, card in cards().items():
        record: dict[str, Any] = {"name": name, "title": card.title, "licence": card.licence}
        if name in benchmark_names():
            of = benchmark(name)
            words = {"verbs": len(of.classes.verbs), "objects": len(of.classes.objects)}
            record |= {"classes": len(of.classes), **words, "class_splits": list(of.class_splits)}
        found.append(record)
    return found


def card_dict(name: str) -> dict[str, Any]:
    """What is known of a dataset, in the keys of ``shoe dataset info NAME --json``."""
    return {"name": name, **asdict(cards()[name]), **(_measured(benchmark(name)) if name in benchmark_names() else {})}


def _measured(of: Benchmark) -> dict[str, Any]:
    classes = of.classes
    splits = {name: load() for name, load in of.class_splits.items()}
    return {
        "classes": {
            "all": len(classes),
            "verbs": len(classes.verbs),
            "objects": len(classes.objects),
            "rare": int(classes.rare.sum()),
            "no_interaction": int(classes.no_interaction.sum()),
        },
        "published": {name: {**known.counts, "source": known.source} for name, known in of.published.items()},
        "class_splits": {
            name: {
                "about": split.about,
                "digest": split.digest,
                "parts": {part: int(mask.sum()) for part, mask in split.parts.items()},
            }
            for name, split in splits.items()
        },
    }
