"""HICO's image labels: ``anno.mat``, which says of each image which of the 600 classes it shows.

``anno_test`` is a matrix of classes x images: 1 yes, 0 perhaps, -1 no, NaN unknown; ``list_test`` names the images.
Training images likewise.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark, ImageLabel
from shoe.benchmarks.classes import HoiClasses
from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes
from shoe.io.matlab import is_matlab, load_matlab, matrix, text

_SPLITS = ("test", "train")


def read_image_labels(
    path: str | Path, images: Sequence[str], classes: HoiClasses, benchmark: Benchmark
) -> NDArray[np.int8]:
    """Read which classes are in some images.

    Args:
        path: ``anno.mat``.
        images: names of the m images wanted.
        classes: the K classes wanted.
        benchmark: whose own class table has the order of the file.

    Returns:
        (K, m) ``ImageLabel``.

    Raises:
        InputError: if the file is damaged, or does not know an image.
    """
    numbering = benchmark.classes
    data = read_bytes(path)
    if not is_matlab(data):
        raise InputError(path, found="no Matlab file", expected="anno.mat")
    variables = load_matlab(path, data, [f"{kind}_{split}" for split in _SPLITS for kind in ("anno", "list")])
    known: list[str] = []
    blocks = [np.zeros((len(numbering), 0), np.int8)]
    for split in _SPLITS:
        if f"anno_{split}" not in variables or f"list_{split}" not in variables:
            continue
        try:
            names = [text(cell) for cell in variables[f"list_{split}"]]
        except (TypeError, ValueError):
            raise InputError(path, field=f"list_{split}", found="other cells", expected="file names") from None
        expected = f"{len(numbering)} classes x {len(names)} images"
        try:
            labels = matrix(variables[f"anno_{split}"])
            found = " x ".join(map(str, labels.shape))
        except ValueError:
            labels, found = np.zeros(0), "no matrix"
        if labels.shape != (len(numbering), len(names)):
            raise InputError(path, field=f"anno_{split}", found=found, expected=expected)
        wrong = labels[~np.isnan(labels) & ~np.isin(labels, list(ImageLabel)[1:])]
        if len(wrong):
            raise InputError(path, field=f"anno_{split}", found=f"{wrong[0]:g}", expected="1, 0, -1 or NaN")
        known += names
        blocks.append(np.nan_to_num(labels, nan=ImageLabel.UNKNOWN).astype(np.int8))
    column = {name: i for i, name in enumerate(known)}
    missing = next((name for name in images if name not in column), None)
    if missing is not None:
        expected = "every image of the ground truth"
        raise InputError(path, found=f"no labels of {quote(missing)} among {len(column)} images", expected=expected)
    row = {label: i for i, label in enumerate(numbering.labels)}
    unknown = next((label for label in classes.labels if label not in row), None)
    if unknown is not None:
        found = f"no labels of the class {quote(unknown)}"
        raise InputError(path, found=found, expected=f"classes of {numbering.name}")
    rows = [row[label] for label in classes.labels]
    return np.concatenate(blocks, axis=1)[np.ix_(rows, [column[name] for name in images])]
