"""HICO-DET as published: ``anno_bbox.mat``, with ``bbox_train`` and ``bbox_test``.

Per image a file name, a size and its HOIs; per HOI its class (1 to 600), boxes of humans and of objects, and in each
row of ``connection`` one triplet: the indices of its human and its object box. Everything counts from 1, pixels too,
in both splits. HOIs with ``invis`` set have no boxes. Structure as in the dataset's README and its evaluation script.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.rows import Rows
from shoe.io.matlab import is_matlab, load_matlab, matrix, number, records, text, whole_number

_VARIABLES = {"test2015": "bbox_test", "train2015": "bbox_train"}
_CORNERS = ("x1", "y1", "x2", "y2")
_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)


def read_bbox_mat(path: str | Path, data: bytes, benchmark: Benchmark, split: str | None) -> Rows:
    """Read one split of the file: the one asked for, else test if it is there.

    Raises:
        InputError: naming the image that breaks the format; a training image is left out instead, as QPIC does, if one
            of its triplets points to a box that the file does not have.
        OptionError: if the file does not hold the split.
    """
    numbering = benchmark.classes
    variables = load_matlab(path, data, list(_VARIABLES.values()))
    if not variables:
        expected = "bbox_test and bbox_train, as in anno_bbox.mat"
        raise InputError(path, found="none of its variables", expected=expected)
    held = [name for name, variable in _VARIABLES.items() if variable in variables]
    chosen = split or held[0]
    if chosen not in held:
        raise OptionError(f"{path} holds no images of the split {quote(chosen)}; it holds {' and '.join(held)}")
    try:
        entries = records(variables[_VARIABLES[chosen]])
    except ValueError:
        expected = "records with filename, size and hoi"
        raise InputError(path, field=_VARIABLES[chosen], found="no records", expected=expected) from None

    images: list[str] = []
    sizes: list[tuple[int, int]] = []
    left_out: list[str] = []
    blocks: list[NDArray[np.float64]] = [np.zeros((0, 10))]
    for index, entry in enumerate(entries):
        name, size = _image(path, index, entry)
        rows = _triplets(path, name, entry, len(numbering), is_test=chosen == "test2015")
        if rows is None:
            left_out.append(name)
            continue
        blocks.append(np.column_stack([np.full(len(rows), len(images)), rows]))
        images.append(name)
        sizes.append(size)
    rows = np.concatenate(blocks)
    hoi = rows[:, 1].astype(np.int64)
    return Rows(
        images=images,
        image=rows[:, 0].astype(np.int64),
        human_boxes=rows[:, 2:6],
        object_boxes=rows[:, 6:],
        **numbering.columns_of(hoi),
        coordinates=np.full(len(images), Coordinates.PIXELS_1, np.uint8),
        sizes=np.array(sizes, np.float64).reshape(-1, 2),
        left_out=tuple(left_out),
    )


def _image(path: str | Path, index: int, entry: Any) -> tuple[str, tuple[int, int]]:
    try:
        name = text(entry["filename"])
        (size,) = records(entry["size"])
        return name, (whole_number(size["width"]), whole_number(size["height"]))
    except _DAMAGE:
        expected = "a filename, and a size with width and height"
        raise InputError(path, record=f"image {index}", found="something else", expected=expected) from None


def _triplets(path: str | Path, image: str, entry: Any, classes: int, *, is_test: bool) -> NDArray[np.float64] | None:
    """(n, 9) HOI class from 0, human box, object box of an image's triplets; None if boxes are missing in training."""
    blocks = [np.zeros((0, 9))]
    record = f"image {quote(image)}"
    try:
        hois = records(entry["hoi"])
    except _DAMAGE:
        raise InputError(path, record=record, field="hoi", found="no records", expected="records or []") from None
    for index, hoi in enumerate(hois):
        where = f"{record}: hoi {index}"
        try:
            if number(hoi["invis"]):
                continue
            label = whole_number(hoi["id"])
            humans, objects = _boxes(hoi["bboxhuman"]), _boxes(hoi["bboxobject"])
            connection = matrix(hoi["connection"]).reshape(-1, 2) - 1
        except _DAMAGE:
            expected = "numbers id and invis, boxes with x1, y1, x2, y2, and connection with two columns"
            raise InputError(path, record=where, found="something else", expected=expected) from None
        if not 1 <= label <= classes:
            raise InputError(path, record=where, field="id", found=str(label), expected=f"1 to {classes}")
        inside = (connection >= 0) & (connection < [len(humans), len(objects)]) & (connection == np.rint(connection))
        if not inside.all():
            if not is_test:
                return None
            found = quote((connection[int(np.argmin(inside.all(axis=1)))] + 1).tolist())
            expected = f"one of {len(humans)} humans and one of {len(objects)} objects, counted from 1"
            raise InputError(path, record=where, field="connection", found=found, expected=expected)
        pairs = connection.astype(np.int64)
        blocks.append(np.column_stack([np.full(len(pairs), label - 1.0), humans[pairs[:, 0]], objects[pairs[:, 1]]]))
    return np.concatenate(blocks)


def _boxes(value: Any) -> NDArray[np.float64]:
    return np.array([[number(box[c]) for c in _CORNERS] for box in records(value)], np.float64).reshape(-1, 4)


FORMAT = TruthFormat("official anno_bbox.mat", "anno_bbox.mat", is_matlab, read_bbox_mat)
