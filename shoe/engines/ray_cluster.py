"""Ray clusters: the engine ``ray``, whose tasks run on all machines, and clusters as places for long-lived workers."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from shoe.core.errors import MissingExtraError, OptionError
from shoe.engines.base import DEATHS, Job, K, R, S, Work, deadly
from shoe.engines.ray_connection import Connection, check_address, connected

# Worker lease: the worker exits when heartbeats stop, before others are given its work.
#
# A worker on a machine that is cut off, or whose raylet was killed, would live on for a while and go on paying.

SILENCE = 30.0
"""Seconds without a heartbeat after which a worker exits."""
_LEASE_POLL = 0.1


class Lease:
    """Exits this process, at once and silently, when its parent process has ended or when heartbeats stop.

    The sender returns the worker's own clock to it: ``time = worker.renew(time)``. So a heartbeat that arrives late
    prolongs nothing: ``silence`` seconds after the sender received ``time``, the worker has certainly exited.
    """

    def __init__(self, silence: float) -> None:
        """Begin to watch, in a thread; ``silence`` is in seconds and may be infinite."""
        self._silence, self._parent, self._end = silence, os.getppid(), monotonic() + silence
        Thread(target=self._watch, name="shoe-lease", daemon=True).start()

    def renew(self, time: float | None = None) -> float:
        """Prolong the lease to ``silence`` seconds after ``time``, by this process's clock; return the time now."""
        now = monotonic()
        self._end = max(self._end, (now if time is None else time) + self._silence)
        return now

    def check(self) -> None:
        """Exit this process unless the lease holds; to be called before each request."""
        if os.getppid() != self._parent or monotonic() > self._end:
            os._exit(1)

    def _watch(self) -> None:
        while True:
            self.check()
            sleep(_LEASE_POLL)


def is_locked(path: Path) -> bool:
    """Return whether a process that can be seen from here has locked a file or folder."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(handle)
    return False


_AHEAD = 4
"""Keys that are submitted at a time per core of the cluster."""
_POLL = 0.5


class Ray:
    """Ray tasks, each with one core and one thread; the shared data is put into Ray's object store once."""

    name = "ray"

    def __init__(self, address: str = "") -> None:
        """Take the address of the cluster; see :func:`~shoe.engines.ray_connection.connected`."""
        self.address = address

    def check(self) -> None:
        """Check that Ray is installed and that the address answers; nothing is started.

        Raises:
            MissingExtraError: if Ray is not installed.
            OptionError: if there is nothing at the address.
        """
        if find_spec("ray") is None:
            raise MissingExtraError("--engine ray", "ray")
        check_address(self.address or os.environ.get("RAY_ADDRESS", ""))

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        with connected(self.address) as connection:
            ray = connection.ray
            job = [ray.put(Job(work, shared))]  # in a list, because Ray would replace the reference by its value
            task = ray.remote(num_cpus=1, max_retries=DEATHS - 1)(_run).options(name=f"shoe {work.__name__}")
            most = _AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
            waiting, running = iter(keys), dict[Any, K]()
            while True:
                while len(running) < most and (key := next(waiting, None)) is not None:
                    running[task.remote(job, key)] = key
                if not running:
                    return
                connection.check()
                for done in ray.wait(list(running), timeout=_POLL)[0]:
                    try:
                        result = ray.get(done)
                    except ray.exceptions.RayTaskError as error:
                        raise error.cause from None
                    except ray.exceptions.RayError as error:
                        connection.check()
                        raise deadly(len(running), type(error).__name__) from None
                    yield running.pop(done), result


_latest: tuple[Any, Any] = None, None


def _run(reference: list[Any], key: Hashable) -> Any:
    """Do the work for a key. The worker process remembers the latest job, because reading it takes time."""
    global _latest
    if _latest[0] != reference[0]:
        import ray

        _latest = reference[0], ray.get(reference[0])
    job: Job[Any, Any, Any] = _latest[1]
    return job.do(key)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster on which long-lived workers (actors) are started.

    Attributes:
        gpus: GPUs, or fraction of a GPU, that each worker with a local model has to itself.
        models: number of models that share the cluster at the same time.
    """

    connection: Connection
    gpus: float = 0.0
    models: int = 1

    def workers(self, most: int, *, is_local: bool = False) -> int:
        """Return how many workers one model can have, at most ``most``.

        Raises:
            OptionError: if there is no machine for a single worker.
        """
        self.connection.check()  # or else the next call waits for a minute
        resources = self.connection.ray.cluster_resources()
        gpus = resources.get("GPU", 0.0)
        if self.gpus > gpus:
            expected = "as many for each worker"
            raise OptionError(f"--gpus {self.gpus:g}: found a cluster with {gpus:g} GPUs, expected {expected}")
        found = gpus / self.gpus if is_local and self.gpus else resources.get("CPU", 0.0)
        return max(1, min(most, int(found / self.models)))

    def start(self, kind: type[Any], *args: Any, is_local: bool = False, concurrency: int = 1) -> Any:
        """Start a worker of a class on some machine, and return its Ray handle; Ray itself never repeats anything."""
        gpus = self.gpus if is_local else 0.0
        options = {"num_cpus": 0.0 if gpus else 1.0, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        actor = self.connection.ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=concurrency, **options)
        return actor(kind).remote(*args)
