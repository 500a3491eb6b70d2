"""Workers of the queue: one child process for each job, watched from start to end."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from shoe.core.errors import printable
from shoe.service import jobs, submissions
from shoe.service.folder import Folder
from shoe.service.jobs import Job, Outcome
from shoe.service.process import DONE, Done, End, Executor, Failed, Limits, LocalExecutor, Task
from shoe.service.runs import tidy
from shoe.service.types import File

__all__ = ["Limits", "Worker"]

_IDLE = 1.0
"""Seconds between two looks at an empty queue; who submits in this process is noticed at once."""
_TIDY = 3600.0
"""Seconds between two looks for what nobody has any more."""
_BEAT, _NEWS, _LOOK = 5.0, 0.5, 0.2
"""Seconds between two updates of the job's row without news and with some, and between two looks at a child."""
_LONGEST_LINE, _MOST_LINES = 2000, 1000
_say = logging.getLogger(__name__)


class Worker:
    """Threads that claim jobs, each watching one child at a time."""

    def __init__(
        self, folder: Folder, children: int = 1, limits: Limits | None = None, place: Executor | None = None
    ) -> None:
        """Make a worker for the folder that this process has locked; `children` run at once, in `place` or here."""
        self._folder, self._limits, self._place = folder, limits or Limits(), place or LocalExecutor()
        self._stopped, self._tidying, self._tidy_at = threading.Event(), threading.Lock(), 0.0
        self._threads = [threading.Thread(target=self._work, name=f"worker-{n}") for n in range(children)]

    def start(self) -> None:
        """Queue jobs of a dead server again, and start."""
        for job in jobs.running(self._folder):
            if not self._take_in(job, []):
                jobs.release(self._folder, job)  # the children of a dead server died with it
        for left in self._folder.jobs.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Kill the children, queue their jobs again, and wait until all of this is done."""
        self._stopped.set()
        self._folder.work.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                self._turn()
            except Exception:  # a full disk, say: the queue goes on, and the job is queued again when its lease ends
                _say.exception("a turn of the queue")
                self._stopped.wait(_IDLE)

    def _turn(self) -> None:
        """Do the next job, or check the folder and wait for one."""
        self._folder.work.clear()
        job = jobs.claim(self._folder) if self._place.is_ready else None
        if job is None:
            jobs.requeue_lost(self._folder)
            with self._tidying:
                if time.monotonic() > self._tidy_at:
                    tidy(self._folder)
                    self._tidy_at = time.monotonic() + _TIDY
            self._folder.work.wait(_IDLE)
            return
        try:
            self._end(job, _Attempt(self._folder, self._place, self._limits, job, self._stopped))
        except Exception as error:
            _say.exception("job %s", job.key)
            jobs.give_up(self._folder, job, f"the server could not do it ({type(error).__name__})")
        finally:
            scratch = _scratch(self._folder, job)
            shutil.rmtree(scratch, ignore_errors=True)
            with suppress(OSError):  # another attempt's may be there
                scratch.parent.rmdir()

    def _end(self, job: Job, attempt: _Attempt) -> None:
        """Watch an attempt to its end, and return its result."""
        why = attempt.watch()
        if self._stopped.is_set():
            jobs.release(self._folder, job)
        elif why is not None and why.then == "fail":
            jobs.fail(self._folder, job, why.reason, attempt.lines)
        elif why is not None and why.then == "requeue":
            jobs.release(self._folder, job, why.reason, attempt.lines)
        elif not self._take_in(job, attempt.lines):
            jobs.give_up(self._folder, job, why.reason if why else "its process ended without a word", attempt.lines)

    def _take_in(self, job: Job, lines: Sequence[str]) -> bool:
        """Store the results of a child; False if it did not finish."""
        scratch = _scratch(self._folder, job)
        try:
            found = msgspec.json.decode((scratch / DONE).read_bytes(), type=Done | Failed)
        except (OSError, msgspec.DecodeError):
            return False
        if isinstance(found, Failed):
            jobs.fail(self._folder, job, found.reason, lines)
            return True
        outputs = {}
        for name, media in found.outputs.items():
            stored = self._folder.files.put(scratch / "out" / name)
            outputs[name] = File(stored.sha256, stored.size, media)
        outcome = Outcome(outputs, found.figures, found.signature)
        jobs.finish(self._folder, job, outcome, lines, after=submissions.follow_up)
        return True


def _scratch(folder: Folder, job: Job) -> Path:
    return folder.jobs / job.key / str(job.attempt)


class _Attempt:
    """A running child."""

    def __init__(self, folder: Folder, place: Executor, limits: Limits, job: Job, stopped: threading.Event) -> None:
        """Prepare to do a job within limits; it is cancelled when ``stopped`` is set."""
        self._folder, self._place, self._limits, self._job = folder, place, limits, job
        self._stopped = stopped
        self._stage, self._progress, self._news = "starting", 0.0, False
        self.lines: list[str] = []
        self._said = 0

    def watch(self) -> End | None:
        """Start the child and watch it; None if it ended by itself, well or with a reason of its own."""
        files, maps = str(self._folder.files.folder), str(self._folder.maps)
        task = Task(self._job.kind, self._job.request, files, maps, self._limits)
        child, told = self._place.start(_scratch(self._folder, self._job), task), 0.0
        try:
            while not child.is_over:
                for line in child.listen(_LOOK):
                    self._hear(line)
                if self._stopped.is_set():
                    return None
                now = time.monotonic()
                if now > told + (_NEWS if self._news else _BEAT):
                    if not jobs.beat(self._folder, self._job, self._stage, self._progress, self.lines):
                        return None
                    self.lines, self._news, told = [], False, now
        finally:
            child.close()
        end = child.end
        if end is not None and end.last_words:
            _say.warning("job %s: %s:\n%s", self._job.key, end.reason, end.last_words)
        return end

    def _hear(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "stage":
            name, _, progress = rest.partition(" ")
            self._stage, self._progress, self._news = name, float(progress), True
        elif kind == "log" and self._said < _MOST_LINES:
            self.lines.append(printable(rest, longest=_LONGEST_LINE))
            self._said, self._news = self._said + 1, True
