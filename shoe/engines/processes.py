"""Engine ``processes``: worker processes on this machine, started for a job; they exit with their parent."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from threading import Thread
from traceback import format_exc
from typing import IO, Any

from shoe.engines.base import DEATHS, Engine, Job, K, R, S, Work, read_job, repeated_deaths, write_job

_TASKS = 64  # number of keys per process; then a new process replaces it, to free memory that libraries do not release
_SPAWN = get_context("spawn")


class Processes(Engine):
    """Engine with at most ``workers`` processes (start method "spawn"); each process is replaced after 64 keys."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Yield (key, ``work(shared, key)``) in order of completion; ShoeError if three processes die on one key."""
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
                                raise repeated_deaths(left, "the system may have killed them") from None
                            continue
                        if waiting and error is None and worker.sent < _TASKS:
                            worker.send(waiting.popleft())  # before the result is used, so that it is not idle
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
    """A worker process; ``key`` is the key it works on, and ``sent`` the number of keys sent to it so far."""

    def __init__(self, job: IO[bytes], key: Any) -> None:
        self.connection, child_end = _SPAWN.Pipe()
        file: Connection[Any, Any] = Connection(os.dup(job.fileno()))  # pickled as a duplicate of its descriptor
        self._process = _SPAWN.Process(target=_serve, args=(child_end, file), daemon=True)
        # Workers inherit that Ctrl-C is blocked: it has to reach only the command, which then ends its workers.
        resource_tracker.ensure_running()  # if started later, it would unblock signals
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        child_end.close()
        self.sent = 0
        self.send(key)

    def send(self, key: Any) -> None:
        self.sent, self.key = self.sent + 1, key
        with suppress(OSError):  # if the process is dead, receiving its result raises the error
            self.connection.send(key)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection[Any, Any], file: Connection[Any, Any]) -> None:
    Thread(target=_exit_with_parent, daemon=True).start()
    job = read_job(file.fileno())
    with suppress(EOFError, OSError):  # the parent has exited
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
