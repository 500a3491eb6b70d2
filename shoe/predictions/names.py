"""Names of images, labels and classes, as prediction files write them, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, near, quote
from shoe.core.interactions import Interactions

_HICO_STEM = re.compile(r"HICO_(?:test|train)2015_\d{8}")
_LARGEST_ID = 10**8

SCORE_NAMES = ("score", "confidence", "conf", "probability", "prob")


def image_name(value: Any) -> str:
    """Turn what a file calls an image into its name: no folders, and numbers in the form of HICO-DET's test set.

    Args:
        value: a file name or path, a name without its ending, or the number in a test image's name.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, str):
        name = value.replace("\\", "/").rsplit("/", 1)[-1].strip()
        if name.isascii() and name.isdigit() and len(name) <= 8:
            return f"HICO_test2015_{int(name):08d}.jpg"
        if not name:
            raise ValueError
        return f"{name}.jpg" if _HICO_STEM.fullmatch(name) else name
    if type(value) is int and 0 <= value < _LARGEST_ID:
        return f"HICO_test2015_{value:08d}.jpg"
    raise ValueError


def without_ending(source: str | Path, images: Sequence[str]) -> list[str]:
    """Names without ".jpg", for files that write them so.

    Raises:
        InputError: for a name that would not come back.
    """
    for name in images:
        if image_name(name.removesuffix(".jpg")) != name:
            expected = "a name like HICO_test2015_00000001.jpg"
            raise InputError(source, field="image", found=quote(name), expected=expected)
    return [name.removesuffix(".jpg") for name in images]


def labels_of(table: Interactions, classes: HoiClasses, path: str | Path, form: str) -> tuple[Indices, Indices]:
    """Find the dataset's labels of a table's words, for a format that holds numbers instead of words.

    Args:
        table: n triplets.
        classes: whose labels.
        path: the file to be written, for messages.
        form: the format's name, for messages.

    Returns:
        (n,) indices into ``classes.verbs`` and into ``classes.objects``.

    Raises:
        InputError: naming the first word that is no label.
    """
    verb = _labels("verb", table.verbs, table.verb, classes.verbs, path, form)
    return verb, _labels("object", table.objects, table.object, classes.objects, path, form)


def hoi_classes_of(table: Interactions, classes: HoiClasses, path: str | Path, form: str) -> Indices:
    """(n,) class of each triplet, for a format that holds classes; errors as :func:`labels_of`."""
    verb, object_ = labels_of(table, classes, path, form)
    hoi = classes.of[verb, object_].astype(np.int64)
    if (hoi < 0).any():
        row = int(np.argmax(hoi < 0))
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}, which is all that the format {form} can hold"
        raise InputError(path, record=f"triplet {row}", found=found, expected=expected)
    return hoi


def _labels(
    part: str, words: Sequence[str], index: NDArray[np.int32], labels: Sequence[str], path: str | Path, form: str
) -> Indices:
    used = np.unique(index).tolist()
    position = {label: i for i, label in enumerate(labels)}
    label_of = np.array([position.get(word, -1) for word in words], np.int64)
    for i in used:
        if label_of[i] < 0:
            label_of[i] = _same_label(words[i], labels, "verb" if part == "verb" else "object")
        if label_of[i] < 0:
            row = int(np.argmax(index == i))
            alike = near(words[i], labels)
            raise InputError(
                path,
                record=f"triplet {row}",
                field=part,
                found=quote(words[i]),
                expected=f"one of the dataset's {len(labels)} {part}s, which is all that the format {form} can hold",
                hint=f"did you mean {alike[0]}?" if alike else None,
            )
    return label_of[index]


def _same_label(word: str, labels: Sequence[str], part: Any) -> int:
    from shoe.lexicon.labels import match_labels

    return int(match_labels([word], labels, part)[0])
