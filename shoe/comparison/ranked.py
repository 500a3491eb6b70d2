"""Average precision of ranked lists under many resamples of the images, without sorting the lists again.

A resample gives every image a weight: the number of times that it was drawn. The rank of an entry with credit follows
from the total weight of the entries above it. One row of a sparse matrix counts, by image, the entries between two
consecutive entries with credit, so that one matrix product gives the ranks under all weights. The result is that of
:meth:`~shoe.scoring.entries.Entries.take_images` for the drawn images in ascending order, except for ties:

- If ties keep the input order, and an image is drawn twice, two tied entries a, b of one class and this image are
  ranked a, a, b, b and not a, b, a, b.
- If AP is the expectation over all orders of tied entries, it is estimated as the mean over one random order and its
  mirror image. For models with constant scores, this adds half a percent to the variance of resamples.

Entries of two models can be in one list, to which each image contributes the entries of one model. Because confidences
of different models are not comparable, the list is sorted by the rank of an entry among all entries of its model, and
equal ranks are in the order of images. (Ranks within a class would vary less under swaps than by chance.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.core.arrays import Floats, Indices, Mask, descending_order, index_in_group, random_numbers, stable_order
from shoe.scoring.average_precision import RankedLists, average_precision
from shoe.scoring.entries import AveragingRule, ClassScores, Entries

# Class values under resampled images, with deviations scaled up for classes with few images.
#
# The bootstrap variance of the mean of t values is (t - 1) / t times the variance over new values, because it divides
# by t, not t - 1. In a mean over classes, this factor does not approach 1 with more classes, because each class has its
# own t. This is the bootstrap of many small strata, which Rao and Wu (1988) rescale. Here:
#
# - t is the number of images that show the class. False positives on other images are not scaled, because they are
#   drawn from many images. Deviations are the sum of those if only the t images are drawn and all other images have
#   weight 1, which are scaled, and of the rest.
# - A resample draws images of the class t* times. Deviations are multiplied by sqrt(t* / (t - 1)), because they are
#   large if t* is small. Then they vary like the mean of t new values, for any t*.
# - A class with one image has no variance that could be scaled. Its deviation in a resample is chosen at random from
#   the deviations of the classes with 2 to 5 images, each multiplied by the sqrt(t) of its class, as survey
#   statisticians collapse strata of one unit (Cochran 1977, 5A.12). All models borrow the same deviations.
# - A resample shows fewer classes than a test set, and a mean over fewer classes varies more. The deviation of the mean
#   is therefore multiplied by the fraction of classes that the resample shows. Then a class of variance v, which a
#   fraction P of the resamples shows, adds a variance of P v, and P (1 - P) v because it is present in only some
#   resamples. Deviations are therefore multiplied by sqrt((1 - P (1 - P)) / P), so that the variance is v.
# - Other test sets show other rare classes. The presence of a class with one image adds 0.63 * 0.37 = 0.23 of its
#   squared deviation from the mean over classes to the variance of resamples, but 0.6 to 0.9 of the part of this square
#   that is due to the class, not to the image, to that of test sets. If this part is one half, the first is 0.6 times
#   the second, so that deviations of classes with one image from the mean are multiplied by sqrt(1.6).

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
        means_over: per mean, (R, K) mask of the classes in this mean; the first mask includes all other masks.
        drawn: (R, K) total weight of the images that show the class.
        images: (K,) number of images that show the class.
        own: (R, K) values if only images that show the class are resampled, and all other images have weight 1.
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
        """Return the (R, n) means of R resamples over the n masks of ``means_over``; NaN if a mask has no class."""
        return np.stack([mean_over_each(self.values, mask) for mask in self.means_over], axis=1)

    def resampled(self) -> Floats:
        """Return the (R, n) :meth:`means`, rescaled around their mean to the spread expected over new test images."""
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
        """Return the (R, K) values, rescaled around each class's mean to the spread expected over new test images."""
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
    """Return (K,) means over resamples and (R, K) deviations; values outside the mask ``counted`` have deviation 0."""
    centre = np.nan_to_num(mean_over_each(values.T, counted.T))
    return centre, np.where(counted, values - centre, 0.0)


def mean_over_each(values: Floats, mask: Mask) -> Floats:
    """Return the (R,) mean of the masked values in each row of (R, K) values, or NaN if a row has no masked value."""
    mask = np.broadcast_to(mask, values.shape)
    number = mask.sum(axis=1)
    return np.where(number > 0, np.where(mask, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan)


Counts = NDArray[np.int32]
"""Type of weights of images, and of weighted counts."""
BATCH = 250
"""Maximum number of resamples per batch: their weights fit in the processor's cache."""
_RANDOM_BITS = 40
_MOST_STRETCHED = 50
"""Largest number of images of a class whose deviations are scaled: above, the effect is below one percent."""


@dataclass(frozen=True, slots=True, eq=False)
class _RankedList:
    """Ranked entries of one class: the p entries with credit, sorted by rank, and the groups of tied entries.

    A group is a set of tied entries whose order changes average precision; the groups have m members in total, with or
    without credit. A stop is the place of an entry with credit in the ranking, or of its group.

    Attributes:
        column, credit: (p,) column (see :class:`Ranked`) and credit of each entry with credit.
        stop: (p,) row of ``between`` up to which weights are summed for the rank of the entry or its group.
        open: (p,) whether the entry is in a group.
        members, group, credited: (m,) column, group index and whether it has credit, of each group member.
        between: (stops, columns) sparse counts of entries from the stop before to each stop.
        inside: for a class with few images: these images, their columns of ``between``, and (stops, 1) sums of all
            other columns; None for several models.
    """

    column: Indices
    credit: Floats
    stop: Indices
    open: Mask
    members: Indices
    group: Indices
    credited: Mask
    between: Any
    inside: tuple[Indices, Any, Floats] | None

    @classmethod
    def from_entries(
        cls, column: Indices, credit: Floats, group: Indices, columns: int, shown: Indices | None
    ) -> _RankedList:
        """Return the list of n sorted entries of a class that the images ``shown`` show (None for several models)."""
        from scipy.sparse import csr_matrix

        in_group = group >= 0
        begins = in_group & np.concatenate([[True], group[1:] != group[:-1]])
        position = np.flatnonzero(credit > 0)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(group)), 0))
        stops, stop = np.unique(np.where(in_group[position], first[position], position), return_inverse=True)
        members, counted, inside = np.flatnonzero(in_group), column[: stops[-1]].astype(np.int32), None
        # Entries are in the order of rows already; images that are several times in a row need not be summed.
        between = csr_matrix((np.ones_like(counted, np.float32), counted, np.append(0, stops)), (len(stops), columns))
        if shown is not None and len(shown) <= _MOST_STRETCHED:
            part = between[:, shown]
            inside = shown, part, np.asarray(between.sum(axis=1) - part.sum(axis=1))
        return cls(
            column=column[position],
            credit=credit[position],
            stop=stop,
            open=in_group[position],
            members=column[members],
            group=np.cumsum(begins)[members] - 1,
            credited=credit[members] > 0,
            between=between,
            inside=inside,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Ranked predictions (entries) of one or more models for K classes, prepared for AP under weights of images.

    A column stands for an image of a model: with M images, image i of model j has column j M + i.

    Attributes:
        lists: ranked entries of each class that has entries with credit.
        truths, entries: (K, columns) sparse counts of ground truths, and of entries (None if ``rule`` ignores them).
        counted, rare, unseen: (K,) masks of evaluated classes, rare classes, and classes without a training pair.
        parts: (K,) masks of further groups of classes that have a mean of their own, by name.
    """

    lists: dict[int, _RankedList]
    truths: Any
    entries: Any
    counted: Mask
    rare: Mask
    unseen: Mask
    rule: AveragingRule
    parts: Mapping[str, Mask]

    @classmethod
    def from_entries(cls, images: int, *models: Entries) -> Ranked:
        """Return the prepared entries of models with the same ground truth on M ``images``, merged into one ranking."""
        from scipy.sparse import hstack

        first = models[0]
        classes, columns = len(first.counted), images * len(models)
        joined = {name: np.concatenate([getattr(each, name) for each in models]) for name in ("category", "image")}
        credit, place = np.concatenate([m.credit for m in models]), np.concatenate([_rank_positions(m) for m in models])
        model = np.repeat(np.arange(len(models)), [len(m.category) for m in models])
        order = stable_order(joined["image"])  # three radix sorts are faster than np.lexsort; places are halves
        for keys in (np.asarray(2 * place, np.int64), joined["category"]):
            order = order[stable_order(keys[order])]
        category, image, credit, place = joined["category"][order], joined["image"][order], credit[order], place[order]
        column = model[order] * images + image
        group = _open_groups(category, place, credit, model[order], first.rule)
        of_truths = _counts(first.truth_category, first.truth_image, classes, images)
        ends, lists = np.cumsum(np.bincount(category, minlength=classes)), {}
        for k in np.unique(category[credit > 0]).tolist():
            rows = slice(ends[k - 1] if k else 0, ends[k])
            shown = of_truths[[k]].indices if len(models) == 1 else None
            lists[k] = _RankedList.from_entries(column[rows], credit[rows], group[rows], columns, shown)
        truths = hstack([of_truths] * len(models), format="csr", dtype=np.int32)
        needed = first.rule.skip_without_hit or first.rule.parts_need_entries
        entries = _counts(category, column, classes, columns) if needed else None
        shared = first.counted, first.rare, first.unseen, first.rule, first.parts
        return cls(lists, truths, entries, *shared)

    def by_class(self, weights: Counts, batch: int = 0) -> ByClass:
        """Return the average precision of each class in R resamples, given as (columns, R) weights of images.

        The result has means over all, rare and non-rare classes, and over the parts. ``batch``, the number of previous
        batches of BATCH resamples, seeds the random orders of ties.
        """
        truths = np.where(self.counted, (self.truths @ weights).T, 0)
        entries = np.where(truths > 0, 0 if self.entries is None else (self.entries @ weights).T, 0)
        ap, recall, own = np.zeros((3, *truths.shape))
        as_floats = weights.astype(np.float32)  # exact for counts below 16 million, and twice as fast as integers
        for k, ranked in self.lists.items():
            # A class without a drawn ground truth has no list.
            weight = np.where(truths[:, k] > 0, weights[ranked.column], 0).T
            total = np.maximum(truths[:, k], 1)
            if self.rule.skip_without_hit:
                recall[:, k] = weight @ ranked.credit / total
            members, stream = weights[ranked.members], (batch << 16) + k
            ap[:, k] = own[:, k] = self._ap(ranked, ranked.between @ as_floats, weight, total, members, stream)
            if ranked.inside is not None:
                images, inside, outside = ranked.inside
                if len(members):
                    members = np.where(np.isin(ranked.members, images)[:, None], members, 1)
                own[:, k] = self._ap(ranked, inside @ as_floats[images] + outside, weight, total, members, stream)
        lists = RankedLists(ap, np.zeros(0), recall, entries, 0, False)
        scores = ClassScores.from_lists(lists, truths, self.counted, self.rule, self.unseen)
        drawn = np.where(self.counted, ((self.truths > 0) @ weights).T, 0)
        in_mean, in_parts, drawn = np.broadcast_arrays(scores.in_mean, scores.in_parts, drawn)
        parts = self.rare, ~(self.rare | self.unseen), *self.parts.values()
        means_over = in_mean, *(in_parts & part for part in parts)
        return ByClass(ap, means_over, drawn, self.truths.getnnz(axis=1), own)

    def _ap(
        self, ranked: _RankedList, between: Floats, weight: Counts, truths: Indices, members: Counts, stream: int
    ) -> Floats:
        """Return the (R,) average precision of a class under R resamples; ``stream`` seeds the orders of ties.

        Weights are (stops, R) ``between`` stops, (R, p) of entries with credit, and (m, R) of group ``members``.
        ``truths`` is the (R,) number of drawn ground truths of the class.
        """
        above, members = np.cumsum(between, axis=0, dtype=np.float64)[ranked.stop].T, members.T
        how, is_open = (truths, self.rule.ap, self.rule.epsilon), ranked.open
        once, full = weight.max(initial=0) <= 1, (ranked.credit == 1).all()
        if not is_open.any() and (once or (self.rule.ap is not Interpolation.TRAPEZOID and full)):
            # Copies of an entry with full credit only raise precision, so the last copy counts. An entry without weight
            # has the recall of the entry before and no better precision, which changes nothing.
            return average_precision(np.maximum(above + weight, 1), weight * ranked.credit, *how)
        cell = np.repeat(np.arange(weight.size), weight.reshape(-1))
        row, which = np.divmod(cell, weight.shape[1])
        base, copy = above.reshape(-1)[cell], index_in_group(weight.reshape(-1))
        credit, column = ranked.credit[which], index_in_group(weight.sum(axis=1))

        def value(offset: Indices) -> Floats:
            ranks = np.full((len(weight), int(column.max(initial=-1)) + 1), np.inf)
            labels = np.zeros_like(ranks)
            ranks[row, column], labels[row, column] = base + offset + 1, credit
            if is_open.any():
                order = np.argsort(ranks, axis=1)
                ranks, labels = np.take_along_axis(ranks, order, 1), np.take_along_axis(labels, order, 1)
            return average_precision(ranks, labels, *how)

        if not is_open.any():
            return value(copy)
        values = []
        for positions in _positions(ranked, members, stream):
            offset = copy.copy()
            offset[is_open[which]] = positions
            values.append(value(offset))
        return np.asarray(np.mean(values, axis=0))


def _rank_positions(entries: Entries) -> Floats:
    """Return the (n,) rank, from 0, of each entry within its model; tied entries share a mean rank under EXPECTED."""
    order = descending_order(entries.score.astype(np.float64))
    size = np.diff(np.flatnonzero(np.diff(entries.score[order], prepend=np.nan) != 0), append=len(order))
    place, index, tied = np.arange(len(order)), index_in_group(size), np.repeat(size, size)
    places = np.empty(len(order))
    if entries.rule.ties is Ties.EXPECTED:
        places[order] = place - index + (tied - 1) / 2
    else:
        places[order] = place - 2 * index + tied - 1 if entries.rule.ties is Ties.REVERSED else place
    return places


def _open_groups(
    category: NDArray[np.integer], place: Floats, credit: Floats, model: Indices, rule: AveragingRule
) -> Indices:
    """Return the (n,) group of tied entries with unequal credits of each entry, or -1; all -1 if not EXPECTED."""
    if rule.ties is not Ties.EXPECTED or not len(category):
        return np.full(len(category), -1)
    start = np.flatnonzero(np.concatenate([[True], (category[1:] != category[:-1]) | (place[1:] != place[:-1])]))
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(category)))
    mixed = np.maximum.reduceat(credit, start) > np.minimum.reduceat(credit, start)
    # Equal places of two models are not a tie.
    tied = np.bincount(group * 2 + model, minlength=2 * len(start)).reshape(-1, 2).max(axis=1) > 1
    return np.where((mixed & tied)[group], group, -1)


def _positions(ranked: _RankedList, weight: Counts, stream: int) -> tuple[Indices, Indices]:
    """Return the position of each drawn member with credit in a random order of its group, and in the reverse order."""
    groups = int(ranked.group.max()) + 1
    cell = np.repeat(np.arange(weight.size), weight.reshape(-1))
    row, member = np.divmod(cell, weight.shape[1])
    number = row * groups + ranked.group[member]
    drawn = random_numbers(stream, (len(cell),)) >> np.uint64(64 - _RANDOM_BITS)
    order = np.argsort((number.astype(np.uint64) << np.uint64(_RANDOM_BITS)) | drawn)
    size = np.bincount(number, minlength=len(weight) * groups)
    position = np.empty(len(cell), np.int64)
    position[order] = index_in_group(size)
    credited = ranked.credited[member]
    return position[credited], (size[number] - 1 - position)[credited]


def _counts(category: NDArray[np.integer], column: NDArray[np.integer], classes: int, columns: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(category), np.int32), (category, column)), shape=(classes, columns), dtype=np.int32)
