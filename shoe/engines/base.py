"""Base class of engines, which apply one function to many keys; parts of a job (shards), and files for workers."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.core.errors import InputError, OptionError, ShoeError, pluralize, quote
from shoe.lexicon.store import Lexicon, lexicon, use_lexicon

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
Work = Callable[[S, K], R]
"""Function of the shared data and one key, at module level, so that workers can import it. It may be called twice for a
key, so it must write the same output each time."""

DEATHS = 3
"""Number of workers that die while they work on the same key, after which the run ends with an error."""


class Engine:
    """Engine that applies a function to many keys in this process; subclasses distribute the keys over workers."""

    name = "serial"

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Yield (key, ``work(shared, key)``) once per key, in any order; this base class keeps the order of ``keys``.

        Keys are distinct and picklable. ``shared`` is sent to each worker once, and ``work`` must not modify it. An
        exception in ``work`` is raised here and ends the iteration. If a worker dies, its keys are processed again;
        ShoeError is raised if workers die repeatedly, or there are no workers.
        """
        for key in keys:
            yield key, work(shared, key)


SERIAL = Engine()


def repeated_deaths(keys: int, why: str) -> ShoeError:
    """Return the error for workers that die repeatedly, given the number of unfinished keys and the likely reason."""
    unfinished = f"{pluralize(keys, 'piece')} of work unfinished"
    return ShoeError(f"{DEATHS} workers died one after the other ({why}), {unfinished}: check the available memory")


MOST = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``number`` (1 to ``count``) of a job that is divided into ``count`` parts by hashes of its work items."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard for text such as "3/16"; raise OptionError for other text."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise OptionError(
                f"--shard: found {quote(text)}, expected one part of several, such as 3/16 (1/16 is the first)"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """Name of a folder for this shard, for example "3-of-16"."""
        return f"{self.number}-of-{self.count}"

    def holds(self, hashes: NDArray[np.uint64]) -> Mask:
        """Return the (n,) mask of the work items in this shard, given the (n,) hashes of their contents."""
        return np.asarray(hashes % np.uint64(self.count) == np.uint64(self.number - 1))

    def holds_one(self, digest: bytes) -> bool:
        """Return whether a work item is in this shard, given the 16-byte digest of its content."""
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


def content_digest(content: bytes) -> bytes:
    """Return the 16-byte BLAKE2b digest of ``content``."""
    return hashlib.blake2b(content, digest_size=16).digest()


_ALIGNMENT = 64  # arrays start at multiples of this number of bytes in the file of a job


@dataclass(frozen=True, slots=True)
class Job(Generic[S, K, R]):
    """Function, shared data and lexicon (default: the active lexicon) that every worker receives."""

    work: Work[S, K, R]
    shared: S
    lexicon: Lexicon = field(default_factory=lexicon)

    def do(self, key: K) -> R:
        """Return ``work(shared, key)``, computed with the lexicon of the job."""
        with use_lexicon(self.lexicon):
            return self.work(self.shared, key)


def write_job(job: Job[Any, Any, Any]) -> IO[bytes]:
    """Return an unnamed file with a job, whose arrays workers can map into memory; InputError if the disk is full."""
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
        found, expected = error.strerror or str(error), "disk space for the shared data of workers"
        raise InputError(gettempdir(), found=found, expected=expected, hint="set TMPDIR to another folder") from None
    return file


def read_job(handle: int) -> Job[Any, Any, Any]:
    """Return the job in a file of :func:`write_job`, given its file descriptor; arrays are read-only memory maps."""
    content = memoryview(mmap(handle, 0, access=ACCESS_READ))
    start = int.from_bytes(content[-8:], "little")
    pickled, spans = pickle.loads(content[start:])  # noqa: S301 - written by the same command
    job: Job[Any, Any, Any] = pickle.loads(pickled, buffers=[content[a:b] for a, b in spans])  # noqa: S301 - likewise
    return job
