"""One attempt at a job: a child process, started, watched and ended."""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import printable
from shoe.service import jobs
from shoe.service.folder import Folder
from shoe.service.jobs import Job

_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")
"""Variables of the environment that a child gets: none that holds a secret."""
_BEAT, _NEWS, _LOOK = 5.0, 0.5, 0.2
"""Seconds between two words to the table without news and with some, and between two looks at a child."""
_LONGEST_LINE, _MOST_LINES, _LAST_WORDS = 2000, 1000, 40
_say = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one job may use.

    Attributes:
        memory: bytes of its address space.
        cpu: seconds of processor time.
        file_size: bytes of each file that it writes.
        wall: seconds until it is killed.
    """

    memory: int = 16_000_000_000
    cpu: int = 3600
    file_size: int = 2_000_000_000
    wall: float = 3600.0


class Done(msgspec.Struct, tag="done"):
    """What a child writes last: media types of the files that it made by their names, figures, signature."""

    outputs: dict[str, str]
    figures: dict[str, Any] = {}
    signature: str | None = None


class Failed(msgspec.Struct, tag="failed"):
    """What a child writes last where it cannot do its job: why."""

    reason: str


class Task(msgspec.Struct):
    """What a child is to do: a job, folders of stored files and of maps, and its limits by their names."""

    kind: str
    request: dict[str, Any]
    files: str
    maps: str
    limits: dict[str, int]


@dataclass(frozen=True, slots=True)
class End:
    """How a child died: why, and whether it would do so again."""

    reason: str
    final: bool


def scratch_of(folder: Folder, job: Job) -> Path:
    """Where an attempt writes."""
    return folder.jobs / job.key / str(job.attempt)


class Attempt:
    """A child at work.

    Attributes:
        lines: of the log, that the table does not have yet.
    """

    def __init__(self, folder: Folder, limits: Limits, job: Job, stopped: threading.Event) -> None:
        """Get ready to do a job within limits; it is broken off when ``stopped`` is set."""
        self._folder, self._limits, self._job, self._stopped = folder, limits, job, stopped
        self._scratch = scratch_of(folder, job)
        self._stage, self._progress = "starting", 0.0
        self.lines: list[str] = []
        self._said = 0
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._buffer = b""

    def watch(self) -> End | None:
        """Start the child and stay with it; None if it ended by itself, well or with a reason of its own.

        The thread that starts a child has to outlive it: the kernel takes the thread's death for the parent's.
        """
        child, pipe = self._start()
        deadline, told = time.monotonic() + self._limits.wall, 0.0
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(pipe, selectors.EVENT_READ)
                open_ = True
                while open_ or child.poll() is None:
                    if open_:
                        selector.select(_LOOK)
                        open_ = self._read(pipe)
                    else:
                        with suppress(subprocess.TimeoutExpired):
                            child.wait(_LOOK)
                    now = time.monotonic()
                    if self._stopped.is_set():
                        return None
                    if now > deadline:
                        return End(f"it took longer than the {self._limits.wall:g} s that a job may take", True)
                    if now > told + (_NEWS if self._news else _BEAT):
                        if not jobs.beat(self._folder, self._job, self._stage, self._progress, self.lines):
                            return None
                        self.lines, self._news, told = [], False, now
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            os.close(pipe)
        return self._end(child.returncode)

    _news = False

    def _start(self) -> tuple[subprocess.Popen[bytes], int]:
        limits = self._limits
        self._scratch.mkdir(mode=0o700, parents=True)
        task = Task(
            self._job.kind,
            self._job.request,
            str(self._folder.files.folder),
            str(self._folder.maps),
            {"AS": limits.memory, "CPU": limits.cpu, "FSIZE": limits.file_size},
        )
        (self._scratch / "job.json").write_bytes(msgspec.json.encode(task))
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= {"HOME": str(self._scratch), "TMPDIR": str(self._scratch), "OPENBLAS_NUM_THREADS": "1"}
        pipe, told = os.pipe()
        os.set_blocking(pipe, False)
        child = subprocess.Popen(  # noqa: S603  # shoe itself
            [sys.executable, "-P", "-m", "shoe.service.child", str(self._scratch), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            cwd=self._scratch,
            env=environment,
            start_new_session=True,
        )
        os.close(told)
        return child, pipe

    def _read(self, pipe: int) -> bool:
        """Take what the child said; False once it cannot say anything any more."""
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return True
        *whole, self._buffer = (self._buffer + data).split(b"\n")
        self._buffer = self._buffer[:_LONGEST_LINE]
        for line in whole:
            self._hear(line[:_LONGEST_LINE].decode("utf-8", "replace"))
        return bool(data)

    def _hear(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "stage":
            name, _, progress = rest.partition(" ")
            self._stage, self._progress, self._news = name, float(progress), True
        elif kind == "log" and self._said < _MOST_LINES:
            self.lines.append(printable(rest, longest=_LONGEST_LINE))
            self._said, self._news = self._said + 1, True
        elif line.strip():
            self._last_words.append(line)

    def _end(self, code: int) -> End | None:
        if code == 0:
            return None
        _say.warning("job %s ended with %s:\n%s", self._job.key, code, "\n".join(self._last_words))
        if code == -signal.SIGXCPU:
            return End(f"it needed more than the {self._limits.cpu} s of processor time that a job may have", True)
        if code < 0:
            return End(f"its process was killed by signal {-code} ({signal.Signals(-code).name})", False)
        words = self._last_words[-1] if self._last_words else "without a word"
        return End(f"its process ended with code {code}: {words}", True)
