"""Worker lease: the worker exits when heartbeats stop, before others are given its work.

A worker on a machine that is cut off, or whose raylet was killed, would live on for a while and go on paying.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

SILENCE = 30.0
"""Seconds without a heartbeat after which a worker exits."""
_POLL = 0.1


class Lease:
    """Exits this process, at once and silently, when its parent process has ended or when heartbeats stop.

    The sender returns the worker's own clock to it: ``time = worker.renew(time)``. So a heartbeat that arrives late
    prolongs nothing: ``silence`` seconds after the sender received ``time``, the worker has certainly exited.
    """

    def __init__(self, silence: float) -> None:
        """Begin to watch, in a thread; ``silence`` is in seconds and may be infinite."""
        self._silence, self._parent, self._end = silence, os.getppid(), monotonic() + silence
        Thread(target=self._watch, name="shoe-lease", daemon=True).start()

    def renew(self, time: float | None = None) -> float:
        """Prolong the lease to ``silence`` seconds after ``time``, by this process's clock; return the time now."""
        now = monotonic()
        self._end = max(self._end, (now if time is None else time) + self._silence)
        return now

    def check(self) -> None:
        """Exit this process unless the lease holds; to be called before each request."""
        if os.getppid() != self._parent or monotonic() > self._end:
            os._exit(1)

    def _watch(self) -> None:
        while True:
            self.check()
            sleep(_POLL)


def is_locked(path: Path) -> bool:
    """Return whether a process that can be seen from here has locked a file or folder."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(handle)
    return False
