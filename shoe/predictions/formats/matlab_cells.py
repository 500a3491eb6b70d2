"""The official Matlab format: ``all_boxes`` has a cell per class and image, n rows with two boxes and a score.

The format is one file with all classes, or a folder with one file per object (HICO-DET: 80, in COCO's order), as in
HICO-DET's ``eval_one.m``. Boxes are pixel indices from 0; the official script adds 1 to each number. The files do not
name the images: as many columns as test images are the test images in the order of the official list.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, first_true, positions
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import atomic_write, read_bytes
from shoe.core.io.matlab import CellArray, cell_file, is_matlab, load_matlab, matrix
from shoe.predictions.formats.class_numbers import rows_of_classes
from shoe.predictions.numbering import INTERACTIONS, hoi_classes_of, labels_of_ids
from shoe.predictions.source import Source

_VARIABLE = "all_boxes"
_FILE = re.compile(r"detections_(\d\d)\.mat")
IMAGE_LABELS_VARIABLE = "anno_test"
# Variables of other files of HICO-DET: what such a file contains, and how to use it.
_OTHERS = {
    IMAGE_LABELS_VARIABLE: ("image-level labels, as in anno.mat",
                            "give this file with --image-labels (Python: image_labels=...)"),
    "bbox_test": ("annotated boxes, as in anno_bbox.mat",
                  "give this file with --ground-truth (Python: read_ground_truth)"),
}  # fmt: skip


def is_cells(source: Source) -> bool:
    """Return whether this is a Matlab file, or a folder with files named like the official ones (detections_01.mat)."""
    if source.kind == "folder":
        return any(_FILE.fullmatch(entry.name) for entry in source.path.iterdir())
    return source.kind == "matlab"


def read_cells(source: Source) -> Rows:
    """Read HICO-DET's official Matlab detections, class by class within an image. InputError for an invalid cell."""
    files = [(source.path, np.arange(len(source.benchmark.classes)))]
    if source.kind == "folder":  # each file has the classes of one object
        files = [
            (source.path / f"detections_{number:02d}.mat", np.flatnonzero(source.benchmark.classes.object == object_))
            for number, object_ in enumerate(source.benchmark.object_order.tolist(), start=1)
        ]
    columns = set()
    parts, image, classes = [np.zeros((0, 9))], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for path, rows in files:
        cells = _cells(path, source.data or read_bytes(path), len(rows))
        columns.add(len(cells) // len(rows))
        for index, cell in enumerate(cells):
            if not isinstance(cell, np.ndarray) or cell.size:
                column, row = divmod(index, len(rows))  # Matlab's order: down each column
                parts.append(_detection_matrix(path, cell, f"class {rows[row] + 1}: image {column + 1}"))
                image.append(np.full(len(parts[-1]), column))
                classes.append(np.full(len(parts[-1]), rows[row]))
    if len(columns) != 1:
        found = "files with different numbers of images"
        raise InputError(source.path, found=found, expected="the same number of images in all files")
    table, images = np.concatenate(parts), _images(source, columns.pop())
    number, usual = np.concatenate(classes), f"{source.benchmark.name}-1"
    hoi = labels_of_ids(source, INTERACTIONS, number + 1, usual, "class", lambda row: f"class {number[row] + 1}")
    return rows_of_classes(source, images, np.concatenate(image), hoi, table[:, :8], table[:, 8])


def write_cells(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write a Matlab file with all classes and test images. InputError for an unknown verb, object, class or image."""
    classes = benchmark.classes
    hoi = hoi_classes_of(table, classes, path, "mat")
    images = _test_images(benchmark)
    if (i := first_true((column := positions(table.images, images)) < 0)) is not None:
        found, expected = quote(table.images[i]), f"a test image of {benchmark.name}"
        raise InputError(path, field="image", found=found, expected=expected)
    index = column[table.image] * len(classes) + hoi  # Matlab's order: down each column
    order = np.argsort(index, kind="stable")
    filled, starts = np.unique(index[order], return_index=True)
    rows = np.column_stack([table.human_boxes, table.object_boxes, table.score])[order]
    matrices = np.split(rows, starts[1:]) if len(rows) else []
    with atomic_write(path) as stream:
        stream.writelines(cell_file(_VARIABLE, (len(classes), len(images)), filled, matrices))


def _cells(path: Path, data: bytes, classes: int) -> list[Any]:
    """Return the cells of a file, column by column, with ``classes`` rows. Raises InputError for another shape."""
    if not is_matlab(data):
        raise InputError(path, found="no Matlab file", expected=f"a Matlab file with {_VARIABLE}")
    cells = load_matlab(path, data, [_VARIABLE]).get(_VARIABLE)
    if cells is None:
        refuse_other_matlab(path, data, f"official detections ({_VARIABLE})")
    if not isinstance(cells, list) or not cells or len(cells) % classes:
        found = f"{len(cells):,} cells" if isinstance(cells, list) else "no cells"
        expected = f"a multiple of {classes} cells: one per class and image"
        raise InputError(path, field=_VARIABLE, found=found, expected=expected)
    if isinstance(cells, CellArray) and cells.shape[0] != classes == cells.shape[1]:  # images x classes
        return [cell for image in range(cells.shape[0]) for cell in cells[image :: cells.shape[0]]]
    return cells


def refuse_other_matlab(path: Path, data: bytes, expected: str, variables: Sequence[str] = tuple(_OTHERS)) -> None:
    """Raise InputError if a Matlab file has one of ``variables``, which show that it is not what is ``expected``."""
    for name in load_matlab(path, data, variables):
        found, hint = _OTHERS[name]
        raise InputError(path, found=found, expected=expected, hint=hint)


def _detection_matrix(path: Path, cell: Any, place: str) -> Floats:
    try:
        array = matrix(cell)
        found = f"a matrix of shape {array.shape}"
    except ValueError:
        array, found = np.zeros(0), "no matrix"
    if array.ndim != 2 or array.shape[1] != 9:
        raise InputError(path, record=place, found=found, expected="n x 9: two boxes and a score")
    return array


def _images(source: Source, count: int) -> list[str]:
    """Return the ``count`` image names of the test set or the ground truth. Raises InputError for another number."""
    official = _test_images(source.benchmark)
    if official and count == len(official):
        return official
    if source.sizes is None or len(source.sizes) != count:
        of_test = f"{len(official):,}, the test images, or " if official else ""
        expected = f"{of_test}as many as the ground truth has images"
        raise InputError(source.path, field=_VARIABLE, found=f"{count:,} columns", expected=expected)
    source.notes.add("columns_by_truth", count=count)
    return list(source.sizes)


def _test_images(benchmark: Benchmark) -> list[str]:
    return list(benchmark.test_images()) if benchmark.test_images else []
