"""Executor for Ray clusters: a process beside the server is connected to Ray, and is restarted when it dies.

Ray takes over the signals, threads and output of its process, and ends the process when the cluster is lost; none of
this may happen to a server.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import Any, Literal

import msgspec

from shoe.core.errors import OptionError
from shoe.service.cluster_jobs import Finished, Progress, Ready, Refused, Start
from shoe.service.process import End, Task

_STARTING, _SILENT, _ENDING, _POLL = 180.0, 60.0, 20.0, 0.2
"""Seconds until Ray must have started, a job must have sent a message, and Ray must have ended; and between checks."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two attempts to connect to the cluster again."""
_LOST = End("the cluster was lost", "requeue")
_log = logging.getLogger(__name__)


class RayExecutor:
    """Executor that runs jobs on a Ray cluster.

    Attributes:
        name: name for ``--engine``.
        jobs: number of cores of the cluster at the first connection.
        is_ready: whether the cluster is connected.
    """

    name: Literal["processes", "ray"] = "ray"

    def __init__(self, address: str) -> None:
        """Connect to the cluster at an address as for ``ray.init``; if empty, ``RAY_ADDRESS``, or else a new cluster.

        Raises:
            OptionError: if there is no cluster, or none that this version of shoe can work with.
        """
        self._address, self._lock, self._stopped = address, threading.Lock(), threading.Event()
        self.is_ready = False
        self.jobs = max(1, self._launch())
        self._thread = threading.Thread(target=self._supervise, name="ray-executor")
        self._thread.start()

    def start(self, scratch: Path, task: Task) -> _RayJob:
        """See :class:`shoe.service.process.Executor`."""
        connection, theirs = Pipe()
        with suppress(OSError):  # a process that is gone closes the connection, which ends the job as lost
            with theirs, self._lock:
                if self.is_ready:
                    send_handle(self._control, theirs.fileno(), self._process.pid)
            connection.send_bytes(msgspec.json.encode(Start(str(scratch), task)))
        return _RayJob(self, connection)

    def stop(self) -> None:
        """See :class:`shoe.service.process.Executor`."""
        self._stopped.set()
        self._thread.join()

    def restart(self) -> None:
        """Restart the process, because it is silent."""
        self._process.kill()

    def _launch(self) -> int:
        """Start the process, and wait until it is connected; return the number of cores of the cluster."""
        with self._lock:
            self._control, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-m", "shoe.service.cluster_jobs", str(theirs.fileno()), self._address],
                cwd="/",  # because Ray lets workers import from here
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # signals from the keyboard are for the server
            )
        end = time.monotonic() + _STARTING
        try:
            while not self._control.poll(_POLL):
                if self._stopped.is_set() or time.monotonic() > end:
                    expected = "expected a cluster that answers"
                    raise OptionError(f"--engine ray: found no word of Ray in {_STARTING:g} s, {expected}")
            reply = msgspec.json.decode(self._control.recv_bytes(), type=Ready | Refused)
            if isinstance(reply, Refused):
                raise OptionError(reply.reason)
        except (EOFError, OSError):
            self._end()
            raise OptionError("--engine ray: the process that connects to Ray ended without a word") from None
        except BaseException:
            self._process.kill()  # it may not notice a closed connection while Ray starts
            self._end()
            raise
        self.is_ready = True
        return reply.cores

    def _supervise(self) -> None:
        """Restart the process whenever it closes its connection, until the executor is stopped."""
        while True:
            while not (self._stopped.is_set() or self._control.poll(_POLL)):
                pass
            self._end()
            pause = _FIRST_PAUSE
            if not self._stopped.is_set():
                _log.warning("the process that is connected to Ray ended; it is started again")
            while not self.is_ready:
                if self._stopped.wait(pause):
                    return
                try:
                    self._launch()
                except (OptionError, OSError) as error:
                    _log.warning("%s", error)
                    pause = min(2 * pause, _LONGEST_PAUSE)

    def _end(self) -> None:
        """End the process by closing its connection."""
        with self._lock:
            self.is_ready = False
            self._control.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _RayJob:
    """A job on the cluster; closing its connection cancels it."""

    is_over: bool = False
    end: End | None = None

    def __init__(self, executor: RayExecutor, connection: Connection[Any, Any]) -> None:
        self._executor, self._connection, self._latest = executor, connection, time.monotonic()

    def listen(self, seconds: float) -> list[str]:
        """See :class:`shoe.service.process.RunningJob`."""
        try:
            if self._connection.poll(seconds):
                message = msgspec.json.decode(self._connection.recv_bytes(), type=Progress | Finished)
                self._latest = time.monotonic()
            elif time.monotonic() > self._latest + _SILENT:
                self._executor.restart()
                message = Finished(_LOST)
            else:
                return []
        except (EOFError, OSError):
            message = Finished(_LOST)
        if isinstance(message, Progress):
            return message.lines
        self.is_over, self.end = True, message.end
        return []

    def close(self) -> None:
        """See :class:`shoe.service.process.RunningJob`."""
        self._connection.close()
