"""Writer of a ledger, for one process at a time, and the merge of the ledgers of several processes."""

import errno
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from threading import Condition, Thread
from time import monotonic, sleep
from typing import Any

import msgspec

from shoe.core.errors import InputError
from shoe.core.io.files import atomic_write, os_errors
from shoe.engines.ray_cluster import SILENCE, is_locked
from shoe.llm.ledger import ASK_AGAIN, Ledger, Parse, check_header, header

_EXPECTED = "a ledger that can be written to"
_LOOK_FOR_LOCK = 0.1
_GATHER = 0.02
_RESERVE = 4_000_000  # bytes, released when the disk is full, so that answers in flight can be written


class Writer:
    """Thread-safe writer that appends lines to one ledger (file of answers).

    :meth:`append` passes a line to the operating system before it returns, so that the line is not lost if this process
    is killed. A thread syncs the lines to the disk; ``synced`` is the size of the part that is on the disk.
    """

    def __init__(self, path: Path, handle: int) -> None:
        """Create a writer; ``handle`` is the file descriptor of the ledger, which must be locked."""
        self._path, self._handle = path, handle
        self._size = self.synced = os.fstat(handle).st_size
        self._changed, self._closing = Condition(), False
        self._error: InputError | None = None
        self._reserve = _reserve(path)
        self._thread = Thread(target=self._sync, name=f"shoe-ledger-{path.stem}", daemon=True)
        self._thread.start()

    def append(self, line: bytes) -> None:
        """Append a line; raise InputError, and leave the ledger unchanged, if the line cannot be written.

        At the first failure, space reserved on the disk is released, and the line is written if it now fits, although
        InputError is raised. Later lines, such as answers in flight, are appended as long as this space lasts.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            problem = None
            try:
                self._write_or_undo(line)
            except OSError as error:
                problem = self._error = _unwritable(self._path, error)
                if self._release():
                    with suppress(OSError):
                        self._write_or_undo(line)
                        self._error = None
                if self._error is not None:
                    raise problem from None
            self._size += len(line)
            self._changed.notify_all()
            if problem is not None:
                raise problem

    def _write_or_undo(self, line: bytes) -> None:
        try:
            write_all(self._handle, line)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise

    def flush(self) -> None:
        """Wait until all appended lines are on the disk; raise InputError if that fails."""
        with self._changed:
            wanted = self._size
            self._changed.wait_for(lambda: self.synced >= wanted or self._error is not None)
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """Sync all lines to the disk, without raising errors, and end the thread; the file stays open and locked."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._release()

    def _release(self) -> bool:
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            os.close(reserve)
        return reserve is not None

    def _sync(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._size > self.synced or self._closing)
                size = self._size
                if self._closing and size == self.synced:
                    return
            try:
                os.fsync(self._handle)
                if os.fstat(self._handle).st_size < size or not _is_at(self._path, self._handle):
                    raise OSError(errno.ENOENT, "the file was deleted, moved or truncated by another process")
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
    """Wait until no other process writes a ledger, and yield a writer; yield None if ``stopping`` ends the wait.

    The ledger and its folder are created if absent, with ``identity`` in the header. ``stopping`` is a callback that
    returns whether to stop waiting. ``say`` is called with a message, once, if another process writes the ledger. Raise
    InputError if the file cannot be written, or is the ledger of another model.
    """
    with locked(path, identity, stopping, say) as handle, ExitStack() as stack:
        yield None if handle is None else stack.enter_context(closing(Writer(path, handle)))


def locked(
    path: Path, identity: Mapping[str, Any], stopping: Callable[[], bool], say: Callable[[str], None]
) -> AbstractContextManager[int | None]:
    """Return a context manager that locks a ledger and gives its file descriptor or None; see :func:`writing`."""
    return locked_lines(path, header(identity), lambda line: check_header(path, line, identity), stopping, say)


@contextmanager
def locked_lines(
    path: Path, first: bytes, check: Callable[[bytes], object], stopping: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[int | None]:
    """Lock a file of lines, and yield its file descriptor; yield None if ``stopping`` ends the wait for the lock.

    An incomplete last line is cut off, and the line ``first`` is written into a new or empty file. The callback
    ``check`` raises an exception if it rejects the first line of an existing file. Otherwise as :func:`writing`.
    """
    while True:
        with os_errors(path, _EXPECTED):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not _lock(path, handle, stopping, say):
                yield None
                return
            if not _is_at(path, handle):
                continue  # the process that had the lock has replaced the file
            _repair(path, handle, first, check)
            yield handle
            return
        finally:
            os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(path))
    return False


def _lock(path: Path, handle: int, stopping: Callable[[], bool], say: Callable[[str], None]) -> bool:
    from filelock import lock_descriptor

    notified = False
    while True:
        with os_errors(path, _EXPECTED):
            if lock_descriptor(handle, blocking=False):
                return True
        if stopping():
            return False
        if not notified:
            say(f"{path.name}: another process or rater is writing this ledger; waiting, to use its answers")
            notified = True
        sleep(_LOOK_FOR_LOCK)


def _reserve(path: Path) -> int | None:
    """Reserve disk space in an unnamed file, and return the file's descriptor; None if the system cannot do this."""
    try:
        with TemporaryFile(dir=path.parent) as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVE)
            return os.dup(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _unwritable(path, error, f", and {_RESERVE / 1e6:g} MB of free space") from None
    return None


def _repair(path: Path, handle: int, first: bytes, check: Callable[[bytes], object]) -> None:
    with os_errors(path, _EXPECTED):
        end = 0
        if os.fstat(handle).st_size:  # an empty file cannot be mapped
            with mmap.mmap(handle, 0, prot=mmap.PROT_READ) as content:
                end = content.rfind(b"\n") + 1
        with open(handle, "rb", closefd=False) as stream:
            stream.seek(0)
            line = stream.readline()
        if end or not first.startswith(line):  # before the file is truncated, because it may be another file
            check(line)
        os.ftruncate(handle, end)
        if end:
            return
        write_all(handle, first)
        os.fsync(handle)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that created, renamed or deleted files stay so if the machine crashes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes to a file descriptor, in several calls if needed."""
    while data:
        data = data[os.write(handle, data) :]


def _unwritable(path: Path, error: OSError, more: str = "") -> InputError:
    return InputError(path, found=error.strerror or str(error), expected=f"{_EXPECTED}{more}")


# Merge of ledgers: the sorted union of their lines, so that the result does not depend on the order of merging.

_IN_MEMORY = 1 << 26  # bytes of lines that are sorted at once
_LOOK = 0.1
WORKER = "worker-"  # prefix of the name of the folder that contains the ledger of a worker process
_EVENT, _KEYS = b'{"event"', b'{"keys":["'


def parts_of(path: Path) -> list[Path]:
    """Return all files with the name of the ledger ``path`` in subfolders of its folder, deepest folders first.

    These are the ledgers of shards and workers. Links to folders are followed, and each folder is visited once. Raise
    InputError if a folder cannot be read.
    """
    parts: list[Path] = []
    seen: set[str] = set()

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise InputError(Path(error.filename), found=str(error.strerror), expected="a folder that can be read")

    for folder, inner, names in os.walk(path.parent, onerror=refuse, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            inner.clear()
            continue
        seen.add(real)
        if path.name in names and Path(folder) != path.parent:
            parts.append(Path(folder, path.name))
    return sorted(parts, key=lambda part: (-len(part.parts), part))


def merge(
    path: Path, identity: Mapping[str, Any], parse: Parse, say: Callable[[str], None], beside: Path | None = None
) -> int:
    """Merge the ledgers (files of answers) of shards and workers into ``path``; return the number of lines added to it.

    The ledgers are ``parts_of(beside or path)``, all with the settings ``identity``. Of equal lines, one is written.
    Then those merged ledgers are deleted that no other process writes. ``parse`` checks the answers, and ``say`` is
    called with a message if another process must be waited for.

    Raise InputError if a ledger is damaged, is of another model or contains events, or if the disk is full.
    """
    if not parts_of(beside or path):
        return 0
    with locked(path, identity, lambda: False, say):
        parts = parts_of(beside or path)
        _await_workers(parts, say)
        for part in parts:
            if not part.exists():
                raise InputError(part, found="a symbolic link to a missing file", expected="a ledger of answers")
            ledger = Ledger(part, identity, parse)
            ledger.refresh()
            if ledger.events:
                expected = "a ledger of a run with --shard, of a worker, or of `shoe map cache --export`"
                raise InputError(part, found="a ledger of a run with batches or --ask-again", expected=expected)
        start = _start_of_latest_round(path)
        before = sum(1 for _ in _lines(path, start))
        size = path.stat().st_size - start + sum(part.stat().st_size for part in parts)
        after = 0
        with atomic_write(path, ".merge", _EXPECTED) as stream:
            with path.open("rb") as old:
                while start > old.tell() and (data := old.read(min(_IN_MEMORY, start - old.tell()))):
                    stream.write(data)
            for line in _sorted_lines(chain(_lines(path, start), *(_lines(part) for part in parts)), size, path.parent):
                stream.write(line)
                after += 1
        sync_folder(path.parent)
        for part in parts:
            remove(part)
    return after - before


def _await_workers(parts: Iterable[Path], say: Callable[[str], None]) -> None:
    # Workers of a finished run may still write answers.
    end, notified = monotonic() + SILENCE, False
    while monotonic() < end and (busy := [p for p in parts if p.parent.name.startswith(WORKER) and is_locked(p)]):
        if not notified:
            say(f"{busy[0].name}: waiting until the workers of an earlier run have ended")
            notified = True
        sleep(_LOOK)


def _start_of_latest_round(path: Path) -> int:
    """Return the offset of the line after the last "ask again" event; only lines from there on may be sorted."""
    with path.open("rb") as stream:
        position = start = len(stream.readline())
        for line in stream:
            position += len(line)
            if line.startswith(_EVENT) and msgspec.json.decode(line)["event"]["event"] == ASK_AGAIN:
                start = position
    return start


def _lines(path: Path, start: int | None = None) -> Iterator[bytes]:
    """Yield the complete lines of a ledger from byte offset ``start`` on; by default, all lines after the header."""
    with path.open("rb") as stream:
        if start is None:
            stream.readline()
        else:
            stream.seek(start)
        yield from (line for line in stream if line.endswith(b"\n"))


def _sorted_lines(lines: Iterable[bytes], size: int, folder: Path) -> Iterator[bytes]:
    """Yield the distinct lines of at most ``size`` bytes in sorted order, by way of temporary files in ``folder``."""
    count = size // _IN_MEMORY + 1
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(count)]
        for line in lines:
            number = int(line[len(_KEYS) :][:4], 16) * count >> 16 if line.startswith(_KEYS) else 0
            files[number].write(line)
        for file in files:
            file.seek(0)
            yield from sorted(set(file))


def remove(part: Path) -> None:
    """Delete a merged file of answers and, if empty, its folder; do nothing if another process writes the file."""
    from filelock import lock_descriptor

    with suppress(OSError), part.open("r+b") as stream:  # some systems lock only files that are open for writing
        if lock_descriptor(stream.fileno(), blocking=False):
            part.unlink()
            part.parent.rmdir()
