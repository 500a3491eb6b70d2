"""Rows of a map, and the map with fewer raters."""

from pathlib import Path

import numpy as np
import pytest

from shoe.similarity import SimilarityMap
from tests.maps.samples import ROWS, content, made


def test_rows_are_what_was_written(tmp_path: Path) -> None:
    similarity = made(tmp_path / "a")
    found = content(similarity.tables["verb"]) | content(similarity.tables["object"])
    assert {" ".join(pair): tuple(ratings) for pair, ratings in found.items()} == ROWS
    values = dict(zip(similarity.tables["verb"].names(), similarity.pair_values("verb").tolist(), strict=True))
    assert np.isnan(values.pop(("feed.v.01", "ride.v.01")))
    rated = {"board.v.01": 0.25, "eat.v.01": 0, "straddle.v.01": 0.625}
    assert values == {("ride.v.01", other): value for other, value in rated.items()}


@pytest.mark.parametrize(("columns", "raters"), [([0], ["one"]), ([1], ["two"]), ([1, 0], ["two", "one"])])
def test_a_map_with_fewer_raters_is_theirs_alone(tmp_path: Path, columns: list[int], raters: list[str]) -> None:
    whole = made(tmp_path / "a")
    alone = made(tmp_path / "b", {pair: [row[c] for c in columns] for pair, row in ROWS.items()}, raters)
    fewer = whole.with_raters(columns)
    for part in whole.tables:
        np.testing.assert_array_equal(fewer.pair_values(part), alone.pair_values(part))
        np.testing.assert_array_equal(fewer.tables[part].ratings, alone.tables[part].ratings)
    assert fewer.ratings("verb", "ride.v.01", "board.v.01") == alone.ratings("verb", "ride.v.01", "board.v.01")
    assert [rater.name for rater in fewer.raters] == raters


def test_fewer_raters_have_another_digest() -> None:
    whole = SimilarityMap.load("hico-det")
    assert len({similarity.digest for similarity in (whole, *(whole.with_raters([c]) for c in range(3)))}) == 4
