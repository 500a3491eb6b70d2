"""The job that workers get: the function, the shared data, and the lexicon in use."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Generic

from shoe.core.errors import InputError
from shoe.engines.base import K, R, S, Work
from shoe.lexicon.store import Lexicon, lexicon, using

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
