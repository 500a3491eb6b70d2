"""One attempt at a job: a child at work, somewhere, of which the table hears as long as it lasts."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from shoe.core.errors import printable
from shoe.service import jobs
from shoe.service.folder import Folder
from shoe.service.jobs import Job
from shoe.service.process import End, Executor, Limits, Task

_BEAT, _NEWS, _LOOK = 5.0, 0.5, 0.2
"""Seconds between two words to the table without news and with some, and between two looks at a child."""
_LONGEST_LINE, _MOST_LINES = 2000, 1000
_say = logging.getLogger(__name__)


def scratch_of(folder: Folder, job: Job) -> Path:
    """Where an attempt writes."""
    return folder.jobs / job.key / str(job.attempt)


class Attempt:
    """A child at work.

    Attributes:
        lines: of the log, that the table does not have yet.
    """

    def __init__(self, folder: Folder, place: Executor, limits: Limits, job: Job, stopped: threading.Event) -> None:
        """Get ready to do a job within limits; it is broken off when ``stopped`` is set."""
        self._folder, self._place, self._limits, self._job = folder, place, limits, job
        self._stopped = stopped
        self._stage, self._progress, self._news = "starting", 0.0, False
        self.lines: list[str] = []
        self._said = 0

    def watch(self) -> End | None:
        """Start the child and stay with it; None if it ended by itself, well or with a reason of its own."""
        files, maps = str(self._folder.files.folder), str(self._folder.maps)
        task = Task(self._job.kind, self._job.request, files, maps, self._limits)
        child, told = self._place.start(scratch_of(self._folder, self._job), task), 0.0
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
