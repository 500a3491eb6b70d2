"""A map written from columns is the map written from pairs."""

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.similarity import Rater, SimilarityMap, write_map
from shoe.similarity.ratings import PairColumns, Pairs, format_table

CLASSES, SENSES = ["feed.v.01", "hold.v.02", "ride.v.01"], ["board.v.01", "eat.v.01", "straddle.v.01"]
NAMES = st.tuples(st.sampled_from(CLASSES), st.sampled_from(SENSES))
RATING = st.none() | st.integers(0, 4)


def tables(raters: int) -> st.SearchStrategy[Pairs]:
    return st.dictionaries(NAMES, st.lists(RATING, min_size=raters, max_size=raters))


def columns_of(pairs: Pairs, raters: int) -> PairColumns:
    rows = sorted(pairs.items())
    return PairColumns(
        class_synset=np.array([lexicon().synset(names[0]) for names, _ in rows], np.int32),
        synset=np.array([lexicon().synset(names[1]) for names, _ in rows], np.int32),
        ratings=np.array([[-1 if r is None else r for r in row] for _, row in rows], np.int8).reshape(-1, raters),
    )


@given(st.integers(1, 40).flatmap(lambda raters: st.tuples(st.just(raters), tables(raters))))
def test_the_text_is_the_same(case: tuple[int, Pairs]) -> None:
    raters, pairs = case
    names = [f"r{number}" for number in range(raters)]
    assert format_table(columns_of(pairs, raters), names) == format_table(pairs, names)


def test_the_map_is_the_same_and_says_what_is_told_of_a_rater(tmp_path: Path) -> None:
    pairs: Pairs = {("ride.v.01", "eat.v.01"): [0, None], ("ride.v.01", "board.v.01"): [3, 0]}
    raters = [Rater("a", "m", details={"refused": 2}), Rater("b", "m")]
    both: list[dict[Part, Any]] = [
        {"verb": pairs, "object": {}},
        {"verb": columns_of(pairs, 2), "object": columns_of({}, 2)},
    ]
    for number, tables_ in enumerate(both):
        write_map(tmp_path / str(number), name="toy", dataset="hico-det", raters=raters, pairs=tables_)
    for file in ("map.json", "verbs.tsv", "objects.tsv"):
        assert (tmp_path / "0" / file).read_bytes() == (tmp_path / "1" / file).read_bytes()
    about = SimilarityMap.load(tmp_path / "1").about
    assert about["raters"] == [
        {"name": "a", "model": "m", "note": "", "refused": 2},
        {"name": "b", "model": "m", "note": ""},
    ]
    assert (about["verbs"]["pairs"], about["verbs"]["non_zero"], about["verbs"]["class_synsets"]) == (2, 1, 1)
    assert about["objects"]["pairs"] == 0
