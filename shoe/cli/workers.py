"""Options and signals of commands that send requests to models: ``--engine``, ``--gpus``, ``--ask-again``."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoe.core.errors import OptionError, quote, unknown_name

if TYPE_CHECKING:
    from shoe.engines.base import Engine
    from shoe.engines.ray_cluster import Cluster

_STATES = ("unparsable", "refused")


def treat_sigterm_as_interrupt() -> None:
    """Treat SIGTERM (from a cluster) and SIGHUP (closed terminal) like Ctrl-C, so that pending answers are saved.

    Outside the main thread, nothing is changed. SIGHUP stays ignored if it is ignored, as under ``nohup``.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]

    def hung_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the shell sends a second SIGHUP
        for stream in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores SIGHUP, which must stay so
        signal.signal(signal.SIGHUP, hung_up)


def parse_states(text: str | None) -> list[str]:
    """Return the states listed in ``--ask-again``, [] for None; raise an OptionError for an unknown state."""
    states = [name.strip() for name in text.split(",")] if text is not None else []
    for name in states:
        if name not in _STATES:
            raise unknown_name("state", name, _STATES)
    return states


def parse_engine(text: str, gpus: float) -> Engine:
    """Return the engine of a command that sends requests to models; the engine is checked, but not started.

    Raises:
        OptionError: for another engine than serial and ray, ``gpus`` without Ray, or an address without a cluster.
        MissingExtraError: if Ray is requested but not installed.
    """
    from shoe.engines import engine_of
    from shoe.engines.ray_cluster import Ray

    if text not in ("serial", "ray") and not text.startswith("ray:"):
        raise OptionError(f"--engine: found {quote(text)}, expected serial, ray or ray:ADDRESS (or use --shard)")
    engine = engine_of(text)
    if isinstance(engine, Ray):
        engine.check()
    elif gpus:
        raise OptionError(f"--gpus {gpus:g} requires --engine ray, found --engine {text}")
    return engine


@contextmanager
def open_cluster(engine: Engine | None, gpus: float, models: int = 1) -> Iterator[Cluster | None]:
    """Yield the Ray cluster whose workers send the requests, or None if this process sends them.

    Raises:
        ShoeError: if the cluster does not answer, or has fewer GPUs than ``gpus``.
    """
    from shoe.engines.ray_cluster import Cluster, Ray, connect

    if not isinstance(engine, Ray):
        yield None
        return
    try:
        with connect(engine.address) as connection:
            treat_sigterm_as_interrupt()  # again, because Ray installs its own signal handlers
            cluster = Cluster(connection, gpus, models)
            cluster.workers(1, is_local=True)
            yield cluster
    except SystemExit:  # raised by Ray's handler of SIGTERM, while Ray connects
        raise KeyboardInterrupt from None
