"""F1 of classes, SHOE-mF1 and miss rates, computed from matches (Algorithm 2 of the SHOE supplement)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Document, Fraction
from shoe.scoring.average_precision import EPSILON
from shoe.scoring.entries import mean_over, rows_of_images

Amounts = Floats | Indices


class F1Figures(Document, frozen=True):
    """SHOE-mF1 and miss rates (Algorithm 2 of the SHOE supplement), fractions 0..1; None if undefined.

    Attributes:
        mf1: mean of F1 over classes.
        gt_miss_rate: fraction of ground truths without a match.
        prediction_miss_rate: fraction of predictions without a match (see option ``prediction-misses``).
        no_overlap_rate: fraction of predictions that overlap no ground truth with both boxes, whatever the labels.
    """

    mf1: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None
    no_overlap_rate: Fraction | None = None


class F1Rule(NamedTuple):
    """Values of the options ``recall``, ``f1-classes`` and ``prediction-misses``, which define F1 and miss rates."""

    recall: Literal["fn", "truth"]
    classes: Literal["truth", "counted"]
    misses: Literal["all", "charged"]

    @classmethod
    def from_options(cls, options: SemanticOptions) -> F1Rule:
        """Return the options ``recall``, ``f1-classes`` and ``prediction-misses`` of a SHOE protocol."""
        return cls(options.recall, options.f1_classes, options.prediction_misses)

    def f1(self, true: Amounts, false: Amounts, found: Amounts, truths: Amounts, counted: Mask) -> tuple[Floats, Mask]:
        """Return the F1 of each class, 0 without a match, and whether it is in the mean (Algorithm 2, lines 9-36).

        The mean has classes with ground truth and, with ``f1-classes=counted``, evaluated classes with false positives.

        Args:
            true: (..., K) sum of the similarities of the matches of each class.
            false: (..., K) sum of 1 - similarity over these matches, plus the number of false positives of the class.
            found: (..., K) number of matched ground truths of the class.
            truths: (..., K) number of ground truths of the class.
            counted: (K,) whether the class is evaluated.
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
    """Matches from which SHOE-mF1 is computed: n of t ground truths are matched, u predictions are not; K classes."""

    # category, image, sigma: (n,) class and image of each matched ground truth, and similarity 0..1 of its match
    category: NDArray[np.integer]
    image: NDArray[np.integer]
    sigma: Floats
    # (u,) class in which each unmatched prediction counts as a false positive, -1 for no class
    unmatched_category: NDArray[np.integer]
    unmatched_image: NDArray[np.integer]  # (u,) image of each unmatched prediction
    unmatched_overlaps: Mask  # (u,) whether both boxes of each unmatched prediction overlap those of a ground truth
    # truth_category, truth_image: (t,) class and image of each ground truth
    truth_category: NDArray[np.integer]
    truth_image: NDArray[np.integer]
    counted: Mask  # (K,) whether each class is evaluated
    rule: F1Rule

    @property
    def truths(self) -> Indices:
        """(K,) number of ground truths per class; 0 for classes that are not evaluated."""
        return np.where(self.counted, np.bincount(self.truth_category, minlength=len(self.counted)), 0)

    def f1(self) -> tuple[Floats, Mask]:
        """Return the (K,) F1 per class, and (K,) whether each class is in the mean."""
        classes, charged = len(self.counted), self.unmatched_category[self.unmatched_category >= 0]
        true = np.bincount(self.category, weights=self.sigma, minlength=classes)
        false = np.bincount(self.category, weights=1 - self.sigma, minlength=classes)
        false += np.bincount(charged, minlength=classes)
        found = np.bincount(self.category, minlength=classes)
        return self.rule.f1(true, false, found, self.truths, self.counted)

    def figures(self) -> F1Figures:
        """Return SHOE-mF1, the miss rates of ground truths and of predictions, and the rate without overlap."""
        found, truths = len(self.category), int(self.truths.sum())
        predictions = found + len(self.unmatched_category)
        charged = self.rule.misses == "charged"
        unmatched = int((self.unmatched_category >= 0).sum()) if charged else len(self.unmatched_category)
        return F1Figures(
            mean_over(*self.f1()),
            (truths - found) / truths if truths else None,
            unmatched / predictions if predictions else None,
            int((~self.unmatched_overlaps).sum()) / predictions if predictions else None,
        )

    def take_images(self, index: Indices) -> F1Entries:
        """Return the matches on the (m,) images ``index``, which become images 0 to m - 1.

        An image listed twice counts as two images. The option ``tau-by``, which selects predictions by the scores of
        all images, is not applied again.
        """
        match, image = rows_of_images(self.image, index)
        unmatched, unmatched_image = rows_of_images(self.unmatched_image, index)
        truth, truth_image = rows_of_images(self.truth_image, index)
        return replace(
            self,
            category=self.category[match],
            image=image,
            sigma=self.sigma[match],
            unmatched_category=self.unmatched_category[unmatched],
            unmatched_image=unmatched_image,
            unmatched_overlaps=self.unmatched_overlaps[unmatched],
            truth_category=self.truth_category[truth],
            truth_image=truth_image,
        )
