"""Small maps for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe.similarity import Rater, SimilarityMap, write_map

Rows = Mapping[str, Sequence[int | None]]
"""{"ride.v.01 straddle.v.01": (3, None)}, verbs and objects together."""

ROWS: Rows = {
    "ride.v.01 straddle.v.01": (3, 2),
    "ride.v.01 board.v.01": (None, 1),
    "ride.v.01 eat.v.01": (0, 0),
    "feed.v.01 ride.v.01": (None, None),
    "horse.n.01 pony.n.01": (4, 3),
    "horse.n.01 dog.n.01": (1, None),
}


def made(
    folder: Path,
    rows: Rows = ROWS,
    raters: Sequence[str] = ("one", "two"),
    dataset: str = "hico-det",
    ensemble: str = "mean",
    **prose: Any,
) -> SimilarityMap:
    """Write a map and load it."""

    def of(pos: str) -> dict[tuple[str, str], Sequence[int | None]]:
        names = ((text.split(), ratings) for text, ratings in rows.items())
        return {(a, b): ratings for (a, b), ratings in names if pos in a}

    write_map(
        folder,
        name=folder.name,
        dataset=dataset,
        raters=[Rater(name, f"model of {name}") for name in raters],
        pairs={"verb": of(".v."), "object": of(".n.")},
        ensemble=ensemble,
        **prose,
    )
    return SimilarityMap.load(folder)
