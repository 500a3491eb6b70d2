"""What the commands share whose work can be divided: ``--shard``, ``--engine``, ``--gpus``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe.engines.base import Engine
    from shoe.llm.spread import Cluster


def asking_engine(text: str, gpus: float) -> Engine:
    """Make the engine of a command that asks; nothing is started yet.

    Raises:
        OptionError: for one that does not ask, GPUs without one that has workers, or an address where there is nothing.
        MissingExtraError: if Ray is wanted, and not installed.
    """
    from shoe.core.errors import OptionError, quote
    from shoe.engines.choose import engine_of
    from shoe.engines.cluster import Ray

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
    """Within it, the cluster whose workers ask; None where this process does.

    Raises:
        ShoeError: if there is no such cluster, or no machine in it for a worker.
    """
    from shoe.cli.map.again import treat_sigterm_as_interrupt
    from shoe.engines.cluster import Ray
    from shoe.engines.connection import connected
    from shoe.llm.spread import Cluster

    if not isinstance(engine, Ray):
        yield None
        return
    with connected(engine.address) as ray:
        treat_sigterm_as_interrupt()  # Ray has its own mind about signals
        cluster = Cluster(ray, gpus, models)
        cluster.workers(1, is_local=True)
        yield cluster
