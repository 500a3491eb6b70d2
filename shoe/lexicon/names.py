"""Names of senses as files have them ("ride.v.01"), and their ids in the compiled lexicon.

Inside the package a sense is an id; names are for files, messages and reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints
from shoe.lexicon.keys import keys_in, keys_of
from shoe.lexicon.store import lexicon, per_lexicon


def ids_of(names: Iterable[str]) -> Ints:
    """Look up names of senses, by any of their lemmas: those that WordNet lists first all at once, others one by one.

    Returns:
        (n,) ids in the compiled lexicon; -1 for what is no such name, as "".

    Example:
        >>> names_of(ids_of(["ride.v.01", "rider.n.99"]))
        ['ride.v.01', '']
    """
    listed, store = list(names), lexicon()
    ids = store.key_table.find(keys_of(listed))
    for index in np.flatnonzero(ids < 0).tolist():
        if listed[index]:
            ids[index] = store.synset(listed[index])
    return ids


@per_lexicon(64)
def listed_ids(names: tuple[str, ...]) -> Ints:
    """(n,) ids of names that are asked for again and again, as those of a dataset's classes; see :func:`ids_of`."""
    return ids_of(names)


def ids_in(text: bytes, starts: Indices, ends: Indices) -> Ints:
    """Look up names that stand in a text from (n,) starts to (n,) ends, tens of thousands at once.

    Returns:
        (n,) ids in the compiled lexicon; -1 for what is not WordNet's first name of a sense.
    """
    return lexicon().key_table.find(keys_in(text, starts, ends - starts))


def names_of(ids: NDArray[np.integer] | Sequence[int]) -> list[str]:
    """Return the names of senses, each by the lemma that WordNet lists first; "" for -1."""
    listed = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    name = {sense: lexicon().name(sense) if sense >= 0 else "" for sense in set(listed)}
    return [name[sense] for sense in listed]


def name_ranks(ids: Ints) -> Indices:
    """(n,) numbers that sort and compare as the names of some senses do."""
    distinct = np.flatnonzero(np.bincount(ids, minlength=1))
    rank = np.zeros(len(lexicon()), np.int64)
    rank[sorted(distinct.tolist(), key=lexicon().name)] = np.arange(len(distinct))
    return rank[ids]
