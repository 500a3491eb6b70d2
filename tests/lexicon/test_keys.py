"""Keys of synset names; test_names.py shows that all names of WordNet have different ones."""

import numpy as np
from hypothesis import given, strategies as st

from shoe.lexicon.compiled import KeyTable, keys_in, keys_of


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=90), max_size=8))
def test_a_key_depends_on_the_name_alone(names: list[str]) -> None:
    text = b"\xff" + b"\xff\xff".join(name.encode() for name in names)
    lengths = np.array([len(name) for name in names], np.int64)
    starts = 1 + np.cumsum(lengths + 2) - lengths - 2
    alone = [int(keys_of([name])[0]) for name in names]
    assert keys_of(names).tolist() == alone
    assert keys_in(text, starts, lengths).tolist() == alone
    assert len(set(alone)) == len(set(names))


@given(st.integers())
def test_a_table_finds_the_keys_that_are_in_it(seed: int) -> None:
    rng = np.random.default_rng(abs(seed))
    keys = np.unique(rng.integers(0, 1 << rng.integers(4, 63), rng.integers(0, 3000)).astype(np.uint64))
    wanted = np.concatenate([rng.permutation(keys), rng.integers(0, 1 << 63, 50).astype(np.uint64)])
    number = {key: index for index, key in enumerate(keys.tolist())}
    assert KeyTable(keys).find(wanted).tolist() == [number.get(key, -1) for key in wanted.tolist()]
