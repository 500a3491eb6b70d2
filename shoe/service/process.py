"""The child process that does one job: started within limits, heard, and ended with all that it started."""

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

_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")
"""Variables of the environment that a child gets: none that holds a secret."""
_LONGEST_LINE, _LAST_WORDS = 2000, 40
DONE = "done.json"
"""What a child writes last, beside its folder ``out``."""


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
    """What a child is to do: a job, folders of stored files and of maps, and what it may use."""

    kind: str
    request: dict[str, Any]
    files: str
    maps: str
    limits: Limits


class End(msgspec.Struct, frozen=True):
    """How an attempt ended without a word of its own.

    Attributes:
        reason: why.
        then: fail the job, as it would end so again; try it again, a few times; or as often as it takes, as it has
            no part in it.
        last_words: that were no part of what a child says.
    """

    reason: str
    then: Literal["fail", "retry", "requeue"]
    last_words: str = ""


class Doing(Protocol):
    """A child at work, wherever it is."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and nothing more will be heard."""

    @property
    def end(self) -> End | None:
        """How it ended; None where it did by itself, and wrote what came of it."""

    def listen(self, seconds: float) -> list[str]:
        """What it said, in lines; comes back with the first of them, or after about so many seconds."""

    def close(self) -> None:
        """End it where it has not ended."""


class Place(Protocol):
    """Where children run.

    Attributes:
        name: as ``--engine`` has it.
        jobs: at once, where nobody says otherwise.
    """

    name: Literal["processes", "ray"]
    jobs: int

    @property
    def is_ready(self) -> bool:
        """Whether a child can be started now."""

    def start(self, scratch: Path, task: Task) -> Doing:
        """Start a child; what it leaves lies in ``scratch``, which is new, once its end is known."""

    def stop(self) -> None:
        """End all that was started."""


class Child:
    """A child process of this one.

    The thread that makes it has to outlive it: the kernel takes the thread's death for the parent's.
    """

    def __init__(self, scratch: Path, task: Task, environment: Mapping[str, str] = os.environ) -> None:
        """Start it in a new folder, with those variables of the environment that hold no secret."""
        scratch.mkdir(mode=0o700, parents=True)
        (scratch / "job.json").write_bytes(msgspec.json.encode(task))
        self._limits = task.limits
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._buffer, self._open, self._late = b"", True, False
        kept = {name: environment[name] for name in _KEPT if name in environment}
        kept |= {"HOME": str(scratch), "TMPDIR": str(scratch), "OPENBLAS_NUM_THREADS": "1"}
        self._pipe, told = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-m", "shoe.service.child", str(scratch), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=kept,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(told)
        self._deadline = time.monotonic() + task.limits.wall

    @property
    def is_over(self) -> bool:
        """See :class:`Doing`."""
        return self._late or (not self._open and self._process.poll() is not None)

    def listen(self, seconds: float) -> list[str]:
        """See :class:`Doing`; what is no line for the parent is kept as last words."""
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
        """See :class:`Doing`; all that the child started ends with it."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    @property
    def end(self) -> End | None:
        """See :class:`Doing`."""
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


class Here:
    """This machine: children of the server itself."""

    name: Literal["processes", "ray"] = "processes"
    jobs, is_ready = 1, True

    def start(self, scratch: Path, task: Task) -> Child:
        """See :class:`Place`."""
        return Child(scratch, task)

    def stop(self) -> None:
        """See :class:`Place`: who watches a child ends it."""
