"""Executor for Ray clusters, and the process that is connected to Ray and runs the server's jobs on the cluster.

The server starts this process as ``python -P -m shoe.service.cluster_jobs CONTROL ADDRESS``: CONTROL is the file
descriptor of an inherited connection over which the server sends one connection per job. ADDRESS is the address of the
cluster, as for ``ray.init``. A job's connection carries the message Start, then output lines about every second, then
the end of the job; closing the connection cancels the job. The process exits when the server closes CONTROL.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from shoe.core.errors import OptionError, ShoeError, printable
from shoe.core.io.files import atomic_write
from shoe.engines.ray_cluster import Cluster, Connection as RayConnection, Lease, connect, is_locked
from shoe.service.jobs import files_of
from shoe.service.process import DONE, Child, Done, End, Executor, Failed, Task
from shoe.version import __version__

PIECE = 1 << 25
"""Bytes of an output file that are returned per call."""
_MOST = 4_000_000_000
"""Limit in bytes of the input files that a host keeps for later jobs; the files of the latest job are always kept."""
_HOST_POLL, _SILENCE = 0.2, 300.0
"""Seconds between two checks of a child process; seconds without a call from the server until a host exits."""


class Host:
    """Ray actor that runs jobs one after the other, each job in a child process.

    All methods run in the main thread of the actor's process, because the kernel kills a child process when the thread
    that started it ends, for example when the actor is killed. The actor exits when the Ray process that started it has
    ended, or 300 s after the latest call.
    """

    def __init__(self, version: str) -> None:
        """Create a folder for files and jobs; raise ShoeError if shoe on this machine is not of the given version."""
        if version != __version__:
            raise ShoeError(f"a cluster machine has shoe {__version__}: install shoe {version}, as on the server")
        self._folder = _create_folder()
        self._scratch = self._folder / "job"
        self._lease = Lease(_SILENCE)
        self._kept: dict[str, int] = {}
        self._child: Child | None = None

    def start(self, task: Task, files: Mapping[str, list[Any]]) -> None:
        """Copy the missing input files of a job to this host, and start the job in a child process.

        `files` has Ray references to the content of the input files, by path below the server's data folder
        (``files/...`` or ``maps/...``). Files with equal paths have equal content. Each reference is in a list, because
        Ray would replace a bare argument by its content.
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
        # Ray adds the modules of its runtime environment (py_modules) only to sys.path of this process.
        modules = os.pathsep.join(filter(None, sys.path))
        self._child = Child(self._scratch, task, {**os.environ, "PYTHONPATH": modules})

    def listen(self, seconds: float) -> tuple[list[str], tuple[End | None, bytes | None] | None]:
        """Wait until the child process prints lines or ends, at most `seconds`; return its new lines, and its end.

        The end is None while the job runs, then (reason why the child process failed, or None; content of done.json, or
        None without this file).
        """
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
        """Return at most 32 MiB of the output file `name`, from the byte `offset`; b"" at the end of the file."""
        self._lease.renew()
        with (self._scratch / "out" / name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    def leave(self) -> None:
        """Kill the child process if it still runs, and remove the folder of this host."""
        if self._child is not None:
            self._child.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _create_folder() -> Path:
    """Create and return a folder that is locked while this process lives; remove the folders of dead processes."""
    above = Path(tempfile.gettempdir()) / f"shoe-hosts-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    found = above.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or above.is_symlink():
        raise ShoeError(f"{above}: must belong to this user, with mode 0700: remove the folder")
    with (above / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # no other process must see the new folder before it is locked
        for other in above.glob("host-*"):
            if not is_locked(other):
                shutil.rmtree(other, ignore_errors=True)
        own = Path(tempfile.mkdtemp(dir=above, prefix="host-"))
        fcntl.flock(os.open(own, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_EX)
    return own


_POLL, _SILENT = 1.0, 45.0
"""Seconds between two messages to the server; seconds until a host without a response counts as lost."""
_IDLE = 30.0  # seconds until a host without a job is ended and returns its core to the cluster
_MOST_STORED = 4_000_000_000  # limit in bytes of the input files that are kept in Ray's object store for later jobs
_GRACE, _LONGEST_END = 5.0, 15.0
"""Time limits in seconds: for hosts to remove their folders, and for this process to exit after the server."""


Ready = int | str
"""Message of the connected process to the server: number of cores of the cluster, or why it cannot be used."""
Start = tuple[str, Task]
"""Message of the server: a job to run, and the new folder for its results."""
Update = list[str] | End | None
"""Message about a job: new output lines of its child process (an empty list is a heartbeat), or its end.

None means that the job has ended with a result, and an End is the reason why there is no result."""


class JobRunner:
    """Runs jobs on hosts (:class:`Host` actors), and reuses idle hosts for later jobs."""

    def __init__(self, connection: RayConnection) -> None:
        self._connection, self._ray, self._cluster = connection, connection.ray, Cluster(connection)
        self._lock = threading.Lock()
        self._stored: dict[str, tuple[Any, int]] = {}
        self._idle: list[tuple[Any, float]] = []
        self._hosts: set[Any] = set()

    def run(self, server: Connection[Any, Any]) -> None:
        """Receive a job over the connection `server`, run the job on a host, send back its output and how it ended."""
        with server, suppress(EOFError, OSError):  # the server has cancelled the job, or has ended
            scratch, task = msgspec.json.decode(server.recv_bytes(), type=Start)
            try:
                end = self._attempt(server, Path(scratch), task)
            except Exception as error:
                why = printable(" ".join(str(error).split()), 300)
                then: Literal["retry", "requeue"] = "retry"
                while self._connection.missing():  # an interruption of the cluster does not count against the job
                    then = "requeue"
                    time.sleep(_POLL)
                # Only the log of the server gets `why`, because it may contain addresses and paths.
                end = End(f"the machine of the job was lost ({type(error).__name__})", then, why)
            _send(server, end)

    def dismiss_idle(self) -> None:
        """Shut down hosts that have been idle for more than 30 s; loops forever."""
        while True:
            time.sleep(_POLL)
            with self._lock:
                old = [host for host, since in self._idle if time.monotonic() > since + _IDLE]
                self._idle = [one for one in self._idle if one[0] not in old]
            self._dismiss(old)

    def stop(self) -> None:
        """End all jobs, and shut down all hosts, including idle hosts."""
        with self._lock:
            hosts = list(self._hosts)
        self._dismiss(hosts)

    def _attempt(self, server: Connection[Any, Any], scratch: Path, task: Task) -> End | None:
        inputs = dict(_inputs(task))
        files = {name: [self._reference(name, path)] for name, path in inputs.items()}
        with self._lock:
            is_new = not self._idle
            host = self._cluster.start(Host, __version__) if is_new else self._idle.pop()[0]
            self._hosts.add(host)
        is_well = False
        try:
            try:
                self._wait(server, host.start.remote(task, files), patience=None)
            except self._ray.exceptions.RayActorError:
                if is_new:
                    raise
                return End("the machine of the job was lost before the start", "requeue")  # the host died while idle
            outcome: tuple[End | None, bytes | None] | None = None
            while outcome is None:
                lines, outcome = self._wait(server, host.listen.remote(_POLL))
                _send(server, lines)
            end, done = outcome
            if end is None and done is not None:
                self._fetch(server, host, scratch, done)
            is_well = True
            return end
        finally:
            if is_well:
                with self._lock:
                    self._idle.append((host, time.monotonic()))
            else:
                with self._lock:  # the object store may have lost the files, too
                    for name in inputs:
                        self._stored.pop(name, None)
                self._dismiss([host])

    def _fetch(self, server: Connection[Any, Any], host: Any, scratch: Path, done: bytes) -> None:
        """Copy a job's results from a host to the folder ``scratch``, in the layout of a local child process."""
        (scratch / "out").mkdir(mode=0o700, parents=True)
        result = msgspec.json.decode(done, type=Done | Failed)
        for name in result.outputs if isinstance(result, Done) else ():
            with (scratch / "out" / Path(name).name).open("xb") as stream:
                while piece := self._wait(server, host.read.remote(name, stream.tell())):
                    stream.write(piece)
                    _send(server, [])
                os.fsync(stream.fileno())
        with atomic_write(scratch / DONE) as last:
            last.write(done)

    def _wait(self, server: Connection[Any, Any], reference: Any, patience: float | None = _SILENT) -> Any:
        """Wait for the result of a call of a host, send heartbeats meanwhile, and return the result.

        Raise OSError if the server has closed its connection, for example because the job was cancelled, and
        TimeoutError if the host does not respond within `patience` seconds.
        """
        since = time.monotonic()
        while not self._ray.wait([reference], timeout=_POLL)[0]:
            if patience is not None and time.monotonic() > since + patience:
                raise TimeoutError(f"no response for {patience:g} s")
            _send(server, [])
        return self._ray.get(reference)

    def _dismiss(self, hosts: list[Any]) -> None:
        """Let hosts remove their folders, then kill the hosts."""
        leaving = [host.leave.remote() for host in hosts]
        if leaving:
            self._ray.wait(leaving, num_returns=len(leaving), timeout=_GRACE)
        for host in hosts:
            self._ray.kill(host)
        with self._lock:
            self._hosts -= set(hosts)

    def _reference(self, name: str, path: Path) -> Any:
        """Return the Ray reference to the content of a file; `name` is the key under which references are reused."""
        with self._lock:
            if name not in self._stored:
                content = np.fromfile(path, np.uint8)
                self._stored[name] = self._ray.put(content), len(content)
            reference, size = self._stored[name] = self._stored.pop(name)  # now the most recently used one
            while size < sum(bytes_ for _, bytes_ in self._stored.values()) > _MOST_STORED:
                del self._stored[next(iter(self._stored))]
            return reference


def _send(server: Connection[Any, Any], message: Update) -> None:
    server.send_bytes(msgspec.json.encode(message))


def _inputs(task: Task) -> Iterator[tuple[str, Path]]:
    """Yield (path below the server's data folder, local path) of each file that a job reads."""
    for sha256 in files_of(task.kind, task.request):
        part = Path(sha256[:2], sha256[2:])
        yield f"files/{part}", Path(task.files, part)
    if (folder := task.request.get("similarity", {}).get("folder")) is not None:  # a registered map
        for path in sorted(Path(task.maps, folder).rglob("*")):
            if path.is_file():
                yield f"maps/{path.relative_to(task.maps)}", path


_STARTING, _NO_MESSAGE, _ENDING, _CHECK = 180.0, 60.0, 20.0, 0.2
"""Time limits in seconds: start of Ray, next message of a job, end of Ray; seconds between two checks."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the first attempt to reconnect to the cluster; longest time between two attempts."""
_LOST = End("the cluster was lost", "requeue")
_log = logging.getLogger(__name__)


class RayExecutor(Executor):
    """Executor that runs jobs on a Ray cluster; `jobs` is the number of its cores when the executor was created.

    A separate process is connected to Ray, and is restarted when it dies. The server itself does not connect to Ray,
    because Ray takes over the signals, threads and output of its process, and ends it when the cluster is lost.
    """

    name = "ray"

    def __init__(self, address: str) -> None:
        """Connect to a cluster at an address as for :func:`connect`; OptionError if there is no usable cluster."""
        self._address, self._lock, self._stopped = address, threading.Lock(), threading.Event()
        self.is_ready = False
        self.jobs = max(1, self._launch())
        self._thread = threading.Thread(target=self._supervise, name="ray-executor")
        self._thread.start()

    def start(self, scratch: Path, task: Task) -> _RayJob:
        """Start the job `task` on the cluster, with results in the new folder `scratch`, and return the running job."""
        connection, job_end = Pipe()
        with suppress(OSError):  # if the process has died, its connection is closed, which ends the job as lost
            with job_end, self._lock:
                if self.is_ready:
                    send_handle(self._control, job_end.fileno(), self._process.pid)
            connection.send_bytes(msgspec.json.encode((str(scratch), task)))
        return _RayJob(self, connection)

    def stop(self) -> None:
        """End the process that is connected to Ray, and all jobs on the cluster."""
        self._stopped.set()
        self._thread.join()

    def restart(self) -> None:
        """Kill the process that is connected to Ray because it does not respond; the executor then restarts it."""
        self._process.kill()

    def _launch(self) -> int:
        """Start the process that connects to Ray, wait for the connection, and return its number of cores."""
        with self._lock:
            self._control, process_end = Pipe()
        with process_end:
            self._process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-m", "shoe.service.cluster_jobs", str(process_end.fileno()), self._address],
                cwd="/",  # Ray workers import modules from the current folder
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[process_end.fileno()],
                start_new_session=True,  # Ctrl-C must reach only the server
            )
        end = time.monotonic() + _STARTING
        try:
            while not self._control.poll(_CHECK):
                if self._stopped.is_set() or time.monotonic() > end:
                    why = f"no response from the Ray cluster within {_STARTING:g} s"
                    raise OptionError(f"--engine ray: {why}: check that the cluster is running")
            reply = msgspec.json.decode(self._control.recv_bytes(), type=Ready)
            if isinstance(reply, str):
                raise OptionError(reply)
        except (EOFError, OSError):
            self._end()
            raise OptionError("--engine ray: the process that connects to Ray ended without a message") from None
        except BaseException:
            self._process.kill()  # it may not notice a closed connection while Ray starts
            self._end()
            raise
        self.is_ready = True
        return reply

    def _supervise(self) -> None:
        """Restart the process whenever its connection is closed, until the executor is stopped."""
        while True:
            while not (self._stopped.is_set() or self._control.poll(_CHECK)):
                pass
            self._end()
            pause = _FIRST_PAUSE
            if not self._stopped.is_set():
                _log.warning("the process that is connected to Ray ended and is restarted")
            while not self.is_ready:
                if self._stopped.wait(pause):
                    return
                try:
                    self._launch()
                except (OptionError, OSError) as error:
                    _log.warning("%s", error)
                    pause = min(2 * pause, _LONGEST_PAUSE)

    def _end(self) -> None:
        """Close the connection of the process, and kill the process if it is still running after a time limit."""
        with self._lock:
            self.is_ready = False
            self._control.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _RayJob:
    """A running job on the cluster; closing its connection cancels the job."""

    is_over: bool = False
    end: End | None = None

    def __init__(self, executor: RayExecutor, connection: Connection[Any, Any]) -> None:
        self._executor, self._connection, self._latest = executor, connection, time.monotonic()

    def listen(self, seconds: float) -> list[str]:
        """Wait at most `seconds` for a message of the job, and return new output lines, or an empty list."""
        update: Update = []
        try:
            if self._connection.poll(seconds):
                update = msgspec.json.decode(self._connection.recv_bytes(), type=Update)
                self._latest = time.monotonic()
            elif time.monotonic() > self._latest + _NO_MESSAGE:
                self._executor.restart()
                update = _LOST
        except (EOFError, OSError):
            update = _LOST
        if isinstance(update, list):
            return update
        self.is_over, self.end = True, update
        return []

    def close(self) -> None:
        """Cancel the job if it is still running."""
        self._connection.close()


def main() -> None:
    """Connect to the cluster, and run jobs until the server closes the connection or the cluster is lost."""
    control: Connection[Any, Any] = Connection(int(sys.argv[1]))
    threading.Thread(target=_exit_after, args=(os.getppid(),), daemon=True).start()
    try:
        with connect(sys.argv[2]) as connection, control:  # closed first, as Ray may take long to end
            runner = JobRunner(connection)
            threading.Thread(target=runner.dismiss_idle, daemon=True).start()
            cores = int(connection.ray.cluster_resources().get("CPU", 0))
            with suppress(EOFError, OSError):  # the server is gone
                control.send_bytes(msgspec.json.encode(cores))
                while True:
                    connection.check()
                    if control.poll(_POLL):
                        job: Connection[Any, Any] = Connection(recv_handle(control))
                        threading.Thread(target=runner.run, args=(job,), daemon=True).start()
            runner.stop()
    except ShoeError as error:
        with suppress(OSError):
            control.send_bytes(msgspec.json.encode(str(error)))


def _exit_after(server: int) -> None:
    """Exit a few seconds after the process `server` has ended, because starting or stopping Ray may hang."""
    while os.getppid() == server:
        time.sleep(_POLL)
    time.sleep(_LONGEST_END)
    os._exit(1)


if __name__ == "__main__":
    main()
