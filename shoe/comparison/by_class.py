"""Figures of classes under drawn images, and the spread that draws from few images leave out.

A mean of t values varies, over draws from these very values, by (t - 1) / t of what it varies by over new ones: the
largest sample variance has t, not t - 1, below it. In a mean over classes this does not go away with more classes, as
each has a t of its own: it is the bootstrap of many small strata, which Rao and Wu (1988) stretch. Here likewise:

- t is the number of images that show the class. What the other images do to it, by their false positives, is drawn from
  many, and is not stretched: deviations from the mean over resamples are taken apart into those where only the t images
  are drawn while all others stand once, which are stretched, and the rest.
- A resample shows the class t* times, which varies more than t does over test sets, and where t* is small deviations
  are large. Times sqrt(t* / (t - 1)), they vary as the mean of t new values does, whatever t* is.
- A class that one image shows has no spread that could be stretched, and borrows that of other small classes, as survey
  statisticians collapse strata of one unit (Cochran 1977, 5A.12): its deviation in a resample is one of all those of
  classes that 2 to 5 images show, drawn at random and multiplied by sqrt(t) of the class that it comes from.
- A resample shows fewer classes than its images did, and a mean over fewer varies more, while test sets all show about
  as many: its deviation counts by the share of classes that it shows. Then a class of variance v adds P v, with P the
  share of resamples that show it, and P (1 - P) v as it comes and goes. So deviations are multiplied by
  sqrt((1 - P (1 - P)) / P), which leaves v.

Which deviations are borrowed depends on the draws and the ground truth alone. All models so borrow the same, and the
difference of two has the spread that differences have: none, where they are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, random_numbers

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
        drawn: (R, K) weight of the images that show the class: how often one of them was drawn.
        images: (K,) images that show it.
        own: (R, K) the values where only these images have their weights, and all others have 1.
    """

    values: Floats
    means_over: tuple[Mask, ...]
    drawn: Indices
    images: Indices
    own: Floats

    @classmethod
    def joined(cls, parts: Sequence[ByClass]) -> ByClass:
        """Put together the same classes under some weights after the other."""
        values, drawn, own = (np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "drawn", "own"))
        masks = tuple(map(np.concatenate, zip(*(part.means_over for part in parts), strict=True)))
        return cls(values, masks, drawn, parts[0].images, own)

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
        stretched: Floats = centre + (own + others) * np.sqrt((1 - share * (1 - share)) / share)
        return stretched


def _apart(values: Floats, counted: Mask) -> tuple[Floats, Floats]:
    """(K,) means of (R, K) values where they count, and (R, K) deviations from these; 0 where they do not."""
    centre = np.nan_to_num(mean_over_each(values.T, counted.T))
    return centre, np.where(counted, values - centre, 0.0)


def mean_over_each(values: Floats, mask: Mask) -> Floats:
    """(R,) mean of the masked values of each row of (R, K); NaN where there are none. The mask may be of all rows."""
    mask = np.broadcast_to(mask, values.shape)
    number = mask.sum(axis=1)
    return np.where(number > 0, np.where(mask, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan)
