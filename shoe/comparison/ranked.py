"""Average precision of the same lists under many weights of their images, without sorting a list again.

A resample gives every image a weight: how often it was drawn. The rank of an entry with credit is the total weight of
the entries above it. Entries between one such entry and the next are one row of a sparse matrix of counts by image, so
that one matrix product gives the ranks under all weights. The result is that of
:meth:`~shoe.scoring.entries.Entries.take_images` for the drawn images in ascending order, except for ties:

- under an order of input, two tied entries a, b of one class and an image drawn twice are ranked a, a, b, b and not
  a, b, a, b;
- an expectation over orders is the mean over one random order and its mirror image. For models with constant scores
  this adds half a percent to the variance of resamples.

Entries of two models can share one list, in which each image shows one of the models. Confidences of different models
are not comparable, so entries enter by their rank among all entries of their model, equal ones in the order of images.
(Ranks within a class would be fitted to the few images of each class, and would vary less under swaps than by chance.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocol_options import Interpolation, Ties
from shoe.comparison.by_class import ByClass
from shoe.core.arrays import Floats, Indices, Mask, index_in_group, random_numbers
from shoe.scoring.average_precision import RankedLists, average_precision
from shoe.scoring.entries import ClassScores, Entries, Rule

Counts = NDArray[np.int32]
"""Type of weights, and of counts under them."""
BATCH = 250
"""Resamples per batch: their weights fit in the processor's cache."""
_RANDOM_BITS = 40
_MOST_STRETCHED = 50
"""Most images of a class whose deviations are scaled up: with more images, the effect is below one percent."""


@dataclass(frozen=True, slots=True, eq=False)
class _Positives:
    """Entries with credit of one class by rank; p entries, and g groups of ties whose order is open.

    Attributes:
        column, credit: (p,) column of weights (image and model), and credit of each entry.
        stop: (p,) row of the matrix of counts whose cumulated sum is the weight above the entry, or above its group.
        open: (p,) whether the entry is in a group.
        members, group: (m,) column and group of each member of a group, in the order of groups.
        credited: (m,) whether a member has credit.
    """

    column: Indices
    credit: Floats
    stop: Indices
    open: Mask
    members: Indices
    group: Indices
    credited: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Entries of K classes, of one model or of two, prepared for weights of images.

    Attributes:
        positives: entries with credit of each class that has some.
        between: for each of these classes, (stops, columns) sparse counts of entries between one stop and the next.
        inside: for each of these classes with few images: its images, the (stops, images) part of ``between`` for
            them, and (stops, 1) sums of the rest; empty for several models.
        truths, entries: (K, columns) sparse counts of ground truths and of entries.
        counted, rare, unseen: (K,) classes that take part, rare classes, and classes without a training pair.
        parts: (K,) classes of each further part with a mean, by name.
    """

    positives: dict[int, _Positives]
    between: dict[int, Any]
    inside: dict[int, tuple[Indices, Any, Counts]]
    truths: Any
    entries: Any
    counted: Mask
    rare: Mask
    unseen: Mask
    rule: Rule
    parts: Mapping[str, Mask]

    @classmethod
    def of(cls, images: int, *models: Entries) -> Ranked:
        """Prepare the entries of one model, or of several in one list.

        The models share one rule and one ground truth. Image i of model j of M ``images`` has column j M + i of
        weights.
        """
        from scipy.sparse import csr_matrix, hstack

        first = models[0]
        classes, columns = len(first.counted), images * len(models)
        joined = {name: np.concatenate([getattr(each, name) for each in models]) for name in ("category", "image")}
        credit, place = np.concatenate([m.credit for m in models]), np.concatenate([_places(m) for m in models])
        model = np.repeat(np.arange(len(models)), [len(m.category) for m in models])
        order = np.lexsort((joined["image"], place, joined["category"]))
        category, image, credit, place = joined["category"][order], joined["image"][order], credit[order], place[order]
        column = model[order] * images + image
        open_ = _open_groups(category, place, credit, model[order], first.rule)
        positives, between = {}, {}
        ends = np.cumsum(np.bincount(category, minlength=classes))
        for k in np.unique(category[credit > 0]).tolist():
            rows = slice(ends[k - 1] if k else 0, ends[k])
            positives[k], segment = _positives_of(column[rows], credit[rows], open_[rows])
            counted = segment >= 0
            shape = int(positives[k].stop.max()) + 1, columns
            ones = np.ones(int(counted.sum()), np.int32)
            between[k] = csr_matrix((ones, (segment[counted], column[rows][counted])), shape=shape, dtype=np.int32)
        of_truths = _counts(first.truth_category, first.truth_image, classes, images)
        inside: dict[int, tuple[Indices, Any, Counts]] = {}
        for k in between if len(models) == 1 else ():
            shown = of_truths[[k]].indices
            if len(shown) <= _MOST_STRETCHED:
                part = between[k][:, shown]
                inside[k] = shown, part, np.asarray(between[k].sum(axis=1) - part.sum(axis=1), np.int32)
        return cls(
            positives=positives,
            between=between,
            inside=inside,
            truths=hstack([of_truths] * len(models), format="csr", dtype=np.int32),
            entries=_counts(category, column, classes, columns),
            counted=first.counted,
            rare=first.rare,
            unseen=first.unseen,
            rule=first.rule,
            parts=first.parts,
        )

    def by_class(self, weights: Counts, batch: int = 0) -> ByClass:
        """Return average precision under (columns, R) weights; means are over all, rare, non-rare classes and parts.

        ``batch`` is the number of earlier batches of BATCH weights, which seeds random orders of ties.
        """
        starts = range(0, weights.shape[1], BATCH)
        parts = [self._scores(np.ascontiguousarray(weights[:, i : i + BATCH]), n) for n, i in enumerate(starts, batch)]
        ap, in_mean, in_parts, drawn, own = (np.concatenate(each) for each in zip(*parts, strict=True))
        non_rare = ~(self.rare | self.unseen)
        means_over = in_mean, *(in_parts & part for part in (self.rare, non_rare, *self.parts.values()))
        return ByClass(ap, means_over, drawn, self.truths.getnnz(axis=1), own)

    def _scores(self, weights: Counts, batch: int) -> tuple[Floats, Mask, Mask, Indices, Floats]:
        """Return (R, K) average precision, classes in the means over all and over parts, draws, and ``own``."""
        truths = np.where(self.counted, (self.truths @ weights).T, 0)
        entries = np.zeros_like(truths)
        if self.rule.skip_without_hit or self.rule.parts_need_entries:
            entries = np.where(truths > 0, (self.entries @ weights).T, 0)
        ap, recall, own = np.zeros((3, *truths.shape))
        for k, positives in self.positives.items():
            above = self.between[k] @ weights
            # A class without a drawn ground truth has no list.
            weight = np.where(truths[:, k] > 0, weights[positives.column], 0).T
            total = np.maximum(truths[:, k], 1)
            recall[:, k] = weight @ positives.credit / total
            members = weights[positives.members]
            ap[:, k] = own[:, k] = self._ap(positives, above, weight, total, members, (k, batch))
            if k in self.inside:
                images, inside, outside = self.inside[k]
                members = np.where(np.isin(positives.members, images)[:, None], members, 1)
                above = inside @ weights[images] + outside
                own[:, k] = self._ap(positives, above, weight, total, members, (k, batch))
        lists = RankedLists(ap, np.zeros(0), recall, entries, 0, False)
        scores = ClassScores.of(lists, truths, self.counted, self.rule, self.unseen)
        drawn = np.where(self.counted, ((self.truths > 0) @ weights).T, 0)
        return ap, *np.broadcast_arrays(scores.in_mean, scores.in_parts, drawn), own

    def _ap(
        self,
        positives: _Positives,
        between: Counts,
        weight: Counts,
        truths: Indices,
        members: Counts,
        stream: tuple[int, int],
    ) -> Floats:
        """Return (R,) average precision of a class from (stops, R) weights between stops and (R, p) of its entries."""
        above, members = np.cumsum(between, axis=0, dtype=np.int32)[positives.stop].T, members.T
        how, is_open = (truths, self.rule.ap, self.rule.epsilon), positives.open
        once = weight.max(initial=0) <= 1
        if not is_open.any() and (
            once or (self.rule.ap is not Interpolation.TRAPEZOID and (positives.credit == 1).all())
        ):
            # Copies of an entry with full credit only raise precision, so the last copy counts. An entry without weight
            # has the recall of the entry before and no better precision, which changes nothing.
            return average_precision(np.maximum(above + weight, 1).astype(np.float64), weight * positives.credit, *how)
        cell = np.repeat(np.arange(weight.size), weight.reshape(-1))
        row, which = np.divmod(cell, weight.shape[1])
        base, copy = above.reshape(-1)[cell], index_in_group(weight.reshape(-1))
        credit, column = positives.credit[which], index_in_group(weight.sum(axis=1))

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
        for positions in _positions(positives, members, (stream[1] << 16) + stream[0]):
            offset = copy.copy()
            offset[is_open[which]] = positions
            values.append(value(offset))
        return np.asarray(np.mean(values, axis=0))


def _places(entries: Entries) -> Floats:
    """Return the (n,) place of each entry in its model's ranking, from 0; ties share a mean place, or take orders."""
    order = np.argsort(-entries.score, kind="stable")
    size = np.diff(np.flatnonzero(np.diff(entries.score[order], prepend=np.nan) != 0), append=len(order))
    place, index, tied = np.arange(len(order)), index_in_group(size), np.repeat(size, size)
    places = np.empty(len(order))
    if entries.rule.ties is Ties.EXPECTED:
        places[order] = place - index + (tied - 1) / 2
    else:
        places[order] = place - 2 * index + tied - 1 if entries.rule.ties is Ties.REVERSED else place
    return places


def _open_groups(category: NDArray[np.integer], place: Floats, credit: Floats, model: Indices, rule: Rule) -> Indices:
    """Return the (n,) group of tied entries whose order changes average precision, -1 for other entries."""
    number = np.full(len(category), -1)
    if rule.ties is not Ties.EXPECTED or not len(category):
        return number
    start = np.flatnonzero(np.concatenate([[True], (category[1:] != category[:-1]) | (place[1:] != place[:-1])]))
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(category)))
    mixed = np.maximum.reduceat(credit, start) > np.minimum.reduceat(credit, start)
    # Equal places of two models are not a tie.
    tied = np.bincount(group * 2 + model, minlength=2 * len(start)).reshape(-1, 2).max(axis=1) > 1
    return np.where((mixed & tied)[group], group, -1)


def _positives_of(column: Indices, credit: Floats, group: Indices) -> tuple[_Positives, Indices]:
    """Return the entries with credit of a sorted class, and the (n,) stop up to which an entry counts, else -1."""
    in_group = group >= 0
    begins = in_group & np.concatenate([[True], group[1:] != group[:-1]])
    position = np.flatnonzero(credit > 0)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(group)), 0))
    stops, stop = np.unique(np.where(in_group[position], first[position], position), return_inverse=True)
    segment = np.searchsorted(stops, np.arange(len(group)), "right")
    members = np.flatnonzero(in_group)
    positives = _Positives(
        column=column[position],
        credit=credit[position],
        stop=stop,
        open=in_group[position],
        members=column[members],
        group=np.cumsum(begins)[members] - 1,
        credited=credit[members] > 0,
    )
    return positives, np.where(segment < len(stops), segment, -1)


def _positions(positives: _Positives, weight: Counts, stream: int) -> tuple[Indices, Indices]:
    """Return the position, from 0, of each copy of an entry with credit in its group, and that in the mirrored order.

    All orders are equally likely. ``weight`` is the (R, m) number of copies of each member of a group.
    """
    groups = int(positives.group.max()) + 1
    cell = np.repeat(np.arange(weight.size), weight.reshape(-1))
    row, member = np.divmod(cell, weight.shape[1])
    number = row * groups + positives.group[member]
    drawn = random_numbers(stream, (len(cell),)) >> np.uint64(64 - _RANDOM_BITS)
    order = np.argsort((number.astype(np.uint64) << np.uint64(_RANDOM_BITS)) | drawn)
    size = np.bincount(number, minlength=len(weight) * groups)
    position = np.empty(len(cell), np.int64)
    position[order] = index_in_group(size)
    credited = positives.credited[member]
    return position[credited], (size[number] - 1 - position)[credited]


def _counts(category: NDArray[np.integer], column: NDArray[np.integer], classes: int, columns: int) -> Any:
    from scipy.sparse import csr_matrix

    ones = np.ones(len(category), np.int32)
    return csr_matrix((ones, (category, column)), shape=(classes, columns), dtype=np.int32)
