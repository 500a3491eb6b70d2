"""Joining a cluster of Ray, or one that is started on this machine for as long as it is used."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

from shoe.core.errors import MissingExtraError, OptionError, ShoeError, printable, quote
from shoe.engines.watch import lost, watching
from shoe.version import __version__

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PATIENCE, _ANSWER = 10.0, 20.0
"""Seconds for a cluster's machine to be reached, and for its head to answer."""
_OWN_GONE, _GONE = 3.0, 20.0
"""Seconds without an answer after which a cluster is lost: its own head does not come back, another's may."""


@contextmanager
def connected(address: str = "") -> Iterator[Any]:
    """Connect to a cluster; without an address, to one of this machine's cores that ends with the context.

    That one listens on the loopback address alone, to whom knows its token. A program that uses Ray already goes on
    with what it uses.

    Args:
        address: as ``ray.init`` has it; empty: where ``RAY_ADDRESS`` says, or here.

    Raises:
        MissingExtraError: if Ray is not installed.
        ShoeError: if there is no cluster at the address, or not one that this shoe can work with.
    """
    address = address or os.environ.get("RAY_ADDRESS", "")
    is_own, is_client = address in ("", "local"), address.startswith("ray://")
    if "ray" not in sys.modules:  # it reads them when it is loaded
        os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # a cluster that is lost is no reason to start another
        if is_own:
            _set_up()
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    if not is_own:
        check_there(address)
    started = _Started()
    try:
        _join(ray, address, is_own=is_own)
    except Exception as error:  # it has errors of all kinds for this, Exception itself among them
        started.end()
        raise _no_cluster("" if is_own else address, str(error)) from None
    try:
        started.look()
        if not is_own:
            _check_version(ray)
        with watching(ray, _OWN_GONE if is_own else _GONE, address.removeprefix("ray://") if is_client else ""):
            yield ray
    except Exception:  # Ray's client has errors of all kinds for this, Exception itself among them
        if is_client and not ray.util.client.ray.is_connected():
            raise lost(f"{address} does not answer any more") from None
        raise
    finally:
        with _uninterrupted():
            started.look()
            ray.shutdown()
            started.end()


def _join(ray: Any, address: str, *, is_own: bool) -> None:
    """Connect to a cluster, or start one of this machine's cores; Ray itself says no more of it than errors."""
    variables = _ONE_THREAD | ({"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} if is_own else {})
    more = {"include_dashboard": False, "num_cpus": len(os.sched_getaffinity(0))} if is_own else {}
    init = partial(
        ray.init,
        "local" if is_own else address,
        runtime_env={"env_vars": variables},
        log_to_driver=False,
        logging_level="error",
        **more,
    )
    logging.getLogger("ray.util.client").setLevel(logging.CRITICAL)  # what it warns of ends in one line here
    logging.getLogger("ray.util.client.logsclient").disabled = True  # whose level Ray sets
    try:
        init()
    except ConnectionAbortedError:  # a client's own server, which now and then does not start the first time
        init()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Within it Ctrl-C does nothing: a second one would leave behind what the first one has ended."""
    if current_thread() is not main_thread():  # which alone hears of it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _set_up() -> None:
    """Set what Ray looks up in the environment for a cluster of one's own, but for what is set there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # which is what has it listen on loopback alone
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token" and not os.environ.get("RAY_AUTH_TOKEN"):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


class _Started:
    """Processes that a cluster of one's own is made of: agents of a raylet that was killed go on by themselves."""

    def __init__(self) -> None:
        self._psutil: Any = import_module("psutil")  # Ray brings it
        self._others, self._known = self._below(), set[Any]()

    def _below(self) -> set[Any]:
        return set(self._psutil.Process().children(recursive=True))

    def look(self) -> None:
        """Take note of what was started: by connecting at first, and then by that."""
        if not self._known:
            self._known = self._below() - self._others
        for process in list(self._known):
            with suppress(self._psutil.Error):
                self._known.update(process.children(recursive=True))

    def end(self) -> None:
        """End what is left."""
        self.look()
        for process in self._known:
            with suppress(self._psutil.Error):
                process.kill()


def check_there(address: str) -> None:
    """See that a cluster's head answers where it is said to be: Ray tries for minutes, and says so all the while."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and not host:
        raise _no_cluster(address, "it names no host")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None
    told = _asked_head(address) if "//" not in address else ""
    if told:
        raise _no_cluster(address, told)


def _asked_head(address: str) -> str:
    """Ask a cluster's head whether it is well, in a process of its own, as that may be torn down; "" if so."""
    ask = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "health-check", "--address", address]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, timeout=_ANSWER, check=False)  # noqa: S603 - ours
    except subprocess.TimeoutExpired as error:
        said, code = str(error.stderr or b"", "utf-8", "replace"), 1
    else:
        said, code = done.stderr, done.returncode
    if code == 0:
        return ""
    if "token" in said.casefold() or "unauthenticated" in said.casefold():
        return "it has another token than RAY_AUTH_TOKEN here (or the file of RAY_AUTH_TOKEN_PATH), or one is missing"
    return f"it does not answer as the head of a cluster within {_ANSWER:g} s"


def _no_cluster(address: str, why: str) -> ShoeError:
    where = (
        f"found {quote(address)}, where there is no cluster to work with" if address else "Ray cannot be started here"
    )
    return OptionError(f"--engine ray: {where}: {printable(' '.join(why.split()), 300)}")


def _version(_: None, __: int) -> str:
    return __version__


def _check_version(ray: Any) -> None:
    """See that the cluster's machines have this shoe.

    Raises:
        ShoeError: if they have none, or another.
    """
    try:
        found = ray.get(ray.remote(num_cpus=0)(_version).remote(None, 0))
    except ray.exceptions.RayError as error:
        cause = printable(str(error).strip().rpartition("\n")[2], 200)
        expected = f"shoe {__version__} on its machines: install it there, or name it in a runtime_env"
        raise ShoeError(f"--engine ray: found a cluster without shoe ({cause}), expected {expected}") from None
    if found != __version__:
        raise ShoeError(f"--engine ray: found a cluster with shoe {found}, expected {__version__}, as here")
