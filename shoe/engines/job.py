"""What workers are handed: what to do, what all keys share, and the words by which it is done."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Generic, TypeVar

from shoe.core.errors import InputError
from shoe.lexicon.store import Lexicon, lexicon, using

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
_ALIGNED = 64
"""Bytes: where arrays begin in a file."""


@dataclass(frozen=True, slots=True)
class Job(Generic[S, K, R]):
    """Work that is the same wherever it is done.

    Attributes:
        work: what is done for a key.
        shared: what the work for all keys takes.
        lexicon: in which words are looked up meanwhile: the one in use where the job is made.
    """

    work: Callable[[S, K], R]
    shared: S
    lexicon: Lexicon = field(default_factory=lexicon)

    def do(self, key: K) -> R:
        """Do the work for a key."""
        with using(self.lexicon):
            return self.work(self.shared, key)


def write_job(job: Job[Any, Any, Any]) -> IO[bytes]:
    """Write a job into a file without a name, once for all workers; arrays as they are, for memory that all share.

    Raises:
        InputError: if there is no room for it.
    """
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(job, 5, buffer_callback=arrays.append)
    try:
        file = TemporaryFile()  # noqa: SIM115 - whoever asked for it closes it
        _write(file, pickled, arrays)
    except OSError as error:
        found, expected = error.strerror or str(error), "room for what workers share"
        raise InputError(gettempdir(), found=found, expected=expected, hint="TMPDIR names another folder") from None
    return file


def _write(file: IO[bytes], pickled: bytes, arrays: list[pickle.PickleBuffer]) -> None:
    places: list[tuple[int, int]] = []
    for array in arrays:
        file.write(bytes(-file.tell() % _ALIGNED))
        start = file.tell()
        file.write(array.raw())
        places.append((start, file.tell()))
    start = file.tell()
    pickle.dump((pickled, places), file)
    file.write(start.to_bytes(8, "little"))
    file.flush()


def read_job(handle: int) -> Job[Any, Any, Any]:
    """Read the job in a file of :func:`write_job`; its arrays are read-only, and stay in the file."""
    content = memoryview(mmap(handle, 0, access=ACCESS_READ))
    start = int.from_bytes(content[-8:], "little")
    pickled, places = pickle.loads(content[start:])  # noqa: S301 - this very command wrote it
    job: Job[Any, Any, Any] = pickle.loads(pickled, buffers=[content[a:b] for a, b in places])  # noqa: S301 - likewise
    return job
