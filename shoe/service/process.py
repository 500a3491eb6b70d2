"""Child processes that run one job within limits, and the interface of the executors that start them."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

_VARIABLES = ("LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")
"""Environment variables that a child gets: none holds a secret."""
_LONGEST_LINE, _LAST_WORDS = 2000, 40
DONE = "done.json"
"""File that a child writes last, beside its folder ``out``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of one job.

    Attributes:
        file_size: size of each file that the job writes, in bytes.
        wall: seconds until the job is killed.
    """

    memory: int = 16_000_000_000
    cpu: int = 3600
    file_size: int = 2_000_000_000
    wall: float = 3600.0


class Done(msgspec.Struct, tag="done"):
    """Result of a job: media type of each output file by name, metrics, signature."""

    outputs: dict[str, str]
    figures: dict[str, Any] = {}
    signature: str | None = None


class Failed(msgspec.Struct, tag="failed"):
    """Result of a job that cannot be done: the reason."""

    reason: str


class Task(msgspec.Struct):
    """Task of a child: the job, the folders of stored files and similarity maps, and the limits."""

    kind: str
    request: dict[str, Any]
    files: str
    maps: str
    limits: Limits


class End(msgspec.Struct, frozen=True):
    """End of an attempt that has written no result.

    Attributes:
        then: "fail" if it would end so again; "retry" a few times; "requeue", without a limit, if the job is not the
            cause.
        last_words: last lines of the child's output that follow no known format.
    """

    reason: str
    then: Literal["fail", "retry", "requeue"]
    last_words: str = ""


class RunningJob(Protocol):
    """A child process that runs here or on another machine."""

    @property
    def is_over(self) -> bool:
        """Return whether it has ended and all its lines were returned."""

    @property
    def end(self) -> End | None:
        """Return how it ended; None if it has written a result."""

    def listen(self, seconds: float) -> list[str]:
        """Return new lines of the child, as soon as there are any, or after about so many seconds."""

    def close(self) -> None:
        """End it if it still runs."""


class Executor(Protocol):
    """Executor that runs jobs in child processes, here or on other machines.

    Attributes:
        name: name for ``--engine``.
        jobs: default for the number of jobs at once.
    """

    name: Literal["processes", "ray"]
    jobs: int

    @property
    def is_ready(self) -> bool:
        """Return whether a job can be started now."""

    def start(self, scratch: Path, task: Task) -> RunningJob:
        """Start a job, whose results are in ``scratch``, a folder to create, once it has ended."""

    def stop(self) -> None:
        """End all processes that were started."""


class Child:
    """A child process of this process.

    The thread that creates it must outlive it: the kernel takes the thread's death for the parent's.
    """

    def __init__(self, scratch: Path, task: Task, environment: Mapping[str, str] = os.environ) -> None:
        """Start the child in a new folder, with the environment variables that hold no secret."""
        scratch.mkdir(mode=0o700, parents=True)
        (scratch / "job.json").write_bytes(msgspec.json.encode(task))
        self._limits = task.limits
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._buffer, self._open, self._late = b"", True, False
        variables = {name: environment[name] for name in _VARIABLES if name in environment}
        variables |= {"HOME": str(scratch), "TMPDIR": str(scratch), "OPENBLAS_NUM_THREADS": "1"}
        self._pipe, theirs = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-m", "shoe.service.job_process", str(scratch), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=variables,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(theirs)
        self._deadline = time.monotonic() + task.limits.wall

    @property
    def is_over(self) -> bool:
        """See :class:`RunningJob`."""
        return self._late or (not self._open and self._process.poll() is not None)

    def listen(self, seconds: float) -> list[str]:
        """See :class:`RunningJob`; lines of no known format are kept as last words."""
        if time.monotonic() > self._deadline:
            self._late = True
            return []
        if not self._open:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            return []
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            selector.select(seconds)
        try:
            data = os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return []
        self._open = bool(data)
        *whole, self._buffer = (self._buffer + data).split(b"\n")
        self._buffer = self._buffer[:_LONGEST_LINE]
        lines = [line[:_LONGEST_LINE].decode("utf-8", "replace") for line in whole]
        self._last_words += [line for line in lines if line.strip() and not line.startswith(("stage ", "log "))]
        return [line for line in lines if line.startswith(("stage ", "log "))]

    def close(self) -> None:
        """See :class:`RunningJob`; all processes that the child started end with it."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    @property
    def end(self) -> End | None:
        """See :class:`RunningJob`."""
        code, words = self._process.returncode, "\n".join(self._last_words)
        if self._late:
            return End(f"it took longer than the {self._limits.wall:g} s that a job may take", "fail")
        if code == 0:
            return None
        if code == -signal.SIGXCPU:
            why = f"it needed more than the {self._limits.cpu} s of processor time that a job may have"
            return End(why, "fail", words)
        if code < 0:
            return End(f"its process was killed by signal {-code} ({signal.Signals(-code).name})", "retry", words)
        last = self._last_words[-1] if self._last_words else "without a word"
        return End(f"its process ended with code {code}: {last}", "fail", words)


class LocalExecutor:
    """Executor that runs jobs in children of this process."""

    name: Literal["processes", "ray"] = "processes"
    jobs, is_ready = 1, True

    def start(self, scratch: Path, task: Task) -> Child:
        """See :class:`Executor`."""
        return Child(scratch, task)

    def stop(self) -> None:
        """Do nothing: each child is ended by the thread that watches it."""
