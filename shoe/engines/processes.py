"""The engine ``processes``: processes of this machine that are started for a job and never outlive their parent."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import DupFd
from threading import Thread
from traceback import format_exc
from typing import IO, Any

from shoe.engines.base import DEATHS, Job, K, R, S, Work, deadly, read_job, write_job

_TASKS = 64
"""Keys per process until a new process replaces it, which frees the memory that libraries keep for each key."""
_SPAWN = get_context("spawn")


class Processes:
    """Several processes, started afresh (spawn) and replaced from time to time."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        """Take the number of processes."""
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
                        except (EOFError, OSError):  # it died
                            worker.kill()
                            waiting.appendleft(key)
                            deaths[key] += 1
                            if deaths[key] == DEATHS:
                                left = len(waiting) + len(workers)
                                raise deadly(left, "the system may have killed them") from None
                            continue
                        if waiting and error is None and worker.sent < _TASKS:
                            worker.send(waiting.popleft())  # it goes on while its result is used
                            workers[connection] = worker
                        else:
                            worker.kill()
                        if error is not None:
                            raise error
                        yield key, result
            finally:
                for worker in workers.values():
                    worker.kill()


class _Worker:
    """A process that works on one key after the other.

    Attributes:
        key: key that was sent last.
        sent: number of keys that were sent.
    """

    def __init__(self, job: IO[bytes], key: Any) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, _InheritedFile(job.fileno())), daemon=True)
        # Ctrl-C is for the command, which ends its workers: they inherit that it does not reach them.
        resource_tracker.ensure_running()  # which would have signals reach them again
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        self.sent = 0
        self.send(key)

    def send(self, key: Any) -> None:
        """Have the process work on a key."""
        self.sent, self.key = self.sent + 1, key
        with suppress(OSError):  # waiting for the result of a dead process reports its death
            self.connection.send(key)

    def kill(self) -> None:
        """Kill the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class _InheritedFile:
    """Number of an open file that arrives in a spawned process as the number of the same file there."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _detach, (DupFd(self._number),)


def _detach(handle: Any) -> int:
    return int(handle.detach())


def _serve(connection: Connection[Any, Any], file: int) -> None:
    Thread(target=_exit_with_parent, daemon=True).start()
    job = read_job(file)
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            key = connection.recv()
            result: tuple[Any, Exception | None]
            try:
                result = job.do(key), None
            except Exception as error:
                error.add_note(format_exc())
                result = None, error
            connection.send(result)


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
