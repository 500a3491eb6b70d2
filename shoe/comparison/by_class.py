"""Figures of classes under drawn images, and the spread that draws from few images leave out.

A mean of t values varies, over draws from these very values, by (t - 1) / t of what it varies by over new ones: the
largest sample variance has t, not t - 1, below it. In a mean over classes this does not go away with more classes, as
each has a t of its own: it is the bootstrap of many small strata, which Rao and Wu (1988) stretch. Here likewise: the
deviations of a class from its mean over resamples are multiplied by sqrt(t / (t - 1)), with t the images that show the
class. One that a single image shows has no spread that could be stretched, and borrows that of other small classes, as
survey statisticians collapse strata of one unit (Cochran 1977, 5A.12). Its deviation in a resample is one of all those
of classes that 2 to 5 images show, drawn at random and multiplied by sqrt(t) of the class that it comes from; so the
variance is the mean of t times the variance over these classes.

A resample also shows fewer classes than its images did, and a mean over fewer varies more, while test sets all show
about as many. Its deviation counts by the share of classes that it shows.

Which deviations are borrowed depends on the draws and the ground truth alone. All models so borrow the same, and the
difference of two has the spread that differences have: none, where they are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.seeded import random_numbers

FEW = 5
"""The most images of a class whose spread those of one image borrow."""
_BORROWED = 3 << 30
"""Stream of random numbers that say which deviations are borrowed."""


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """A figure of K classes under R weights of images.

    Attributes:
        values: (R, K) of each class.
        means_over: (R, K) each, classes that means are over; the first holds all that are in any.
        shown: (R, K) whether an image with a weight shows the class.
        images: (K,) images that show it.
    """

    values: Floats
    means_over: tuple[Mask, ...]
    shown: Mask
    images: Indices

    def means(self) -> Floats:
        """(R, means) mean over classes; NaN where there are none."""
        return np.stack([mean_over_each(self.values, mask) for mask in self.means_over], axis=1)

    def resampled(self) -> Floats:
        """(R, means) the same under draws, with deviations from their mean as large as new images would make them."""
        found = replace(self, values=self.stretched()).means()
        classes = np.stack([mask.sum(axis=1) / max(1, mask.any(axis=0).sum()) for mask in self.means_over], axis=1)
        centre = mean_over_each(found.T, ~np.isnan(found.T))
        resampled: Floats = centre + (found - centre) * classes
        return resampled

    def stretched(self) -> Floats:
        """(R, K) values with deviations from each class's mean as large as new images would make them."""
        images, counted = self.images, self.means_over[0]
        centre = np.nan_to_num(mean_over_each(self.values.T, counted.T))
        apart = np.where(counted, self.values - centre, 0) * np.sqrt(images / np.maximum(images - 1, 1))
        single, few = np.flatnonzero(images == 1), np.flatnonzero((images > 1) & (images <= FEW))
        lent = (apart[:, few] * np.sqrt(images[few]))[self.shown[:, few]]
        if len(lent):
            which = random_numbers(_BORROWED, (len(apart), len(single))) % np.uint64(len(lent))
            apart[:, single] = lent[which.astype(np.int64)]
        stretched: Floats = centre + apart
        return stretched


def mean_over_each(values: Floats, mask: Mask) -> Floats:
    """(R,) mean of the masked values of each row of (R, K); NaN where there are none. The mask may be of all rows."""
    mask = np.broadcast_to(mask, values.shape)
    number = mask.sum(axis=1)
    means: Floats = np.where(number > 0, np.where(mask, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan)
    return means
