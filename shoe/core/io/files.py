"""Reading of whole files, gzip-compressed or not, and atomic writing."""

import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from shoe.core.errors import InputError, did_you_mean, quote

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS
_PADDING = re.compile(rb"\0*")
_STEP = 1 << 12
LARGEST_UNPACKED = 4_000_000_000  # bytes; ten times the size of the largest known files
_UNPACKED_OF_ANY, _LARGEST_RATIO = 200_000_000, 300  # predictions compress to a tenth, at best to a hundredth
RUN_HEAD = "run.json"  # archive member that identifies a file written by ``shoe score --save``
_TEMPORARY, _IS_POSIX = re.compile(r"\..*\.[a-z0-9_]{8}\.tmp", re.DOTALL), os.name == "posix"
_INPUT, _WRITABLE = "-", "a path that can be written"
_stream_contents: dict[str, bytes] | None = None


@contextmanager
def cached_streams() -> Iterator[None]:
    """Cache the content of streams (a pipe, standard input) inside a ``with`` block, so that they can be read again."""
    global _stream_contents
    _stream_contents = {}
    try:
        yield
    finally:
        _stream_contents = None


def is_stream(path: str | Path) -> bool:
    """Return whether a path can be read only once: "-" (standard input), a pipe, or a device."""
    return str(path) == _INPUT or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def _content(path: str | Path) -> bytes:
    if not is_stream(path):
        return Path(path).read_bytes()
    contents = {} if _stream_contents is None else _stream_contents
    if str(path) not in contents:
        contents[str(path)] = sys.stdin.buffer.read() if str(path) == _INPUT else _read_pipe(Path(path))
    return contents[str(path)]


def _read_pipe(path: Path) -> bytes:
    with path.open("rb") as stream:
        if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty() and not path.samefile(os.devnull):
            raise InputError(path, found="a device", expected="a file that can be read")
        return stream.read()


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or standard input for "-"; gzip-compressed content is decompressed, whatever the file name.

    Raises InputError if the file cannot be read, or its compressed content is damaged or too large.
    """
    try:
        data = _content(path)
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from None
    if not data.startswith(_GZIP_MAGIC):
        return data
    parts: list[bytes] = []
    most = most_unpacked(len(data))
    view, start, left = memoryview(data), 0, most
    try:
        while start < len(data):
            part, size = _unpacked(view[start:], _GZIP, left, _STEP if parts else len(data))
            parts.append(part)
            left -= len(part)
            start = _PADDING.match(data, start + size).end()  # type: ignore[union-attr]  # it may be empty
    except OverflowError:
        limit = f"{most / 1e9:.2g} GB"
        ratio = "" if most == LARGEST_UNPACKED else f" ({_LARGEST_RATIO} times the compressed size)"
        expected = f"at most {limit}{ratio}"
        raise InputError(path, found=f"compressed data of more than {limit}", expected=expected) from None
    except (ValueError, zlib.error) as error:
        raise InputError(path, found=f"damaged gzip data ({error})", expected="a complete .gz file") from None
    return b"".join(parts)


def most_unpacked(packed: int) -> int:
    """Return the largest size of decompressed data, in bytes, if ``packed`` is the compressed size."""
    return min(LARGEST_UNPACKED, max(_UNPACKED_OF_ANY, _LARGEST_RATIO * packed))


def unreadable_error(path: str | Path, error: Exception) -> InputError:
    """Return the InputError for a file that cannot be read; ``error`` is the exception that was raised."""
    if isinstance(error, FileNotFoundError):
        hint, name = None, Path(path).name
        with suppress(OSError):  # a broken link is listed under its own name
            hint = did_you_mean(name, (entry.name for entry in Path(path).parent.iterdir() if entry.name != name))
        return InputError(path, found="no such file", expected="a file", hint=hint)
    found = "a folder" if isinstance(error, IsADirectoryError) else getattr(error, "strerror", None) or str(error)
    return InputError(path, found=found, expected="a file that can be read")


def decompress_zlib(data: bytes) -> bytes:
    """Return decompressed zlib data.

    Raises ValueError if the data are truncated, OverflowError if the result is larger than ``LARGEST_UNPACKED`` bytes,
    and zlib.error if the data are damaged.
    """
    return _unpacked(memoryview(data), _ZLIB, LARGEST_UNPACKED, len(data))[0]


def _unpacked(data: memoryview, window: int, most: int, step: int) -> tuple[bytes, int]:
    """Return the decompressed content of a stream (at most ``most`` bytes), and its compressed size.

    ``window`` is the ``wbits`` argument of zlib. The input is passed in pieces of ``step``, 2 ``step``, ... bytes,
    because zlib copies all input after the end of the stream.
    """
    unpacker, parts, end = zlib.decompressobj(window), [], 0
    while not unpacker.eof:
        if end >= len(data):
            raise ValueError("the data end too early")
        parts.append(unpacker.decompress(data[end : end + step], most + 1))
        most -= len(parts[-1])
        if most < 0:
            raise OverflowError(f"compressed data of more than {LARGEST_UNPACKED / 1e9:g} GB")
        end, step = min(end + step, len(data)), 2 * step
    return b"".join(parts), end - len(unpacker.unused_data)


@contextmanager
def os_errors(path: str | Path, expected: str) -> Iterator[None]:
    """Raise InputError "found PROBLEM, expected {expected}" for an OSError in the ``with`` block."""
    try:
        yield
    except OSError as error:
        raise InputError(path, found=error.strerror or str(error), expected=expected) from None


@contextmanager
def atomic_write(path: str | Path, suffix: str = "", expected: str = _WRITABLE) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces ``path`` at the end of the ``with`` block, unless an exception is raised.

    If ``path`` is a link, the target of the link is replaced. Permissions are preserved. Pipes, devices and /dev/stdout
    are written directly. With a ``suffix``, the temporary file always has the name of the target with this suffix, for
    callers that hold a lock: what a killed process left is overwritten. Without a ``suffix``, temporary files of killed
    processes with this target are deleted.

    Raises InputError if the folder or file cannot be written to, or the disk is full.
    """
    target = Path(path)
    with os_errors(path, expected):
        folder = os.path.realpath(target.parent)
        if folder == "/dev" or folder.startswith("/proc/") or (target.exists() and not target.is_file()):
            with target.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(target))
        if suffix:
            temporary = f"{target}{suffix}"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        else:
            handle, temporary = _locked_temporary(target)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                mask = os.umask(0)  # can only be read by changing it
                os.umask(mask)
                os.fchmod(handle, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~mask)
                os.fsync(handle)
                if _IS_POSIX:  # closing the file would end its lock
                    os.replace(temporary, target)
            if not _IS_POSIX:  # Windows cannot rename an open file
                os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise


def _locked_temporary(target: Path) -> tuple[int, str]:
    """Create a temporary file next to ``target``, locked while it is open; delete those that no process has locked."""
    import tempfile

    start = f".{target.name[:32]}."
    for path in _temporary_files(target.parent):
        if path.name[:-12] == start:
            with suppress(OSError), path.open("r+b") as file:
                if _lock(file.fileno()):
                    path.unlink()
    while True:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=start, suffix=".tmp")
        locked = _lock(handle)
        if locked is None or (locked and os.path.exists(temporary)):
            return handle, temporary
        os.close(handle)  # another process deleted the file before it was locked


@lru_cache(64)  # because a command may write thousands of files to one folder
def _temporary_files(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)]
    return []  # a folder that cannot be listed


def _lock(handle: int) -> bool | None:
    """Lock an open file; return False if another process has locked it, and None if the system cannot lock it."""
    if not _IS_POSIX:
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def make_folder(path: Path, expected: str = "a folder that can be created") -> None:
    """Create a folder and its parents if needed, or raise InputError "found PROBLEM, expected {expected}"."""
    with os_errors(path, expected):
        path.mkdir(parents=True, exist_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically in UTF-8; raises the errors of :func:`atomic_write`."""
    with atomic_write(path) as stream:
        stream.write(text.encode())


_PACKAGE = Path(__file__).parents[2]


def data_folder(kind: str) -> Path:
    """Return the path of the folder "similarity_maps" or "prompts" (``kind``) in the package, else the checkout."""
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind


_KINDS = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\x89HDF": "an HDF5 file",
}
_BINARY = "binary data"
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def encoding_error(path: str | Path, data: bytes) -> InputError | None:
    """Return the error for text that is not UTF-8, such as Latin-1; None for UTF-8 text and for binary data."""
    try:
        data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        if describe_content(data) in (*_KINDS.values(), _BINARY):
            return None
        line, byte = data.count(b"\n", 0, error.start) + 1, data[error.start]
        found, hint = f"the byte {byte:#x}, which is not UTF-8", "save the file as UTF-8"
        return InputError(path, record=f"line {line}", found=found, expected="text in UTF-8", hint=hint)
    return None


def describe_content(data: bytes) -> str:
    """Return a description of a file's content for messages: its type (by its first bytes), or how its text begins.

    >>> describe_content(b"GIF89a"), describe_content(b"some prose")
    ('a GIF image', "text that begins with 'some prose'")
    """
    if not data.strip():
        return "an empty file"
    known = next((name for magic, name in _KINDS.items() if data.startswith(magic)), None)
    if known or _CONTROL.search(data[:1024]):
        return known or _BINARY
    return f"text that begins with {quote(data[:24].decode('utf-8', 'replace'))}"
