"""Executor for Ray clusters: a separate process is connected to Ray, and is restarted when it dies.

The server itself does not connect to Ray, because Ray takes over the signals, threads and output of its process, and
ends the process when the cluster is lost.
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
from typing import Any

import msgspec

from shoe.core.errors import OptionError
from shoe.service.cluster_jobs import Ready, Update
from shoe.service.process import End, Executor, Task

_STARTING, _SILENT, _ENDING, _POLL = 180.0, 60.0, 20.0, 0.2
"""Time limits in seconds: start of Ray, next message of a job, end of Ray; seconds between two checks."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the first attempt to reconnect to the cluster; longest time between two attempts."""
_LOST = End("the cluster was lost", "requeue")
_log = logging.getLogger(__name__)


class RayExecutor(Executor):
    """Executor that runs jobs on a Ray cluster; `jobs` is the number of its cores when the executor was created."""

    name = "ray"

    def __init__(self, address: str) -> None:
        """Connect to a cluster at an address as for ``ray.init``; if empty, at ``RAY_ADDRESS``, or else a new cluster.

        Raises:
            OptionError: if no cluster responds, or the cluster is not compatible with this version of shoe.
        """
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
            while not self._control.poll(_POLL):
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
            while not (self._stopped.is_set() or self._control.poll(_POLL)):
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
            elif time.monotonic() > self._latest + _SILENT:
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
