"""Tables of predicted ratings: read as written, and looked up cell by cell."""

import hashlib
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.io.files import data_folder
from shoe.lexicon.store import lexicon
from shoe.similarity import SimilarityMap
from shoe.similarity.learned import LearnedPart, learned_bytes, pack_levels, read_learned
from tests.errors import input_error


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
