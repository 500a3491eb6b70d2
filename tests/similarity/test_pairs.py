"""Rated pairs: the one shape of them, and the text that holds them."""

from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st

from shoe.lexicon.store import ids_of
from shoe.similarity.pairs import format_table, parse_table
from tests.maps.samples import Pairs
from tests.tables import pairs_by_name

CLASSES, SENSES = ["feed.v.01", "hold.v.02", "ride.v.01"], ["board.v.01", "eat.v.01", "straddle.v.01"]


def drawn(seed: int, raters: int) -> Pairs:
    """Some pairs in no order, with all kinds of rows of ratings."""
    rng = np.random.default_rng(abs(seed))
    names = [(a, b) for a in CLASSES for b in SENSES if rng.random() < 0.7]
    rows = [[None if r < 0 else r for r in rng.integers(-1, 5, raters).tolist()] for _ in names]
    return {names[i]: rows[i] for i in rng.permutation(len(names)).tolist()}


@given(st.integers(), st.integers(1, 40))
def test_the_text_is_the_pairs_sorted_by_name_and_can_be_read_again(seed: int, raters: int) -> None:
    pairs = drawn(seed, raters)
    columns = [f"r{number}" for number in range(raters)]
    rows = sorted((*names, *("" if r is None else str(r) for r in ratings)) for names, ratings in pairs.items())
    expected = "".join("\t".join(row) + "\n" for row in [("class_synset", "synset", *columns), *rows]).encode()
    made = pairs_by_name(pairs, raters)
    assert format_table(made, columns) == expected
    again = parse_table(expected, Path("verbs.tsv"), columns)
    assert again.names() == made.names() == sorted(pairs)
    np.testing.assert_array_equal(again.ratings, made.ratings)


@given(st.integers())
def test_pairs_are_found_in_any_order(seed: int) -> None:
    pairs = drawn(seed, 2)
    wanted = [(a, b) for a in SENSES + CLASSES for b in SENSES]
    classes, senses = ids_of(a for a, _ in wanted), ids_of(b for _, b in wanted)
    made = pairs_by_name(pairs, 2)
    for some in (made, made[np.random.default_rng(abs(seed)).permutation(len(made))]):
        names = some.names()
        found = [names[row] if row >= 0 else None for row in some.rows_of(classes, senses).tolist()]
        assert found == [pair if pair in pairs else None for pair in wanted]
    by_class = {sense: made.sense[made.class_sense == sense].tolist() for sense in made.class_sense.tolist()}
    assert {sense: made.sense[rows].tolist() for sense, rows in made.classes.items()} == by_class
