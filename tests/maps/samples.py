"""Small maps for tests."""

import resource
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.lexicon.senses import POS, Part
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from tests.errors import input_error
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
    folder: Path, rows: Rows = ROWS, raters: Sequence[str] = ("one", "two"), dataset: str = "hico-det",
    ensemble: str = "mean", **prose: Any,
) -> SimilarityMap:  # fmt: skip
    of = [(name.partition(" ")[::2], row) for name, row in rows.items()]
    pairs: dict[Part, Pairs] = {p: {pair: row for pair, row in of if f".{pos}." in pair[0]} for p, pos in POS.items()}
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


@contextmanager
def refused_at(where: str, said: str, **source: Any) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Expect an InputError in one line about "record: field" of a file, with a value in its message."""
    with input_error(**source) as caught:
        yield caught
    error: InputError = caught.value
    message = str(error)
    assert ": ".join(str(part) for part in (error.record, error.field) if part) == where
    assert said in message
    assert "\n" not in message


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that is full as soon as a file has so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
