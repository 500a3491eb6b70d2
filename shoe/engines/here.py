"""The engine of one machine: processes that are started for a job, and never outlive who started them."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import DupFd
from threading import Thread
from traceback import format_exc
from typing import IO, Any

from shoe.engines.base import DEATHS, K, R, S, Work, deadly
from shoe.engines.job import Job, read_job, write_job

_TASKS = 64
"""Keys that a process does before another takes its place: what libraries keep of each is given back."""
_SPAWN = get_context("spawn")


class Processes:
    """Several processes, each begun anew (spawn), none of them for too long."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        """Take how many there are at once."""
        self._workers = workers

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        waiting, deaths, workers = deque(keys), Counter[K](), dict[Any, _Worker]()
        with write_job(Job(work, shared)) as job:
            try:
                while waiting or workers:
                    while waiting and len(workers) < self._workers:
                        worker = _Worker(job, waiting.popleft())
                        workers[worker.connection] = worker
                    for connection in wait(list(workers)):
                        worker = workers.pop(connection)
                        key = worker.key
                        try:
                            result, error = worker.connection.recv()
                        except (EOFError, OSError):  # it died without a word
                            worker.end()
                            waiting.appendleft(key)
                            deaths[key] += 1
                            if deaths[key] == DEATHS:
                                left = len(waiting) + len(workers)
                                raise deadly(left, "the system may have killed them") from None
                            continue
                        if waiting and error is None and worker.done < _TASKS:
                            worker.hand(waiting.popleft())  # it goes on while its result is taken
                            workers[connection] = worker
                        else:
                            worker.end()
                        if error is not None:
                            raise error
                        yield key, result
            finally:
                for worker in workers.values():
                    worker.end()


class _Worker:
    """A process that does one key after the other.

    Attributes:
        connection: to it.
        key: that it was handed last.
        done: how many it was handed.
    """

    def __init__(self, job: IO[bytes], key: Any) -> None:
        self.connection, there = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(there, _Handle(job.fileno())), daemon=True)
        # Ctrl-C is for the command, which ends its workers: they inherit that it does not reach them.
        resource_tracker.ensure_running()  # which would have signals reach them again
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        there.close()
        self.done = 0
        self.hand(key)

    def hand(self, key: Any) -> None:
        """Have it do a key."""
        self.done, self.key = self.done + 1, key
        with suppress(OSError):  # if it is dead, whoever waits for its result hears of it
            self.connection.send(key)

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class _Handle:
    """Of an open file, which a process that is started has open, too."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (DupFd(self._number),)


def _detached(handle: Any) -> int:
    return int(handle.detach())


def _serve(connection: Connection[Any, Any], job: int) -> None:
    """What a worker does."""
    Thread(target=_end_with_parent, daemon=True).start()
    doing = read_job(job)
    with suppress(EOFError, OSError):  # nobody is there any more
        while True:
            connection.send(_done(doing, connection.recv()))


def _done(job: Job[Any, Hashable, Any], key: Hashable) -> tuple[Any, Exception | None]:
    """The result of a key, or what was raised."""
    try:
        return job.do(key), None
    except Exception as error:
        error.add_note(format_exc())
        return None, error


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it did."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
