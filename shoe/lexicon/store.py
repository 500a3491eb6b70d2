"""The lexicon in use: WordNet 3.0, which is shipped, or another one."""

from __future__ import annotations

import copyreg
import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints
from shoe.core.errors import InputError
from shoe.lexicon import ENVIRONMENT
from shoe.lexicon.compiled import Lexicon as Lexicon
from shoe.lexicon.compiled import Pos as Pos
from shoe.lexicon.compiled import keys_in, keys_of

_FILE = Path(__file__).parent / "data" / "wordnet.bin"
MAGIC = b"SHOELEX1"
_SEAL = 32
_P = ParamSpec("_P")
_R = TypeVar("_R")
_in_use: Lexicon | None = None


def lexicon() -> Lexicon:
    """Return the lexicon in use: WordNet 3.0, unless the environment or :func:`using` says otherwise."""
    global _in_use
    if _in_use is None:
        named = os.environ.get(ENVIRONMENT)
        _in_use = load_lexicon(named) if named else wordnet()
    return _in_use


@cache
def wordnet() -> Lexicon:
    """Load the lexicon that is shipped with the package, once."""
    return load_lexicon(_FILE)


def load_lexicon(path: str | Path) -> Lexicon:
    """Load a compiled lexicon.

    Raises:
        InputError: for another kind of file, or a changed one: the digest in signatures must stand for the content.
    """
    try:
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found = "another kind of file"
        if content[: len(MAGIC)] == MAGIC:
            if path != _FILE and content[-_SEAL:] != hashlib.sha256(memoryview(content)[:-_SEAL]).digest():
                raise ValueError
            return Lexicon(content, None if path == _FILE else wordnet())
    except (OSError, ValueError, KeyError, msgspec.DecodeError) as error:
        found = error.strerror or "" if isinstance(error, OSError) else "a file that is cut off or was changed"
    raise InputError(path, found=found, expected="a compiled lexicon", hint="shoe lexicon build makes one")


def sealed(content: bytes) -> bytes:
    """Append a checksum to a compiled lexicon, which shows whether it was cut off or changed."""
    return content + hashlib.sha256(content).digest()


def _pickled(of: Lexicon) -> tuple[Callable[..., Lexicon], tuple[NDArray[np.uint8], ...]]:
    """Reduce a lexicon for another process, which may lack its file; a shipped one is loaded there by name."""
    return (wordnet, ()) if of is wordnet() else (_unpickled, (np.frombuffer(of.content, np.uint8),))


def _unpickled(content: NDArray[np.uint8]) -> Lexicon:
    return Lexicon(content.data, wordnet())


copyreg.pickle(Lexicon, _pickled)


@contextmanager
def using(used: Lexicon) -> Iterator[Lexicon]:
    """Look words up in a lexicon in all of this process, inside a ``with`` block."""
    global _in_use
    before = _in_use
    _in_use = used
    try:
        yield used
    finally:
        _in_use = before


def per_lexicon(maxsize: int | None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Cache the last results of a function separately for each lexicon; all results for None."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def kept(*arguments: _P.args, **named: _P.kwargs) -> _R:
            caches = lexicon().caches
            try:
                found = caches[function]
            except KeyError:
                found = caches[function] = lru_cache(maxsize)(function)
            return cast("_R", found(*arguments, **named))

        return kept

    return decorate


def by_wordnet(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function that reads English so that it uses WordNet whatever lexicon is in use."""

    @wraps(function)
    def read(*arguments: _P.args, **named: _P.kwargs) -> _R:
        if lexicon() is wordnet():
            return function(*arguments, **named)
        with using(wordnet()):
            return function(*arguments, **named)

    return read


# Names of senses as files have them ("ride.v.01"), and their ids in the compiled lexicon.
#
# Inside the package a sense is an id; names are for files, messages and reports.


def ids_of(names: Iterable[str]) -> Ints:
    """Look up names of senses by any of their lemmas: first names all at once, others one by one.

    Returns:
        (n,) ids in the compiled lexicon; -1 for other texts, as "".

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
    """Return (n,) ids of names that are looked up again and again, as a dataset's classes; see :func:`ids_of`."""
    return ids_of(names)


def ids_in(text: bytes, starts: Indices, ends: Indices) -> Ints:
    """Look up tens of thousands of names at once, which stand in a text from (n,) starts to (n,) ends.

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
    """Return (n,) numbers that sort and compare as the senses' names do."""
    distinct = np.flatnonzero(np.bincount(ids, minlength=1))
    rank = np.zeros(len(lexicon()), np.int64)
    rank[sorted(distinct.tolist(), key=lexicon().name)] = np.arange(len(distinct))
    return rank[ids]
