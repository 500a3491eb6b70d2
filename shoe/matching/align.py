"""Bring predictions and ground truth together: the same images, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.image_names import image_index
from shoe.core.arrays import Indices, Ints
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Which image of the ground truth each image of the predictions is.

    Attributes:
        truth_image: (prediction images,) index into the truth's images, -1 where the truth does not have it.
        unknown: names of prediction images that the truth does not have.
    """

    truth_image: Ints
    unknown: tuple[str, ...]

    def rows_of(self, predictions: Interactions, images: int) -> tuple[Indices, Indices]:
        """First row and number of rows of the predictions on each of the truth's ``images`` images."""
        first, count = np.zeros(images, np.int64), np.zeros(images, np.int64)
        known = self.truth_image >= 0
        first[self.truth_image[known]] = predictions.offsets[:-1][known]
        count[self.truth_image[known]] = np.diff(predictions.offsets)[known]
        return first, count


def align(predictions: Interactions, truth: Interactions) -> Alignment:
    """Match images by name; see :func:`shoe.benchmarks.image_names.image_index`.

    Raises:
        InputError: when two prediction images are one image of the truth.
    """
    found = image_index(predictions.images, truth.images)
    unknown = tuple(name for name, i in zip(predictions.images, found, strict=True) if i < 0)
    twice = np.flatnonzero(np.bincount(found[found >= 0], minlength=1) > 1)
    if len(twice):
        names = [name for name, i in zip(predictions.images, found, strict=True) if i == twice[0]]
        found_names = " and ".join(quote(name) for name in names[:2])
        raise InputError("predictions", field="image", found=found_names, expected="one name for one image")
    return Alignment(found, unknown)
