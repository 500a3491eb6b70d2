"""Shared parts of the commands that ask models: ``--engine``, ``--gpus``, ``--ask-again``, and signals."""

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
    """Have SIGTERM of a cluster and SIGHUP of a closed terminal interrupt: what is in flight is awaited and kept."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]

    def hung_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the shell sends it, too
        for stream in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # which is what nohup does
        signal.signal(signal.SIGHUP, hung_up)


def states_of(given: str | None) -> list[str]:
    """Return the states that ``--ask-again`` names; an OptionError for one that does not exist."""
    states = [name.strip() for name in given.split(",")] if given is not None else []
    for name in states:
        if name not in _STATES:
            raise unknown_name("state", name, _STATES)
    return states


def asking_engine(text: str, gpus: float) -> Engine:
    """Return the engine of a command that asks models; nothing is started yet."""
    from shoe.engines import engine_of
    from shoe.engines.ray_cluster import Ray

    if text not in ("serial", "ray") and not text.startswith("ray:"):
        why = "one process asks as fast as endpoints bear, and --shard divides the work of models"
        raise OptionError(f"--engine: found {quote(text)}, expected serial, ray or ray:ADDRESS ({why})")
    engine = engine_of(text)
    if isinstance(engine, Ray):
        engine.check()
    elif gpus:
        raise OptionError(f"--gpus {gpus:g}: found --engine {text}, expected --engine ray, whose workers have GPUs")
    return engine


@contextmanager
def cluster_of(engine: Engine | None, gpus: float, models: int = 1) -> Iterator[Cluster | None]:
    """Yield the cluster whose workers ask; None if this process asks. A ShoeError if no machine has room for one."""
    from shoe.engines.ray_cluster import Cluster, Ray
    from shoe.engines.ray_connection import connected

    if not isinstance(engine, Ray):
        yield None
        return
    with connected(engine.address) as connection:
        treat_sigterm_as_interrupt()  # Ray has its own mind about signals
        cluster = Cluster(connection, gpus, models)
        cluster.workers(1, is_local=True)
        yield cluster
