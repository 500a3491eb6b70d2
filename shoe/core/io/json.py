"""Reading and writing of JSON with msgspec, with error messages that contain the position in the file."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from shoe.core.errors import InputError, quote

T = TypeVar("T")
_LONGEST_INT = 18


def parse_json(path: str | Path, data: bytes, line: int | None = None) -> Any:
    """Parse JSON, or raise InputError with line and column. ``line`` is the line number if ``data`` is one line."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _syntax_error(path, data, error, line) from None


def parse_with_nan(path: str | Path, data: bytes, line: int | None = None) -> Any:
    """Parse JSON as :func:`parse_json`, but accept the numbers NaN and Infinity, as Python's ``json`` does."""
    if b"NaN" in data or b"Infinity" in data:
        with suppress(ValueError, RecursionError):  # parse_json reports the error
            return json.loads(data, parse_int=lambda digits: (int if len(digits) < _LONGEST_INT else float)(digits))
    return parse_json(path, data, line)


def repeated_key(data: bytes, parsed: Any) -> str | None:
    """Return a key that an object of JSON or JSON Lines contains twice, or None; ``parsed`` are the parsed data."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            raise KeyError(max(keys := [key for key, _ in pairs], key=keys.count))

    # The slow parser of Python searches the key only if the parsed data have fewer quotation marks than the text.
    with suppress(UnicodeEncodeError):  # half a surrogate pair, which is accepted beside NaN
        if data.count(b'"') <= msgspec.json.encode(parsed).count(b'"') and rb"\u0022" not in data:
            return None
    is_lines = isinstance(parsed, list) and data.lstrip()[:1] != b"["
    try:
        for text in data.split(b"\n") if is_lines else [data]:
            json.loads(text.strip() or b"0", object_pairs_hook=check)
    except (KeyError, ValueError, RecursionError) as error:
        return str(error.args[0]) if isinstance(error, KeyError) else None
    return None


def read_typed(path: str | Path, data: bytes, kind: type[T], place: Callable[[Any, int, Any], str]) -> T:
    """Parse JSON into an object of the type ``kind``.

    Raises InputError if the data are not JSON, or do not fit the type. The message contains the field and the name of
    the record, which the callback ``place`` returns for (document, index of the record, record).
    """
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # reported below
        return msgspec.json.decode(data, type=kind)
    document = parse_json(path, data)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise explain_error(path, error, document, kind, partial(place, document)) from None


def encode(value: Any, *, readable: bool = False) -> bytes:
    """Return a value as JSON on one line; if ``readable``, indented by two spaces, with a final line break."""
    data = msgspec.json.encode(value)
    return msgspec.json.format(data, indent=2) + b"\n" if readable else data


def _syntax_error(path: str | Path, data: bytes, error: Exception, line: int | None = None) -> InputError:
    try:
        data.decode()
    except UnicodeDecodeError:  # for which msgspec 0.23 reports a syntax error
        return InputError(path, found="bytes that are not UTF-8", expected="JSON")
    if isinstance(error, RecursionError):
        return InputError(path, found="too many levels of nested lists or objects", expected="fewer levels")
    what, _, at = str(error).removeprefix("JSON is malformed: ").partition(" (byte ")
    if isinstance(error, msgspec.ValidationError):
        return InputError(path, found="a number that is out of range", expected="JSON", hint=what)
    index = int(at.rstrip(")")) - (what == "trailing characters") if at else len(data)
    before, rest = data[:index], data[index : index + 80].decode("utf-8", "replace")[:20]
    rest = rest.partition("\n")[0] or rest
    found = quote(rest) if rest else f"the end of the {'file' if line is None else 'line'}"
    hint = "JSON has no NaN or Infinity" if rest.startswith(("NaN", "Infinity")) else what if at else "it is cut off"
    lines = before.decode("utf-8", "replace").split("\n")
    where = f"line {line or len(lines)}, column {len(lines[-1]) + 1}"
    return InputError(path, record=where, found=found, expected="JSON", hint=hint)


# Types of JSON values. ``Meta(extra=...)`` has words for error messages: ``expected`` describes a valid value, and
# ``item`` names an element of a list.

_LARGEST = 2**31 - 1
_INTEGER = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
_FLOAT = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST, multiple_of=1)]
_WHOLE = Meta(extra={"expected": "a whole number"})

Number = Annotated[float, Meta(extra={"expected": "a number"})]
Finite = Annotated[float, Meta(ge=-1.7e308, le=1.7e308, extra={"expected": "a finite number"})]
NumberOrText = Annotated[
    float
    | Annotated[str, Meta(pattern=r"^\s*[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[nN][aA][nN]|[iI]nf(inity)?)\s*$")],
    Meta(extra={"expected": "a number"}),
]
"""A number, NaN or infinity, or their text: some files of the field have IDs like "17" followed by a line break."""
Whole = Annotated[_INTEGER | _FLOAT, _WHOLE]  # an integer, or a float with an integer value such as 17.0
WholeOrText = Annotated[_INTEGER | _FLOAT | Annotated[str, Meta(pattern=r"^\s*[-+]?\d{1,10}(\.0*)?\s*$")], _WHOLE]
Box = Annotated[tuple[float, float, float, float], Meta(extra={"expected": "[x1, y1, x2, y2]"})]
BoxOrText = Annotated[
    tuple[NumberOrText, NumberOrText, NumberOrText, NumberOrText], Meta(extra={"expected": "[x1, y1, x2, y2]"})
]
ImageName = Annotated[str | int, Meta(extra={"expected": "a file name"})]

_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_EXPECTED: dict[type[inspect.Type], str] = {
    inspect.ListType: "a list",
    inspect.DictType: "an object",
    inspect.FloatType: "a number",
    inspect.StrType: "text",
}
_KINDS: dict[type, str] = {list: "a list", dict: "an object"}


def explain_error(
    path: str | Path,
    error: msgspec.ValidationError,
    document: Any,
    kind: Any,
    place: Callable[[int, Any], str] = lambda number, record: f"record {number + 1}",
    record: str | None = None,
    field: str | None = None,
) -> InputError:
    """Return the InputError for a parsed JSON document that does not fit the type ``kind``.

    ``error`` contains the position in the document. The callback ``place`` returns the name of a record, given its
    index and content. If the document is only a record or a part of a record, ``record`` is the name of the record; if
    it is the value of a field or column, ``field`` is its name.
    """
    message = str(error)
    node, value = inspect.type_info(kind), document
    where = [] if record is None else [record]
    try:
        for key, index in _STEP.findall(message.rpartition(" - at `")[2] if " - at `" in message else ""):
            inner, words = _opened(node, key, index)
            if "expected" in words and not isinstance(inner, inspect.ListType):
                break
            if key:
                field, value, node = key, value[key], next(f.type for f in inner.fields if f.encode_name == key)
            elif index == "...":
                key = next(key for key, item in value.items() if type(item) not in (int, float) or not isfinite(item))
                field, value, node = f"{field}: {key}", value[key], inner.value_type
            elif "item" not in words and value is not document:
                field, value, node = f"{field}: item {int(index) + 1}", value[int(index)], inner.item_type
            else:
                value, node = value[int(index)], inner.item_type
                where.append(f"{words.get('item', 'item')} {int(index) + 1}" if where else place(int(index), value))
                field = None if isinstance(_opened(node)[0], inspect.StructType) else field
        else:
            node, words = _opened(node)
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return InputError(path, found="a value of the wrong type", expected="the documented structure", hint=message)
    if (missing := _MISSING.match(message)) and isinstance(value, dict):
        keys = ", ".join(map(quote, list(value)[:8]))
        field, found, expected = missing[1], f"only keys {keys}" if keys else "no keys", "this key"
    else:
        found, expected = describe_value(value), words.get("expected") or _expected(node)
    hint = "write one record for each" if expected == "text" and isinstance(value, list) else None
    return InputError(path, record=": ".join(where) or None, field=field, found=found, expected=expected, hint=hint)


def describe_value(value: Any) -> str:
    """Return a JSON value as text for messages; for objects and nested lists, only their type and length."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        return f"{_KINDS[type(value)]} of {len(value)}"
    return quote(value)


def _opened(node: Any, key: str = "", index: str = "") -> tuple[Any, dict[str, str]]:
    """Return a msgspec type without its metadata, and the texts in the metadata.

    If the type is a union, return its member that has the field ``key``, or the list type whose items ``index`` counts.
    """
    words: dict[str, str] = {}
    while isinstance(node, inspect.Metadata):
        words |= node.extra or {}
        node = node.type
    if isinstance(node, inspect.UnionType) and (key or index):
        into = inspect.StructType if key else inspect.DictType if index == "..." else inspect.ListType
        node = next(part for part in node.types if isinstance(_opened(part)[0], into))
        return _opened(node)
    if isinstance(node, inspect.UnionType) and not words:
        words = {name: word for part in node.types for name, word in _opened(part)[1].items()}
    return node, words


def _expected(node: Any) -> str:
    if isinstance(node, inspect.StructType):
        required = ", ".join(quote(f.encode_name) for f in node.fields if f.required)
        return f"an object with {required}" if required else "an object"
    if isinstance(node, inspect.LiteralType):
        return f"one of {', '.join(map(quote, node.values))}"
    return _EXPECTED.get(type(node), "a value of another kind")
