"""Connection to a running Ray cluster, or to a new cluster on this machine.

A thread checks that the cluster answers: Ray itself would wait a minute or forever, and then exit the program.
"""

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

from shoe.core.errors import MissingExtraError, OptionError, ShoeError, printable, quote
from shoe.version import __version__

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_CONNECT_TIMEOUT, _HEALTH_TIMEOUT = 10.0, 20.0
"""Seconds allowed for the head's machine to accept a connection, and for the head to report its health."""
_OWN_LOST_AFTER, _LOST_AFTER = 3.0, 20.0
"""Seconds without an answer after which a cluster counts as lost: a cluster started here, and any other cluster."""
_WATCH_PERIOD, _WATCH_TIMEOUT = 1.0, 5.0


class Connection:
    """Connection of this process to a Ray cluster; ``ray`` is the connected module."""

    def __init__(self, ray: Any, addresses: Mapping[str, str], lost_after: float) -> None:
        """Watch ``addresses`` (by name); after ``lost_after`` seconds without a connection, the cluster is lost."""
        self.ray, self._addresses, self._lost_after = ray, addresses, lost_after
        self._missing, self._since, self._closed = "", 0.0, Event()
        if addresses:
            Thread(target=self._watch, name="shoe-cluster", daemon=True).start()

    def check(self) -> None:
        """Raise ShoeError if the cluster is lost."""
        if (missing := self._missing) and monotonic() > self._since + self._lost_after:
            raise _lost(f"{missing} does not answer any more")

    def missing(self) -> str:
        """Return name and address of the first part of the cluster that refuses a connection, or "" if all accept."""
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
        """Use this connection in nested :func:`connect` calls, and print each message of Ray as one line."""
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
    """Connect to a Ray cluster, or start a cluster on all cores of this machine, which ends with the context.

    A cluster that is started here listens only on the loopback address, and requires a token. An existing connection of
    Ray is reused.

    Args:
        address: as for ``ray.init``; if empty, the value of ``RAY_ADDRESS``, or else a new cluster.

    Raises:
        MissingExtraError: if Ray is not installed.
        ShoeError: if there is no cluster at the address, or the cluster has another version of shoe.
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
    try:
        _init(ray, address, is_own=is_own)
    except Exception as error:  # Ray raises errors of many kinds here, including plain Exception
        started.kill()
        raise _no_cluster("" if is_own else address, str(error)) from None
    try:
        started.update()
        if not is_own:
            _check_version(ray)
        addresses = {"server": address.removeprefix("ray://")} if is_client else _addresses(ray)
        connection = Connection(ray, addresses, _OWN_LOST_AFTER if is_own else _LOST_AFTER)
        with connection.opened():
            yield connection
    except Exception:  # Ray Client raises errors of many kinds, including plain Exception
        if is_client and not ray.util.client.ray.is_connected():
            raise _lost(f"{address} does not answer any more") from None
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
    """Return the addresses of the head of the cluster and of the raylet on this machine."""
    context = ray.get_runtime_context()
    node = next(node for node in ray.nodes() if node["NodeID"] == context.get_node_id())
    return {"head": context.gcs_address, "raylet": f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"}


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
    """Raise OptionError unless the head of a cluster answers at HOST:PORT; Ray itself would try for minutes.

    At ray://HOST:PORT, only the port is checked. Addresses without a port, such as "auto", are not checked.
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


def _lost(why: str) -> ShoeError:
    advice = "saved results are kept; run the same command to resume"
    return ShoeError(
        f"--engine ray: connection to the cluster lost ({printable(' '.join(why.split()), 300)}): {advice}"
    )


def _version() -> str:
    return __version__


def _check_version(ray: Any) -> None:
    """Raise ShoeError unless the machines of the cluster have this version of shoe."""
    try:
        found = ray.get(ray.remote(num_cpus=0)(_version).remote())
    except ray.exceptions.RayError as error:
        cause = printable(str(error).strip().rpartition("\n")[2], 200)
        expected = f"shoe {__version__} on its machines: install it there, or list it in a Ray runtime_env"
        raise ShoeError(f"--engine ray: shoe is not installed on the cluster ({cause}), expected {expected}") from None
    if found != __version__:
        raise ShoeError(f"--engine ray: found shoe {found} on the cluster, expected {__version__}, as on this machine")
