"""The cluster as the server has it: a process beside it is connected to Ray, and is started again when that dies.

Ray takes over signals, threads and output of the process that it is in, and ends that when the cluster is lost: none of
this may happen to a server.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Literal

import msgspec

from shoe.core.errors import OptionError
from shoe.service.cluster import Begin, Halt, News, Over, Refused, Up
from shoe.service.process import End, Task

_STARTING, _SILENT, _ENDING = 180.0, 60.0, 20.0
"""Seconds for Ray to start, for which nothing may be heard of a job, and for it all to end."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two tries to find the cluster again."""
_LOST = End("the cluster was lost", "requeue")
_say = logging.getLogger(__name__)


class Crew:
    """A cluster of Ray.

    Attributes:
        name: as ``--engine`` has it.
        jobs: cores of the cluster, when it was found first.
    """

    name: Literal["processes", "ray"] = "ray"

    def __init__(self, address: str) -> None:
        """Find the cluster at an address, as ``ray.init`` has it; empty: where ``RAY_ADDRESS`` says, or start one here.

        Raises:
            OptionError: if there is none, or none to work with.
        """
        self._address = address
        self._doing: dict[int, _Remote] = {}
        self._ids, self._lock, self._stopped = itertools.count(), threading.Lock(), threading.Event()
        self.is_ready = False
        self._process, self._socket, lines = self._launch()
        try:
            self.jobs = max(1, self._await(lines))
        except BaseException:
            self._process.kill()  # in the middle of a start it may not hear that it is not listened to
            self._end()
            raise
        self._thread = threading.Thread(target=self._stay, args=(lines,), name="crew")
        self._thread.start()

    def start(self, scratch: Path, task: Task) -> _Remote:
        """See :class:`shoe.service.process.Place`."""
        made = _Remote(self, next(self._ids))
        with self._lock:  # so that no process hears of it that comes after its end
            self._doing[made.id] = made
            if self.is_ready:
                self._send(Begin(made.id, str(scratch), task))
            else:
                made.hear(Over(made.id, _LOST))
        return made

    def forget(self, job: _Remote) -> None:
        """Hear no more of a job; it ends where it has not."""
        with self._lock:
            self._doing.pop(job.id, None)
            if not job.is_over:
                self._send(Halt(job.id))

    def stop(self) -> None:
        """See :class:`shoe.service.process.Place`."""
        self._stopped.set()
        self._end()
        self._thread.join()

    def give_up(self) -> None:
        """Start the process again, as it is silent."""
        self._process.kill()

    def _send(self, message: Begin | Halt) -> None:
        with suppress(OSError):  # what is not heard is lost with who should have heard it
            self._socket.sendall(msgspec.json.encode(message) + b"\n")

    def _stay(self, lines: IO[bytes]) -> None:
        """Hear what comes, and start again whoever said it when it dies."""
        while True:
            self._hear(lines)
            pause = _FIRST_PAUSE
            self._end()
            while not self.is_ready:
                if self._stopped.wait(pause):
                    return
                try:
                    with self._lock:
                        if self._stopped.is_set():
                            return
                        self._process, self._socket, lines = self._launch()
                    self._await(lines)
                except (OptionError, OSError) as error:
                    _say.warning("%s", error)
                    self._end()
                    pause = min(2 * pause, _LONGEST_PAUSE)

    def _hear(self, lines: IO[bytes]) -> None:
        with suppress(OSError, msgspec.DecodeError), lines:  # it may die within a line
            for line in lines:
                said = msgspec.json.decode(line, type=News | Over)
                if (job := self._doing.get(said.id)) is not None:
                    job.hear(said)
        with self._lock:
            self.is_ready = False
            for id_, job in self._doing.items():
                job.hear(Over(id_, _LOST))
        if not self._stopped.is_set():
            _say.warning("the process that is connected to Ray ended; it is started again")

    def _launch(self) -> tuple[subprocess.Popen[bytes], socket.socket, IO[bytes]]:
        own, other = socket.socketpair()
        own.settimeout(_STARTING)
        with other:
            process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-m", "shoe.service.cluster", str(other.fileno()), self._address],
                cwd="/",  # Ray lets workers import from here
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                start_new_session=True,  # signals from the keyboard are for the server
            )
        return process, own, own.makefile("rb")

    def _await(self, lines: IO[bytes]) -> int:
        """Wait until the process is connected; the cores of its cluster."""
        try:
            said = msgspec.json.decode(lines.readline() or b"null", type=Up | Refused | None)
        except OSError:
            said = Refused(f"--engine ray: found no word of Ray in {_STARTING:g} s, expected a cluster that answers")
        if said is None:
            said = Refused("--engine ray: the process that connects to Ray ended without a word")
        if isinstance(said, Refused):
            lines.close()
            raise OptionError(said.reason)
        self._socket.settimeout(None)
        self.is_ready = True
        return said.cores

    def _end(self) -> None:
        """See that the process ends, which it does by itself when it is not listened to."""
        with self._lock, suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._socket.close()


class _Remote:
    """A job on the cluster, as its attempt has it."""

    def __init__(self, crew: Crew, id_: int) -> None:
        self._crew, self.id = crew, id_
        self._said: SimpleQueue[News | Over] = SimpleQueue()
        self._heard = time.monotonic()
        self.is_over, self.end = False, None

    is_over: bool
    end: End | None

    def hear(self, said: News | Over) -> None:
        """Take what is said of it."""
        self._said.put(said)

    def listen(self, seconds: float) -> list[str]:
        """See :class:`shoe.service.process.Doing`."""
        try:
            said = self._said.get(timeout=seconds)
        except Empty:
            if time.monotonic() > self._heard + _SILENT:
                self._crew.give_up()
                self.is_over, self.end = True, _LOST
            return []
        self._heard = time.monotonic()
        if isinstance(said, News):
            return said.lines
        self.is_over, self.end = True, said.end
        return []

    def close(self) -> None:
        """See :class:`shoe.service.process.Doing`."""
        self._crew.forget(self)
