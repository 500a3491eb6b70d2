"""Convert fields of records to columns, and words of a table to labels and classes of a benchmark."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from shoe.benchmarks.checks import labels_of_words
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Indices, first_true
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.io.json import describe_value
from shoe.predictions.source import Source


def labels_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> tuple[Indices, Indices]:
    """Return the (n,) index of each triplet's verb in ``classes.verbs``, and of its object in ``classes.objects``.

    Raises InputError for unknown words. The message contains ``path`` and ``name``, the name of the format.
    """
    verb = _labels("verb", table.verbs, table.verb, classes.verbs, path, name)
    return verb, _labels("object", table.objects, table.object, classes.objects, path, name)


def hoi_classes_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> Indices:
    """Return the (n,) HOI class index of each triplet. Raises InputError for a triplet that is no HOI class."""
    verb, object_ = labels_of(table, classes, path, name)
    hoi = classes.of[verb, object_].astype(np.int64)
    if (row := first_true(hoi < 0)) is not None:
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}; the format {name} has no other classes"
        raise InputError(path, record=f"triplet {row + 1}", found=found, expected=expected)
    return hoi


def _labels(
    part: Literal["verb", "object"],
    words: Sequence[str],
    index: NDArray[np.int32],
    labels: Sequence[str],
    path: str | Path,
    name: str,
) -> Indices:
    from shoe.lexicon.resolve import match_labels

    limit, match = f"; the format {name} has no other {part}s", partial(match_labels, labels=labels, part=part)
    return labels_of_words(path, part, index, words, labels, lambda row: f"triplet {row + 1}", limit, match)


def image_names(
    source: Source, values: Iterable[object], field: str, place: Callable[[int], str | None] | None = None
) -> list[str]:
    """Return the image name for each value of a field; InputError, naming ``place(row)``, for an invalid value."""
    names: list[str] = []
    for number, value in enumerate(values):
        try:
            names.append(source.image_name(value))
        except ValueError:
            record, found = (place or source.record_name)(number), describe_value(value)
            raise InputError(source.path, record=record, field=field, found=found, expected="a file name") from None
    return names


def all_have_field(source: Source, field: str, values: Sequence[Any], place: Callable[[int], str]) -> bool:
    """Return True if no value of a field is UNSET, False if all are. InputError, with ``place(row)``, if some are."""
    absent = np.array([value is UNSET for value in values])
    if (row := first_true(absent != absent[0])) is None:
        return not absent[0]
    found = "no such key" if absent[row] else "the first record with this key"
    raise InputError(
        source.path, record=place(row), field=field, found=found, expected="this key in all records or none"
    )


def optional_column(
    source: Source, field: str, values: Sequence[float | UnsetType], place: Callable[[int], str]
) -> Floats | None:
    """Return the (n,) values of a field, or None if no row has it. Raises InputError if only some rows have it."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except TypeError:
        all_have_field(source, field, values, place)
        return None
