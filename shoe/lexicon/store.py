"""Active lexicon of the process: the shipped WordNet 3.0 or another lexicon; names and definitions of its senses."""

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
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon import ENVIRONMENT
from shoe.lexicon.compiled import Lexicon as Lexicon, Pos as Pos, keys_in, keys_of

_FILE = Path(__file__).parent / "data" / "wordnet.bin"
_TEXTS = _FILE.with_name("wordnet_texts.npz")
"""Definitions and sense keys of WordNet 3.0's noun and verb synsets; ``scripts/build-lexicon`` writes the file."""
MAGIC = b"SHOELEX1"
_SEAL = 32
_P = ParamSpec("_P")
_R = TypeVar("_R")
_in_use: Lexicon | None = None


def lexicon() -> Lexicon:
    """Return the active lexicon: WordNet 3.0, unless SHOE_LEXICON or :func:`use_lexicon` selects another lexicon.

    SHOE_LEXICON, the path of a compiled lexicon, is read only at the first call.
    """
    global _in_use
    if _in_use is None:
        named = os.environ.get(ENVIRONMENT)
        _in_use = load_lexicon(named) if named else wordnet()
    return _in_use


@cache
def wordnet() -> Lexicon:
    """Return the shipped lexicon of WordNet 3.0, loaded on first use."""
    return load_lexicon(_FILE)


def load_lexicon(path: str | Path) -> Lexicon:
    """Load a compiled lexicon; InputError for another file, or if the content does not match its checksum."""
    try:
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found = "a file with other content"
        if content[: len(MAGIC)] == MAGIC:
            if path != _FILE and content[-_SEAL:] != hashlib.sha256(memoryview(content)[:-_SEAL]).digest():
                raise ValueError
            return Lexicon(content, None if path == _FILE else wordnet())
    except (OSError, ValueError, KeyError, msgspec.DecodeError) as error:
        found = error.strerror or "" if isinstance(error, OSError) else "a file that is cut off or was changed"
    raise InputError(path, found=found, expected="a compiled lexicon", hint="run `shoe lexicon build` to make one")


def sealed(content: bytes) -> bytes:
    """Return a compiled lexicon with a SHA-256 checksum appended, which detects truncation and changes."""
    return content + hashlib.sha256(content).digest()


def _unpickled(content: NDArray[np.uint8]) -> Lexicon:
    return Lexicon(content.data, wordnet())


# The shipped lexicon is pickled as a call that loads it, other lexicons by their content: an array, which workers map
# into memory instead of copying it (``shoe.engines.base``).
copyreg.pickle(
    Lexicon,
    lambda store: (wordnet, ()) if store is wordnet() else (_unpickled, (np.frombuffer(store.content, np.uint8),)),
)


@contextmanager
def use_lexicon(used: Lexicon) -> Iterator[Lexicon]:
    """Make ``used`` the active lexicon of this process inside a ``with`` block."""
    global _in_use
    before, _in_use = _in_use, used
    try:
        yield used
    finally:
        _in_use = before


def per_lexicon(maxsize: int | None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that caches the last ``maxsize`` results of a function (None: all) per active lexicon."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def cached(*arguments: _P.args, **named: _P.kwargs) -> _R:
            caches = lexicon().caches
            if function not in caches:
                caches[function] = lru_cache(maxsize)(function)
            return cast("_R", caches[function](*arguments, **named))

        return cached

    return decorate


def by_wordnet(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function that parses English so that WordNet is the active lexicon during its calls."""

    @wraps(function)
    def read(*arguments: _P.args, **named: _P.kwargs) -> _R:
        with use_lexicon(wordnet()):
            return function(*arguments, **named)

    return read


# Senses are IDs inside the package; their names ("ride.v.01") are for files, messages and reports.


def ids_of(names: Iterable[str]) -> Ints:
    """Return the (n,) sense IDs of names in the active lexicon; -1 for an unknown name or "".

    A WordNet sense has one name per lemma; all are accepted.

    >>> names_of(ids_of(["ride.v.01", "rider.n.99"]))
    ['ride.v.01', '']
    """
    listed, store = list(names), lexicon()
    ids = store.key_table.find(keys_of(listed))
    for index in np.flatnonzero(ids < 0).tolist():
        if listed[index]:
            ids[index] = store.synset(listed[index])
    return ids


listed_ids: Callable[[tuple[str, ...]], Ints] = per_lexicon(64)(ids_of)
"""Function that returns the IDs of senses as :func:`ids_of` does, cached: for repeated lists of names."""


def ids_in(text: bytes, starts: Indices, ends: Indices) -> Ints:
    """Return the (n,) sense IDs of n names in ``text``, given the first byte and the byte after the end of each name.

    The ID is -1 for a name that :func:`names_of` does not return. Fast for many names.
    """
    return lexicon().key_table.find(keys_in(text, starts, ends - starts))


def names_of(ids: NDArray[np.integer] | Sequence[int]) -> list[str]:
    """Return the names of senses from their IDs; "" for ID -1. A WordNet name uses the sense's first lemma."""
    store, listed = lexicon(), ids.tolist() if isinstance(ids, np.ndarray) else ids
    return [store.name(sense) if sense >= 0 else "" for sense in listed]


def name_ranks(ids: Ints) -> Indices:
    """Return the (n,) ranks, from 0, of senses in the alphabetical order of their names; equal IDs have equal ranks."""
    distinct = np.flatnonzero(np.bincount(ids, minlength=1))
    rank = np.zeros(len(lexicon()), np.int64)
    rank[sorted(distinct.tolist(), key=lexicon().name)] = np.arange(len(distinct))
    return rank[ids]


def glosses(names: list[str]) -> dict[str, str]:
    """Return {name: definition} of noun and verb synsets of the active lexicon, without example sentences.

    If the lexicon has no definition for a synset, the value is "". An unknown name raises OptionError.
    """
    store, found = lexicon(), {}
    for name in names:
        if (synset := store.synset(name)) < 0:
            raise OptionError(f"{quote(name)} is not a sense of {store.title}, such as {store.example()}")
        found[name] = _definitions()[synset] if store.is_wordnet else store.gloss(synset) or ""
    return found


@cache
def sense_keys() -> dict[str, int]:
    """Return {sense key: synset ID} of WordNet; "ride%2:38:00::" has lemma, part of speech, file and lexical ID."""
    with np.load(_TEXTS) as file:
        lexical = file["lexical_id"].tolist()
    base, files = wordnet(), wordnet().arrays["lexname"].tolist()
    members = ((lemma, synset) for synset in range(len(base)) for lemma in base.lemmas(synset))
    return {
        f"{lemma}%{1 if synset < base.nouns else 2}:{files[synset]:02}:{number:02}::": synset
        for (lemma, synset), number in zip(members, lexical, strict=True)
    }


@cache
def _definitions() -> list[str]:
    with np.load(_TEXTS) as file:
        return str(file["gloss"].tobytes(), "utf-8").split("\n")
