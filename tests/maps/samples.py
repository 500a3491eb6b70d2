"""Small maps for tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe.lexicon.expressions import POS, Part
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from tests.tables import pairs_by_name

Pairs = Mapping[tuple[str, str], Sequence[int | None]]
"""{(class synset, synset): R ratings}, of one part of speech."""

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


def content(table: RatedPairs) -> dict[tuple[str, str], list[int | None]]:
    """Pairs by name, None for no rating."""
    rows = ([None if rating < 0 else rating for rating in row] for row in table.ratings.tolist())
    return dict(zip(table.names(), rows, strict=True))


def made(
    folder: Path,
    rows: Rows = ROWS,
    raters: Sequence[str] = ("one", "two"),
    dataset: str = "hico-det",
    ensemble: str = "mean",
    **prose: Any,
) -> SimilarityMap:
    """Write a map and load it."""

    pairs: dict[Part, Pairs] = {
        part: {(a, b): row for (a, b), row in zip(map(str.split, rows), rows.values(), strict=True) if f".{pos}." in a}
        for part, pos in POS.items()
    }
    return written(folder, pairs, raters, dataset=dataset, ensemble=ensemble, prose=prose)


def written(folder: Path, pairs: Mapping[Part, Pairs], raters: Sequence[str] = ("a",), **options: Any) -> SimilarityMap:
    """Write a map of pairs by name, and load it; a part of speech may be absent."""
    write_map(
        folder,
        dataset=options.pop("dataset", "hico-det"),
        raters=[Rater(name, f"model of {name}") for name in raters],
        pairs={part: pairs_by_name(pairs.get(part, {}), len(raters)) for part in POS},
        **options,
    )
    return SimilarityMap.load(folder)
