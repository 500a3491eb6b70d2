"""What SHOE-mF1 and the miss rates count, as a value that can be scored and resampled: sums over images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Document, Fraction
from shoe.protocols.options import SemanticOptions
from shoe.scoring.average_precision import EPSILON
from shoe.scoring.entries import mean_over, rows_of_images

Amounts = Floats | Indices


class F1Figures(Document, frozen=True):
    """What Algorithm 2 yields, fractions 0..1; None where there is nothing to measure.

    Attributes:
        mf1: mean of F1 over classes.
        gt_miss_rate: share of ground truths without a match.
        prediction_miss_rate: share of predictions without a match.
    """

    mf1: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None


class F1Rule(NamedTuple):
    """How counts become figures: the options ``recall``, ``f1-classes`` and ``prediction-misses`` (A24 to A26)."""

    recall: Literal["fn", "truth"]
    classes: Literal["truth", "counted"]
    misses: Literal["all", "charged"]

    @classmethod
    def of(cls, options: SemanticOptions) -> F1Rule:
        """Read it from options."""
        return cls(options.recall, options.f1_classes, options.prediction_misses)

    def f1(self, true: Amounts, false: Amounts, found: Amounts, truths: Amounts, counted: Mask) -> tuple[Floats, Mask]:
        """Algorithm 2, lines 9-36: F1 per class, and which classes are in the mean.

        Args:
            true: (..., K) similarity of all matches of each class.
            false: (..., K) what its matches lack of similarity 1, and its false positives.
            found: (..., K) its ground truths that are matched.
            truths: (..., K) its ground truths.
            counted: (K,) classes that take part.
        """
        wanted = true + (truths - found) if self.recall == "fn" else truths
        precision = true / (true + false + EPSILON)
        recall = true / (wanted + EPSILON)
        f1: Floats = 2 * precision * recall / (precision + recall + EPSILON)
        if self.classes == "counted":
            return f1, counted & ((truths > 0) | (false > 0))
        return f1, truths > 0


@dataclass(frozen=True, slots=True, eq=False)
class F1Entries:
    """The matching behind SHOE-mF1, of K classes; n matched ground truths, u unmatched predictions, t ground truths.

    Attributes:
        category: (n,) class of each ground truth that is matched.
        image: (n,) its image.
        sigma: (n,) similarity of its match, 0 to 1.
        unmatched_category: (u,) class that each unmatched prediction is a false positive of, -1 where of none.
        unmatched_image: (u,) its image.
        truth_category: (t,) class of each ground truth.
        truth_image: (t,) its image.
        counted: (K,) classes that take part.
    """

    category: NDArray[np.integer]
    image: NDArray[np.integer]
    sigma: Floats
    unmatched_category: NDArray[np.integer]
    unmatched_image: NDArray[np.integer]
    truth_category: NDArray[np.integer]
    truth_image: NDArray[np.integer]
    counted: Mask
    rule: F1Rule

    @property
    def truths(self) -> Indices:
        """(K,) ground truths of each class that takes part."""
        return np.where(self.counted, np.bincount(self.truth_category, minlength=len(self.counted)), 0)

    def f1(self) -> tuple[Floats, Mask]:
        """(K,) F1 per class, and which classes are in the mean."""
        classes, charged = len(self.counted), self.unmatched_category[self.unmatched_category >= 0]
        true = np.bincount(self.category, weights=self.sigma, minlength=classes)
        false = np.bincount(self.category, weights=1 - self.sigma, minlength=classes)
        false += np.bincount(charged, minlength=classes)
        found = np.bincount(self.category, minlength=classes)
        return self.rule.f1(true, false, found, self.truths, self.counted)

    def figures(self) -> F1Figures:
        """The means and shares."""
        found, truths = len(self.category), int(self.truths.sum())
        predictions = found + len(self.unmatched_category)
        charged = self.rule.misses == "charged"
        unmatched = int((self.unmatched_category >= 0).sum()) if charged else len(self.unmatched_category)
        return F1Figures(
            mean_over(*self.f1()),
            (truths - found) / truths if truths else None,
            unmatched / predictions if predictions else None,
        )

    def take_images(self, index: Indices) -> F1Entries:
        """The same of (m,) images, one after the other, numbered anew from 0; an image that is named twice is two.

        Which predictions take part is as it was among all images (``tau-by`` looks at all of them at once).
        """
        match, image = rows_of_images(self.image, index)
        unmatched, unmatched_image = rows_of_images(self.unmatched_image, index)
        truth, truth_image = rows_of_images(self.truth_image, index)
        return F1Entries(
            category=self.category[match],
            image=image,
            sigma=self.sigma[match],
            unmatched_category=self.unmatched_category[unmatched],
            unmatched_image=unmatched_image,
            truth_category=self.truth_category[truth],
            truth_image=truth_image,
            counted=self.counted,
            rule=self.rule,
        )
