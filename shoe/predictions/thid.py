"""THID and INP-CC's ``preds.pkl``: per HOI class, from 0, parallel lists of scores, pairs of boxes, image numbers."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.typed import Number, explained, shown
from shoe.predictions.record_fields import image_names
from shoe.predictions.source import Source

_PARTS = ("keys", "scores", "boxes")
_ROW = Meta(extra={"item": "row"})
_BOXES = Annotated[
    tuple[float, float, float, float, float, float, float, float],
    Meta(extra={"expected": "[hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]"}),
]


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


def _class(source: Source, key: Any, count: int) -> int:
    try:
        number = int(key) if isinstance(key, str) and len(key) < 10 else key
    except ValueError:
        number = -1
    if type(number) is not int or not 0 <= number < count:
        raise InputError(source.path, field="keys", found=f"class {quote(key)}", expected=f"0 to {count - 1}")
    return number
