"""A machine of a cluster that does jobs of a service: the child of each, in a folder that goes with its host."""

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
from shoe.llm.fence import Fence
from shoe.service.process import DONE, Child, End, Task
from shoe.version import __version__

PIECE = 1 << 25
"""Bytes of a file that are handed over at once."""
_MOST = 4_000_000_000
"""Bytes of files that are kept for the next job, beside those of the last one."""
_LOOK, _SILENCE = 0.2, 300.0
"""Seconds between two looks at a child, and without a word of the service after which a host ends."""


class Host:
    """An actor of Ray: one job after the other, each by a child of this process.

    Its methods run one at a time in the main thread of its process, which starts the children and so outlives them;
    when it is killed, the kernel ends the child. It ends by itself when Ray's process that started it is gone.
    """

    def __init__(self, version: str) -> None:
        """Make a folder, and remove those of hosts that were killed.

        Raises:
            ShoeError: if this machine has another shoe.
        """
        if version != __version__:
            raise ShoeError(f"found a machine with shoe {__version__}, expected {version}, as the service")
        self._folder = _own_folder()
        self._fence = Fence(_SILENCE)
        self._kept: dict[str, int] = {}
        self._child: Child | None = None

    @property
    def _scratch(self) -> Path:
        return self._folder / "job"

    def begin(self, task: Task, files: Mapping[str, list[Any]]) -> None:
        """Start a job.

        Args:
            task: what to do; its folders are replaced by those of here.
            files: all that it reads: references of their content, each in a list, as Ray leaves it alone there, by
                their place below the service's folder, ``files/...`` or ``maps/...``, which their content determines.
        """
        import ray

        self._fence.heard(time.monotonic())
        for place, (reference,) in files.items():
            path = self._folder / place
            if place in self._kept:
                self._kept[place] = self._kept.pop(place)  # it is the last that was used
                continue
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = ray.get(reference)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(content)
            part.rename(path)
            self._kept[place] = len(content)
        for place in [place for place in self._kept if place not in files]:
            if sum(self._kept.values()) > _MOST:
                (self._folder / place).unlink()
                del self._kept[place]
        here = msgspec.structs.replace(task, files=str(self._folder / "files"), maps=str(self._folder / "maps"))
        # What Ray was told of modules (PYTHONPATH, py_modules) is known to this process alone.
        modules = os.pathsep.join(filter(None, sys.path))
        self._child = Child(self._scratch, here, {**os.environ, "PYTHONPATH": modules})

    def news(self, seconds: float) -> tuple[list[str], bool]:
        """What the child said, as soon as it says something, or after a time; and whether it has ended."""
        assert self._child is not None  # noqa: S101 - begun
        self._fence.heard(time.monotonic())
        until, lines = time.monotonic() + seconds, list[str]()
        while not lines and not self._child.is_over and time.monotonic() < until:
            lines = self._child.listen(_LOOK)
        return lines, self._child.is_over

    def end(self) -> tuple[End | None, bytes | None]:
        """How the child ended, and what it wrote last, if it did."""
        assert self._child is not None  # noqa: S101 - begun
        self._child.close()
        done = self._scratch / DONE
        return self._child.end, done.read_bytes() if done.exists() else None

    def read(self, name: str, offset: int) -> bytes:
        """A piece of a file that the child made."""
        with (self._scratch / "out" / name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    def forget(self) -> None:
        """End the job, if it goes on, and remove what it left."""
        if self._child is not None:
            self._child.close()
            self._child = None
        shutil.rmtree(self._scratch, ignore_errors=True)

    def leave(self) -> None:
        """End the job, if one goes on, and remove all that there is of this host."""
        self.forget()
        shutil.rmtree(self._folder, ignore_errors=True)


def _own_folder() -> Path:
    """Make a folder that is locked as long as this process lives; folders of dead ones are removed."""
    above = Path(tempfile.gettempdir()) / f"shoe-hosts-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    found = above.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or above.is_symlink():
        raise ShoeError(f"found {above} open to others, expected a folder of this user alone")
    with (above / "lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # so that no folder is seen before it is locked
        for other in above.glob("host-*"):
            if not _is_locked(other):
                shutil.rmtree(other, ignore_errors=True)
        own = Path(tempfile.mkdtemp(dir=above, prefix="host-"))
        fcntl.flock(os.open(own, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_EX)
    return own


def _is_locked(folder: Path) -> bool:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # its host has just left
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
