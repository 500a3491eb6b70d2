"""The official Matlab form: ``all_boxes``, a cell per class and test image, n x 9: two boxes and a score.

One file with all 600 classes, or a folder of 80, one per object in COCO's order, with the classes of that object. Boxes
hold pixel indices from 0; the official script adds 1 to each number. Structure as its ``eval_one.m`` reads it. Nothing
in a file names its images: as many columns as the test set has are the test set, in the order of its list.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses, coco_objects
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.files import read_bytes, replacing
from shoe.io.matlab import cell_file, is_matlab, load_matlab, matrix
from shoe.predictions.names import hoi_classes_of
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
    everything = np.arange(len(classes))
    files = _files(source.path, classes) if source.kind == "folder" else [(source.path, everything)]
    columns = set()
    parts, image, hoi = [np.zeros((0, 9))], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for path, rows in files:
        cells = _cells(path, source.data or read_bytes(path), len(rows))
        columns.add(len(cells) // len(rows))
        for place, cell in enumerate(cells):
            if not isinstance(cell, np.ndarray) or cell.size:
                column, row = divmod(place, len(rows))  # Matlab's order: down each column
                parts.append(_detections(path, cell, f"class {rows[row] + 1}: image {column + 1}"))
                image.append(np.full(len(parts[-1]), column))
                hoi.append(np.full(len(parts[-1]), rows[row]))
    if len(columns) != 1:
        raise InputError(source.path, found="files with different numbers of images", expected="one number")
    table, index = np.concatenate(parts), np.concatenate(hoi)
    return Rows(
        images=_images(source, columns.pop()),
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
    hoi = hoi_classes_of(table, classes, path, "mat")
    column_of = {name: i for i, name in enumerate(official_images())}
    for name in table.images:
        if name not in column_of:
            raise InputError(path, field="image", found=quote(name), expected="an image of HICO-DET's test set")
    column = np.array([column_of[name] for name in table.images], np.int64)[table.image]
    place = column * len(classes) + hoi  # Matlab's order: down each column
    order = np.argsort(place, kind="stable")
    filled, starts = np.unique(place[order], return_index=True)
    rows = np.column_stack([table.human_boxes, table.object_boxes, table.score])[order]
    with replacing(path) as stream:
        stream.writelines(cell_file(_VARIABLE, (len(classes), len(column_of)), filled, np.split(rows, starts[1:])))


def _files(folder: Path, classes: HoiClasses) -> list[tuple[Path, NDArray[np.int64]]]:
    """The 80 files of a folder, and the classes in each."""
    objects = coco_objects(classes)
    files = []
    for number in range(1, len(objects) + 1):
        path = folder / f"detections_{number:02d}.mat"
        files.append((path, np.flatnonzero(classes.object == objects[number - 1])))
    return files


def _cells(path: Path, data: bytes, classes: int) -> list[Any]:
    """The cells of a file, which has one row per class."""
    if not is_matlab(data):
        raise InputError(path, found="no Matlab file", expected=f"one with {_VARIABLE}")
    cells = load_matlab(path, data, [_VARIABLE]).get(_VARIABLE)
    if not isinstance(cells, list) or not cells or len(cells) % classes:
        found = f"{len(cells):,} cells" if isinstance(cells, list) else "no cells"
        raise InputError(path, field=_VARIABLE, found=found, expected=f"cells, {classes} classes x images")
    return cells


def _detections(path: Path, cell: Any, place: str) -> NDArray[np.float64]:
    try:
        array = matrix(cell)
    except ValueError:
        raise InputError(path, record=place, found="no matrix", expected="n x 9: two boxes and a score") from None
    if array.ndim != 2 or array.shape[1] != 9:
        found = f"a matrix of shape {array.shape}"
        raise InputError(path, record=place, found=found, expected="n x 9: two boxes and a score")
    return array


def _images(source: Source, count: int) -> list[str]:
    """Names of the columns: the test set's; of as many columns as the ground truth has images, its images."""
    official = official_images()
    if count == len(official):
        return official
    if source.sizes is None or len(source.sizes) != count:
        expected = f"{len(official):,}, the test images, or as many as the ground truth has"
        raise InputError(source.path, field=_VARIABLE, found=f"{count:,} columns", expected=expected)
    source.notes.columns_by_truth = count
    return list(source.sizes)
