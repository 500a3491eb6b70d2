"""JSON read into types, with errors that name the record and the field; msgspec does the work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError, quote

T = TypeVar("T")

_KINDS = {"array": "a list", "object": "an object", "str": "text", "int": "a whole number", "float": "a number"}
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.?([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Layout:
    """How messages call the parts of a format's documents.

    Attributes:
        format: the format's name.
        items: per list, by the field that holds it, what one of its items is called. The document itself is "", and a
            list that is a value of it, where it is an object of free keys, is "*". Other lists are shown whole.
        names: per list, how to name one of its items, from the document, its index and itself, if not by its index.
        expected: per field, what is expected there, where its type does not say it well.
    """

    format: str
    items: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Callable[[Any, int, Any], object]] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)


def parse_json(path: str | Path, data: bytes, line: int | None = None) -> Any:
    """Parse JSON; what breaks it is shown with its line, column and the text found there.

    Args:
        path: the file, for messages.
        data: its content, or one line of it.
        line: the number of that line.

    Raises:
        InputError: if ``data`` is no JSON.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(path, data, error, line) from None


def decode(path: str | Path, data: bytes, decoder: msgspec.json.Decoder[T], layout: Layout) -> T:
    """Parse JSON of a known type.

    Args:
        path: the file, for messages.
        data: its content.
        decoder: of the type.
        layout: how to name what does not fit the type.

    Raises:
        InputError: if it is no JSON, or naming the record and field that do not fit.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise misfit(path, parse_json(path, data), decoder.type, error, layout) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(path, data, error) from None


def convert(path: str | Path, document: Any, type_: type[T], layout: Layout) -> T:
    """Turn plain lists, dicts, numbers and text into a known type; as :func:`decode`."""
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError as error:
        raise misfit(path, document, type_, error, layout) from None


def encode(value: Any, *, readable: bool = False) -> bytes:
    """Write JSON: on one line, or indented by two blanks with a line break at the end."""
    data = msgspec.json.encode(value)
    return msgspec.json.format(data, indent=2) + b"\n" if readable else data


def shown(value: Any) -> str:
    """Show a value of parsed JSON in a message; one with lists or objects inside by its kind and length."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return quote(value)


def misfit(path: str | Path, document: Any, type_: Any, error: msgspec.ValidationError, layout: Layout) -> InputError:
    """Build the error for a document that does not fit a type, from msgspec's words and the document itself.

    Args:
        path: the file.
        document: plain lists, dicts, numbers and text.
        type_: what it does not fit.
        error: what msgspec says.
        layout: how to name records and fields.
    """
    what, _, where = str(error).partition(" - at `$")
    value, records, name, in_item = document, [], "", False
    for index, key in _STEP.findall(where.rstrip("`")):
        if key:
            value, name, in_item = value[key], key, False
        elif index == "...":  # msgspec does not say which value of an object it is
            free = next((key for key in value if _misfits({key: value[key]}, type_)), "")
            value, name = value.get(free), "*"
            records.append(f"{layout.items.get('', 'record')} {quote(free)}")
        elif name in layout.items and not in_item:
            value, in_item = value[int(index)], True
            records.append(f"{layout.items[name]} {_name_of(document, int(index), value, layout.names.get(name))}")
            name = "" if isinstance(value, dict) or name == "*" else name
        else:
            break
    record = ": ".join(records) or None
    if missing := re.match("Object missing required field `(.+)`", what):
        found = f"only {', '.join(map(quote, list(value)[:8])) or 'no keys'}"
        return InputError(path, record=record, field=missing[1], found=found, expected="this key")
    kind = re.match(r"Expected `(\w+)", what)
    expected = layout.expected.get(name) or _KINDS.get(kind[1] if kind else "", f"the format {layout.format}")
    at = None if in_item and expected == _KINDS["object"] else name or None
    return InputError(path, record=record, field=at, found=shown(value), expected=expected)


def _name_of(document: Any, index: int, item: Any, how: Callable[[Any, int, Any], object] | None) -> str:
    """How messages name an item of a list."""
    try:
        name = how(document, index, item) if how else index
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        name = index
    return quote(name) if isinstance(name, str) else str(index)


def _misfits(document: Any, type_: Any) -> bool:
    try:
        msgspec.convert(document, type_)
    except msgspec.ValidationError:
        return True
    return False


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
    found = quote(rest) if rest else f"the end of the {'file' if line is None else 'line'}"
    hint = "JSON has no NaN or Infinity" if rest.startswith(("NaN", "Infinity")) else what if at else None
    lines = before.decode("utf-8", "replace").split("\n")
    where = f"line {line or len(lines)}, column {len(lines[-1]) + 1}"
    return InputError(path, record=where, found=found, expected="JSON", hint=hint)
