"""The process beside the server that is connected to Ray and runs the server's jobs on the cluster.

``python -P -m shoe.service.cluster_jobs CONTROL ADDRESS``: CONTROL is the number of an inherited connection over
which the server sends one connection per job; ADDRESS is the cluster's, as for ``ray.init``. A job's connection
carries Start, then Progress at least every second or so, then Finished; closing it cancels
the job. When the server closes CONTROL, all of it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from shoe.core.errors import ShoeError, printable
from shoe.core.io.files import replacing
from shoe.engines.ray_cluster import Cluster, Lease, is_locked
from shoe.engines.ray_connection import Connection as RayConnection
from shoe.engines.ray_connection import connected
from shoe.service.process import DONE, Child, Done, End, Failed, Task
from shoe.service.requests import files_of, map_of
from shoe.version import __version__

# A worker of a cluster that runs jobs of a service, each in a child process, in a folder that is removed with it.

PIECE = 1 << 25
"""Bytes of a file that are returned at once."""
_MOST = 4_000_000_000
"""Bytes of files that are kept for later jobs, besides those of the latest one."""
_HOST_POLL, _SILENCE = 0.2, 300.0
"""Seconds between two looks at a child, and without a call from the service until a host exits."""


class Host:
    """A Ray actor that runs one job after the other, each in a child of its process.

    Its methods run in the main thread of its process, one at a time: this thread starts the children and so outlives
    them. If the host is killed, the kernel ends the child. It exits when the process of Ray that started it has ended.
    """

    def __init__(self, version: str) -> None:
        """Create a folder, and remove those of hosts that were killed.

        Raises:
            ShoeError: if this machine has another version of shoe.
        """
        if version != __version__:
            raise ShoeError(f"found a machine with shoe {__version__}, expected {version}, as the service")
        self._folder = _create_folder()
        self._scratch = self._folder / "job"
        self._lease = Lease(_SILENCE)
        self._kept: dict[str, int] = {}
        self._child: Child | None = None

    def start(self, task: Task, files: Mapping[str, list[Any]]) -> None:
        """Start a job.

        Args:
            task: the job; its folders are replaced by those of this host.
            files: Ray references to the content of all files that it reads (each in a list, in which Ray leaves it a
                reference), by their paths below the service's folder, ``files/...`` or ``maps/...``. The path
                determines the content.
        """
        import ray

        self._lease.renew()
        shutil.rmtree(self._scratch, ignore_errors=True)
        for name, (reference,) in files.items():
            if name in self._kept:
                self._kept[name] = self._kept.pop(name)  # now the most recently used one
                continue
            path = self._folder / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = ray.get(reference)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(content)
            part.rename(path)
            self._kept[name] = len(content)
        for name in [name for name in self._kept if name not in files]:
            if sum(self._kept.values()) > _MOST:
                (self._folder / name).unlink()
                del self._kept[name]
        task = msgspec.structs.replace(task, files=str(self._folder / "files"), maps=str(self._folder / "maps"))
        # Only this process knows the modules that Ray was told of (PYTHONPATH, py_modules).
        modules = os.pathsep.join(filter(None, sys.path))
        self._child = Child(self._scratch, task, {**os.environ, "PYTHONPATH": modules})

    def listen(self, seconds: float) -> tuple[list[str], tuple[End | None, bytes | None] | None]:
        """Return new lines of the child, soon or after some seconds; if it has ended, also its end and its result."""
        assert self._child is not None  # noqa: S101 - started
        self._lease.renew()
        until, lines = time.monotonic() + seconds, list[str]()
        while not lines and not self._child.is_over and time.monotonic() < until:
            lines = self._child.listen(_HOST_POLL)
        if not self._child.is_over:
            return lines, None
        self._child.close()
        end, self._child, done = self._child.end, None, self._scratch / DONE
        return lines, (end, done.read_bytes() if done.exists() else None)

    def read(self, name: str, offset: int) -> bytes:
        """Return a piece of a file that the child wrote."""
        self._lease.renew()
        with (self._scratch / "out" / name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    def leave(self) -> None:
        """End the job if it still runs, and remove the folder."""
        if self._child is not None:
            self._child.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _create_folder() -> Path:
    """Create a folder that is locked as long as this process lives, and remove those of dead processes."""
    above = Path(tempfile.gettempdir()) / f"shoe-hosts-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    found = above.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or above.is_symlink():
        raise ShoeError(f"found {above} open to others, expected a folder of this user alone")
    with (above / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # so that no folder is seen before it is locked
        for other in above.glob("host-*"):
            if not is_locked(other):
                shutil.rmtree(other, ignore_errors=True)
        own = Path(tempfile.mkdtemp(dir=above, prefix="host-"))
        fcntl.flock(os.open(own, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_EX)
    return own


_POLL, _SILENT = 1.0, 45.0
"""Seconds between two messages to the server, and for which a host may be silent."""
_IDLE = 30.0
"""Seconds for which a host without a job keeps its core of the cluster."""
_MOST_STORED = 4_000_000_000
"""Bytes of files that are kept in Ray's object store for later jobs."""
_GRACE, _LONGEST_END = 5.0, 15.0
"""Seconds for hosts to remove their folders, and for this process to end once the server is gone."""


class Ready(msgspec.Struct, tag="ready"):
    """The cluster is connected; its number of cores."""

    cores: int


class Refused(msgspec.Struct, tag="refused"):
    """Why there is no cluster, or none to work with."""

    reason: str


class Start(msgspec.Struct):
    """A job to run; its results are written to ``scratch``, a folder to create."""

    scratch: str
    task: Task


class Progress(msgspec.Struct, tag="progress"):
    """Lines of the job's child process; empty as a heartbeat."""

    lines: list[str]


class Finished(msgspec.Struct, tag="finished"):
    """The job has ended; ``end`` is None if its child process has written a result."""

    end: End | None


class JobRunner:
    """Runs jobs on hosts, which are Ray actors that are kept for the next job."""

    def __init__(self, connection: RayConnection) -> None:
        """Take the connection to the cluster."""
        self._connection, self._ray, self._cluster = connection, connection.ray, Cluster(connection)
        self._lock = threading.Lock()
        self._stored: dict[str, tuple[Any, int]] = {}
        self._idle: list[tuple[Any, float]] = []
        self._hosts: set[Any] = set()

    def run(self, server: Connection[Any, Any]) -> None:
        """Run the job of one connection."""
        with server, suppress(EOFError, OSError):  # the server has cancelled the job, or is gone
            start = msgspec.json.decode(server.recv_bytes(), type=Start)
            try:
                end = self._attempt(server, start)
            except Exception as error:
                why = printable(" ".join(str(error).split()), 300)
                then: Literal["retry", "requeue"] = "retry"
                while self._connection.missing():  # a cluster that comes back, or is lost, is no death of this job
                    then = "requeue"
                    time.sleep(_POLL)
                end = End(f"its machine was lost ({type(error).__name__})", then, why)  # `why` has addresses and paths
            _send(server, Finished(end))

    def dismiss_idle(self) -> None:
        """Give back the cores of idle hosts, again and again."""
        while True:
            time.sleep(_POLL)
            with self._lock:
                old = [host for host, since in self._idle if time.monotonic() > since + _IDLE]
                self._idle = [one for one in self._idle if one[0] not in old]
            self._dismiss(old)

    def stop(self) -> None:
        """End all jobs and hosts."""
        with self._lock:
            hosts = list(self._hosts)
        self._dismiss(hosts)

    def _attempt(self, server: Connection[Any, Any], start: Start) -> End | None:
        inputs = dict(_inputs(start.task))
        files = {name: [self._reference(name, path)] for name, path in inputs.items()}
        with self._lock:
            host, is_new = (
                (self._idle.pop()[0], False) if self._idle else (self._cluster.start(Host, __version__), True)
            )
            self._hosts.add(host)
        is_well = False
        try:
            try:
                self._wait(server, host.start.remote(start.task, files), patience=None)
            except self._ray.exceptions.RayActorError:
                if is_new:
                    raise
                return End("its machine was lost before it began", "requeue")  # while it was idle
            outcome: tuple[End | None, bytes | None] | None = None
            while outcome is None:
                lines, outcome = self._wait(server, host.listen.remote(_POLL))
                _send(server, Progress(lines))
            end, done = outcome
            if end is None and done is not None:
                self._fetch(server, host, Path(start.scratch), done)
            is_well = True
            return end
        finally:
            if is_well:
                with self._lock:
                    self._idle.append((host, time.monotonic()))
            else:
                with self._lock:  # the object store may have lost them, too
                    for name in inputs:
                        self._stored.pop(name, None)
                self._dismiss([host])

    def _fetch(self, server: Connection[Any, Any], host: Any, scratch: Path, done: bytes) -> None:
        """Write the results of a job where a child process of the server would have written them."""
        (scratch / "out").mkdir(mode=0o700, parents=True)
        result = msgspec.json.decode(done, type=Done | Failed)
        for name in result.outputs if isinstance(result, Done) else ():
            with (scratch / "out" / Path(name).name).open("xb") as stream:
                while piece := self._wait(server, host.read.remote(name, stream.tell())):
                    stream.write(piece)
                    _send(server, Progress([]))
                os.fsync(stream.fileno())
        with replacing(scratch / DONE) as last:
            last.write(done)

    def _wait(self, server: Connection[Any, Any], reference: Any, patience: float | None = _SILENT) -> Any:
        """Return what a host's method returns; meanwhile send heartbeats, which fail if the job is cancelled."""
        since = time.monotonic()
        while not self._ray.wait([reference], timeout=_POLL)[0]:
            if patience is not None and time.monotonic() > since + patience:
                raise TimeoutError(f"it said nothing for {patience:g} s")
            _send(server, Progress([]))
        return self._ray.get(reference)

    def _dismiss(self, hosts: list[Any]) -> None:
        """Have hosts remove their folders, and end them."""
        leaving = [host.leave.remote() for host in hosts]
        if leaving:
            self._ray.wait(leaving, num_returns=len(leaving), timeout=_GRACE)
        for host in hosts:
            self._ray.kill(host)
        with self._lock:
            self._hosts -= set(hosts)

    def _reference(self, name: str, path: Path) -> Any:
        """Return a file in Ray's object store, where it is put unless it is there."""
        with self._lock:
            if name not in self._stored:
                content = np.fromfile(path, np.uint8)
                self._stored[name] = self._ray.put(content), len(content)
            reference, size = self._stored[name] = self._stored.pop(name)  # now the most recently used one
            while size < sum(of for _, of in self._stored.values()) > _MOST_STORED:
                del self._stored[next(iter(self._stored))]
            return reference


def _send(server: Connection[Any, Any], message: Progress | Finished) -> None:
    server.send_bytes(msgspec.json.encode(message))


def _inputs(task: Task) -> Iterator[tuple[str, Path]]:
    """Yield the files that a job reads: their paths below the service's folder, and on this machine."""
    for sha256 in files_of(task.kind, task.request):
        within = Path(sha256[:2], sha256[2:])
        yield f"files/{within}", Path(task.files, within)
    if (folder := map_of(task.request)) is not None:
        for path in sorted(Path(task.maps, folder).rglob("*")):
            if path.is_file():
                yield f"maps/{path.relative_to(task.maps)}", path


def main() -> None:
    """Connect to the cluster, and run jobs until the server closes the connection or the cluster is lost."""
    control: Connection[Any, Any] = Connection(int(sys.argv[1]))
    threading.Thread(target=_exit_after, args=(os.getppid(),), daemon=True).start()
    try:
        with connected(sys.argv[2]) as connection, control:  # closed first, as Ray may take long to end
            runner = JobRunner(connection)
            threading.Thread(target=runner.dismiss_idle, daemon=True).start()
            cores = int(connection.ray.cluster_resources().get("CPU", 0))
            with suppress(EOFError, OSError):  # the server is gone
                control.send_bytes(msgspec.json.encode(Ready(cores)))
                while True:
                    connection.check()
                    if control.poll(_POLL):
                        job: Connection[Any, Any] = Connection(recv_handle(control))
                        threading.Thread(target=runner.run, args=(job,), daemon=True).start()
            runner.stop()
    except ShoeError as error:
        with suppress(OSError):
            control.send_bytes(msgspec.json.encode(Refused(str(error))))


def _exit_after(server: int) -> None:
    """Exit some time after the server: Ray may never come to its end, or to the end of its start."""
    while os.getppid() == server:
        time.sleep(_POLL)
    time.sleep(_LONGEST_END)
    os._exit(1)


if __name__ == "__main__":
    main()
