"""The end of a worker that its run may take for dead: it stops asking before others are given what it had to ask.

A worker whose machine is cut off, or whose raylet was killed, lives on for a while and would go on paying. So it ends
by itself when its parent process is gone, or when its run was silent for too long; and its run waits until that is
certain.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

SILENCE = 30.0
"""Seconds without a word of its run after which a worker ends."""
_LOOK = 0.1
_ENDED = 1


class Fence:
    """Ends this process, at once and without a word, when it may not ask any more.

    The run has word of the worker's own clock, and gives it back: ``heard(heard(...))``. So what reaches the worker
    late lets it live no longer: ``silence`` seconds after the run last heard of it, it has certainly ended.
    """

    def __init__(self, silence: float) -> None:
        """Begin to watch, in a thread; ``silence`` is in seconds, and may be infinite."""
        self._silence, self._parent = silence, os.getppid()
        self._end = monotonic() + silence
        Thread(target=self._watch, name="shoe-fence", daemon=True).start()

    def heard(self, when: float) -> float:
        """Take the run's word that at ``when``, by the clock here, it counted on this worker; return that clock."""
        self._end = max(self._end, when + self._silence)
        return monotonic()

    def check(self) -> None:
        """End this process unless it may ask; to be called before each request."""
        if os.getppid() != self._parent or monotonic() > self._end:
            os._exit(_ENDED)

    def _watch(self) -> None:
        while True:
            self.check()
            sleep(_LOOK)


def is_written(path: Path) -> bool:
    """Whether a process that can be seen from here has a ledger open to write it."""
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
