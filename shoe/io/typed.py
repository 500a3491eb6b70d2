"""JSON-like documents read by type: a msgspec struct says what a format holds, and one function says what breaks it.

Types carry the words of messages in ``Meta(extra=...)``: ``expected``, what should stand there, and ``item``, what one
element of a list is called. See :data:`Whole` and :data:`Box` for examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, inspect

from shoe.core.errors import InputError, quote

_LARGEST = 2**31 - 1
_INTEGER = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
_FLOAT = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST, multiple_of=1)]
_WHOLE = Meta(extra={"expected": "a whole number"})

Number = Annotated[float, Meta(extra={"expected": "a number"})]
Finite = Annotated[float, Meta(ge=-1.7e308, le=1.7e308, extra={"expected": "a finite number"})]
NumberOrText = Annotated[
    float | Annotated[str, Meta(pattern=r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")],
    Meta(extra={"expected": "a number"}),
]
"""A number, perhaps written as text: some of the field's files hold ids like "17" followed by a line break."""
Whole = Annotated[_INTEGER | _FLOAT, _WHOLE]
"""A whole number, perhaps written as 17.0."""
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


def explained(
    path: str | Path,
    error: msgspec.ValidationError,
    document: Any,
    kind: Any,
    place: Callable[[int, Any], str] = lambda number, record: f"record {number}",
    record: str | None = None,
    field: str | None = None,
) -> InputError:
    """Say where a document breaks its type: record, field, what was found, what was expected.

    Args:
        path: the file.
        error: what msgspec said; only where is taken from it.
        document: the document, as plain values.
        kind: the type.
        place: names a record of a list, given its number and its content.
        record: the document's own place in its file, if it is part of a record.
        field: what the document is called in its file, if it is a field or a column.
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
                field, value, node = f"{field}: item {index}", value[int(index)], inner.item_type
            else:
                value, node = value[int(index)], inner.item_type
                where.append(f"{words.get('item', 'item')} {index}" if where else place(int(index), value))
                field = None if isinstance(_opened(node)[0], inspect.StructType) else field
        else:
            node, words = _opened(node)
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return InputError(path, found="a damaged structure", expected="another one", hint=message)
    if (missing := _MISSING.match(message)) and isinstance(value, dict):
        field, found, expected = missing[1], f"only {', '.join(map(quote, list(value)[:8])) or 'no keys'}", "this key"
    else:
        found, expected = shown(value), words.get("expected") or _expected(node)
    hint = "one record for each" if expected == "text" and isinstance(value, list) else None
    return InputError(path, record=": ".join(where) or None, field=field, found=found, expected=expected, hint=hint)


def shown(value: Any) -> str:
    """Show a value of a document in a message; one with lists or objects inside by its kind and length."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        return f"{_KINDS[type(value)]} of {len(value)}"
    return quote(value)


def _opened(node: Any, key: str = "", index: str = "") -> tuple[Any, dict[str, str]]:
    """A type without its wrapping, of a union the part that a step goes into, and the words that the type carries."""
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
