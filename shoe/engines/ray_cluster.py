"""Engine ``ray``, whose tasks run on all machines of a Ray cluster, and long-lived workers on a cluster."""

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
from shoe.engines.base import DEATHS, Engine, Job, K, R, S, Work, repeated_deaths
from shoe.engines.ray_connection import Connection, check_address, connect

SILENCE = 30.0
"""Seconds without a heartbeat after which a worker exits."""
_LEASE_POLL = 0.1


class Lease:
    """Worker lease: exits this process when its parent process has ended or when heartbeats stop.

    Otherwise a worker on a disconnected machine would continue to pay for requests after its work was given to others.
    The sender of heartbeats returns the worker's own clock: ``time = worker.renew(time)``. So a late heartbeat does not
    prolong the lease: ``silence`` seconds after the sender received ``time``, the worker has exited.
    """

    def __init__(self, silence: float) -> None:
        """Start a watching thread; ``silence`` is in seconds and may be infinite."""
        self._silence, self._parent, self._end = silence, os.getppid(), monotonic() + silence
        Thread(target=self._watch, name="shoe-lease", daemon=True).start()

    def renew(self, time: float | None = None) -> float:
        """Extend the lease to ``silence`` seconds after ``time`` (default: now) by this process's clock; return now."""
        now = monotonic()
        self._end = max(self._end, (now if time is None else time) + self._silence)
        return now

    def check(self) -> None:
        """Exit this process if the lease or the parent process has ended; to be called before each request."""
        if os.getppid() != self._parent or monotonic() > self._end:
            os._exit(1)

    def _watch(self) -> None:
        while True:
            self.check()
            sleep(_LEASE_POLL)


def is_locked(path: Path) -> bool:
    """Return whether a file or folder is locked; False if it cannot be opened. May miss locks of other machines."""
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
"""Number of submitted keys per core of the cluster."""
_POLL = 0.5


class Ray(Engine):
    """Engine of Ray tasks with one core and one thread each; the shared data is put into Ray's object store once.

    ``address`` is as for :func:`~shoe.engines.ray_connection.connect`.
    """

    name = "ray"

    def __init__(self, address: str = "") -> None:
        self.address = address

    def check(self) -> None:
        """Raise MissingExtraError if Ray is not installed, OptionError if no cluster answers at HOST:PORT."""
        if find_spec("ray") is None:
            raise MissingExtraError("--engine ray", "ray")
        check_address(self.address or os.environ.get("RAY_ADDRESS", ""))

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Yield each key with ``work(shared, key)`` in order of completion; connect to the cluster first.

        Raises:
            MissingExtraError: if Ray is not installed.
            ShoeError: if no cluster is at the address, the cluster is lost, or the task of a key dies three times.
        """
        with connect(self.address) as connection:
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
                        raise repeated_deaths(len(running), type(error).__name__) from None
                    yield running.pop(done), result


_latest: tuple[Any, Any] = None, None


def _run(reference: list[Any], key: Hashable) -> Any:
    """Return the result for a key. The worker process caches the latest job, because loading a job takes time."""
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
        gpus: number, or fraction, of GPUs reserved for each worker with a local model.
        models: number of models that share the cluster at the same time.
    """

    connection: Connection
    gpus: float = 0.0
    models: int = 1

    def workers(self, most: int, *, is_local: bool = False) -> int:
        """Return the number of workers for one model, 1 to ``most``, by the cores (or GPUs) of the cluster.

        ``is_local`` workers reserve ``gpus`` GPUs of one machine each. Raise OptionError if no machine has ``gpus``.
        """
        self.connection.check()  # because the next call would wait a minute for a lost cluster
        machines = [node["Resources"] for node in self.connection.ray.nodes() if node["Alive"]]
        gpus = [machine.get("GPU", 0.0) for machine in machines]
        if self.gpus > max(gpus, default=0.0):
            found = f"a cluster with {max(gpus, default=0.0):g} GPUs per machine"
            raise OptionError(f"--gpus {self.gpus:g}: found {found}, expected a machine with at least that many")
        slots: float = sum(machine.get("CPU", 0.0) for machine in machines)
        if is_local and self.gpus:
            slots = sum(int(each / self.gpus + 1e-9) for each in gpus)
        return max(1, min(most, int(slots / self.models)))

    def start(self, kind: type[Any], *args: Any, is_local: bool = False, concurrency: int = 1) -> Any:
        """Start an object of class ``kind`` as a worker on any machine, and return its Ray handle, without restarts."""
        gpus = self.gpus if is_local else 0.0
        options = {"num_cpus": 0.0 if gpus else 1.0, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        actor = self.connection.ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=concurrency, **options)
        return actor(kind).remote(*args)
