"""Ranked entries of every class, the common value of all protocols, which can be scored, changed and resampled.

An entry is a prediction that counts for a class. It has a score and a credit from 0 (false positive) to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN
from shoe.benchmarks.protocol_options import Interpolation, SemanticOptions, StrictOptions, Ties
from shoe.core.arrays import Floats, Indices, Mask, expand, stable_order
from shoe.core.documents import Count, Document, Fraction
from shoe.scoring.average_precision import EPSILON, GRID_TOLERANCE, GRIDS, RankedLists, ranked_lists


class Means(NamedTuple):
    """Mean average precision over classes, or differences of it, as fractions; None without a class to average."""

    map: float | None
    map_rare: float | None
    map_non_rare: float | None

    def minus(self, other: Means) -> Means:
        """Return the differences; None if one of the two values is None."""
        return Means(*map(minus, self, other))


def minus(a: float | None, b: float | None) -> float | None:
    """Return ``a - b``, or None if one of them is None."""
    return None if a is None or b is None else a - b


class PartMean(Document, frozen=True, kw_only=True):
    """Means over a part of the classes, None if no class is in the mean; ``classes`` is the number in the mean."""

    map: Fraction | None = None
    classes: Count
    mf1: Fraction | None = None


def harmonic_mean(parts: Mapping[str, PartMean]) -> float | None:
    """Return the harmonic mean of the mAP of seen and unseen classes, as in generalised zero-shot work, or None.

    >>> harmonic_mean({"unseen": PartMean(map=0.2, classes=120), "seen": PartMean(map=0.3, classes=480)})
    0.24
    """
    values = [parts[part].map for part in (UNSEEN, SEEN) if part in parts]
    known = [value for value in values if value is not None]
    if len(known) < len((UNSEEN, SEEN)):
        return None
    return 2 * known[0] * known[1] / sum(known) if sum(known) else 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """Rules by which entries become average precision.

    Attributes:
        ap: interpolation of the precision-recall curve.
        epsilon: see :func:`~shoe.scoring.average_precision.average_precision`.
        truthless_count: whether classes without ground truth are in the mean, with 0.
        skip_without_hit: whether classes with entries but without credit are left out of the mean.
        parts_need_entries: whether classes without entries are left out of the means of rare and non-rare classes.
        unseen_apart: whether classes without a training pair are left out of the mean over all, but not of parts.
    """

    ap: Interpolation
    ties: Ties
    epsilon: float = 0.0
    truthless_count: bool = False
    skip_without_hit: bool = False
    parts_need_entries: bool = False
    unseen_apart: bool = False

    @classmethod
    def of(cls, options: StrictOptions | SemanticOptions) -> Rule:
        """Return the rules that options set (docs/protocols.md 1 to 3, 5, 8.5; 10.5 A10 to A12)."""
        if isinstance(options, SemanticOptions):
            epsilon = GRID_TOLERANCE if options.ap in GRIDS else EPSILON
            return cls(options.ap, options.ties, epsilon, truthless_count=options.classes == "all")
        return cls(
            options.ap,
            options.ties,
            truthless_count=options.truthless == "zero",
            skip_without_hit=options.zero_tp == "skip",
            parts_need_entries=options.unpredicted == "full-only",
            unseen_apart=options.unseen == "apart",
        )

    def in_mean(self, truths: Indices, counted: Mask) -> Mask:
        """Return the (K,) classes in the mean, whatever is predicted, from the (K,) ground truths per class."""
        return counted if self.truthless_count else counted & (truths > 0)


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores(RankedLists):
    """Average precision per class, and the classes that means are over; K classes.

    Attributes:
        in_mean: (K,) classes in the mean over all classes.
        in_parts: (K,) classes that count in the means over rare, non-rare and unseen classes.
    """

    in_mean: Mask
    in_parts: Mask

    @classmethod
    def of(cls, lists: RankedLists, truths: Indices, counted: Mask, rule: Rule, unseen: Mask) -> ClassScores:
        """Decide which classes are in the means.

        Args:
            lists: average precision of every class.
            truths: (K,) number of ground truths per class.
            counted: (K,) classes that take part at all.
            rule: rules for the means.
            unseen: (K,) classes without a training pair.
        """
        in_mean = rule.in_mean(truths, counted)
        if rule.skip_without_hit:
            in_mean = in_mean & ((lists.entries == 0) | (lists.recall > 0))
        in_parts = in_mean & (lists.entries > 0) if rule.parts_need_entries else in_mean
        in_mean = in_mean & ~unseen if rule.unseen_apart else in_mean
        return cls(**{f.name: getattr(lists, f.name) for f in fields(lists)}, in_mean=in_mean, in_parts=in_parts)

    def part_means(self, parts: Mapping[str, Mask]) -> dict[str, PartMean]:
        """Return the mean AP over each part of the classes, given as (K,) masks by name."""
        masks = {part: self.in_parts & mask for part, mask in parts.items()}
        return {part: PartMean(map=mean_over(self.ap, mask), classes=int(mask.sum())) for part, mask in masks.items()}

    def means(self, rare: Mask, unseen: Mask) -> Means:
        """Return the mean AP over all, rare and non-rare classes."""
        return Means(
            mean_over(self.ap, self.in_mean),
            mean_over(self.ap, self.in_parts & rare),
            mean_over(self.ap, self.in_parts & ~(rare | unseen)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries of K classes: n entries and t ground truths on numbered images.

    Attributes:
        category: (n,) class of each entry, 0 to K - 1.
        image: (n,) image of each entry.
        score: (n,) confidence; of equal scores the order of entries decides, if the rule says so.
        credit: (n,) credit, 0 to 1.
        truth_category, truth_image: (t,) class and image of each ground truth.
        counted: (K,) classes that take part.
        rare: (K,) rare classes.
        parts: (K,) classes of each part of a class split, by name.
        unseen: (K,) classes without a training pair, neither rare nor non-rare; (1,) False if there is none.

    Example:
        >>> import numpy as np
        >>> everything = np.ones(1, bool)
        >>> entries = Entries(
        ...     category=np.array([0, 0]), image=np.array([0, 1]), score=np.array([0.9, 0.8]),
        ...     credit=np.array([0.0, 1.0]), truth_category=np.array([0]), truth_image=np.array([1]),
        ...     counted=everything, rare=~everything, rule=Rule(Interpolation.ALL_POINTS, Ties.INPUT),
        ... )
        >>> entries.means().map, entries.take_images(np.array([1, 1])).means().map
        (0.5, 1.0)
    """

    category: NDArray[np.integer]
    image: NDArray[np.integer]
    score: Floats
    credit: Floats
    truth_category: NDArray[np.integer]
    truth_image: NDArray[np.integer]
    counted: Mask
    rare: Mask
    rule: Rule
    parts: Mapping[str, Mask] = field(default_factory=dict)
    unseen: Mask = field(default_factory=lambda: np.zeros(1, bool))

    @property
    def truths(self) -> Indices:
        """(K,) number of ground truths of each class that takes part."""
        return truths_per_class(self.truth_category, self.counted)

    def scores(self) -> ClassScores:
        """Return the average precision of every class."""
        rule, truths = self.rule, self.truths
        columns, how = (self.category, self.score, self.credit), (rule.ap, rule.ties, rule.epsilon)
        return ClassScores.of(ranked_lists(*columns, truths, *how), truths, self.counted, rule, self.unseen)

    def means(self) -> Means:
        """Return the mean average precision over all, rare and non-rare classes."""
        return self.scores().means(self.rare, self.unseen)

    def select(self, rows: Mask | Indices) -> Entries:
        """Return some entries, in the order of ``rows``, with all ground truths."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ("category", "image", "score", "credit")})

    def take_images(self, index: Indices) -> Entries:
        """Return the entries and ground truths of (m,) images, one after the other, renumbered from 0.

        Their score is that of predictions on these images, where an image listed twice counts as two images. Options
        that look at all images at once, like a cap per class, are the exception.
        """
        truth, truth_image = rows_of_images(self.truth_image, index)
        of_truth = self.truth_category[truth]
        entry, image = rows_of_images(self.image, index)
        # A class without a drawn ground truth has no list, like a class that never had a ground truth.
        ranked = (np.bincount(of_truth, minlength=len(self.counted)) > 0)[self.category[entry]]
        drawn = self.select(entry[ranked])
        return replace(drawn, image=image[ranked], truth_category=of_truth, truth_image=truth_image)


def mean_over(values: Floats, mask: Mask) -> float | None:
    """Return the mean of the masked values; None, not 0 or NaN, if there are none."""
    return float(values[mask].mean()) if mask.any() else None


def truths_per_class(category: NDArray[np.integer], counted: Mask) -> Indices:
    """Return the (K,) number of ground truths per class, from their (t,) classes; 0 for classes not counted."""
    return np.where(counted, np.bincount(category, minlength=len(counted)), 0)


def rows_of_images(image: NDArray[np.integer], index: Indices) -> tuple[Indices, Indices]:
    """Return the rows of some images, in the order of ``index``, and the position in ``index`` that each is from."""
    count = np.bincount(image, minlength=int(index.max(initial=-1)) + 1)
    which, position = expand((np.cumsum(count) - count)[index], count[index])
    return stable_order(image)[position], which


Amounts = Floats | Indices


class F1Figures(Document, frozen=True):
    """Metrics of Algorithm 2, fractions 0..1; None if there is nothing to measure.

    Attributes:
        mf1: mean of F1 over classes.
        gt_miss_rate: fraction of ground truths without a match.
        prediction_miss_rate: fraction of predictions without a match.
    """

    mf1: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None


class F1Rule(NamedTuple):
    """Options ``recall``, ``f1-classes`` and ``prediction-misses``, by which counts become metrics (A24 to A26)."""

    recall: Literal["fn", "truth"]
    classes: Literal["truth", "counted"]
    misses: Literal["all", "charged"]

    @classmethod
    def of(cls, options: SemanticOptions) -> F1Rule:
        """Return the rules that options set."""
        return cls(options.recall, options.f1_classes, options.prediction_misses)

    def f1(self, true: Amounts, false: Amounts, found: Amounts, truths: Amounts, counted: Mask) -> tuple[Floats, Mask]:
        """Return F1 per class, and which classes are in the mean (Algorithm 2, lines 9-36).

        Args:
            true: (..., K) sum of the similarities of all matches of each class.
            false: (..., K) what its matches lack to similarity 1, and its false positives.
            found: (..., K) number of its matched ground truths.
            truths: (..., K) number of its ground truths.
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
    """Matching behind SHOE-mF1, of K classes: n matched ground truths, u unmatched predictions, t ground truths.

    Attributes:
        category, image, sigma: (n,) class and image of each matched ground truth, and similarity 0..1 of its match.
        unmatched_category: (u,) class of which each unmatched prediction is a false positive, -1 for none.
        unmatched_image: (u,) image of each unmatched prediction.
        truth_category, truth_image: (t,) class and image of each ground truth.
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
        """(K,) number of ground truths of each class that takes part."""
        return truths_per_class(self.truth_category, self.counted)

    def f1(self) -> tuple[Floats, Mask]:
        """Return (K,) F1 per class, and which classes are in the mean."""
        classes, charged = len(self.counted), self.unmatched_category[self.unmatched_category >= 0]
        true = np.bincount(self.category, weights=self.sigma, minlength=classes)
        false = np.bincount(self.category, weights=1 - self.sigma, minlength=classes)
        false += np.bincount(charged, minlength=classes)
        found = np.bincount(self.category, minlength=classes)
        return self.rule.f1(true, false, found, self.truths, self.counted)

    def figures(self) -> F1Figures:
        """Return mF1 and the miss rates."""
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
        """Return the matching of (m,) images, renumbered from 0; an image listed twice counts as two images.

        The predictions that take part are those chosen among all images (``tau-by`` looks at all of them at once).
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
            truth_category=self.truth_category[truth],
            truth_image=truth_image,
        )
