"""THID and INP-CC's ``preds.pkl``: per HOI class, from 0, parallel lists of scores, pairs of boxes, image numbers."""

from itertools import repeat
from typing import Any

import numpy as np

from shoe.benchmarks import fields
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.predictions.names import image_name
from shoe.predictions.source import Source

_PARTS = ("keys", "scores", "boxes")
_BOTH_BOXES = "hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2"


def is_thid(source: Source) -> bool:
    """Tell whether a document has THID's keys."""
    return isinstance(source.document, dict) and set(_PARTS) <= set(source.document)


def read_thid(source: Source) -> Rows:
    """Read THID's predictions; images come in order of their names, the rows of an image in order of their class.

    Raises:
        InputError: naming the class and field that break the form.
    """
    path, classes = source.path, source.classes
    parts = [fields.take(path, None, source.document, part, dict) for part in _PARTS]
    names: list[Any] = []
    scores: list[Any] = []
    boxes: list[Any] = []
    hoi: list[int] = []
    for key in dict.fromkeys(key for part in parts for key in part):
        place = f"class {quote(key)}"
        number = _class(source, key, len(classes))
        for name, part in zip(_PARTS, parts, strict=True):
            if key not in part:
                raise InputError(
                    path, record=place, field=name, found="no such class", expected="each class in all parts"
                )
        columns = [_column(source, place, name, part[key]) for name, part in zip(_PARTS, parts, strict=True)]
        lengths = [len(column) for column in columns]
        if len(set(lengths)) != 1:
            found = f"{lengths[0]} keys, {lengths[1]} scores, {lengths[2]} boxes"
            raise InputError(path, record=place, found=found, expected="as many of each")
        for i, (name, score, box) in enumerate(zip(*columns, strict=True)):
            if type(name) is not int and not isinstance(name, str):
                _refuse(source, f"{place}: row {i}", "keys", name, "the number of a test image")
            if type(score) not in (int, float):
                _refuse(source, f"{place}: row {i}", "scores", score, "a number")
            fields.take_row(path, f"{place}: row {i}", box, "boxes", _BOTH_BOXES)
        names += columns[0]
        scores += columns[1]
        boxes += columns[2]
        hoi.extend(repeat(number, lengths[0]))
    images = {name: i for i, name in enumerate(sorted({_name(source, name) for name in names}))}
    image = [images[_name(source, name)] for name in names]
    corners = np.array(boxes, np.float64).reshape(-1, 8)
    index = np.array(hoi, np.int64)
    return Rows(
        images=list(images),
        image=np.array(image, np.int64),
        human_boxes=corners[:, :4],
        object_boxes=corners[:, 4:],
        verbs=classes.verbs,
        objects=classes.objects,
        verb=classes.verb[index].astype(np.int64),
        object=classes.object[index].astype(np.int64),
        score=np.array(scores, np.float64),
    )


def _column(source: Source, place: str, name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise InputError(source.path, record=place, field=name, found=fields.shown(values), expected="a list")
    return values


def _class(source: Source, key: Any, count: int) -> int:
    try:
        number = int(key) if isinstance(key, str) and len(key) < 10 else key
    except ValueError:
        number = -1
    if type(number) is not int or not 0 <= number < count:
        raise InputError(source.path, field="keys", found=f"class {quote(key)}", expected=f"0 to {count - 1}")
    return number


def _name(source: Source, value: Any) -> str:
    try:
        return image_name(value)
    except ValueError:
        _refuse(source, None, "keys", value, "the number of a test image")
        raise


def _refuse(source: Source, place: str | None, field: str, value: Any, expected: str) -> None:
    raise InputError(source.path, record=place, field=field, found=fields.shown(value), expected=expected) from None
