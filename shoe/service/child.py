"""The process that does one job: bound by limits, cut off from its parent's secrets, and dead as soon as that is.

``python -P -m shoe.service.child FOLDER PARENT``: FOLDER holds job.json; files go to FOLDER/out, and done.json comes
last. Lines on standard output: ``stage NAME PROGRESS``, ``log TEXT``; all else are last words.
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
from shoe.io.files import replacing
from shoe.service.process import DONE, Done, Failed, Task

_PR_SET_PDEATHSIG = 1
_NICE = 5
"""Steps by which a job stands back behind the server, so that pages come at once while all cores score."""
_GRACE = 5
"""Seconds of processor time between the signal at the limit and the end."""


def main() -> None:
    """Do the job."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    os.nice(_NICE)
    task = msgspec.json.decode((folder / "job.json").read_bytes(), type=Task)
    may = task.limits
    resource.setrlimit(resource.RLIMIT_AS, (may.memory, may.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (may.cpu, may.cpu + _GRACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (may.file_size, may.file_size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: Done | Failed
    try:
        from shoe.service import work

        found = work.do(task, folder)
    except MemoryError:
        found = Failed(f"it needs more memory than the {may.memory / 1e9:g} GB that a job may have")
    except (ShoeError, OSError) as error:
        cause = error.__context__ if isinstance(error, ShoeError) else error
        if isinstance(cause, OSError) and cause.errno == errno.EFBIG:
            found = Failed(f"it writes a file of more than the {may.file_size / 1e9:g} GB that a job may write")
        elif isinstance(error, ShoeError):
            found = Failed(work.told(error, folder))
        else:
            raise
    for path in (folder / "out").iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    with replacing(folder / DONE) as stream:
        stream.write(msgspec.json.encode(found))


def _die_with(parent: int) -> None:
    """See that the kernel kills this process when its parent dies, even if that is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
