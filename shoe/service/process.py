"""Child processes that each run one job with resource limits, and the interface of executors of jobs."""

import ctypes
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
"""Environment variables that are passed to a child process; they contain no secrets."""
_LONGEST_LINE, _LAST_WORDS = 2000, 40
CHILD = """
from shoe.service.process import depend_on_parent
depend_on_parent()
from shoe.service.job_process import main
main()
"""
"""Program of a child process: its imports take half a second, in which the parent may die or serve requests."""
DONE = "done.json"
"""Name of the file with the result, which a child process writes last, next to its folder ``out``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of one job."""

    memory: int = 16_000_000_000  # address space in bytes
    cpu: int = 3600  # CPU time in seconds
    file_size: int = 2_000_000_000  # size of each output file in bytes
    wall: float = 3600.0  # elapsed time in seconds until the job is killed


class Done(msgspec.Struct, tag="done"):
    """Result of a job: media types of the output files by file name, metrics by key, and signature."""

    outputs: dict[str, str]
    figures: dict[str, Any] = {}
    signature: str | None = None


class Failed(msgspec.Struct, tag="failed"):
    """Result of a failed job: the reason, which is an error in the input or an exceeded resource limit."""

    reason: str


class Task(msgspec.Struct):
    """Input of a child process: the job, the folders of stored files and similarity maps, and the resource limits."""

    kind: str
    request: dict[str, Any]
    files: str
    maps: str
    limits: Limits


class End(msgspec.Struct, frozen=True):
    """How an attempt at a job ended without a result.

    `then` is "fail" if a retry would end in the same way, "retry" for a limited number of retries, "requeue" for
    unlimited retries, if the job is not the cause.
    """

    reason: str  # cause, shown to the user
    then: Literal["fail", "retry", "requeue"]
    last_words: str = ""  # last lines of error output of the child process, for example a traceback


class _RunningJob(Protocol):
    """Interface of a job that runs in a child process on this machine (:class:`Child`) or another machine."""

    @property
    def is_over(self) -> bool: ...
    @property
    def end(self) -> End | None: ...
    def listen(self, seconds: float) -> list[str]: ...
    def close(self) -> None: ...


class Child:
    """A job in a child process of this process.

    The thread that creates the child process must not end before the child process, because the kernel would kill it.
    """

    def __init__(self, scratch: Path, task: Task, environment: Mapping[str, str] = os.environ) -> None:
        """Start the child process in the new folder `scratch`, with a few variables of `environment`, such as PATH."""
        scratch.mkdir(mode=0o700, parents=True)
        (scratch / "job.json").write_bytes(msgspec.json.encode(task))
        self._limits = task.limits
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._buffer, self._open, self._late = b"", True, False
        variables = {name: environment[name] for name in _VARIABLES if name in environment}
        variables |= {"HOME": str(scratch), "TMPDIR": str(scratch), "OPENBLAS_NUM_THREADS": "1"}
        self._pipe, child_end = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # shoe itself
                [sys.executable, "-P", "-c", CHILD, str(scratch), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=child_end,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=variables,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(child_end)
        self._deadline = time.monotonic() + task.limits.wall

    @property
    def is_over(self) -> bool:
        """Whether the child process has ended and all its lines are returned, or `listen` has detected a timeout."""
        return self._late or (not self._open and self._process.poll() is not None)

    def listen(self, seconds: float) -> list[str]:
        """Wait at most `seconds` for output; return ``stage`` and ``log`` lines, keep others for `End.last_words`."""
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
        """Kill the child process, and all processes that it has started, if they are still running."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    @property
    def end(self) -> End | None:
        """Reason why the child process was killed or failed; None if it exited with code 0. Defined if `is_over`."""
        code, words = self._process.returncode, "\n".join(self._last_words)
        if self._late:
            return End(f"time limit of {self._limits.wall:g} s per job exceeded", "fail")
        if code == 0:
            return None
        if code == -signal.SIGXCPU:
            return End(f"CPU time limit of {self._limits.cpu} s per job exceeded", "fail", words)
        if code < 0:
            killed = f"the process of the job was killed by signal {-code} ({signal.Signals(-code).name})"
            return End(killed, "retry", words)
        if "No space left on device" in words:
            return End("the disk of the server is full", "requeue", words)
        return End(f"internal error: the process of the job ended with code {code}", "fail", words)


class Executor:
    """Executor that runs jobs in child processes of this process; a subclass uses other machines."""

    name: Literal["processes", "ray"] = "processes"  # value of ``--engine``
    jobs = 1  # default number of jobs at a time
    is_ready = True  # whether a job can be started now

    def start(self, scratch: Path, task: Task) -> _RunningJob:
        """Start the job `task`, which writes its results to the new folder `scratch`, and return the running job."""
        return Child(scratch, task)

    def stop(self) -> None:
        """End all jobs on other machines; this base class has none, and jobs on this machine are not ended."""


_PR_SET_PDEATHSIG = 1
_NICE = 5  # niceness of jobs, so that the server responds quickly while all cores run jobs
_SESSION = Path("/proc/self/autogroup")
"""File of Linux with the niceness of a session: where it exists, that of a process counts within its session only."""


def depend_on_parent() -> None:
    """Let the kernel kill this process when its parent dies (the second argument is its ID), and lower its priority."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[2]):  # the parent has died already
        os._exit(1)
    os.nice(_NICE)
    with suppress(OSError):
        _SESSION.write_text(str(_NICE))
