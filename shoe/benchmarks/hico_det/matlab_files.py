"""Official Matlab files of HICO-DET: ``anno_bbox.mat`` (``bbox_train``, ``bbox_test``), and image labels ``anno.mat``.

``anno_bbox.mat`` has a file name, a size and HOIs per image. An HOI has a class (1 to 600), human boxes, object boxes,
and ``connection``, whose rows are triplets: indices of a human box and an object box. All indices, including pixels,
count from 1. HOIs with ``invis`` set have no boxes. The structure follows the dataset's README and evaluation script.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark, ImageLabel, TruthFormat
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import first_true, positions
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.interactions import Rows
from shoe.core.io.files import read_bytes
from shoe.core.io.matlab import is_matlab, load_matlab, matrix, number, records, text, whole_number

_VARIABLES = {"test2015": "bbox_test", "train2015": "bbox_train"}
_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)


def read_bbox_mat(path: str | Path, data: bytes, benchmark: Benchmark, split: str | None) -> Rows:
    """Return the triplets of ``split``; for None, of the test split if the file has one, else of the training split.

    HOIs marked as invisible are ignored. A training image with a triplet that refers to a missing box is left out, as
    in QPIC, and its name is listed in ``left_out``. Raises OptionError if the file does not contain the split.
    """
    numbering = benchmark.classes
    variables = load_matlab(path, data, list(_VARIABLES.values()))
    if not variables:
        raise InputError(path, found="no such variable", expected="bbox_test or bbox_train, as in anno_bbox.mat")
    splits = [name for name, variable in _VARIABLES.items() if variable in variables]
    chosen = split or splits[0]
    if chosen not in splits:
        raise OptionError(f"{path} contains no split {quote(chosen)}; it contains {' and '.join(splits)}")
    variable, expected = _VARIABLES[chosen], "records with filename, size and hoi"
    try:
        entries = records(variables[variable])
    except ValueError:
        raise InputError(path, field=variable, found="no records", expected=expected) from None
    named = [_image(path, index, entry) for index, entry in enumerate(entries)]
    blocks = [
        _triplets(path, name, entry, len(numbering), is_test=chosen == "test2015")
        for (name, _), entry in zip(named, entries, strict=True)
    ]
    kept = [(name, size, rows) for (name, size), rows in zip(named, blocks, strict=True) if rows is not None]
    rows = np.concatenate([np.zeros((0, 9)), *(rows for _, _, rows in kept)])
    return Rows(
        images=[name for name, _, _ in kept],
        image=np.repeat(np.arange(len(kept)), [len(rows) for _, _, rows in kept]),
        human_boxes=rows[:, 1:5],
        object_boxes=rows[:, 5:],
        **numbering.columns_of(rows[:, 0].astype(np.int64)),
        coordinates=np.full(len(kept), Coordinates.PIXELS_1, np.uint8),
        sizes=np.array([size for _, size, _ in kept], np.float64).reshape(-1, 2),
        left_out=tuple(name for (name, _), rows in zip(named, blocks, strict=True) if rows is None),
    )


def _image(path: str | Path, index: int, entry: Any) -> tuple[str, tuple[int, int]]:
    try:
        name = text(entry["filename"])
        (size,) = records(entry["size"])
        return name, (whole_number(size["width"]), whole_number(size["height"]))
    except _DAMAGE:
        expected = "a filename, and a size with width and height"
        raise InputError(path, record=f"image {index + 1}", found="an invalid record", expected=expected) from None


def _triplets(path: str | Path, image: str, entry: Any, classes: int, *, is_test: bool) -> NDArray[np.float64] | None:
    """Return (n, 9) HOI class from 0, human box and object box per triplet; None if the training image is left out."""
    blocks = [np.zeros((0, 9))]
    record = f"image {quote(image)}"
    try:
        hois = records(entry["hoi"])
    except _DAMAGE:
        raise InputError(path, record=record, field="hoi", found="other data", expected="structs, or []") from None
    for index, hoi in enumerate(hois):
        where = f"{record}: hoi {index + 1}"
        try:
            if number(hoi["invis"]):
                continue
            label = whole_number(hoi["id"])
            humans, objects = _boxes(hoi["bboxhuman"]), _boxes(hoi["bboxobject"])
            connection = matrix(hoi["connection"]).reshape(-1, 2) - 1
        except _DAMAGE:
            expected = "numbers id and invis, boxes with x1, y1, x2, y2, and connection with two columns"
            raise InputError(path, record=where, found="an invalid record", expected=expected) from None
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
    corners = [[number(box[name]) for name in ("x1", "y1", "x2", "y2")] for box in records(value)]
    return np.array(corners, np.float64).reshape(-1, 4)


FORMAT = TruthFormat("official anno_bbox.mat", "anno_bbox.mat", is_matlab, read_bbox_mat)


# Image labels of HICO, ``anno.mat``: which of the 600 classes each image shows.
#
# ``anno_test`` is a matrix of classes x images: 1 yes, 0 perhaps, -1 no, NaN unknown. ``list_test`` has image names.
# ``anno_train`` and ``list_train`` are the same for training images.

_SPLITS = ("test", "train")


def read_image_labels(
    path: str | Path, images: Sequence[str], classes: HoiClasses, benchmark: Benchmark
) -> NDArray[np.int8]:
    """Return the (K, m) ``ImageLabel`` of K classes in m images; ``benchmark`` has the class order of the file."""
    numbering = benchmark.classes
    data = read_bytes(path)
    if not is_matlab(data):
        raise InputError(path, found="no Matlab file", expected="anno.mat")
    variables = load_matlab(path, data, [f"{kind}_{split}" for split in _SPLITS for kind in ("anno", "list")])
    known: list[str] = []
    blocks = [np.zeros((len(numbering), 0), np.int8)]
    for of_images, of_names in ((f"anno_{split}", f"list_{split}") for split in _SPLITS):
        if not {of_images, of_names} <= variables.keys():
            continue
        try:
            names = [text(cell) for cell in variables[of_names]]
        except (TypeError, ValueError):
            raise InputError(path, field=of_names, found="cells that are not text", expected="file names") from None
        try:
            labels = matrix(variables[of_images])
            found = " x ".join(map(str, labels.shape))
        except ValueError:
            labels, found = np.zeros(0), "no matrix"
        if labels.shape != (len(numbering), len(names)):
            expected = f"{len(numbering)} classes x {len(names)} images"
            raise InputError(path, field=of_images, found=found, expected=expected)
        if len(wrong := labels[~np.isnan(labels) & ~np.isin(labels, list(ImageLabel)[1:])]):
            raise InputError(path, field=of_images, found=f"{wrong[0]:g}", expected="1, 0, -1 or NaN")
        known += names
        blocks.append(np.nan_to_num(labels, nan=ImageLabel.UNKNOWN).astype(np.int8))
    column, row = positions(images, known), positions(classes.labels, numbering.labels)
    if (i := first_true(column < 0)) is not None:
        expected = "every image of the ground truth"
        raise InputError(path, found=f"no labels of {quote(images[i])} among {len(known)} images", expected=expected)
    if (i := first_true(row < 0)) is not None:
        found = f"no labels of the class {quote(classes.labels[i])}"
        raise InputError(path, found=found, expected=f"classes of {numbering.name}")
    return np.concatenate(blocks, axis=1)[np.ix_(row, column)]
