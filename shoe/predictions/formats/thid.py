"""Predictions of THID and INP-CC, whose HOI classes count from 0.

``preds.pkl`` has parallel lists of scores, pairs of boxes and image numbers for each class. What the evaluators are
given an image at a time, ``{image: [[class, score, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]]}``, is a format of its own.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import check_range
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.io.files import replacing
from shoe.core.io.json import Number, Whole, explained, shown
from shoe.core.rows import Rows
from shoe.predictions.record_fields import hoi_classes_of, image_names
from shoe.predictions.source import Source

_PARTS = ("keys", "scores", "boxes")
_NUMBERS = 10
_ROW = Meta(extra={"item": "row"})
_BOXES = Annotated[
    tuple[float, float, float, float, float, float, float, float],
    Meta(extra={"expected": "[hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]"}),
]


_Row = Annotated[
    tuple[Whole, float, float, float, float, float, float, float, float, float],
    Meta(extra={"expected": "[class, score, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]"}),
]
_Rows = Annotated[list[_Row], _ROW]


class _Class(Struct, gc=False):
    keys: Annotated[list[Annotated[str | int, Meta(extra={"expected": "the number of a test image"})]], _ROW]
    scores: Annotated[list[Number], _ROW]
    boxes: Annotated[list[_BOXES], _ROW]


def is_thid(source: Source) -> bool:
    """Tell whether a document has THID's keys."""
    return set(_PARTS) <= set(source.first)


def read_thid(source: Source) -> Rows:
    """Read THID's predictions; images come in order of their names, the rows of an image in order of their class.

    Raises:
        InputError: naming the class and field that break the format.
    """
    path, classes = source.path, source.benchmark.classes
    document: dict[str, Any] = source.document if isinstance(source.document, dict) else {}
    parts: dict[str, dict[Any, Any]] = {part: document.get(part) for part in _PARTS}  # type: ignore[misc]
    for name, part in parts.items():
        if not isinstance(part, dict):
            raise InputError(path, field=name, found=shown(part), expected="an object with one list per class")
    names: list[str | int] = []
    scores: list[float] = []
    boxes: list[tuple[float, ...]] = []
    hoi: list[int] = []
    for key in dict.fromkeys(key for part in parts.values() for key in part):
        lists = {name: part[key] for name, part in parts.items() if key in part}
        place, number = f"class {quote(key)}", _class(source, key, len(classes))
        try:
            rows = msgspec.convert(lists, _Class)
        except msgspec.ValidationError as error:
            raise explained(path, error, lists, _Class, record=place) from None
        if len({len(rows.keys), len(rows.scores), len(rows.boxes)}) != 1:
            found = f"{len(rows.keys)} keys, {len(rows.scores)} scores, {len(rows.boxes)} boxes"
            raise InputError(path, record=place, found=found, expected="as many of each")
        names += rows.keys
        scores += rows.scores
        boxes += rows.boxes
        hoi += [number] * len(rows.keys)
    named = image_names(source, names, "keys", lambda _: None)
    index = {name: i for i, name in enumerate(sorted(set(named)))}
    corners, class_of = np.array(boxes, np.float64).reshape(-1, 8), np.array(hoi, np.int64)
    return Rows(
        images=list(index),
        image=np.array([index[name] for name in named], np.int64),
        human_boxes=corners[:, :4],
        object_boxes=corners[:, 4:],
        **classes.columns_of(class_of),
        score=np.array(scores, np.float64),
    )


def is_thid_images(source: Source) -> bool:
    """Tell whether a document is an object with one list per image whose items are lists of ten numbers."""
    document = source.document if source.kind == "document" and not source.is_list else None
    if not isinstance(document, dict) or not all(isinstance(rows, list) for rows in document.values()):
        return False
    first = next((rows[0] for rows in document.values() if rows), None)
    return isinstance(first, list) and len(first) == _NUMBERS


def read_thid_images(source: Source) -> Rows:
    """Read what THID's evaluator is given; images come in the order of the file.

    Raises:
        InputError: naming the image and field that break the format.
    """
    path, classes = source.path, source.benchmark.classes
    document: dict[Any, Any] = source.document
    images = image_names(source, document, "image", lambda _: None)
    listed = []
    for name, rows in zip(images, document.values(), strict=True):
        try:
            listed.append(msgspec.convert(rows, list[_Row]))
        except msgspec.ValidationError as error:
            raise explained(path, error, rows, _Rows, record=f"image {quote(name)}") from None
    image = np.repeat(np.arange(len(images)), [len(rows) for rows in listed])
    numbers = chain.from_iterable(chain.from_iterable(listed))
    columns = np.fromiter(numbers, np.float64, _NUMBERS * len(image)).reshape(-1, _NUMBERS)
    hoi = columns[:, 0].astype(np.int64)
    check_range(path, (images, image), "class", hoi, len(classes))
    return Rows(
        images=images,
        image=image,
        human_boxes=columns[:, 2:6],
        object_boxes=columns[:, 6:],
        **classes.columns_of(hoi),
        score=columns[:, 1],
    )


def write_thid_images(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write what THID's evaluator is given, as JSON.

    Raises:
        InputError: naming a word that is no label, or a pair that is no class.
    """
    hoi = hoi_classes_of(table, benchmark.classes, path, "thid-images").tolist()
    numbers = np.column_stack([table.score, table.human_boxes, table.object_boxes]).tolist()
    rows = [[number, *row] for number, row in zip(hoi, numbers, strict=True)]
    bounds = zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    document = {name: rows[first:last] for name, (first, last) in zip(table.images, bounds, strict=True)}
    with replacing(path) as stream:
        stream.write(msgspec.json.encode(document))


def _class(source: Source, key: Any, count: int) -> int:
    try:
        number = int(key) if isinstance(key, str) and len(key) < 10 else key
    except ValueError:
        number = -1
    if type(number) is not int or not 0 <= number < count:
        raise InputError(source.path, field="keys", found=f"class {quote(key)}", expected=f"0 to {count - 1}")
    return number
