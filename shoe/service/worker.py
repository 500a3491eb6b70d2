"""Worker threads that claim jobs from the queue and run each in a child process."""

import logging
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path

import msgspec

from shoe.core.errors import printable
from shoe.service import jobs, submissions
from shoe.service.folder import Folder
from shoe.service.jobs import Job
from shoe.service.process import DONE, Done, End, Executor, Failed, Limits, Task
from shoe.service.runs import tidy
from shoe.service.types import File

_IDLE = 1.0  # seconds between two checks of an empty queue; a submission in this process wakes the worker at once
_TIDY = 3600.0  # seconds between two removals of deleted runs and unused files
_BEAT, _NEWS, _LOOK = 5.0, 0.5, 0.2
"""Seconds between two progress reports without changes, and with changes; seconds between two checks of a child."""
_LONGEST_LINE, _MOST_LINES = 2000, 1000
_log = logging.getLogger(__name__)


class Worker:
    """Threads, each of which claims a queued job, runs the job to its end, and repeats."""

    def __init__(
        self, folder: Folder, children: int = 1, limits: Limits | None = None, executor: Executor | None = None
    ) -> None:
        """Create a worker that runs `children` jobs at a time; this process must have locked the data folder."""
        self._folder, self._limits, self._executor = folder, limits or Limits(), executor or Executor()
        self._stopped, self._tidying, self._tidy_at = threading.Event(), threading.Lock(), inf
        self._threads = [threading.Thread(target=self._work, name=f"worker-{n}") for n in range(children)]

    def start(self) -> None:
        """Record the results of jobs left by a killed server, queue unfinished jobs again, and start the threads."""
        for job in jobs.running(self._folder):
            if not self._store_results(job, []):
                jobs.release(self._folder, job)  # the kernel killed the children of the dead server
        for left in self._folder.jobs.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        self._tidy_at = time.monotonic() + _TIDY
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Kill the child processes, queue their jobs again, and wait for the threads to end."""
        self._stopped.set()
        self._folder.work.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                self._turn()
            except Exception:  # for example a full disk; the job is queued again when its lease expires
                _log.exception("worker thread")
                self._stopped.wait(_IDLE)

    def _turn(self) -> None:
        """Run the next job; if the queue is empty, remove unused data now and then, and wait for a job."""
        self._folder.work.clear()
        job = jobs.claim(self._folder) if self._executor.is_ready else None
        if job is None:
            jobs.requeue_lost(self._folder)
            with self._tidying:
                if time.monotonic() > self._tidy_at:
                    tidy(self._folder)
                    self._tidy_at = time.monotonic() + _TIDY
            self._folder.work.wait(_IDLE)
            return
        try:
            self._attempt(job)
        except Exception as error:
            _log.exception("job %s", job.key)
            jobs.give_up(self._folder, job, f"internal server error ({type(error).__name__})")
        finally:
            scratch = _scratch(self._folder, job)
            shutil.rmtree(scratch, ignore_errors=True)
            with suppress(OSError):  # the folder of another attempt may exist
                scratch.parent.rmdir()

    def _attempt(self, job: Job) -> None:
        """Run an attempt at a job to its end, and record the outcome."""
        lines: list[str] = []
        why = self._watch(job, lines)
        if self._stopped.is_set():
            jobs.release(self._folder, job)
        elif why is not None and why.then == "fail":
            jobs.fail(self._folder, job, why.reason, lines)
        elif why is not None and why.then == "requeue":
            jobs.release(self._folder, job, why.reason, lines)
            self._stopped.wait(_BEAT)
        elif not self._store_results(job, lines):
            reason = why.reason if why else "the process of the job ended without a result"
            jobs.give_up(self._folder, job, reason, lines)

    def _watch(self, job: Job, lines: list[str]) -> End | None:
        """Run the child process of a job, record its progress, and add log lines that are not recorded yet to `lines`.

        Return why there is no result, or None if there is a result or the job was stopped.
        """
        task = Task(job.kind, job.request, str(self._folder.files.folder), str(self._folder.maps), self._limits)
        stage, progress, has_news, count, reported = "starting", 0.0, False, 0, 0.0
        child = self._executor.start(_scratch(self._folder, job), task)
        try:
            while not child.is_over:
                for line in child.listen(_LOOK):
                    kind, _, rest = line.partition(" ")
                    if kind == "stage":
                        stage, _, fraction = rest.partition(" ")
                        progress, has_news = float(fraction), True
                    elif count < _MOST_LINES:
                        lines.append(printable(rest, longest=_LONGEST_LINE))
                        count, has_news = count + 1, True
                if self._stopped.is_set():
                    return None
                now = time.monotonic()
                if now > reported + (_NEWS if has_news else _BEAT):
                    if not jobs.beat(self._folder, job, stage, progress, lines):
                        return None
                    lines.clear()
                    has_news, reported = False, now
        finally:
            child.close()
        if child.end is not None and child.end.last_words:
            _log.warning("job %s: %s:\n%s", job.key, child.end.reason, child.end.last_words)
        return child.end

    def _store_results(self, job: Job, lines: Sequence[str]) -> bool:
        """Store the results of a job, and record the outcome; return False if the child process left no results."""
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
        jobs.finish(self._folder, job, outputs, found.figures, found.signature, lines, submissions.follow_up)
        return True


def _scratch(folder: Folder, job: Job) -> Path:
    return folder.jobs / job.key / str(job.attempt)
