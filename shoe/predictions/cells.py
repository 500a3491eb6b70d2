"""The official Matlab form: ``all_boxes``, a cell per class and test image, n x 9: two boxes and a score.

One file with all 600 classes, or a folder of 80, one per object in COCO's order, with the classes of that object. Boxes
hold pixel indices from 0; the official script adds 1 to each number. Structure as its ``eval_one.m`` reads it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.datasets.classes import HoiClasses
from shoe.datasets.matlab import is_matlab, load_matlab
from shoe.errors import InputError, quote
from shoe.files import read_bytes, replacing
from shoe.interactions import Interactions
from shoe.predictions.names import coco_objects, hoi_classes_of
from shoe.predictions.rows import Rows
from shoe.predictions.source import Source

_VARIABLE = "all_boxes"
_FILE = re.compile(r"detections_(\d\d)\.mat")
_LAST_NUMBER = 9767
# Counted from the published list of test images: these numbers, of 1 to 9,767, name none.
_UNUSED_NUMBERS = frozenset(
    [504, 508, 511, 543, 567, 602, 622, 633, 653, 665, 681, 690, 701, 726, 727, 787, 1078, 1106, 1142, 1188, 1219,
     1227, 1272, 1273, 1307, 1339, 1347, 1353, 1355, 1387, 1388, 1427, 1437, 1447, 1683, 1716, 1728, 1779, 1783, 1815,
     1833, 1936, 1939, 1944, 1997, 2017, 2020, 2318, 2365, 2414, 2429, 2446, 2450, 2487, 2521, 2556, 2562, 2839, 2869,
     2888, 2903, 2914, 2922, 2932, 2978, 2997, 2999, 3008, 3016, 3115, 3116, 3141, 3193, 3489, 3524, 3532, 3605, 3617,
     3666, 3669, 3720, 3724, 4039, 4221, 4250, 4638, 4641, 4667, 4714, 4726, 4748, 4750, 4754, 4786, 4884, 5236, 5240,
     5290, 5300, 5324, 5356, 5738, 5739, 7215, 7429, 9061, 9062, 9063, 9064]
)  # fmt: skip


def is_cells(source: Source) -> bool:
    """Tell whether this is a Matlab file, or a folder with files named as the official ones."""
    if source.kind == "folder":
        return any(_FILE.fullmatch(entry.name) for entry in source.path.iterdir())
    return source.kind == "matlab"


def official_images() -> list[str]:
    """Name the 9,658 test images in the order of the official list."""
    return [f"HICO_test2015_{i:08d}.jpg" for i in range(1, _LAST_NUMBER + 1) if i not in _UNUSED_NUMBERS]


def read_cells(source: Source) -> Rows:
    """Read official detections; rows of an image come in order of their class.

    Raises:
        InputError: naming the class and image that break the form.
    """
    classes = source.classes
    if source.kind == "folder":
        blocks = [_cells(path, read_bytes(path), rows) for path, rows in _files(source.path, classes)]
    else:
        blocks = [(np.arange(len(classes)), _cells(source.path, source.data, np.arange(len(classes)))[1])]
    widths = {cells.shape[1] for _, cells in blocks}
    if len(widths) != 1:
        raise InputError(source.path, found="files with different numbers of images", expected="one number")
    images = _images(source, widths.pop())
    parts = [np.zeros((0, 9))]
    image, hoi = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for rows, cells in blocks:
        for row, column in zip(*np.nonzero(_filled(cells)), strict=True):
            part = _detections(source, cells[row, column], f"class {rows[row] + 1}: image {column + 1}")
            parts.append(part)
            image.append(np.full(len(part), column))
            hoi.append(np.full(len(part), rows[row]))
    table, index = np.concatenate(parts), np.concatenate(hoi)
    return Rows(
        images=images,
        image=np.concatenate(image),
        human_boxes=table[:, :4],
        object_boxes=table[:, 4:8],
        verbs=classes.verbs,
        objects=classes.objects,
        verb=classes.verb[index].astype(np.int64),
        object=classes.object[index].astype(np.int64),
        score=table[:, 8],
    )


def write_cells(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write one file with all classes and all official test images, numbers as the table has them.

    Raises:
        InputError: naming a word that is no label, a pair that is no class, or an image that is not in the test set.
    """
    from scipy.io import savemat

    hoi = hoi_classes_of(table, classes, path, "mat")
    column_of = {name: i for i, name in enumerate(official_images())}
    for name in table.images:
        if name not in column_of:
            raise InputError(path, field="image", found=quote(name), expected="an image of HICO-DET's test set")
    cells = np.empty((len(classes), len(column_of)), object)
    cells[:] = [[np.zeros((0, 0))]]
    column = np.array([column_of[name] for name in table.images], np.int64)[table.image]
    rows = np.column_stack([table.human_boxes, table.object_boxes, table.score])
    order = np.lexsort((column, hoi))
    place = (hoi * len(column_of) + column)[order]
    bounds = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]])) if len(place) else np.zeros(0, np.int64)
    for block in np.split(order, bounds[1:]) if len(place) else []:
        cells[hoi[block[0]], column[block[0]]] = rows[block]
    with replacing(path) as stream:
        savemat(stream, {_VARIABLE: cells}, do_compression=True)


def _files(folder: Path, classes: HoiClasses) -> list[tuple[Path, NDArray[np.int64]]]:
    """The 80 files of a folder, and the classes in each."""
    objects = coco_objects(classes)
    files = []
    for number in range(1, len(objects) + 1):
        path = folder / f"detections_{number:02d}.mat"
        files.append((path, np.flatnonzero(classes.object == objects[number - 1])))
    return files


def _cells(path: Path, data: bytes, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The cells of a file whose rows are some classes."""
    if not is_matlab(data):
        raise InputError(path, found="no Matlab file", expected=f"{_VARIABLE}")
    cells = load_matlab(path, data, [_VARIABLE]).get(_VARIABLE)
    if cells is None or cells.dtype != object or cells.ndim != 2 or len(cells) != len(rows):
        found = "no such variable" if cells is None else f"{cells.dtype} of shape {cells.shape}"
        raise InputError(path, field=_VARIABLE, found=found, expected=f"cells, {len(rows)} classes x images")
    return rows, cells


def _filled(cells: NDArray[Any]) -> NDArray[np.bool_]:
    sizes = np.fromiter((np.size(cell) for cell in cells.ravel()), np.int64, cells.size)
    return (sizes > 0).reshape(cells.shape)


def _detections(source: Source, cell: Any, place: str) -> NDArray[np.float64]:
    array = np.asarray(cell)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != 9:
        found = f"{array.dtype} of shape {array.shape}"
        raise InputError(source.path, record=place, found=found, expected="n x 9: two boxes and a score")
    return array.astype(np.float64)


def _images(source: Source, count: int) -> list[str]:
    """Names of the columns: the test set, or the images of the ground truth if there are as many."""
    if source.sizes is not None and len(source.sizes) == count:
        return list(source.sizes)
    images = official_images()
    if count != len(images):
        expected = f"{len(images):,}, the test images, or as many as the ground truth has"
        raise InputError(source.path, field=_VARIABLE, found=f"{count:,} columns", expected=expected)
    return images
