"""Named parts of a ground truth that papers report on."""

import numpy as np
from numpy.typing import NDArray

from shoe.datasets.pairs import merged
from shoe.datasets.truth import GroundTruth


def single_pair_images(truth: GroundTruth, iou: float = 0.8) -> NDArray[np.bool_]:
    """Find the images that show one pair only: all triplets merge to one human box and one object box.

    With 0.8 these are 3,920 images and 575 classes of HICO-DET's test set: the count of classes that the SHOE paper's
    supplement gives for its "single HOI" subset, which it does not define further.

    Args:
        truth: m images.
        iou: overlap from which two boxes are the same one, 0 to 1; see :func:`shoe.datasets.pairs.merged`.

    Returns:
        (m,) True for such an image; an image without triplets is none.
    """
    table = truth.interactions
    is_pair = merged(table, iou) == np.arange(len(table))
    pairs = np.bincount(table.image[is_pair], minlength=len(table.images))
    return np.asarray(pairs == 1, bool)
