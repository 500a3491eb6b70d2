"""What an engine is: one function over many keys, done by whoever there is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Protocol, TypeVar

from shoe.core.errors import ShoeError, many

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
Work = Callable[[S, K], R]
"""What is done for one key; a function of a module, as others import it. It may be done twice for a key, so what it
writes must be the same each time."""

DEATHS = 3
"""Workers that die of a key, one after the other, before it is taken for the cause."""


class Engine(Protocol):
    """Who does the work.

    Attributes:
        name: as the command line has it.
    """

    name: str

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Do the work for each key, at least once, and yield each key with what came of it once, in any order.

        What the work raises is raised here, and ends it. A worker that dies costs nothing but time: its keys are done
        again.

        Args:
            work: what to do.
            keys: distinct, picklable.
            shared: what the work for all keys takes; it is handed to each worker once, which must not change it.

        Raises:
            ShoeError: if workers die again and again, or there are none.
        """


class Serial:
    """One key after the other, in this process."""

    name = "serial"

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        for key in keys:
            yield key, work(shared, key)


SERIAL = Serial()


def deadly(keys: int, why: str) -> ShoeError:
    """What is said where every worker dies."""
    return ShoeError(
        f"{DEATHS} workers died one after the other ({why}), {many(keys, 'piece')} of work undone: is there memory?"
    )
