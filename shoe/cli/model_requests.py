"""Options, signals and spending of commands that send requests to models: `map build`, `map complete`, `predict`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoe.cli.output import say
from shoe.core.errors import OptionError, quote, unknown_name

if TYPE_CHECKING:
    from shoe.engines.base import Engine
    from shoe.engines.ray_cluster import Cluster
    from shoe.llm.budget import Budget

_STATES = ("unparsable", "refused")


def treat_sigterm_as_interrupt() -> None:
    """Treat SIGTERM (from a cluster) and SIGHUP (closed terminal) like Ctrl-C, so that pending answers are saved.

    Outside the main thread, nothing is changed. An ignored SIGHUP, as under ``nohup``, stays ignored.
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

    Raises OptionError for engines other than serial and ray, or ``gpus`` without Ray; MissingExtraError without Ray.
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
    """Yield the Ray cluster whose workers, with ``gpus`` GPUs each, send the requests of all models; else None.

    Raises ShoeError if the cluster does not respond, or no machine has ``gpus`` GPUs.
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


BUDGET_REACHED = 3
"""Exit code of a run that ended at --max-cost or --max-requests, with all answers saved."""


def approve_spending(
    configs: Iterable[Any],
    about: Callable[[], str],
    max_cost: float | None,
    *,
    yes: bool,
    example: str,
    detail: Callable[[], object] = lambda: None,
) -> None:
    """Ask for confirmation before a run that costs money, unless the user has accepted the cost.

    The answer "no" ends the command with exit code 0. ``--yes`` accepts any cost, and ``--max-cost`` the cost of models
    that have a price. A model without a price may cost money, too, depending on its endpoint. The callback ``about``
    returns the expected cost of the models with a price, or "" if it is 0. ``example`` shows how a price is set. The
    callback ``detail`` prints details before the question. Raises OptionError if standard input is not a terminal.
    """
    import typer

    configs = list(configs)
    unpriced = [config for config in configs if config.price is None]
    if unpriced and max_cost is not None:
        say(f"--max-cost does not limit {unknown_cost(unpriced, example)}")
    charged = [config for config in unpriced if (place := getattr(config, "place", None)) and place.may_charge]
    is_open = max_cost is None and any(config.price and not config.price.is_free for config in configs)
    known = about() if is_open and not yes else ""
    if yes or not (charged or known):
        return
    cost = " plus ".join([*([known] if known else []), *([unknown_cost(charged, example)] if charged else [])])
    if sys.stdin is None or not sys.stdin.isatty():
        raise OptionError(f"cost of this run: {cost}; add --yes to accept, or --dry-run for details")
    detail()
    try:
        agreed = typer.confirm(f"Spend {cost}?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        raise typer.Exit(0)


def end_at_budget(budget: Budget) -> None:
    """End the command with exit code 3 if the run ended because its budget was used up."""
    import typer

    if budget.reason in ("cost", "requests"):
        raise typer.Exit(BUDGET_REACHED)


def unknown_cost(configs: Iterable[Any], example: str) -> str:
    """Return "the unknown cost of A, B, which has no price (EXAMPLE)"; all ``configs`` must be without a price."""
    names = ", ".join(getattr(config, "name", config.model) for config in configs)
    return f"the unknown cost of {names}, which has no price ({example})"
