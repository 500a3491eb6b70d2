"""A table's words as a benchmark's labels and classes, for formats that hold numbers instead of words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.checks import labels_of_words
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions


def labels_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> tuple[Indices, Indices]:
    """Find the dataset's labels of the words of n triplets; the file to be written and its format are for messages.

    Returns:
        (n,) indices into ``classes.verbs`` and into ``classes.objects``.

    Raises:
        InputError: naming the first word that is no label.
    """
    verb = _labels("verb", table.verbs, table.verb, classes.verbs, path, name)
    return verb, _labels("object", table.objects, table.object, classes.objects, path, name)


def hoi_classes_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> Indices:
    """(n,) class of each triplet, for a format that holds classes; errors as :func:`labels_of`."""
    verb, object_ = labels_of(table, classes, path, name)
    hoi = classes.of[verb, object_].astype(np.int64)
    if (hoi < 0).any():
        row = int(np.argmax(hoi < 0))
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}, which is all that the format {name} can hold"
        raise InputError(path, record=f"triplet {row}", found=found, expected=expected)
    return hoi


def _labels(
    part: Literal["verb", "object"],
    words: Sequence[str],
    index: NDArray[np.int32],
    labels: Sequence[str],
    path: str | Path,
    name: str,
) -> Indices:
    from shoe.lexicon.labels import match_labels

    limit = f", which is all that the format {name} can hold"
    match = partial(match_labels, labels=labels, part=part)
    return labels_of_words(path, part, index, words, labels, "triplet {}".format, limit, match)
