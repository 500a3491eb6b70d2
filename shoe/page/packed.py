"""Values with columns of numbers as text that a page can hold: base64 of gzip of a JSON head and the columns.

What is packed cannot end the element that it stands in, whatever labels it has, nor steer the text around a label.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import visible
from shoe.io.json import encode

_WHOLE = ("u1", "u2", "u4", "i1", "i2", "i4")
_ALIGNED = 8


def pack(value: Any) -> str:
    """Pack a JSON value in which any arrays of numbers stand; ``unpack`` of ``static/packed.js`` restores it.

    Whole numbers take the smallest type that holds them; others are float64.
    """
    columns: list[NDArray[Any]] = []
    head = _without_columns(value, columns)
    ends = np.cumsum([column.nbytes + -column.nbytes % _ALIGNED for column in columns], dtype=np.int64).tolist()
    listed = [
        (column.dtype.str.lstrip("<|"), start, len(column)) for column, start in zip(columns, [0, *ends], strict=False)
    ]
    content = encode({"columns": listed, "value": head})
    parts = [len(content).to_bytes(4, "little"), content, b"\0" * (-(4 + len(content)) % _ALIGNED)]
    for column in columns:
        parts += [column.tobytes(), b"\0" * (-column.nbytes % _ALIGNED)]
    return base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()


def _without_columns(value: Any, columns: list[NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        columns.append(_small(value.ravel()))
        return {"$column": len(columns) - 1}
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(name): _without_columns(each, columns) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_columns(each, columns) for each in value]
    return value


def _small(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        return column.astype("<f8")
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    fits = (name for name in _WHOLE if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    return column.astype(f"<{next(fits)}")
