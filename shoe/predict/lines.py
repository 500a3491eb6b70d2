"""Files of lines that grow while they are made: the first says how, each other is a record, and is whole after a kill.

A file from elsewhere may lack the first line.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes, replacing
from shoe.io.json import parse_json
from shoe.io.typed import explained

T = TypeVar("T")
VERSION = 1


def first_line(form: str, by: Mapping[str, Any]) -> bytes:
    """Write the line that says what a file is, and how what it holds came about."""
    return msgspec.json.encode({"format": form, "version": VERSION, "by": by}) + b"\n"


def read_lines(path: str | Path, kind: type[T], form: str) -> tuple[dict[str, Any], list[T]]:
    """Read such a file; a last line that a kill left torn is passed over, and a file from elsewhere has no first line.

    Returns:
        How it came about, {} where it does not say, and its records.

    Raises:
        InputError: for a file of another form, and naming the line and field that break the type.
    """
    lines = read_bytes(path).split(b"\n")
    by: dict[str, Any] = {}
    records: list[T] = []
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
            continue
        except msgspec.ValidationError as error:
            document = parse_json(path, line, number)
            if number == 1 and isinstance(document, dict) and "format" in document:
                by = _checked(path, document, form)
                continue
            raise explained(path, error, document, kind, record=f"line {number}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if number < len(lines):
                parse_json(path, line, number)
    return by, records


def read_made(path: str | Path, kind: type[T], form: str, by: Mapping[str, Any]) -> list[T]:
    """Read the records of such a file that was made in one way; none of one that a kill left before it had begun.

    Raises:
        InputError: as :func:`read_lines`, and for a file that was made in another way.
    """
    made, records = read_lines(path, kind, form)
    if records and (line := first_line(form, made)) != (first := first_line(form, by)):
        raise _made_otherwise(path, line, first)
    return records


def write_lines(path: str | Path, form: str, by: Mapping[str, Any], records: Iterable[msgspec.Struct]) -> None:
    """Write such a file anew, as a whole.

    Raises:
        InputError: if it cannot be written.
    """
    with replacing(path) as stream:
        stream.write(first_line(form, by))
        for record in records:
            stream.write(msgspec.json.encode(record) + b"\n")


def _checked(path: str | Path, document: dict[str, Any], form: str) -> dict[str, Any]:
    if document["format"] != form or document.get("version") != VERSION:
        found = f"{quote(document['format'])}, version {document.get('version')}"
        raise InputError(path, record="line 1", found=found, expected=f"{form}, version {VERSION}")
    by = document.get("by")
    return by if isinstance(by, dict) else {}


@contextmanager
def growing(path: str | Path, form: str, by: Mapping[str, Any]) -> Iterator[Callable[[msgspec.Struct], None]]:
    """Go on with such a file, or begin it; within, what is added is a whole line, and on the disk when the block ends.

    Raises:
        InputError: if it cannot be written, another process writes it, or it was made in another way.
    """
    handle = _opened(path)
    try:
        _begin(path, handle, first_line(form, by))
        yield lambda record: _write(path, handle, msgspec.json.encode(record) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def _opened(path: str | Path) -> int:
    """Open a file that no other process writes meanwhile."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
        except BlockingIOError:
            os.close(handle)
            raise InputError(path, found="a file that another process writes", expected="one of our own") from None
        except OSError as error:
            os.close(handle)
            raise _unwritable(path, error) from None
        os.close(handle)  # what had the lock has put another file in its place


def _begin(path: str | Path, handle: int, first: bytes) -> None:
    """Cut off a torn line; see that the first one is the one that would be written, or write it."""
    content = os.pread(handle, os.fstat(handle).st_size, 0)
    whole = content.rfind(b"\n") + 1
    line = content[: content.index(b"\n") + 1] if whole else content
    if not (line == first if whole else first.startswith(line)):  # before anything is cut off: it may be another file
        raise _made_otherwise(path, line, first)
    os.ftruncate(handle, whole)
    if not whole:
        _write(path, handle, first)


def _made_otherwise(path: str | Path, line: bytes, first: bytes) -> InputError:
    """What is said of a file whose first line is not the one that would be written now."""
    expected, hint = "a file made in the same way", "name another file, or remove this one"
    return InputError(path, record="line 1", found=_differing(line, first), expected=expected, hint=hint)


def _differing(line: bytes, first: bytes) -> str:
    try:
        before, now = msgspec.json.decode(line), msgspec.json.decode(first)
        names = [name for name in now["by"] if before["by"].get(name) != now["by"][name]]
        shown = [f"{name} {before['by'].get(name)}, not {now['by'][name]}" for name in names]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        shown = []
    return ", ".join(shown[:3]) or quote(line[:60].decode("utf-8", "replace"))


def _write(path: str | Path, handle: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(handle, data) :]
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> InputError:
    return InputError(path, found=error.strerror or str(error), expected="a file that can be written to")
