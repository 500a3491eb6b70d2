"""Entries of every class, from which all protocols compute their metrics; entries can be selected and resampled.

An entry is a prediction that counts for a class. It has a score and a credit from 0 (false positive) to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN
from shoe.benchmarks.scoring_options import Interpolation, SemanticOptions, StrictOptions, Ties
from shoe.core.arrays import Floats, Indices, Mask, expand, stable_order
from shoe.core.documents import Count, Document, Fraction
from shoe.scoring.average_precision import EPSILON, GRID_TOLERANCE, GRIDS, RankedLists, ranked_lists


class Means(NamedTuple):
    """Mean AP over all, rare and non-rare classes (fractions), or differences of such means; None without a class."""

    map: float | None
    map_rare: float | None
    map_non_rare: float | None

    def minus(self, other: Means) -> Means:
        """Return each mean minus the same mean of ``other``; None if one of the two is None."""
        return Means(*map(minus, self, other))


def minus(a: float | None, b: float | None) -> float | None:
    """Return ``a - b``, or None if ``a`` or ``b`` is None."""
    return None if a is None or b is None else a - b


class PartMean(Document, frozen=True, kw_only=True):
    """Mean AP over a part of the classes, number of classes in it, and mean F1 (SHOE); a mean over no class is None."""

    map: Fraction | None = None
    classes: Count
    mf1: Fraction | None = None


def harmonic_mean(parts: Mapping[str, PartMean]) -> float | None:
    """Return the harmonic mean of the mAP of "seen" and "unseen" in ``parts``; None if either is missing.

    >>> harmonic_mean({"unseen": PartMean(map=0.2, classes=120), "seen": PartMean(map=0.3, classes=480)})
    0.24
    """
    unseen, seen = (parts[part].map if part in parts else None for part in (UNSEEN, SEEN))
    if unseen is None or seen is None:
        return None
    return 2 * unseen * seen / (unseen + seen) if unseen + seen else 0.0


@dataclass(frozen=True, slots=True)
class AveragingRule:
    """Rule for computing AP from the entries (ranked predictions) of a class, and for selecting classes of means."""

    ap: Interpolation  # interpolation of the precision-recall curve
    ties: Ties  # ranking of entries with equal scores
    epsilon: float = 0.0  # constant added to the denominators of precision and recall
    truthless_count: bool = False  # whether classes without ground truth are in the mean, with AP 0
    skip_without_hit: bool = False  # whether classes whose entries are all false positives are left out of the mean
    # whether classes without entries are left out of the means of rare and non-rare classes
    parts_need_entries: bool = False
    # whether classes without training examples are left out of the mean over all classes; they are still in the means
    # over parts
    unseen_apart: bool = False

    @classmethod
    def from_options(cls, options: StrictOptions | SemanticOptions) -> AveragingRule:
        """Return the rule set by a protocol's options; for SHOE, all flags except ``truthless_count`` are False."""
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
        """Return a (K,) mask of the ``counted`` classes with ground truth, or of all if ``truthless_count`` is True."""
        return counted if self.truthless_count else counted & (truths > 0)


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores(RankedLists):
    """Average precision of K classes (:class:`RankedLists`), and which classes enter the means."""

    in_mean: Mask  # (K,) whether each class is in the mean over all classes
    in_parts: Mask  # (K,) whether each class may be in the means over parts, such as the rare classes

    @classmethod
    def from_lists(
        cls, lists: RankedLists, truths: Indices, counted: Mask, rule: AveragingRule, unseen: Mask
    ) -> ClassScores:
        """Return the AP of each class, from its ranked list, and which classes enter which means.

        ``truths`` is the (K,) number of ground truths per class; the masks say whether each class is evaluated
        (``counted``), and whether the training set lacks it (``unseen``).
        """
        in_mean = rule.in_mean(truths, counted)
        if rule.skip_without_hit:
            in_mean = in_mean & ((lists.entries == 0) | (lists.recall > 0))
        in_parts = in_mean & (lists.entries > 0) if rule.parts_need_entries else in_mean
        in_mean = in_mean & ~unseen if rule.unseen_apart else in_mean
        return cls(**{f.name: getattr(lists, f.name) for f in fields(lists)}, in_mean=in_mean, in_parts=in_parts)

    def part_means(self, parts: Mapping[str, Mask]) -> dict[str, PartMean]:
        """Return {name: mean AP and number of classes}, over classes in ``in_parts`` and in the part's (K,) mask."""
        masks = {part: self.in_parts & mask for part, mask in parts.items()}
        return {part: PartMean(map=mean_over(self.ap, mask), classes=int(mask.sum())) for part, mask in masks.items()}

    def means(self, rare: Mask, unseen: Mask) -> Means:
        """Return the mean AP over all, rare, and non-rare classes (neither ``rare`` nor ``unseen``, two (K,) masks)."""
        return Means(
            mean_over(self.ap, self.in_mean),
            mean_over(self.ap, self.in_parts & rare),
            mean_over(self.ap, self.in_parts & ~(rare | unseen)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """n ranked entries (predictions) and t ground truths of K classes; classes and images are numbered from 0.

    >>> import numpy as np
    >>> everything = np.ones(1, bool)
    >>> entries = Entries(
    ...     category=np.array([0, 0]), image=np.array([0, 1]), score=np.array([0.9, 0.8]),
    ...     credit=np.array([0.0, 1.0]), truth_category=np.array([0]), truth_image=np.array([1]),
    ...     counted=everything, rare=~everything, rule=AveragingRule(Interpolation.ALL_POINTS, Ties.INPUT),
    ... )
    >>> entries.means().map, entries.take_images(np.array([1, 1])).means().map
    (0.5, 1.0)
    """

    category: NDArray[np.integer]  # (n,) class of each entry, 0 to K - 1
    image: NDArray[np.integer]  # (n,) image of each entry
    score: Floats  # (n,) confidence; ``rule`` says how equal scores are ranked
    credit: Floats  # (n,) credit, 0 without a match, up to 1 with a match
    # truth_category, truth_image: (t,) class and image of each ground truth
    truth_category: NDArray[np.integer]
    truth_image: NDArray[np.integer]
    counted: Mask  # (K,) whether each class is evaluated
    rare: Mask  # (K,) whether each class is rare
    rule: AveragingRule
    # (K,) mask of the classes of each part of a class split, by the name of the part
    parts: Mapping[str, Mask] = field(default_factory=dict)
    # (K,) whether the training set lacks each class, which is then neither rare nor non-rare; (1,) False if there are
    # no unseen classes
    unseen: Mask = field(default_factory=lambda: np.zeros(1, bool))

    @property
    def truths(self) -> Indices:
        """(K,) number of ground truths per class; 0 for classes that are not evaluated."""
        return np.where(self.counted, np.bincount(self.truth_category, minlength=len(self.counted)), 0)

    def scores(self) -> ClassScores:
        """Return the average precision of every class, and which classes enter the means."""
        rule, truths = self.rule, self.truths
        columns, how = (self.category, self.score, self.credit), (rule.ap, rule.ties, rule.epsilon)
        return ClassScores.from_lists(ranked_lists(*columns, truths, *how), truths, self.counted, rule, self.unseen)

    def means(self) -> Means:
        """Return the mean average precision over all, rare and non-rare classes."""
        return self.scores().means(self.rare, self.unseen)

    def select(self, rows: Mask | Indices) -> Entries:
        """Return a copy with only the entries in ``rows``, in this order, and with all ground truths."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ("category", "image", "score", "credit")})

    def take_images(self, index: Indices) -> Entries:
        """Return the entries and ground truths of the (m,) images ``index``, which become images 0 to m - 1.

        An image listed twice counts as two images. Entries of classes without ground truth on these images are left
        out. Metrics of the result equal those of scoring only these images, except under options that depend on all
        images at once, like a cap per class.
        """
        truth, truth_image = rows_of_images(self.truth_image, index)
        of_truth = self.truth_category[truth]
        entry, image = rows_of_images(self.image, index)
        # A class without a drawn ground truth has no list, like a class that never had a ground truth.
        ranked = (np.bincount(of_truth, minlength=len(self.counted)) > 0)[self.category[entry]]
        drawn = self.select(entry[ranked])
        return replace(drawn, image=image[ranked], truth_category=of_truth, truth_image=truth_image)


def mean_over(values: Floats, mask: Mask) -> float | None:
    """Return the mean of the values in ``mask``; None (not 0 or NaN) for an empty mask."""
    return float(values[mask].mean()) if mask.any() else None


def rows_of_images(image: NDArray[np.integer], index: Indices) -> tuple[Indices, Indices]:
    """Return the rows of the images in ``index``, image by image, and the position in ``index`` of each row's image.

    ``image`` is the (n,) image of each row. If an image is twice in ``index``, its rows are returned twice.
    """
    count = np.bincount(image, minlength=int(index.max(initial=-1)) + 1)
    which, position = expand((np.cumsum(count) - count)[index], count[index])
    return stable_order(image)[position], which
