"""Fields of parsed JSON: fast columns while all is well, and the exact place when it is not.

A reader gathers a field of all records at once with :func:`number_column` or :func:`whole_numbers`, which refuse
anything odd with a ``ValueError`` that says nothing; only then does it walk the records one by one with the ``take_``
functions, which know where they are and raise the error that the user reads.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError, quote

_LARGEST_INTEGER = 2**31 - 1


def flat(lists: Sequence[Any]) -> list[Any]:
    """Join lists; anything else among them is a ``ValueError``."""
    if not set(map(type, lists)) <= {list}:
        raise ValueError
    return list(chain.from_iterable(lists))


def number_column(values: Sequence[Any], *, text: bool = False) -> NDArray[np.float64]:
    """Turn a field of all records into a column of numbers.

    Args:
        values: int or float each.
        text: also accept digits in a string (some of the field's files hold ids like "17" followed by a line break).

    Raises:
        ValueError: if a value is anything else.
    """
    types = set(map(type, values))
    if text and str in types:
        values = [float(v) if type(v) is str else v for v in values]
        types.discard(str)
    if not types <= {int, float}:
        raise ValueError
    return np.array(values, np.float64)


def whole_numbers(values: Sequence[Any], *, text: bool = False) -> NDArray[np.int64]:
    """Turn a field of all records into a column of whole numbers; errors as :func:`number_column`."""
    return whole(number_column(values, text=text))


def whole(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn whole numbers that are floats into integers; others are a ``ValueError``."""
    if not ((np.abs(column) <= _LARGEST_INTEGER) & (column == np.rint(column))).all():
        raise ValueError
    return column.astype(np.int64)


def rows(values: Sequence[Any], width: int, *, text: bool = False) -> NDArray[np.float64]:
    """Turn a field of all records, lists of ``width`` numbers, into (n, width); errors as :func:`number_column`."""
    joined = flat(values)
    if not set(map(len, values)) <= {width}:
        raise ValueError
    return number_column(joined, text=text).reshape(-1, width)


def take(path: str | Path, record: str | None, holder: Any, field: str, kind: type) -> Any:
    """Return ``holder[field]`` if it is of a kind (list, dict or str)."""
    if not isinstance(holder, dict):
        raise InputError(path, record=record, found=shown(holder), expected=f"an object with {quote(field)}")
    if field not in holder:
        keys = ", ".join(map(quote, list(holder)[:8])) or "no keys"
        raise InputError(path, record=record, field=field, found=f"only {keys}", expected="this key")
    value = holder[field]
    if not isinstance(value, kind):
        raise InputError(path, record=record, field=field, found=shown(value), expected=_KINDS[kind])
    return value


def take_whole_number(path: str | Path, record: str, value: Any, field: str, *, text: bool = False) -> None:
    """Raise if a value is no whole number."""
    try:
        whole_numbers([value], text=text)
    except ValueError:
        raise InputError(path, record=record, field=field, found=shown(value), expected="a whole number") from None


def take_row(path: str | Path, record: str, value: Any, field: str, expected: str, *, text: bool = False) -> None:
    """Raise if a value is no list of as many numbers as ``expected`` names, separated by commas."""
    try:
        rows([value], expected.count(",") + 1, text=text)
    except ValueError:
        raise InputError(path, record=record, field=field, found=shown(value), expected=f"[{expected}]") from None


def shown(value: Any) -> str:
    """Show a value of parsed JSON in a message; one with lists or objects inside by its kind and length."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        return f"{_KINDS[type(value)]} of {len(value)}"
    return quote(value)


def unexplained(path: str | Path, expected: str) -> NoReturn:
    """Raise for a file that breaks a rule which no walk over its records could name."""
    raise InputError(path, found="a damaged structure", expected=expected)


BOX = "x1, y1, x2, y2"
_KINDS: dict[type, str] = {list: "a list", dict: "an object", str: "text"}
