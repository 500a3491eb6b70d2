"""Jobs of a service on a cluster: the process beside the server that is connected to Ray.

``python -P -m shoe.service.cluster SOCKET ADDRESS``: SOCKET is the number of an inherited socket, over which lines of
JSON go both ways; ADDRESS is the cluster's, as ``ray.init`` has it. When the server's end is closed, it all ends.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

import msgspec
import numpy as np

from shoe.core.errors import ShoeError, printable
from shoe.engines.connection import connected
from shoe.engines.watch import check_cluster, is_missing
from shoe.io.files import replacing
from shoe.service.host import Host
from shoe.service.process import DONE, Done, End, Failed, Task
from shoe.service.requests import files_of, map_of
from shoe.version import __version__

_LOOK, _SILENT = 1.0, 45.0
"""Seconds between two words to the server, and for which a host may say nothing."""
_IDLE = 30.0
"""Seconds for which a host without a job keeps its core of the cluster."""
_MOST_PUT = 4_000_000_000
"""Bytes of files that are kept in Ray's store for the next jobs."""
_GRACE, _LONGEST_END = 5.0, 15.0
"""Seconds for hosts to remove what is theirs, and for all to end once the server is gone."""


class Begin(msgspec.Struct, tag="begin"):
    """The server wants a job done: what it leaves goes to ``scratch``, a folder to make."""

    id: int
    scratch: str
    task: Task


class Halt(msgspec.Struct, tag="halt"):
    """The server wants a job no more."""

    id: int


class Up(msgspec.Struct, tag="up"):
    """The cluster is there: its cores."""

    cores: int


class Refused(msgspec.Struct, tag="refused"):
    """There is no cluster, or none to work with: why."""

    reason: str


class News(msgspec.Struct, tag="news"):
    """What a child said; nothing, as long as it is worked on."""

    id: int
    lines: list[str]


class Over(msgspec.Struct, tag="over"):
    """A job has ended; None where its child did by itself."""

    id: int
    end: End | None


class _HaltedError(Exception):
    """The server wants it no more."""


class _SilentError(Exception):
    """A host does not answer."""


class Cluster:
    """Jobs on their hosts, each watched by a thread."""

    def __init__(self, ray: Any, say: Callable[[Any], None], gone: Callable[[], None]) -> None:
        """Take the module, connected, who hears of jobs, and who hears that the cluster is gone."""
        self._ray, self._say, self._gone = ray, say, gone
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(Host)
        self._lock = threading.Lock()
        self._put: dict[str, tuple[Any, int]] = {}
        self._idle: list[tuple[Any, float]] = []
        self._hosts: set[Any] = set()
        self._halted: dict[int, threading.Event] = {}

    def begin(self, wanted: Begin) -> None:
        """Do a job, in a thread of its own."""
        self._halted[wanted.id] = threading.Event()
        threading.Thread(target=self._do, args=(wanted,), daemon=True).start()

    def halt(self, id_: int) -> None:
        """Break a job off."""
        if (event := self._halted.get(id_)) is not None:
            event.set()

    def rest(self) -> None:
        """Give back the cores of hosts that had nothing to do for a time, as long as the cluster is there."""
        while True:
            time.sleep(_LOOK)
            try:
                check_cluster()
            except ShoeError:
                self._gone()
                return
            with self._lock:
                old = [host for host, since in self._idle if time.monotonic() > since + _IDLE]
                self._idle = [one for one in self._idle if one[0] not in old]
            self._dismiss(old)

    def stop(self) -> None:
        """End all jobs and hosts."""
        with self._lock:
            hosts = list(self._hosts)
        self._dismiss(hosts)

    def _do(self, wanted: Begin) -> None:
        try:
            end = self._attempt(wanted)
        except Exception as error:
            why = printable(" ".join(str(error).split()), 300)
            then: Literal["retry", "requeue"] = "retry"
            while is_missing():  # until it is back, or lost with all of its jobs, which is no death of this one
                then = "requeue"
                time.sleep(_LOOK)
            end = End(f"its machine was lost ({type(error).__name__})", then, why)  # which has addresses and paths
        del self._halted[wanted.id]
        self._say(Over(wanted.id, end))

    def _attempt(self, wanted: Begin) -> End | None:
        places = dict(_places(wanted.task))
        files = {place: [self._reference(place, path)] for place, path in places.items()}
        host, is_new = self._take()
        is_well = False
        try:
            try:
                self._answer(wanted.id, host.begin.remote(wanted.task, files), patience=None)
            except self._ray.exceptions.RayActorError:
                if is_new:
                    raise
                return End("its machine was lost before it began", "requeue")
            lines, is_over = list[str](), False
            while not is_over:
                lines, is_over = self._answer(wanted.id, host.news.remote(_LOOK))
                self._say(News(wanted.id, lines))
            end: End | None
            end, done = self._answer(wanted.id, host.end.remote())
            if end is None and done is not None:
                self._fetch(wanted, host, done)
            self._answer(wanted.id, host.forget.remote())
            is_well = True
        except _HaltedError:
            return None
        finally:
            if is_well:
                with self._lock:
                    self._idle.append((host, time.monotonic()))
            else:
                with self._lock:  # the store may have lost them, too
                    for place in places:
                        self._put.pop(place, None)
                self._dismiss([host])
        return end

    def _fetch(self, wanted: Begin, host: Any, done: bytes) -> None:
        """Write what a job made where a child of the server would have."""
        scratch = Path(wanted.scratch)
        (scratch / "out").mkdir(mode=0o700, parents=True)
        found = msgspec.json.decode(done, type=Done | Failed)
        for name in found.outputs if isinstance(found, Done) else ():
            with (scratch / "out" / Path(name).name).open("xb") as stream:
                while piece := self._answer(wanted.id, host.read.remote(name, stream.tell())):
                    stream.write(piece)
                    self._say(News(wanted.id, []))
                os.fsync(stream.fileno())
        with replacing(scratch / DONE) as last:
            last.write(done)

    def _answer(self, id_: int, reference: Any, patience: float | None = _SILENT) -> Any:
        """What a host answers; meanwhile the server hears that it is waited for."""
        since = time.monotonic()
        while not self._ray.wait([reference], timeout=_LOOK)[0]:
            if self._halted[id_].is_set():
                raise _HaltedError
            if patience is not None and time.monotonic() > since + patience:
                raise _SilentError(f"it said nothing for {patience:g} s")
            self._say(News(id_, []))
        if self._halted[id_].is_set():
            raise _HaltedError
        return self._ray.get(reference)

    def _take(self) -> tuple[Any, bool]:
        """A host, and whether it is new: one that had nothing to do may have died meanwhile."""
        with self._lock:
            if self._idle:
                return self._idle.pop()[0], False
            host = self._actor.remote(__version__)
            self._hosts.add(host)
            return host, True

    def _dismiss(self, hosts: list[Any]) -> None:
        """Let hosts remove what is theirs, and end them."""
        leaving = [host.leave.remote() for host in hosts]
        if leaving:
            self._ray.wait(leaving, num_returns=len(leaving), timeout=_GRACE)
        for host in hosts:
            self._ray.kill(host)
        with self._lock:
            self._hosts -= set(hosts)

    def _reference(self, place: str, path: Path) -> Any:
        """A file in Ray's store, where each is put once."""
        with self._lock:
            if place not in self._put:
                content = np.fromfile(path, np.uint8)
                self._put[place] = self._ray.put(content), len(content)
            reference, size = self._put[place] = self._put.pop(place)  # it is the last that was used
            while size < sum(of for _, of in self._put.values()) > _MOST_PUT:
                del self._put[next(iter(self._put))]
            return reference


def _places(task: Task) -> Iterator[tuple[str, Path]]:
    """All that a job reads: where it lies below the service's folder, and where here."""
    for sha256 in files_of(task.kind, task.request):
        within = Path(sha256[:2], sha256[2:])
        yield f"files/{within}", Path(task.files, within)
    if (folder := map_of(task.request)) is not None:
        for path in sorted(Path(task.maps, folder).rglob("*")):
            if path.is_file():
                yield f"maps/{path.relative_to(task.maps)}", path


def main() -> None:
    """Connect, and do what the server wants until it is gone."""
    connection, address = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    lock, heard = threading.Lock(), SimpleQueue[Begin | Halt | None]()

    def say(message: Any) -> None:
        with lock, suppress(OSError):  # a server that is gone hears nothing
            connection.sendall(msgspec.json.encode(message) + b"\n")

    threading.Thread(target=_hear, args=(connection, heard), daemon=True).start()
    try:
        with connected(address) as ray:
            cluster = Cluster(ray, say, gone=lambda: connection.shutdown(socket.SHUT_RDWR))
            threading.Thread(target=cluster.rest, daemon=True).start()
            say(Up(int(ray.cluster_resources().get("CPU", 0))))
            while (wanted := heard.get()) is not None:
                if isinstance(wanted, Begin):
                    cluster.begin(wanted)
                else:
                    cluster.halt(wanted.id)
            cluster.stop()
    except ShoeError as error:
        say(Refused(str(error)))


def _hear(connection: socket.socket, heard: SimpleQueue[Begin | Halt | None]) -> None:
    """Pass on what the server says; None once it is gone."""
    with suppress(OSError, msgspec.DecodeError), connection.makefile("rb") as lines:  # it may die within a line
        for line in lines:
            heard.put(msgspec.json.decode(line, type=Begin | Halt))
    heard.put(None)
    time.sleep(_LONGEST_END)
    os._exit(1)  # Ray did not come to its end, nor to its beginning


if __name__ == "__main__":
    main()
