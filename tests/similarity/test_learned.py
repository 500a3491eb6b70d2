"""Pairs of senses, ratings that are learned, and ratings that are combined."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import OptionError
from shoe.core.io.files import data_folder
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity import SimilarityMap, combine
from shoe.similarity.ensemble import COMBINATIONS
from shoe.similarity.learned import LearnedPart, learned_bytes, pack_levels, read_learned
from shoe.similarity.pairs import format_table, parse_table
from tests.errors import input_error
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


def made(seed: int, classes: int, senses: int) -> tuple[LearnedPart, np.ndarray]:
    """A table drawn with a seed, and its levels."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 16, (senses, classes))
    ids = np.sort(rng.choice(1000, senses, replace=False)).astype(np.int32)
    ratings = rng.dirichlet(np.ones(5), 16).astype(np.float32)
    some = rng.choice(1000, classes, replace=False).astype(np.int32)
    return LearnedPart(some, ids, pack_levels(levels), ratings, np.zeros(2, np.float32)), levels


@given(seed=st.integers(0, 1 << 20), classes=st.integers(1, 5), senses=st.integers(1, 30))
def test_every_cell_has_its_level(seed: int, classes: int, senses: int) -> None:
    table, levels = made(seed, classes, senses)
    row, column = table.senses.tolist(), table.classes.tolist()
    asked = np.random.default_rng(seed).integers(0, 1000, 40).astype(np.int32)
    asked[:10] = np.resize(table.senses, 10)
    of_class = np.append(np.resize(table.classes, 6), [-1, 1001]).astype(np.int32)
    found = table.levels_of(of_class, asked)
    for c, k in enumerate(of_class.tolist()):
        for s, sense in enumerate(asked.tolist()):
            level = levels[row.index(sense), column.index(k)] if k in column and sense in row else 0
            assert found[c, s] == (level if k in column else -1)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    learned = {"verb": made(1, 3, 9)[0], "object": made(2, 4, 7)[0]}
    content = learned_bytes(learned)  # type: ignore[arg-type]
    (tmp_path / "learned.bin").write_bytes(content)
    found = read_learned(tmp_path / "learned.bin", hashlib.sha256(content).hexdigest())
    for part, table in learned.items():
        for name in LearnedPart.__dataclass_fields__:
            assert np.array_equal(getattr(found[part], name), getattr(table, name))  # type: ignore[index]
    (tmp_path / "learned.bin").write_bytes(content[:-1] + b"\1")
    with input_error("changed content", source=str(tmp_path / "learned.bin")):
        read_learned(tmp_path / "learned.bin", hashlib.sha256(content).hexdigest())


def test_the_shipped_table_is_small_and_covers_what_may_be_said() -> None:
    path = data_folder("similarity_maps") / "hico-det" / "learned.bin"
    assert path.stat().st_size < 3_000_000
    similarity = SimilarityMap.load("hico-det")
    assert similarity.learned is not None
    for part, table in similarity.learned.items():
        assert set(similarity.tables[part].classes) == set(table.classes.tolist())
        assert np.allclose(table.ratings.sum(axis=1), 1, atol=1e-5)
        assert (np.diff(table.ratings @ np.arange(5.0)) >= 0).all()
        first, end = (lexicon().nouns, len(lexicon())) if part == "verb" else (0, lexicon().nouns)
        assert len(table.senses) > 0.3 * (end - first)


UNIT = st.floats(0, 1)


def one(verb: float, object_: float, how: str, weight: float = 0.5) -> float:
    return float(combine(np.array(verb), np.array(object_), how, weight))


@given(UNIT, UNIT, UNIT)
def test_formulas_and_their_order(verb: float, object_: float, weight: float) -> None:
    assert one(verb, object_, "arithmetic", weight) == weight * verb + (1 - weight) * object_
    assert one(verb, object_, "minimum", weight) == min(verb, object_)
    assert one(verb, object_, "geometric", weight) == pytest.approx(verb**weight * object_ ** (1 - weight), rel=1e-14)

    for how in COMBINATIONS:
        assert min(verb, object_) - 1e-12 <= one(verb, object_, how, weight) <= max(verb, object_) + 1e-12
    minimum, geometric, arithmetic = (one(verb, object_, how) for how in ("minimum", "geometric", "arithmetic"))
    assert minimum <= geometric + 1e-12 <= arithmetic + 2e-12


def test_arrays_broadcast() -> None:
    assert combine(np.ones((3, 1)), np.zeros(4), "arithmetic", 0.25).tolist() == [[0.25] * 4] * 3


@pytest.mark.parametrize(("how", "weight"), [("harmonic", 0.5), ("arithmetic", 1.5), ("arithmetic", float("nan"))])
def test_options_outside_their_range(how: str, weight: float) -> None:
    with pytest.raises(OptionError):
        one(1, 1, how, weight)
