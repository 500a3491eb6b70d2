"""What the commands share whose work can be divided: ``--shard``, ``--engine``, ``--gpus``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoe.engines.base import Engine
    from shoe.engines.cluster import Cluster

ShardText = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Do one part of N, and write no OUT: without it, all are merged."),
]
EngineText = Annotated[
    str,
    typer.Option(
        "--engine", help="Who asks: serial (this process), ray (workers of one here, or RAY_ADDRESS's), ray:ADDRESS."
    ),
]
Gpus = Annotated[float, typer.Option(min=0.0, max=64.0, help="With --engine ray: GPUs of each worker's local model.")]


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
    from shoe.cli.map.again import end_by_any_signal_as_by_ctrl_c
    from shoe.engines.cluster import Cluster, Ray
    from shoe.engines.connection import connected

    if not isinstance(engine, Ray):
        yield None
        return
    with connected(engine.address) as connection:
        end_by_any_signal_as_by_ctrl_c()  # Ray has its own mind about signals
        cluster = Cluster(connection, gpus, models)
        cluster.workers(1, is_local=True)
        yield cluster
