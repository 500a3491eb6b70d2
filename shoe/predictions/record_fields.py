"""Fields of a file's records as columns: names of images, and fields that all records have or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from shoe.core.arrays import Floats
from shoe.core.errors import InputError
from shoe.io.typed import shown
from shoe.predictions.source import Source


def image_names(
    source: Source, values: Iterable[object], field: str, place: Callable[[int], str | None] | None = None
) -> list[str]:
    """Name images from what a field of a file calls them.

    Args:
        source: the file.
        values: what it calls them.
        field: the field's name.
        place: names the record of a value, if it is not that of the same number.

    Raises:
        InputError: naming the first record whose value is none.
    """
    names: list[str] = []
    for number, value in enumerate(values):
        try:
            names.append(source.benchmark.image_name(value))
        except ValueError:
            record, found = (place or source.record_name)(number), shown(value)
            raise InputError(source.path, record=record, field=field, found=found, expected="a file name") from None
    return names


def is_given(source: Source, field: str, values: Sequence[Any], place: Callable[[int], str]) -> bool:
    """Tell whether rows have a field; arguments and errors as :func:`in_all_or_none`."""
    absent = np.array([value is UNSET for value in values])
    if (absent == absent[0]).all():
        return not absent[0]
    row = int(np.argmax(absent != absent[0]))
    found = "none" if absent[row] else "the first one"
    raise InputError(source.path, record=place(row), field=field, found=found, expected="this key in all or in none")


def in_all_or_none(
    source: Source, field: str, values: Sequence[float | UnsetType], place: Callable[[int], str]
) -> Floats | None:
    """Make a column of a field that all rows have or none.

    Args:
        source: the file.
        field: its name.
        values: (n,) numbers.
        place: names a row.

    Returns:
        (n,); None if no row has it.

    Raises:
        InputError: naming the first row that differs from the first one.
    """
    try:
        return np.fromiter(values, np.float64, len(values))
    except TypeError:
        is_given(source, field, values, place)
        return None
