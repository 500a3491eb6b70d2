"""Class values under drawn images, scaled up for the variance that draws from few images miss.

Over draws from t values, the variance of their mean is (t - 1) / t of that over new values, because a sample variance
divides by t, not t - 1. In a mean over classes this does not vanish with more classes, since each class has its own t:
it is the bootstrap of many small strata, which Rao and Wu (1988) rescale. Here:

- t is the number of images that show the class. False positives on the other images are drawn from many images and need
  no scaling. Deviations from the mean over resamples are split into those where only the t images are drawn and all
  others have weight 1, which are scaled, and the rest.
- A resample shows the class t* times, which varies more than t does over test sets, and deviations are large if t* is
  small. Times sqrt(t* / (t - 1)), they vary like the mean of t new values, for any t*.
- A class with one image has no variance to scale, and borrows that of other small classes, as survey statisticians
  collapse strata of one unit (Cochran 1977, 5A.12): its deviation in a resample is drawn at random from those of the
  classes with 2 to 5 images, times sqrt(t) of their class.
- A resample shows fewer classes than the images did, and a mean over fewer varies more, while all test sets show about
  as many. Its deviation is multiplied by the fraction of classes that it shows. Then a class of variance v adds P v,
  with P the fraction of resamples that show it, and P (1 - P) v because it comes and goes. Deviations are therefore
  multiplied by sqrt((1 - P (1 - P)) / P), which leaves v.

Borrowed deviations depend on the draws and the ground truth alone. All models borrow the same ones, so that the
difference of equal models has no variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, random_numbers

FEW = 5
"""Most images of a class from which classes with one image borrow."""
_BORROWED = 3 << 30
"""Stream of random numbers that choose borrowed deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """Values of K classes under R weights of images.

    Attributes:
        values: (R, K) values.
        means_over: (R, K) classes of each mean; the first mask includes all others.
        drawn: (R, K) total weight of the images that show the class.
        images: (K,) number of images that show the class.
        own: (R, K) values if only these images have their weights, and all others have weight 1.
    """

    values: Floats
    means_over: tuple[Mask, ...]
    drawn: Indices
    images: Indices
    own: Floats

    @classmethod
    def joined(cls, parts: Sequence[ByClass]) -> ByClass:
        """Concatenate values of the same classes under consecutive weights."""
        values, drawn, own = (np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "drawn", "own"))
        masks = tuple(map(np.concatenate, zip(*(part.means_over for part in parts), strict=True)))
        return cls(values, masks, drawn, parts[0].images, own)

    def means(self) -> Floats:
        """Return (R, means) means over classes; NaN without a class."""
        return np.stack([mean_over_each(self.values, mask) for mask in self.means_over], axis=1)

    def resampled(self) -> Floats:
        """Return (R, means) means under draws, with deviations as large as new images would cause."""
        found = replace(self, values=self.stretched()).means()
        classes = np.stack([mask.sum(axis=1) / max(1, mask.any(axis=0).sum()) for mask in self.means_over], axis=1)
        centre = mean_over_each(found.T, ~np.isnan(found.T))
        return np.asarray(centre + (found - centre) * classes)

    def stretched(self) -> Floats:
        """Return (R, K) values with deviations from each class's mean as large as new images would cause."""
        images, counted = self.images, self.means_over[0]
        centre, apart = _apart(self.values, counted)
        _, own = _apart(self.own, counted)
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


def _apart(values: Floats, counted: Mask) -> tuple[Floats, Floats]:
    """Return (K,) means of (R, K) values where they count, and (R, K) deviations from these; 0 elsewhere."""
    centre = np.nan_to_num(mean_over_each(values.T, counted.T))
    return centre, np.where(counted, values - centre, 0.0)


def mean_over_each(values: Floats, mask: Mask) -> Floats:
    """Return the (R,) mean of the masked values of each row of (R, K); NaN without any. The mask is broadcast."""
    mask = np.broadcast_to(mask, values.shape)
    number = mask.sum(axis=1)
    return np.where(number > 0, np.where(mask, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan)
