"""Writing a ledger by one process at a time, and joining the ledgers of several processes into one."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from threading import Condition, Lock, Thread
from time import monotonic, sleep
from typing import IO, Any

import msgspec

from shoe.core.errors import InputError
from shoe.engines.ray_cluster import SILENCE, is_locked
from shoe.llm.ledger import ASK_AGAIN, Ledger, Parse, check_header, header

_LOOK_FOR_LOCK = 0.1
_GATHER = 0.02
_RESERVE = 4_000_000
"""Bytes that are given back when the disk is full: answers that are in flight then have room."""


class Writer:
    """Appends lines to one ledger. Its methods may be called from several threads.

    :meth:`append` hands a line to the operating system before it returns, where no end of this process can reach it any
    more; a thread has the disk take what has gathered.

    Attributes:
        synced: so many bytes of the file, whole lines, are on the disk.
    """

    def __init__(self, path: Path, handle: int) -> None:
        """Take over an open, locked file."""
        self._path = path
        self._handle = handle
        self._size = os.fstat(handle).st_size
        self.synced = self._size
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._closing = False
        self._error: InputError | None = None
        self._reserve = _reserve(path)
        self._thread = Thread(target=self._sync, name=f"shoe-ledger-{path.stem}", daemon=True)
        self._thread.start()

    def append(self, line: bytes) -> None:
        """Append a line.

        Raises:
            InputError: if the disk does not take it, and the ledger stays as it was; or once if the disk is full, and
                the line was written into the room that is kept for what is in flight.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            full = self._written(line)
            self._size += len(line)
            self._changed.notify_all()
            if full is not None:
                raise full

    def _written(self, line: bytes) -> InputError | None:
        """Write a line, at last into the room that was kept for what is in flight; return why that was taken."""
        try:
            self._write_or_undo(line)
        except OSError as error:
            problem = _unwritable(self._path, error)
            if self._reserve is not None:
                os.close(self._reserve)
                self._reserve = None
                with suppress(OSError):
                    self._write_or_undo(line)
                    return problem
            self._error = problem
            raise problem from None
        return None

    def _write_or_undo(self, line: bytes) -> None:
        try:
            write_all(self._handle, line)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise

    def flush(self) -> None:
        """Wait until all that was appended is on the disk.

        Raises:
            InputError: if the disk does not take it.
        """
        with self._changed:
            wanted = self._size
            self._changed.wait_for(lambda: self.synced >= wanted or self._error is not None)
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """Have the disk take the rest. The file stays open and locked."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None

    def _is_in_place(self, size: int) -> bool:
        return os.fstat(self._handle).st_size >= size and _is_still(self._path, self._handle)

    def _sync(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._size > self.synced or self._closing)
                size = self._size
                if self._closing and size == self.synced:
                    return
            try:
                os.fsync(self._handle)
                if not self._is_in_place(size):
                    raise OSError(errno.ENOENT, "that it was deleted, moved or cut off while it was written")
            except OSError as error:
                with self._changed:
                    self._error = _unwritable(self._path, error)
                    self._changed.notify_all()
                return
            with self._changed:
                self.synced = size
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closing, _GATHER)


@contextmanager
def writing(
    path: Path, identity: Mapping[str, Any], stopping: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[Writer | None]:
    """Write a ledger; where another process does, wait for it to end.

    Args:
        path: of the ledger; made if absent, with its folder.
        identity: of the model, see :class:`~shoe.llm.ledger.Ledger`.
        stopping: asked while waiting; then there is no writer.
        say: told once that there is something to wait for.

    Raises:
        InputError: if the file cannot be written, or is another model's ledger.
    """
    with locked(path, identity, stopping, say) as handle:
        if handle is None:
            yield None
            return
        writer = Writer(path, handle)
        try:
            yield writer
        finally:
            writer.close()


@contextmanager
def locked(
    path: Path, identity: Mapping[str, Any], stopping: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[int | None]:
    """Open a ledger, whole lines of it, that no other process writes meanwhile; as :func:`writing`."""
    with locked_lines(path, header(identity), lambda line: check_header(path, line, identity), stopping, say) as handle:
        yield handle


@contextmanager
def locked_lines(
    path: Path,
    first: bytes,
    check: Callable[[bytes], object],
    stopping: Callable[[], bool],
    say: Callable[[str], None],
) -> Iterator[int | None]:
    """Open a file of lines as :func:`locked` does, with another first line; ``check`` raises for one that differs."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            if not _lock(path, handle, stopping, say):
                yield None
                return
            if not _is_still(path, handle):
                continue  # what had the lock has put another file in its place
            _repair(path, handle, first, check)
            yield handle
            return
        finally:
            os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(path))
    return False


def _lock(path: Path, handle: int, stopping: Callable[[], bool], say: Callable[[str], None]) -> bool:
    """Wait for the lock; False if it came to stopping first. The system frees it when its process ends, however."""
    from filelock import lock_descriptor

    told = False
    while True:
        try:
            if lock_descriptor(handle, blocking=False):
                return True
        except OSError as error:
            raise _unwritable(path, error) from None
        if stopping():
            return False
        if not told:
            say(f"{path.name}: another process or rater is writing it; waiting, to find its answers there")
            told = True
        time.sleep(_LOOK_FOR_LOCK)


def _reserve(path: Path) -> int | None:
    """Take room on a ledger's disk with a file that has no name any more; None where there is no such thing.

    Raises:
        InputError: if there is no room: what were asked could not be kept.
    """
    try:
        with TemporaryFile(dir=path.parent) as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVE)
            return os.dup(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _unwritable(path, error, f", and {_RESERVE / 1e6:g} MB of room") from None
    return None


def _repair(path: Path, handle: int, first: bytes, check: Callable[[bytes], object]) -> None:
    """Cut off what a kill left of a line, and begin a file that has not begun."""
    try:
        whole = _end_of_lines(handle)
        with open(handle, "rb", closefd=False) as stream:
            stream.seek(0)
            line = stream.readline()
        if whole or not first.startswith(line):  # before anything is cut off: it may be another file
            check(line)
        os.ftruncate(handle, whole)
        if whole:
            return
        write_all(handle, first)
        os.fsync(handle)
        sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None


def sync_folder(folder: Path) -> None:
    """Have the disk take what was made, renamed or removed in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write bytes, however many calls the system needs."""
    while data:
        data = data[os.write(handle, data) :]


def _end_of_lines(handle: int) -> int:
    """Where the last whole line ends."""
    if not os.fstat(handle).st_size:
        return 0  # there is nothing to map
    with mmap.mmap(handle, 0, prot=mmap.PROT_READ) as content:
        return content.rfind(b"\n") + 1


def _unwritable(path: Path, error: OSError, more: str = "") -> InputError:
    return InputError(path, found=error.strerror or str(error), expected=f"a ledger that can be written to{more}")


# Joining the ledgers of several processes that shared one model's questions, into the one that all of them start from.
#
# A merge is a union of lines: in any order, and however often, it gives the same bytes.

_IN_MEMORY = 1 << 26
"""Bytes of lines that are sorted at once."""
_LOOK = 0.1
WORKER = "worker-"
"""What the folder of a worker's ledger begins with: one that ends soon after its run did."""
_EVENT, _KEYS = b'{"event"', b'{"keys":["'


def parts_of(path: Path) -> list[Path]:
    """List the ledgers that others kept for this one: of the same name, in folders beside it, the innermost first.

    A folder may be a link to one that lies elsewhere, and is looked into once, whatever leads there.

    Raises:
        InputError: if a folder cannot be read.
    """
    found: list[Path] = []
    seen: set[str] = set()
    for folder, inner, names in os.walk(path.parent, onerror=_unreadable, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            inner.clear()
            continue
        seen.add(real)
        if path.name in names and Path(folder) != path.parent:
            found.append(Path(folder, path.name))
    return sorted(found, key=lambda part: (-len(part.parts), part))


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise InputError(Path(error.filename), found=str(error.strerror), expected="a folder that can be read")


def merge(
    path: Path, identity: Mapping[str, Any], parse: Parse, say: Callable[[str], None], beside: Path | None = None
) -> int:
    """Take over what other ledgers hold; those that nobody writes any more are removed once that is on the disk.

    Args:
        path: of the ledger; made if absent. What others kept lies beside it, see :func:`parts_of`.
        identity: of the model, see :class:`~shoe.llm.ledger.Ledger`.
        parse: reads answers.
        say: told once if there is another process to wait for.
        beside: the path beside which the others lie, if it is another one.

    Returns:
        How many lines it did not have.

    Raises:
        InputError: if one of them is damaged, another model's, or no part of a shared job; or the disk is full.
    """
    if not parts_of(beside or path):
        return 0
    with locked(path, identity, lambda: False, say):
        parts = parts_of(beside or path)
        _await_workers(parts, say)
        for part in parts:
            if not part.exists():
                raise InputError(part, found="a link to nothing", expected="a ledger")
            read = Ledger(part, identity, parse)
            read.refresh()
            if read.events:
                raise InputError(part, found="events", expected="a ledger of one part of a job, which has none")
        start = _latest_round(path)
        before = sum(1 for _ in _lines(path, start))
        size = path.stat().st_size - start + sum(part.stat().st_size for part in parts)
        after = 0
        with _in_place_of(path) as stream:
            with path.open("rb") as old:
                while start > old.tell() and (data := old.read(min(_IN_MEMORY, start - old.tell()))):
                    stream.write(data)
            for line in _in_order(chain(_lines(path, start), *(_lines(part) for part in parts)), size, path.parent):
                stream.write(line)
                after += 1
        sync_folder(path.parent)
        for part in parts:
            remove(part)
    return after - before


def _await_workers(parts: Iterable[Path], say: Callable[[str], None]) -> None:
    """Wait until workers of a run that is over have ended: what they are about to keep is not to be asked again."""
    end, told = monotonic() + SILENCE, False
    while monotonic() < end and (busy := [p for p in parts if p.parent.name.startswith(WORKER) and is_locked(p)]):
        if not told:
            say(f"{busy[0].name}: workers of an earlier run are about to end; waiting for them")
            told = True
        sleep(_LOOK)


@contextmanager
def _in_place_of(path: Path) -> Iterator[IO[bytes]]:
    """Write what takes a locked ledger's place when the block ends well; the next one writes over what a kill left.

    Raises:
        InputError: if the disk is full, or the folder cannot be written to.
    """
    target = Path(os.path.realpath(path))
    new = target.with_name(f"{target.name}.merge")
    try:
        with new.open("wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        new.replace(target)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise InputError(path, found=str(error.strerror), expected="a ledger that can be written to") from None


def _latest_round(path: Path) -> int:
    """Where the answers begin that no "ask again" made void: they alone may change places."""
    found = 0
    with path.open("rb") as stream:
        position = found = len(stream.readline())
        for line in stream:
            position += len(line)
            if line.startswith(_EVENT) and msgspec.json.decode(line)["event"]["event"] == ASK_AGAIN:
                found = position
    return found


def _lines(path: Path, start: int | None = None) -> Iterator[bytes]:
    """Whole lines of a ledger; without a place to start at, all but the header."""
    with path.open("rb") as stream:
        if start is None:
            stream.readline()
        else:
            stream.seek(start)
        for line in stream:
            if line.endswith(b"\n"):
                yield line


def _in_order(lines: Iterable[bytes], size: int, folder: Path) -> Iterator[bytes]:
    """Each distinct line once, sorted, however many there are: put apart by their keys first."""
    count = size // _IN_MEMORY + 1
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(count)]
        for line in lines:
            place = int(line[len(_KEYS) :][:4], 16) * count >> 16 if line.startswith(_KEYS) else 0
            files[place].write(line)
        for file in files:
            file.seek(0)
            yield from sorted(set(file))


def remove(part: Path) -> None:
    """Remove a file that was taken over, unless a process writes it, and its folder if that is empty."""
    from filelock import lock_descriptor

    with suppress(OSError), part.open("r+b") as stream:  # some systems give the lock only to who may write
        if lock_descriptor(stream.fileno(), blocking=False):
            part.unlink()
            part.parent.rmdir()
