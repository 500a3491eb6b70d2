"""A worker of a cluster that runs jobs of a service, each in a child process, in a folder that is removed with it."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.engines.lease import Lease, is_locked
from shoe.service.process import DONE, Child, End, Task
from shoe.version import __version__

PIECE = 1 << 25
"""Bytes of a file that are returned at once."""
_MOST = 4_000_000_000
"""Bytes of files that are kept for later jobs, besides those of the latest one."""
_POLL, _SILENCE = 0.2, 300.0
"""Seconds between two looks at a child, and without a call from the service until a host exits."""


class Host:
    """A Ray actor that runs one job after the other, each in a child of its process.

    Its methods run in the main thread of its process, one at a time: this thread starts the children and so outlives
    them. If the host is killed, the kernel ends the child. It exits when the process of Ray that started it has ended.
    """

    def __init__(self, version: str) -> None:
        """Create a folder, and remove those of hosts that were killed.

        Raises:
            ShoeError: if this machine has another version of shoe.
        """
        if version != __version__:
            raise ShoeError(f"found a machine with shoe {__version__}, expected {version}, as the service")
        self._folder = _create_folder()
        self._scratch = self._folder / "job"
        self._lease = Lease(_SILENCE)
        self._kept: dict[str, int] = {}
        self._child: Child | None = None

    def start(self, task: Task, files: Mapping[str, list[Any]]) -> None:
        """Start a job.

        Args:
            task: the job; its folders are replaced by those of this host.
            files: Ray references to the content of all files that it reads (each in a list, in which Ray leaves it a
                reference), by their paths below the service's folder, ``files/...`` or ``maps/...``. The path
                determines the content.
        """
        import ray

        self._lease.renew()
        shutil.rmtree(self._scratch, ignore_errors=True)
        for name, (reference,) in files.items():
            if name in self._kept:
                self._kept[name] = self._kept.pop(name)  # now the most recently used one
                continue
            path = self._folder / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = ray.get(reference)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(content)
            part.rename(path)
            self._kept[name] = len(content)
        for name in [name for name in self._kept if name not in files]:
            if sum(self._kept.values()) > _MOST:
                (self._folder / name).unlink()
                del self._kept[name]
        task = msgspec.structs.replace(task, files=str(self._folder / "files"), maps=str(self._folder / "maps"))
        # Only this process knows the modules that Ray was told of (PYTHONPATH, py_modules).
        modules = os.pathsep.join(filter(None, sys.path))
        self._child = Child(self._scratch, task, {**os.environ, "PYTHONPATH": modules})

    def listen(self, seconds: float) -> tuple[list[str], tuple[End | None, bytes | None] | None]:
        """Return new lines of the child, soon or after some seconds; if it has ended, also its end and its result."""
        assert self._child is not None  # noqa: S101 - started
        self._lease.renew()
        until, lines = time.monotonic() + seconds, list[str]()
        while not lines and not self._child.is_over and time.monotonic() < until:
            lines = self._child.listen(_POLL)
        if not self._child.is_over:
            return lines, None
        self._child.close()
        end, self._child, done = self._child.end, None, self._scratch / DONE
        return lines, (end, done.read_bytes() if done.exists() else None)

    def read(self, name: str, offset: int) -> bytes:
        """Return a piece of a file that the child wrote."""
        self._lease.renew()
        with (self._scratch / "out" / name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    def leave(self) -> None:
        """End the job if it still runs, and remove the folder."""
        if self._child is not None:
            self._child.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _create_folder() -> Path:
    """Create a folder that is locked as long as this process lives, and remove those of dead processes."""
    above = Path(tempfile.gettempdir()) / f"shoe-hosts-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    found = above.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or above.is_symlink():
        raise ShoeError(f"found {above} open to others, expected a folder of this user alone")
    with (above / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # so that no folder is seen before it is locked
        for other in above.glob("host-*"):
            if not is_locked(other):
                shutil.rmtree(other, ignore_errors=True)
        own = Path(tempfile.mkdtemp(dir=above, prefix="host-"))
        fcntl.flock(os.open(own, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_EX)
    return own
