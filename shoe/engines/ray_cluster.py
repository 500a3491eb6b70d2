"""Engine ``ray``, long-lived workers, and connections to a running Ray cluster or to a new cluster on this machine.

A thread checks that the cluster answers. If not, Ray itself would wait for a minute or forever, and exit the program.
"""

import errno
import fcntl
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from time import monotonic, sleep
from typing import Any

from shoe.core.errors import MissingExtraError, OptionError, ShoeError, printable, quote
from shoe.engines.base import DEATHS, Engine, Job, K, R, S, Work, repeated_deaths
from shoe.version import __version__

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_CONNECT_TIMEOUT, _HEALTH_TIMEOUT = 10.0, 20.0
"""Seconds allowed for the head's machine to accept a connection, and for the head to report its health."""
_OWN_LOST_AFTER, _LOST_AFTER = 3.0, 20.0
"""Seconds without an answer after which a cluster counts as lost: a cluster started here, and any other cluster."""
_WATCH_PERIOD, _WATCH_TIMEOUT = 1.0, 5.0


class Connection:
    """Connection of this process to a Ray cluster; ``ray`` is the imported module, after ``ray.init``."""

    def __init__(self, ray: Any, addresses: Mapping[str, str], lost_after: float) -> None:
        """Watch servers {name: address}; the cluster is lost when one is not reachable for ``lost_after`` seconds."""
        self.ray, self._addresses, self._lost_after = ray, addresses, lost_after
        self._missing, self._since, self._closed = "", 0.0, Event()
        if addresses:
            Thread(target=self._watch, name="shoe-cluster", daemon=True).start()

    def check(self) -> None:
        """Raise ShoeError if a server of the cluster has accepted no connection for over ``lost_after`` seconds."""
        if (missing := self._missing) and monotonic() > self._since + self._lost_after:
            raise _lost(missing)

    def missing(self) -> str:
        """Return which server of the cluster accepts no connection ("its head at ..."); "" if all servers accept."""
        for name, address in self._addresses.items():
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), _WATCH_TIMEOUT).close()
            except OSError:
                return f"its {name} at {address}"
        return ""

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH_PERIOD):
            missing = self.missing()
            if not self._missing:
                self._since = monotonic()
            self._missing = missing

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Return a context in which :func:`connect` reuses this connection, and Ray's messages go to standard error."""
        global _current
        worker: Any = import_module("ray._private.worker")
        before = worker.print_to_stdstream

        def write(data: dict[str, Any], **_: Any) -> None:
            # To standard error, because results go to standard output; shoe reports a lost cluster itself.
            for text in () if self.missing() else data["lines"]:
                sys.stderr.write(f"Ray: {printable(' '.join(text.split()), 300)}\n")

        worker.print_to_stdstream, _current = write, self
        try:
            yield
        finally:
            worker.print_to_stdstream, _current = before, None
            self._closed.set()


_current: Connection | None = None


@contextmanager
def connect(address: str = "") -> Iterator[Connection]:
    """Connect to a Ray cluster, or start a cluster on all cores of this machine and stop it at the end of the context.

    ``address`` is as for ``ray.init``; if empty, the value of ``RAY_ADDRESS``, or else a new cluster. A cluster that is
    started here listens only on the loopback address, and requires a token. Ray's existing connection is reused. Raise
    MissingExtraError if Ray is not installed, and ShoeError if there is no cluster at the address, or the cluster has
    another version of shoe.
    """
    address = address or os.environ.get("RAY_ADDRESS", "")
    is_own, is_client = address in ("", "local"), address.startswith("ray://")
    if "ray" not in sys.modules:  # Ray reads these variables when it is imported
        os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # do not start another cluster when this one is lost
        if is_own:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # listen on loopback only
            if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token" and not os.environ.get("RAY_AUTH_TOKEN"):
                os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "ray") from None
    if ray.is_initialized():
        yield _current or Connection(ray, {}, 0.0)
        return
    if not is_own:
        check_address(address)
    started = _StartedProcesses()
    with _delayed_signals() as delayed:
        try:
            _init(ray, address, is_own=is_own)
        except Exception as error:  # Ray raises errors of many kinds here, including plain Exception
            started.kill()
            raise _no_cluster("" if is_own else address, str(error)) from None
    try:
        if delayed:
            raise KeyboardInterrupt
        started.update()
        if not is_own:
            _check_version(ray)
        addresses = {"server": address.removeprefix("ray://")} if is_client else _addresses(ray)
        connection = Connection(ray, addresses, _OWN_LOST_AFTER if is_own else _LOST_AFTER)
        with connection.opened():
            yield connection
    except Exception:  # Ray Client raises errors of many kinds, including plain Exception
        if is_client and not ray.util.client.ray.is_connected():
            raise _lost(address) from None
        raise
    finally:
        with _without_interrupts():
            started.update()
            ray.shutdown()
            started.kill()


def _init(ray: Any, address: str, *, is_own: bool) -> None:
    init = partial(ray.init, log_to_driver=False, logging_level="error")
    inherited: dict[str, str] = {}
    if is_own:
        # Its processes inherit these variables: workers of a runtime environment would take twice as long to start.
        inherited = _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        init = partial(init, "local", include_dashboard=False, num_cpus=len(os.sched_getaffinity(0)))
    else:
        init = partial(init, address, runtime_env={"env_vars": _ONE_THREAD})
    logging.getLogger("ray.util.client").setLevel(logging.CRITICAL)  # _lost has one line for its warnings
    logging.getLogger("ray.util.client.logsclient").disabled = True  # because Ray sets its level
    before = {name: os.environ[name] for name in inherited if name in os.environ}
    os.environ.update(inherited)
    try:
        init()
    except ConnectionAbortedError:  # the server for Ray Client sometimes fails to start the first time
        init()
    finally:
        for name in inherited:
            del os.environ[name]
        os.environ.update(before)


def _addresses(ray: Any) -> dict[str, str]:
    context = ray.get_runtime_context()
    node = next(node for node in ray.nodes() if node["NodeID"] == context.get_node_id())
    return {"head": context.gcs_address, "raylet": f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"}


@contextmanager
def _delayed_signals() -> Iterator[list[int]]:
    """Delay SIGINT and SIGTERM while Ray connects, and yield a list of those that came; a second one interrupts.

    Ray can swallow an exception that a signal handler raises inside it, after the exception has left a lock of
    ``logging`` locked, so that the run would wait forever. Ray's own handler of SIGTERM is installed at the end.
    """
    delayed, of_ray = list[int](), list[Any]()
    if current_thread() is not main_thread():  # only the main thread is interrupted
        yield delayed
        return

    def delay(number: int, _: object) -> None:
        delayed.append(number)
        if len(delayed) > 1:
            raise KeyboardInterrupt

    numbers = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, delay) for each in numbers}
    utils: Any = import_module("ray._private.utils")
    set_by_ray, utils.set_sigterm_handler = utils.set_sigterm_handler, of_ray.append
    try:
        yield delayed
    finally:
        utils.set_sigterm_handler = set_by_ray
        for each, handler in before.items():
            signal.signal(each, handler)
        for handler in of_ray[-1:]:
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in this context: a second Ctrl-C would leave processes behind that the first is about to end."""
    if current_thread() is not main_thread():  # only the main thread is interrupted
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _StartedProcesses:
    """Processes of a local cluster started by shoe; the agents of a killed raylet have to be killed separately."""

    def __init__(self) -> None:
        self._psutil: Any = import_module("psutil")  # Ray depends on it
        self._before, self._started = self._descendants(), set[Any]()

    def _descendants(self) -> set[Any]:
        return set(self._psutil.Process().children(recursive=True))

    def update(self) -> None:
        """Record the processes that were started by connecting, and their descendants."""
        if not self._started:
            self._started = self._descendants() - self._before
        for process in list(self._started):
            with suppress(self._psutil.Error):
                self._started.update(process.children(recursive=True))

    def kill(self) -> None:
        self.update()
        for process in self._started:
            with suppress(self._psutil.Error):
                process.kill()


def check_address(address: str) -> None:
    """Raise OptionError unless the head of a Ray cluster answers at HOST:PORT; Ray itself would wait for minutes.

    For ray://HOST:PORT, only the connection is checked. Addresses without a port, such as "auto", are not checked.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and not host:
        raise _no_cluster(address, "it names no host")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None
    if "//" in address:
        return
    # In a separate process, which can be killed after a timeout.
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "health-check", "--address"]
    try:
        done = subprocess.run([*command, address], capture_output=True, text=True, timeout=_HEALTH_TIMEOUT, check=False)  # noqa: S603 - ours
        errors, code = done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        errors, code = str(error.stderr or b"", "utf-8", "replace"), 1
    if code and ("token" in errors.casefold() or "unauthenticated" in errors.casefold()):
        why = "its token differs from RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) on this machine, or a token is missing"
        raise _no_cluster(address, why)
    if code:
        raise _no_cluster(address, f"it does not answer as the head of a cluster within {_HEALTH_TIMEOUT:g} s")


def _no_cluster(address: str, why: str) -> ShoeError:
    found = f"found {quote(address)}, where there is no cluster to work with"
    where = found if address else "Ray cannot be started on this machine"
    return OptionError(f"--engine ray: {where}: {printable(' '.join(why.split()), 300)}")


def _lost(what: str) -> ShoeError:
    why = f"{printable(what, 300)} does not answer any more"
    advice = "saved results are kept; run the same command to resume"
    return ShoeError(f"--engine ray: connection to the cluster lost ({why}): {advice}")


def _version() -> str:
    return __version__


def _check_version(ray: Any) -> None:
    try:
        found = ray.get(ray.remote(num_cpus=0)(_version).remote())
    except ray.exceptions.RayError as error:
        cause = printable(str(error).strip().rpartition("\n")[2], 200)
        expected = f"shoe {__version__} on its machines: install it there, or list it in a Ray runtime_env"
        raise ShoeError(f"--engine ray: shoe is not installed on the cluster ({cause}), expected {expected}") from None
    if found != __version__:
        raise ShoeError(f"--engine ray: found shoe {found} on the cluster, expected {__version__}, as on this machine")


SILENCE = 30.0
"""Seconds without a heartbeat after which a worker exits."""
_LEASE_POLL = 0.1


class Lease:
    """Worker lease: exits the worker's process when its parent process has ended or when heartbeats stop.

    Otherwise a worker on a disconnected machine would continue to send paid requests that other workers repeat.
    A heartbeat is a call ``time = worker.renew(time)`` with the time, by the worker's clock, that the previous call
    returned. The lease ends ``silence`` seconds after this time, so that a delayed heartbeat does not prolong it.
    """

    def __init__(self, silence: float) -> None:
        """Start a watching thread; ``silence`` is in seconds and may be infinite."""
        self._silence, self._parent, self._end = silence, os.getppid(), monotonic() + silence
        Thread(target=self._watch, name="shoe-lease", daemon=True).start()

    def renew(self, time: float | None = None) -> float:
        """Let the lease last at least ``silence`` seconds after ``time`` (default: now); return the present time."""
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
    """Return whether a path has an exclusive lock; False if it cannot be opened. May miss locks of other machines."""
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


_AHEAD = 4  # number of submitted keys per core of the cluster
_POLL = 0.5


class Ray(Engine):
    """Engine that runs one Ray task per key, each on one core; ``address`` is as for :func:`connect`."""

    name = "ray"

    def __init__(self, address: str = "") -> None:
        self.address = address

    def check(self) -> None:
        """Raise MissingExtraError without Ray, or OptionError if an address is given and no cluster answers there."""
        if find_spec("ray") is None:
            raise MissingExtraError("--engine ray", "ray")
        check_address(self.address or os.environ.get("RAY_ADDRESS", ""))

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """Connect to the cluster, then yield (key, ``work(shared, key)``) in order of completion.

        Raise MissingExtraError if Ray is not installed, and ShoeError if no cluster is at the address, the cluster is
        lost, or the task of a key dies three times.
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
    """Ray cluster on which long-lived workers (Ray actors) are started."""

    connection: Connection
    gpus: float = 0.0  # number of GPUs reserved for each worker with a local model; may be a fraction
    models: int = 1  # number of models that use the cluster at the same time and share the workers

    def workers(self, most: int, *, is_local: bool = False) -> int:
        """Return the number of workers for one model: number of cores / number of models, at least 1, at most ``most``.

        If ``is_local`` (the model runs in the worker) and ``gpus`` > 0, cores are replaced by groups of ``gpus`` GPUs
        of one machine. Raise OptionError if no machine has ``gpus`` GPUs.
        """
        self.connection.check()  # because the next call would wait a minute for a lost cluster
        machines = [node["Resources"] for node in self.connection.ray.nodes() if node["Alive"]]
        gpus = [machine.get("GPU", 0.0) for machine in machines]
        if self.gpus > max(gpus, default=0.0):
            found = f"a cluster with {max(gpus, default=0.0):g} GPUs per machine"
            raise OptionError(f"--gpus {self.gpus:g}: found {found}, expected a machine with {self.gpus:g} GPUs")
        slots: float = sum(machine.get("CPU", 0.0) for machine in machines)
        if is_local and self.gpus:
            slots = sum(int(each / self.gpus + 1e-9) for each in gpus)
        return max(1, min(most, int(slots / self.models)))

    def start(self, kind: type[Any], *args: Any, is_local: bool = False, concurrency: int = 1) -> Any:
        """Start and return a Ray actor ``kind(*args)`` for ``concurrency`` calls at once, with GPUs if ``is_local``."""
        gpus = self.gpus if is_local else 0.0
        options = {"num_cpus": 0.0 if gpus else 1.0, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        actor = self.connection.ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=concurrency, **options)
        return actor(kind).remote(*args)
