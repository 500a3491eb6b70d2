"""Names of senses and their ids, one by one and thousands at once."""

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from shoe.lexicon.compiled import KeyTable, keys_in, keys_of
from shoe.lexicon.store import ids_in, ids_of, lexicon, name_ranks, names_of

AT = (0, -1, -3, -5)


def in_a_text(names: list[str]) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64]]:
    """Text with the names between other bytes, and where each name starts and ends."""
    lengths = np.array([len(name.encode()) for name in names], np.int64)
    starts = 1 + np.cumsum(lengths + 2) - lengths - 2
    return b"\xff" + b"\xff\xff".join(name.encode() for name in names), starts, starts + lengths


def test_every_name_of_wordnet_is_found() -> None:
    ids = np.arange(len(lexicon()))
    names = names_of(ids)
    assert len(set(names)) == len(names) == 95_882
    assert ids_in(*in_a_text(names)).tolist() == ids.tolist()
    assert ids_of(names[::97]).tolist() == ids[::97].tolist()
    assert np.array_equal(lexicon().keys, keys_of(names))


@given(st.integers())
def test_names_that_are_none_or_not_the_first_are_not_found(seed: int) -> None:
    rng = np.random.default_rng(abs(seed))
    ids = rng.integers(0, len(lexicon()), 20)
    names = names_of(ids)
    letters = [chr(rng.integers(33, 127)) for _ in names]
    spoilt = [
        *(name[:at] + letter + name[at + 1 :] for name, letter in zip(names, letters, strict=True) for at in AT),
        *(name[:-2] + "00" for name in names),
        *(name + "0" for name in names),
        *("x" * 200 + name for name in names),
        *(f"{lexicon().lemmas(int(sense))[-1]}.{lexicon().pos(int(sense))}.01" for sense in ids),
        *("", ".", ".v.01", "é.v.01"),
    ]
    alone = [int(ids_of([name])[0]) for name in spoilt]
    named = [sense >= 0 and lexicon().name(sense) == name for sense, name in zip(alone, spoilt, strict=True)]
    assert ids_in(*in_a_text(spoilt)).tolist() == np.where(named, alone, -1).tolist()


def test_any_lemma_of_a_sense_names_it_one_by_one() -> None:
    found = names_of(ids_of(["mount.v.05", "ride.v.01", "", "ride", "ride.v.01"]))
    assert found == ["hop_on.v.01", "ride.v.01", "", "", "ride.v.01"]


def test_ranks_sort_as_names_do() -> None:
    ids = np.random.default_rng(0).integers(0, len(lexicon()), 300).astype(np.int32)
    order = np.argsort(name_ranks(ids), kind="stable")
    assert names_of(ids[order]) == sorted(names_of(ids))
    assert name_ranks(ids[:0]).tolist() == []


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=90), max_size=8))
def test_a_key_depends_on_the_name_alone(names: list[str]) -> None:
    text, starts, ends = in_a_text(names)
    alone = [int(keys_of([name])[0]) for name in names]
    assert keys_of(names).tolist() == alone
    assert keys_in(text, starts, ends - starts).tolist() == alone
    assert len(set(alone)) == len(set(names))


@given(st.integers())
def test_a_table_finds_the_keys_that_are_in_it(seed: int) -> None:
    rng = np.random.default_rng(abs(seed))
    keys = np.unique(rng.integers(0, 1 << rng.integers(4, 63), rng.integers(0, 3000)).astype(np.uint64))
    wanted = np.concatenate([rng.permutation(keys), rng.integers(0, 1 << 63, 50).astype(np.uint64)])
    number = {key: index for index, key in enumerate(keys.tolist())}
    assert KeyTable(keys).find(wanted).tolist() == [number.get(key, -1) for key in wanted.tolist()]
