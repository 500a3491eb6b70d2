"""Named parts of a ground truth that papers report on."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.pairs import merged
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import unknown_name


def single_pair_images(truth: GroundTruth, iou: float = 0.8) -> NDArray[np.bool_]:
    """Find the images that show one pair only: all triplets merge to one human box and one object box.

    With 0.8 these are 3,920 images and 575 classes of HICO-DET's test set: the count of classes that the SHOE paper's
    supplement gives for its "single HOI" subset, which it does not define further.

    Args:
        truth: m images.
        iou: overlap from which two boxes are the same one, 0 to 1; see :func:`shoe.benchmarks.pairs.merged`.

    Returns:
        (m,) True for such an image; an image without triplets is none.
    """
    table = truth.interactions
    is_pair = merged(table, iou) == np.arange(len(table))
    pairs = np.bincount(table.image[is_pair], minlength=len(table.images))
    return np.asarray(pairs == 1, bool)


SUBSETS: dict[str, Callable[[GroundTruth], NDArray[np.bool_]]] = {"single-pair": single_pair_images}
"""Name of each subset, and the function that finds its images."""


def subset_of(truth: GroundTruth, name: str) -> GroundTruth:
    """Keep the images of a named subset; its name becomes part of the split's, and so of signatures.

    Raises:
        OptionError: for a name that does not exist.
    """
    if name not in SUBSETS:
        raise unknown_name("subset", name, SUBSETS)
    images = SUBSETS[name](truth)
    labels = truth.image_labels
    return replace(
        truth,
        interactions=truth.interactions.select_images(images),
        split=f"{truth.split}/{name}",
        image_labels=None if labels is None else labels[:, images],
    )
