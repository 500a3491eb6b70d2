"""Named parts of a ground truth that papers report on."""

from collections.abc import Callable

import numpy as np

from shoe.benchmarks.pairs import merged
from shoe.core.arrays import Mask
from shoe.core.interactions import Interactions

Subset = Callable[[Interactions], Mask]
"""Finds the images of a subset: (m,) True."""


def single_pair_images(table: Interactions, iou: float = 0.8) -> Mask:
    """Find the images that show one pair only: all triplets merge to one human box and one object box.

    With 0.8 these are 3,920 images and 575 classes of HICO-DET's test set: the count of classes that the SHOE paper's
    supplement gives for its "single HOI" subset, which it does not define further.

    Args:
        table: m images.
        iou: overlap from which two boxes are the same one, 0 to 1; see :func:`shoe.benchmarks.pairs.merged`.

    Returns:
        (m,) True for such an image; an image without triplets is none.
    """
    is_pair = merged(table, iou) == np.arange(len(table))
    pairs = np.bincount(table.image[is_pair], minlength=len(table.images))
    return np.asarray(pairs == 1, bool)


SUBSETS: dict[str, Subset] = {"single-pair": single_pair_images}
"""Name of each subset that any benchmark has, and the function that finds its images."""
