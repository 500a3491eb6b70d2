"""The rules that the columns of a table obey, each broken one answered with one clear line.

Arguments of all functions: ``source`` is the file's name and ``field`` the column's, for messages, and ``name`` names a
row in them. All raise an ``InputError`` for the first row that breaks a rule.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.errors import InputError, flag, quote

# Beyond any picture, and small enough that areas and their sums keep the digits that matter.
_LARGEST = 1e9


def check_names(source: str | Path, field: str, names: Sequence[str]) -> None:
    """Names are a list of distinct, valid text."""
    if isinstance(names, str):
        raise InputError(source, field=field, found=f"text ({quote(names)})", expected="a list of names")
    if not hasattr(names, "__getitem__"):  # a set has no order, and an iterator ends after one look
        raise InputError(source, field=field, found=f"a {type(names).__name__}", expected="a list of names")
    try:
        "\n".join(names).encode()
    except (TypeError, UnicodeEncodeError) as error:
        found = "a name that is no text" if isinstance(error, TypeError) else "a name that is no valid Unicode"
        raise InputError(source, field=field, found=found, expected="names") from None
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(source, field=field, found=f"{quote(twice)} twice", expected="distinct names")


def integers(
    source: str | Path,
    field: str,
    values: ArrayLike,
    limit: int,
    rows: int | None = None,
    name: Callable[[int], str] | None = None,
) -> NDArray[np.integer]:
    """Return whole numbers from 0 to ``limit`` - 1 as one column, of ``rows`` rows where their number is known."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(source, field=field, found=f"values of type {array.dtype}", expected="whole numbers")
    column = array.reshape(-1) if array.size else np.zeros(0, np.int64)
    if rows is not None and len(column) != rows:
        raise InputError(source, field=field, found=f"{len(column)} rows", expected=f"{rows}, one per triplet")
    if len(column) and (column.min() < 0 or column.max() >= limit):
        row = int(np.argmax((column < 0) | (column >= limit)))
        expected = f"0 to {limit - 1}" if limit else "none, as there is nothing to point to"
        record = name(row) if name else row
        raise InputError(source, record=record, field=field, found=f"index {column[row]}", expected=expected)
    return column


def numbers(source: str | Path, field: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return integers or floats of a shape; no numbers at all make an empty table of it."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(source, field=field, found="rows of different lengths", expected=f"shape {shape}") from None
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(source, field=field, found=f"values of type {array.dtype}", expected="numbers")
    if array.size == 0 and shape[0] == 0:
        return np.zeros(shape)
    if array.shape != shape:
        raise InputError(source, field=field, found=f"shape {array.shape}", expected=f"shape {shape}")
    return array.astype(np.float64, copy=False)


def sizes(source: str | Path, values: ArrayLike, images: int) -> Ints:
    """Return (images, 2) widths and heights in whole pixels; 0, 0 where unknown."""
    array = numbers(source, "sizes", values, (images, 2))
    bad: Mask = ~((array >= 0) & (array <= _LARGEST) & (array == np.rint(array))).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        found = f"{array[row, 0]:g} x {array[row, 1]:g}"
        raise InputError(source, record=row, field="sizes", found=found, expected="width and height in pixels")
    return array.astype(np.int32)


def check_scores(source: str | Path, scores: Floats, name: Callable[[int], str]) -> None:
    """(n,) scores are finite."""
    bad = ~np.isfinite(scores)
    if bad.any():
        row = int(np.argmax(bad))
        found = str(scores[row])
        raise InputError(source, record=name(row), field="score", found=found, expected="a finite number")


def check_boxes(source: str | Path, field: str, boxes: Floats, pixels: Mask, name: Callable[[int], str]) -> None:
    """(n, 4) boxes are finite, and their corners x1, y1, x2, y2 in order.

    ``pixels`` tells, (n,) or (1,), whether a box holds pixel indices, so that it may be one pixel wide: x1 = x2.
    """
    x1, y1, x2, y2 = boxes.T
    wide, high = x1 < x2, y1 < y2
    if pixels.any():
        wide |= (x1 == x2) & pixels
        high |= (y1 == y2) & pixels
    # A comparison with NaN is false, so that NaN fails each of these.
    bad = ~(wide & high & (x1 >= -_LARGEST) & (y1 >= -_LARGEST) & (x2 <= _LARGEST) & (y2 <= _LARGEST))
    if bad.any():
        row = int(np.argmax(bad))
        numbers = ", ".join(f"{x:g}" for x in boxes[row])
        raise InputError(
            source,
            record=name(row),
            field=field,
            found=f"[{numbers}]",
            expected="finite x1, y1, x2, y2 with x1 < x2 and y1 < y2",
            hint=f"another box convention? name it with {flag('boxes')}" if np.isfinite(boxes[row]).all() else None,
        )
