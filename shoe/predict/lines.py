"""Files of JSON Lines: an optional first line that says how the rest was made, then one record per line.

A file that grows is whole after a kill, except for a last line, which readers skip and the next writer cuts off. Files
from elsewhere have no first line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes, replacing
from shoe.io.json import parse_json
from shoe.io.typed import explained
from shoe.llm.ledger_writer import locked_lines, write_all

T = TypeVar("T")
VERSION = 1


def first_line(form: str, by: Mapping[str, Any], **more: Any) -> bytes:
    """Return the line that says what a file is, and by which settings its records were made."""
    return msgspec.json.encode({"format": form, "version": VERSION, **more, "by": by}) + b"\n"


def read_lines(path: str | Path, kind: type[T], form: str) -> tuple[dict[str, Any], list[T]]:
    """Read a file of lines; a last line that a kill left torn is skipped.

    Returns:
        Settings by which its records were made ({} without a first line), and the records.

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
        except msgspec.ValidationError as error:
            document = parse_json(path, line, number)
            if number > 1 or not isinstance(document, dict) or "format" not in document:
                raise explained(path, error, document, kind, record=f"line {number}") from None
            if document["format"] != form or document.get("version") != VERSION:
                found = f"{quote(document['format'])}, version {document.get('version')}"
                raise InputError(path, record="line 1", found=found, expected=f"{form}, version {VERSION}") from None
            by = document["by"] if isinstance(document.get("by"), dict) else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if number < len(lines):
                parse_json(path, line, number)
    return by, records


def read_made(path: str | Path, kind: type[T], form: str, by: Mapping[str, Any]) -> list[T]:
    """Read the records of a file that was made by these settings; none if a kill left nothing but its first line."""
    found, records = read_lines(path, kind, form)
    if records:
        _check_settings(path, first_line(form, found), first_line(form, by))
    return records


def write_lines(
    path: str | Path, records: Iterable[Any], form: str = "", by: Mapping[str, Any] | None = None, **more: Any
) -> None:
    """Write a file of lines as a whole, with a first line if the file has a form."""
    with replacing(path) as stream:
        if by is not None:
            stream.write(first_line(form, by, **more))
        stream.writelines(msgspec.json.encode(record) + b"\n" for record in records)


@contextmanager
def growing(path: str | Path, form: str, by: Mapping[str, Any]) -> Iterator[Callable[[msgspec.Struct], None]]:
    """Open a file of lines, new or unfinished, and yield the function that appends a record to it.

    What was appended is on the disk when the block ends.

    Raises:
        InputError: if it cannot be written, another process writes it, or it was made by other settings.
    """
    path, first = Path(path), first_line(form, by)
    with locked_lines(
        path, first, lambda line: _check_settings(path, line, first), stopping=lambda: True, say=print
    ) as handle:
        if handle is None:
            raise InputError(path, found="a file that another process writes", expected="one of our own")

        def add(record: msgspec.Struct) -> None:
            try:
                write_all(handle, msgspec.json.encode(record) + b"\n")
            except OSError as error:
                found = error.strerror or str(error)
                raise InputError(path, found=found, expected="a file that can be written to") from None

        yield add
        os.fsync(handle)


def _check_settings(path: str | Path, line: bytes, first: bytes) -> None:
    """Compare the first line of a file with the one that would be written now."""
    if line != first:
        try:
            before, now = (msgspec.json.decode(one)["by"] for one in (line, first))
            names = [name for name in now if before.get(name) != now[name]]
            shown = [f"{name} {before.get(name)}, not {now[name]}" for name in names]
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
            shown = []
        found = ", ".join(shown[:3]) or quote(line[:60].decode("utf-8", "replace"))
        expected, hint = "a file made in the same way", "name another file, or remove this one"
        raise InputError(path, record="line 1", found=found, expected=expected, hint=hint)
