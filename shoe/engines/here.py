"""The engines of one machine: this process, or several that are started for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from shoe.engines.base import DEATHS, K, R, S, Work, deadly

_TASKS = 64
"""Keys that a process does before another takes its place: what libraries keep of each is given back."""
_begun: tuple[Work[Any, Any, Any], Any]


class Serial:
    """One key after the other, in this process."""

    name = "serial"

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        for key in keys:
            yield key, work(shared, key)


class Processes:
    """Several processes, each begun anew (spawn), none of them for too long."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        """Take how many there are at once."""
        self._workers = workers

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        left, deaths = dict.fromkeys(keys), 0
        while left:
            some = list(left)[: self._workers * _TASKS]
            workers = min(self._workers, len(some))
            pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(work, shared))
            try:
                doing = {pool.submit(_do, key): key for key in some}
                for done in _as_they_end(doing):
                    result = done.result()
                    key = doing.pop(done)
                    del left[key]
                    deaths = 0
                    yield key, result
            except BrokenProcessPool:
                deaths += 1
                if deaths == DEATHS:
                    raise deadly(len(left), "the system may have killed them") from None
            finally:
                pool.shutdown(cancel_futures=True)


def _as_they_end(doing: dict[Future[R], Any]) -> Iterator[Future[R]]:
    while doing:
        yield from wait(list(doing), return_when=FIRST_COMPLETED).done


def _begin(work: Work[Any, Any, Any], shared: Any) -> None:
    global _begun
    _begun = work, shared


def _do(key: Hashable) -> Any:
    work, shared = _begun
    return work(shared, key)
