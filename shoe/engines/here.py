"""The engines of one machine: this process, or several that are started for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from shoe.engines.base import DEATHS, K, R, S, Work, deadly
from shoe.engines.job import Job

_TASKS = 64
"""Keys that a process does before another takes its place: what libraries keep of each is given back."""
_begun: Job[Any, Any, Any]


class Processes:
    """Several processes, each begun anew (spawn), none of them for too long."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        """Take how many there are at once."""
        self._workers = workers

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        left, deaths, job = dict.fromkeys(keys), 0, Job(work, shared)
        while left:
            some = list(left)[: self._workers * _TASKS]
            workers = min(self._workers, len(some))
            pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(job,))
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


def _begin(job: Job[Any, Any, Any]) -> None:
    global _begun
    _begun = job


def _do(key: Hashable) -> Any:
    return _begun.do(key)
