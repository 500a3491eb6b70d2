"""Class values under resampled images, with deviations scaled up for classes with few images.

The bootstrap variance of the mean of t values is (t - 1) / t times the variance over new values, because it divides by
t, not t - 1. In a mean over classes, this factor does not approach 1 with more classes, because each class has its own
t. This is the bootstrap of many small strata, which Rao and Wu (1988) rescale. Here:

- t is the number of images that show the class. False positives on other images need no scaling, because they are drawn
  from many images. Deviations from the mean over resamples are the sum of two parts: the deviations if only the t
  images are drawn and all other images have weight 1, which are scaled, and the rest, which is not scaled.
- A resample draws images of the class t* times. t* varies more over resamples than t varies over test sets, and
  deviations are large if t* is small. Multiplied by sqrt(t* / (t - 1)), deviations vary like the mean of t new values,
  for any t*.
- A class with one image has no variance that could be scaled. It borrows the variance of other small classes, as survey
  statisticians collapse strata of one unit (Cochran 1977, 5A.12): its deviation in a resample is chosen at random from
  the deviations of the classes with 2 to 5 images, each multiplied by the sqrt(t) of its class.
- A resample shows fewer classes than the images, and a mean over fewer classes varies more, whereas all test sets show
  about the same number of classes. The deviation of the mean is therefore multiplied by the fraction of classes that
  the resample shows. Then a class of variance v, which a fraction P of the resamples shows, adds a variance of P v, and
  P (1 - P) v because it is present in only some resamples. Deviations are therefore multiplied by sqrt((1 - P (1 - P))
  / P), so that the variance is v.

- Other test sets show other rare classes. A class with one image is in 63 % of the resamples, so that its presence adds
  0.63 * 0.37 = 0.23 of its squared deviation from the mean over classes to the variance. In test sets, the presence of
  rare classes adds 0.6 to 0.9 of the part of this square that is due to the class, not to the image. Where this part is
  one half, the first is 0.6 times the second. Deviations of classes with one image from the mean are therefore
  multiplied by sqrt(1.6).

Borrowed deviations depend only on the draws and the ground truth. All models borrow the same deviations, so that the
difference of equal models has no variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, random_numbers

FEW = 5
"""Largest number of images of the classes whose deviations are borrowed."""
_PRESENCE = 1.6
"""Factor of the variance due to the presence of classes with one image."""
_BORROWED = 3 << 30
"""Stream of random numbers that choose borrowed deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """Values of a metric for K classes under R resamples. A resample is a weight per image.

    Attributes:
        values: (R, K) values of the metric.
        means_over: (R, K) mask of the counted classes per mean over classes; the first mask includes all other masks.
        drawn: (R, K) total weight of the images that show the class.
        images: (K,) number of images that show the class.
        own: (R, K) values if the images that do not show the class have weight 1.
    """

    values: Floats
    means_over: tuple[Mask, ...]
    drawn: Indices
    images: Indices
    own: Floats

    @classmethod
    def joined(cls, parts: Sequence[ByClass]) -> ByClass:
        """Concatenate the values of the same classes under consecutive batches of resamples."""
        values, drawn, own = (np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "drawn", "own"))
        masks = tuple(map(np.concatenate, zip(*(part.means_over for part in parts), strict=True)))
        return cls(values, masks, drawn, parts[0].images, own)

    def means(self) -> Floats:
        """Return the (R, n) mean values for the n masks of ``means_over``; NaN if a mask contains no class."""
        return np.stack([mean_over_each(self.values, mask) for mask in self.means_over], axis=1)

    def resampled(self) -> Floats:
        """Return the (R, n) mean values, with deviations from their mean scaled to those expected of new images."""
        values, found = self.scaled_deviations(), []
        for mask in self.means_over:
            means = mean_over_each(values, mask)
            middle = means[~np.isnan(means)].mean() if mask.any() else 0.0
            of_single = mean_over_each(np.where(self.images == 1, values - middle, 0.0), mask)
            found.append(means + (_PRESENCE**0.5 - 1) * of_single)
        means = np.stack(found, axis=1)
        classes = np.stack([mask.sum(axis=1) / max(1, mask.any(axis=0).sum()) for mask in self.means_over], axis=1)
        centre = mean_over_each(means.T, ~np.isnan(means.T))
        return np.asarray(centre + (means - centre) * classes)

    def scaled_deviations(self) -> Floats:
        """Return the (R, K) resampled values, rescaled per class to the standard deviation expected on new images."""
        images, counted = self.images, self.means_over[0]
        centre, apart = _means_and_deviations(self.values, counted)
        _, own = _means_and_deviations(self.own, counted)
        others = apart - own
        own *= np.sqrt(np.maximum(self.drawn, 1) / np.maximum(images - 1, 1))
        single, few = np.flatnonzero(images == 1), np.flatnonzero((images > 1) & (images <= FEW))
        lent = (own[:, few] * np.sqrt(images[few]))[self.drawn[:, few] > 0]
        if len(lent):
            which = random_numbers(_BORROWED, (len(own), len(single))) % np.uint64(len(lent))
            own[:, single] = lent[which.astype(np.int64)]
        share = (self.drawn > 0).mean(axis=0)
        share[share == 0] = 1
        return np.asarray(centre + (own + others) * np.sqrt((1 - share * (1 - share)) / share))


def _means_and_deviations(values: Floats, counted: Mask) -> tuple[Floats, Floats]:
    """Return the (K,) mean of each class over resamples, and the (R, K) deviations of the values from this mean.

    Values outside the (R, K) mask ``counted`` are left out of the mean, and have deviation 0.
    """
    centre = np.nan_to_num(mean_over_each(values.T, counted.T))
    return centre, np.where(counted, values - centre, 0.0)


def mean_over_each(values: Floats, mask: Mask) -> Floats:
    """Return the (R,) mean of the masked values in each row of (R, K) values, or NaN if a row has no masked value."""
    mask = np.broadcast_to(mask, values.shape)
    number = mask.sum(axis=1)
    return np.where(number > 0, np.where(mask, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan)
