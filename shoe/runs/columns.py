"""Columns of numbers as few bytes, to the bit: small types, tables of values that repeat, equal columns once."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import quote

_WHOLE = ("u1", "u2", "u4", "i1", "i2", "i4", "i8")
_MOST_CODES = 1 << 16
ColumnIndex = Annotated[int, msgspec.Meta(ge=0)]


class StoredColumn(msgspec.Struct):
    """How a column stands in a file.

    Attributes:
        type: NumPy's name of its numbers, or of its codes where it has a table.
        length: how many it has.
        table: distinct values of 64 bits, in ascending order, that its codes number; None for a column of numbers.
    """

    type: str
    length: ColumnIndex
    table: ColumnIndex | None = None

    @property
    def size(self) -> int:
        """Bytes of its content.

        Raises:
            ValueError: for a type that no column has.
        """
        if self.type not in (*_WHOLE, "f4", "f8") or (self.table is not None and not self.type.startswith("u")):
            raise ValueError(f"numbers of type {quote(self.type)}")
        return 8 * (self.table or 0) + self.length * int(self.type[1])

    @property
    def unpacked(self) -> int:
        """Bytes that it takes when read, at most."""
        return 8 * ((self.table or 0) + self.length)


class ColumnWriter:
    """Collects columns; equal columns are stored once."""

    def __init__(self) -> None:
        self.columns: list[StoredColumn] = []
        self.contents: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def add(self, column: NDArray[Any]) -> int:
        """Add a column, unless there is an equal one, and return its index."""
        table = None
        if column.dtype.kind == "f":
            values = _distinct(column.view(np.int64))  # the bits: a zero with a sign is another number
            if len(values) <= min(_MOST_CODES, len(column) // 2):
                column, table = np.searchsorted(values, column.view(np.int64)), len(values)
                return self._keep(_small(column), table, values.astype("<i8").tobytes())
            with np.errstate(over="ignore"):
                narrow = column.astype(np.float32)
            column = narrow if np.array_equal(narrow, column) else column
        else:
            column = _small(column)
        return self._keep(column, table)

    def _keep(self, column: NDArray[Any], table: int | None, before: bytes = b"") -> int:
        column = column.astype(column.dtype.newbyteorder("<"))
        content = before + column.tobytes()
        of = StoredColumn(column.dtype.str.lstrip("<|"), len(column), table)
        key = hashlib.sha256(repr(of).encode() + content).digest()
        if key not in self._known:
            self._known[key] = len(self.columns)
            self.columns.append(of)
            self.contents.append(content)
        return self._known[key]


def read_column(of: StoredColumn, content: bytes) -> NDArray[Any]:
    """Return a column from its content.

    Raises:
        ValueError: if the content is not of the length, or the type, that is said.
    """
    if len(content) != of.size:
        raise ValueError(f"a column of {len(content)} bytes instead of {of.size}")
    head = 8 * (of.table or 0)
    column = np.frombuffer(content, np.dtype(f"<{of.type}"), offset=head) if of.length else np.empty(0, of.type)
    if of.table is not None:
        values = np.frombuffer(content[:head], "<i8").view("<f8")
        if column.max(initial=0) >= max(len(values), 1):
            raise ValueError("a code without a value")
        taken: NDArray[np.float64] = values[column]
        return taken
    return column.astype(np.float64 if column.dtype.kind == "f" else np.int64 if of.type == "i8" else np.int32)


def check_range(column: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Return a column if all its numbers are at least ``low`` and below ``high``.

    Raises:
        ValueError: if one is not.
    """
    if len(column) and not (column.min() >= low and column.max() < high):
        raise ValueError(f"a number outside {low:g} to {high:g}")
    return column


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different ones of (n,) numbers, in order; np.unique hashes them, which takes many times as long."""
    ordered = np.sort(values)
    is_first: NDArray[np.bool_] = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[is_first]


def _small(column: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest type that holds them."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    for name in _WHOLE:
        limits = np.iinfo(name)
        if limits.min <= low and high <= limits.max:
            return column.astype(name)
    return column
