"""Engines: they apply one function to many keys, in this process or in others."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.core.errors import InputError, OptionError, ShoeError, many, quote
from shoe.lexicon.store import Lexicon, lexicon, using

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
Work = Callable[[S, K], R]
"""Function of the shared data and one key; a module's function, so that workers can import it. It may be called twice
for a key, so it must write the same each time."""

DEATHS = 3
"""Workers that die one after the other of the same key until the key is taken for the cause."""


class Engine(Protocol):
    """Executor of many pieces of work.

    Attributes:
        name: name on the command line.
    """

    name: str

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Yield each key with the result of its work, once and in any order.

        An exception in the work is raised here and ends the iteration. The keys of a worker that dies are done again.

        Args:
            shared: data that all calls get, sent to each worker once; it must not be changed.

        Raises:
            ShoeError: if workers die again and again, or there are no workers.
        """


class Serial:
    """This process, one key after the other."""

    name = "serial"

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        for key in keys:
            yield key, work(shared, key)


SERIAL = Serial()


def deadly(keys: int, why: str) -> ShoeError:
    """Return the error for workers that die one after the other while so many keys are left."""
    return ShoeError(
        f"{DEATHS} workers died one after the other ({why}), {many(keys, 'piece')} of work undone: is there memory?"
    )


# One part of a job of which other processes do the others: which part a piece belongs to follows from its content.

MOST = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a job.

    Attributes:
        number: which one, 1 to ``count``.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "3/16".

        Raises:
            OptionError: for anything else.
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise OptionError(
                f"--shard: found {quote(text)}, expected one part of several, as 3/16 (1/16 is the first)"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """What a folder of its own is called."""
        return f"{self.number}-of-{self.count}"

    def holds(self, hashes: NDArray[np.uint64]) -> Mask:
        """Tell of (n,) hashes of contents which are of this part."""
        found: Mask = hashes % np.uint64(self.count) == np.uint64(self.number - 1)
        return found

    def holds_one(self, digest: bytes) -> bool:
        """Tell whether what has a digest is of this part."""
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


def content_digest(content: bytes) -> bytes:
    """Return 16 bytes that stand for a file's content, whatever it is called."""
    return hashlib.blake2b(content, digest_size=16).digest()


# The job that workers get: the function, the shared data, and the lexicon in use.

_ALIGNMENT = 64
"""Bytes: arrays begin at multiples of this in a file."""


@dataclass(frozen=True, slots=True)
class Job(Generic[S, K, R]):
    """Work that is the same in every process.

    Attributes:
        work: function of the shared data and a key.
        shared: data that all calls get.
        lexicon: lexicon in which words are looked up meanwhile: the one in use where the job is created.
    """

    work: Work[S, K, R]
    shared: S
    lexicon: Lexicon = field(default_factory=lexicon)

    def do(self, key: K) -> R:
        """Return the result for a key."""
        with using(self.lexicon):
            return self.work(self.shared, key)


def write_job(job: Job[Any, Any, Any]) -> IO[bytes]:
    """Write a job into an unnamed file, with its arrays as they are, so that all workers share their memory.

    Raises:
        InputError: if the disk is full.
    """
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(job, 5, buffer_callback=arrays.append)
    spans: list[tuple[int, int]] = []
    try:
        file = TemporaryFile()  # noqa: SIM115 - the caller closes it
        for array in arrays:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            start = file.tell()
            file.write(array.raw())
            spans.append((start, file.tell()))
        start = file.tell()
        pickle.dump((pickled, spans), file)
        file.write(start.to_bytes(8, "little"))
        file.flush()
    except OSError as error:
        found, expected = error.strerror or str(error), "room for what workers share"
        raise InputError(gettempdir(), found=found, expected=expected, hint="TMPDIR names another folder") from None
    return file


def read_job(handle: int) -> Job[Any, Any, Any]:
    """Read the job in a file of :func:`write_job`; its arrays are read-only, and stay in the file."""
    content = memoryview(mmap(handle, 0, access=ACCESS_READ))
    start = int.from_bytes(content[-8:], "little")
    pickled, spans = pickle.loads(content[start:])  # noqa: S301 - this very command wrote it
    job: Job[Any, Any, Any] = pickle.loads(pickled, buffers=[content[a:b] for a, b in spans])  # noqa: S301 - likewise
    return job
