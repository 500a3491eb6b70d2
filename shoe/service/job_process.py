"""The process that runs one job: bound by limits, without its parent's secrets, and killed when its parent dies.

``python -P -m shoe.service.job_process FOLDER PARENT``: FOLDER holds job.json; files go to FOLDER/out, and done.json is
written last. Lines on standard output: ``stage NAME PROGRESS``, ``log TEXT``; other lines are last words.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
from pathlib import Path

import msgspec

from shoe.core.errors import ShoeError
from shoe.core.io.files import replacing
from shoe.service.process import DONE, Done, Failed, Task

_PR_SET_PDEATHSIG = 1
_NICE = 5
"""Niceness of jobs, so that the server's pages come at once while all cores score."""
_GRACE = 5
"""Seconds of processor time between the signal at the limit and the kill."""


def main() -> None:
    """Run the job."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    os.nice(_NICE)
    task = msgspec.json.decode((folder / "job.json").read_bytes(), type=Task)
    limits = task.limits
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu, limits.cpu + _GRACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_size, limits.file_size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: Done | Failed
    try:
        from shoe.service import job_tasks

        found = job_tasks.do(task, folder)
    except MemoryError:
        found = Failed(f"it needs more memory than the {limits.memory / 1e9:g} GB that a job may have")
    except (ShoeError, OSError) as error:
        cause = error.__context__ if isinstance(error, ShoeError) else error
        if isinstance(cause, OSError) and cause.errno == errno.EFBIG:
            found = Failed(f"it writes a file of more than the {limits.file_size / 1e9:g} GB that a job may write")
        elif isinstance(error, ShoeError):
            found = Failed(job_tasks.told(error, folder))
        else:
            raise
    for path in (folder / "out").iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    with replacing(folder / DONE) as stream:
        stream.write(msgspec.json.encode(found))


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; exit if the parent is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
