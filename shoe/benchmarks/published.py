"""The published size of each split, so that a file can be held to what its name promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A file's counts against those published for the split that it is taken for.

    Attributes:
        split: the published split.
        source: where its counts are published.
        differs: per count that disagrees, the file's number and the published one; empty if all agree.
    """

    split: str
    source: str
    differs: Mapping[str, tuple[int, int]]


def compare(dataset: str, split: str, counts: Mapping[str, int]) -> Comparison | None:
    """Hold counts to the published ones.

    Args:
        dataset: the dataset's name.
        split: the split's name, if it can be told.
        counts: at least images, empty_images, triplets and classes of the file.

    Returns:
        The comparison with the split of that name, else with the one that has as many images and triplets; None if
        there is neither.
    """
    published = _published().get(dataset, {})
    size = (counts["images"], counts["triplets"])
    same_size = (name for name, p in published.items() if (p["counts"]["images"], p["counts"]["triplets"]) == size)
    chosen = split if split in published else next(same_size, None)
    if chosen is None:
        return None
    expected = published[chosen]["counts"]
    differs = {name: (counts[name], number) for name, number in expected.items() if counts[name] != number}
    return Comparison(chosen, published[chosen]["source"], differs)


@cache
def _published() -> dict[str, dict[str, Any]]:
    data = (_DATA / "published_counts.json").read_bytes()
    published: dict[str, dict[str, Any]] = orjson.loads(data)
    return published
