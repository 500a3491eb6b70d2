"""Seeing that a cluster is gone: Ray itself waits for a minute, or for ever, and then ends the program."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any

from shoe.core.errors import ShoeError, printable

_LOOK = 1.0
_PATIENCE = 5.0


class Watch:
    """Looks, in a thread, whether the head of a cluster and the raylet of this machine take connections."""

    def __init__(self, places: Mapping[str, str], gone: float) -> None:
        """Begin to look at places by their names; so many seconds without a connection are the end of the cluster."""
        self._places = places
        self._gone, self._missing, self._since, self._over = gone, "", 0.0, Event()
        Thread(target=self._watch, name="shoe-cluster", daemon=True).start()

    def check(self) -> None:
        """See that the cluster is there.

        Raises:
            ShoeError: if it is not, for so long that it will not be.
        """
        if (missing := self._missing) and monotonic() > self._since + self._gone:
            raise lost(f"{missing} does not answer any more")

    def end(self) -> None:
        """Look no more."""
        self._over.set()

    def missing(self) -> str:
        """Look what does not take connections now; "" if all does."""
        for name, place in self._places.items():
            host, _, port = place.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
            except OSError:
                return f"its {name} at {place}"
        return ""

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            found = self.missing()
            if not self._missing:
                self._since = monotonic()
            self._missing = found


_watch: Watch | None = None


def lost(why: str) -> ShoeError:
    """What a command says that has lost its cluster."""
    said = "what was kept stays, and the same command goes on from there"
    return ShoeError(f"--engine ray: the cluster is gone ({printable(' '.join(why.split()), 300)}): {said}")


def _places(ray: Any) -> dict[str, str]:
    """Where the head of the cluster and the raylet of this machine listen."""
    here = ray.get_runtime_context()
    node = next(node for node in ray.nodes() if node["NodeID"] == here.get_node_id())
    return {"head": here.gcs_address, "raylet": f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"}


def check_cluster() -> None:
    """See that the cluster that this process works with is there; without one, there is nothing to see.

    Raises:
        ShoeError: if it is gone.
    """
    if _watch is not None:
        _watch.check()


def is_missing() -> bool:
    """Whether the cluster that this process works with takes no connection now, though it may not be lost for that."""
    return _watch is not None and bool(_watch.missing())


@contextmanager
def watching(ray: Any, gone: float, server: str = "") -> Iterator[None]:
    """Within it, :func:`check_cluster` knows of a cluster, and what Ray has to say is a line each, and no result.

    Args:
        ray: the module, connected.
        gone: see :class:`Watch`.
        server: of Ray Client, by way of which it is; where it listens.
    """
    global _watch
    worker: Any = import_module("ray._private.worker")
    said = worker.print_to_stdstream
    _watch = watch = Watch({"server": server} if server else _places(ray), gone)

    def say(data: dict[str, Any], **_: Any) -> None:
        """Ray prints to standard output, where results are; of a cluster that is gone shoe has its own line."""
        for text in () if watch.missing() else data["lines"]:
            sys.stderr.write(f"Ray: {printable(' '.join(text.split()), 300)}\n")

    worker.print_to_stdstream = say
    try:
        yield
    finally:
        worker.print_to_stdstream, _watch = said, None
        watch.end()
