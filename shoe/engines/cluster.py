"""The engine of many machines: Ray, from a cluster that runs or one that is started here for as long as it is used."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from shoe.core.errors import MissingExtraError, OptionError, ShoeError, printable, quote
from shoe.engines.base import DEATHS, K, R, S, Work, deadly
from shoe.engines.job import Job
from shoe.version import __version__

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_AHEAD = 4
"""Keys that are handed out for each core of the cluster."""
_PATIENCE = 10.0
"""Seconds for a cluster's machine to answer at all."""


class Ray:
    """Tasks of Ray: one core and one thread each; what they share is put into its store once, and read there."""

    name = "ray"

    def __init__(self, address: str = "") -> None:
        """Take where the cluster is, as ``ray.init`` has it; empty: where ``RAY_ADDRESS`` says, or here."""
        self.address = address

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        with connected(self.address) as ray:
            common = [ray.put(Job(work, shared))]
            task = ray.remote(num_cpus=1, max_retries=DEATHS - 1)(_do)
            room = _AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
            waiting, doing = iter(keys), dict[Any, K]()
            while True:
                while len(doing) < room and (key := next(waiting, None)) is not None:
                    doing[task.options(name=f"shoe {work.__name__}").remote(common, key)] = key
                if not doing:
                    return
                (done,), _ = ray.wait(list(doing))
                try:
                    result = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    raise deadly(len(doing), type(error).__name__) from None
                yield doing.pop(done), result


_kept: tuple[Any, Any] = None, None


def _do(common: list[Any], key: Hashable) -> Any:
    """What a worker does; it keeps what the last keys shared, which it need not read again for this one."""
    global _kept
    if _kept[0] != common[0]:
        import ray

        _kept = common[0], ray.get(common[0])
    job: Job[Any, Any, Any] = _kept[1]
    return job.do(key)


@contextmanager
def connected(address: str = "") -> Iterator[Any]:
    """Connect to a cluster; without an address, to one of this machine's cores that ends with the context.

    That one listens on the loopback address alone, to whom knows its token. A program that uses Ray already goes on
    with what it uses.

    Raises:
        MissingExtraError: if Ray is not installed.
        ShoeError: if there is no cluster at the address, or not one that this shoe can work with.
    """
    address = address or os.environ.get("RAY_ADDRESS", "")
    is_own = address in ("", "local")
    if is_own and "ray" not in sys.modules:  # it reads them when it is loaded
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # which is what has it listen on loopback alone
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    _check_there(address)
    of_own = {"include_dashboard": False, "num_cpus": len(os.sched_getaffinity(0))}
    variables = _ONE_THREAD | ({"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} if is_own else {})
    try:
        ray.init(
            "local" if is_own else address,
            runtime_env={"env_vars": variables},
            log_to_driver=False,
            logging_level="error",
            **(of_own if is_own else {}),
        )
    except (ImportError, RuntimeError, ValueError, OSError, AssertionError) as error:
        raise _no_cluster(address, error) from None
    try:
        if not is_own:
            _check_version(ray)
        yield ray
    finally:
        ray.shutdown()


def _check_there(address: str) -> None:
    """See that something listens where a cluster is said to be; Ray tries for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        except (OSError, OverflowError) as error:
            raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> ShoeError:
    where = (
        f"found {quote(address)}, where there is no cluster to work with" if address else "Ray cannot be started here"
    )
    return OptionError(f"--engine ray: {where}: {printable(' '.join(str(error).split()), 300)}")


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
