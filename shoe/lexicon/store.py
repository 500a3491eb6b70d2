"""The lexicon in use: WordNet 3.0, which is shipped, or another one."""

from __future__ import annotations

import copyreg
import hashlib
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError
from shoe.lexicon import ENVIRONMENT
from shoe.lexicon.compiled import Lexicon as Lexicon
from shoe.lexicon.compiled import Pos as Pos

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
    """Load the lexicon shipped with the package, once."""
    return load_lexicon(_FILE)


def load_lexicon(path: str | Path) -> Lexicon:
    """Load a compiled lexicon.

    Raises:
        InputError: for a file that is none, or not as it was built: its digest stands for its content in signatures.
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
    """A compiled lexicon, and after it what tells whether it was cut off or changed."""
    return content + hashlib.sha256(content).digest()


def _pickled(of: Lexicon) -> tuple[Callable[..., Lexicon], tuple[NDArray[np.uint8], ...]]:
    """What another process, maybe without the file, makes the same lexicon of; what is shipped, it has."""
    return (wordnet, ()) if of is wordnet() else (_unpickled, (np.frombuffer(of.content, np.uint8),))


def _unpickled(content: NDArray[np.uint8]) -> Lexicon:
    return Lexicon(content.data, wordnet())


copyreg.pickle(Lexicon, _pickled)


@contextmanager
def using(used: Lexicon) -> Iterator[Lexicon]:
    """Have words looked up in a lexicon, by all that this process does meanwhile."""
    global _in_use
    before = _in_use
    _in_use = used
    try:
        yield used
    finally:
        _in_use = before


def per_lexicon(maxsize: int | None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Keep what a function returned, for each lexicon by itself: its last results, all of them for None."""

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
    """Have a function that reads English look words up in WordNet, whatever lexicon is in use."""

    @wraps(function)
    def read(*arguments: _P.args, **named: _P.kwargs) -> _R:
        if lexicon() is wordnet():
            return function(*arguments, **named)
        with using(wordnet()):
            return function(*arguments, **named)

    return read
