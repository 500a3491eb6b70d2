"""Engines: they apply one function to many keys, in this process or in others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Protocol, TypeVar

from shoe.core.errors import ShoeError, many

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
            work: function to call.
            keys: distinct, picklable.
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
