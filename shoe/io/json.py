"""JSON in and out; msgspec does the work, and what is no JSON is shown where it breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError, quote
from shoe.io.typed import explained

T = TypeVar("T")
_LONGEST_INT = 18


def parse_json(path: str | Path, data: bytes, line: int | None = None) -> Any:
    """Parse JSON; what breaks it is shown with its line, column and the text found there.

    Raises:
        InputError: if ``data`` is no JSON.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(path, data, error, line) from None


def parse_with_nan(path: str | Path, data: bytes, line: int | None = None) -> Any:
    """Parse JSON in which NaN and Infinity may stand for numbers, as Python's json writes them; see parse_json."""
    if b"NaN" in data or b"Infinity" in data:
        with suppress(ValueError, RecursionError):  # what is wrong is said below
            return json.loads(data, parse_int=_number)
    return parse_json(path, data, line)


def read_typed(path: str | Path, data: bytes, kind: type[T], place: Callable[[Any, int, Any], str]) -> T:
    """Parse JSON of a type; see :mod:`shoe.io.typed`.

    Args:
        path: the file, for messages.
        data: its content.
        kind: the type.
        place: names a record of a list, given the document, the record's number and its content.

    Raises:
        InputError: if it is no JSON, or naming the record and field that break the type.
    """
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # what is wrong is said below
        return msgspec.json.decode(data, type=kind)
    document = parse_json(path, data)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise explained(path, error, document, kind, partial(place, document)) from None


def encode(value: Any, *, readable: bool = False) -> bytes:
    """Write JSON: on one line, or indented by two blanks with a line break at the end."""
    data = msgspec.json.encode(value)
    return msgspec.json.format(data, indent=2) + b"\n" if readable else data


def _number(digits: str) -> float:
    """A whole number; one that is longer than any count or coordinate as a float."""
    return int(digits) if len(digits) < _LONGEST_INT else float(digits)


def _no_json(path: str | Path, data: bytes, error: Exception, line: int | None = None) -> InputError:
    """Build the error for data that is no JSON, with the place where it stops being so."""
    if isinstance(error, UnicodeDecodeError):
        return InputError(path, found="bytes that are not UTF-8", expected="JSON")
    if isinstance(error, RecursionError):
        return InputError(path, found="lists in lists without end", expected="JSON")
    what, _, at = str(error).removeprefix("JSON is malformed: ").partition(" (byte ")
    if isinstance(error, msgspec.ValidationError):
        return InputError(path, found="a number that is out of range", expected="JSON", hint=what)
    index = int(at.rstrip(")")) - (what == "trailing characters") if at else len(data)
    before, rest = data[:index], data[index : index + 80].decode("utf-8", "replace")[:20]
    rest = rest.partition("\n")[0] or rest
    found = quote(rest) if rest else f"the end of the {'file' if line is None else 'line'}"
    hint = "JSON has no NaN or Infinity" if rest.startswith(("NaN", "Infinity")) else what if at else None
    lines = before.decode("utf-8", "replace").split("\n")
    where = f"line {line or len(lines)}, column {len(lines[-1]) + 1}"
    return InputError(path, record=where, found=found, expected="JSON", hint=hint)
