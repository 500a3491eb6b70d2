"""One evaluation's predictions beside its ground truth: which image and class each row is, and which boxes overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, blocks, expand, first_of_each
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule, area, converted, iou
from shoe.core.errors import InputError, check_kind, quote
from shoe.core.interactions import Interactions, image_index
from shoe.lexicon.resolve import match_labels

# Which boxes of the predictions are on which boxes of the ground truth, whatever their words: compared once a task.

_PAIRS_AT_ONCE = 1 << 16
"""Keeps the work arrays of a block in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Both boxes of the triplets of a table, moved into other coordinates for the rows that are asked for."""

    table: Interactions
    coordinates: CommonCoordinates

    def human(self, rows: Indices | slice) -> Floats:
        """(r, 4) human boxes of some rows; a slice is not copied where nothing moves."""
        return self._moved(self.table.human_boxes[rows], rows)

    def object(self, rows: Indices | slice) -> Floats:
        """(r, 4) object boxes of some rows."""
        return self._moved(self.table.object_boxes[rows], rows)

    def _moved(self, boxes: Floats, rows: Indices | slice) -> Floats:
        coordinates = self.table.triplet_coordinates
        return converted(boxes, coordinates if len(coordinates) == 1 else coordinates[rows], self.coordinates)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a ground truth and a prediction of one image, by ground truth, then by prediction; c pairs.

    Attributes:
        truth: (c,) row of the ground truth.
        prediction: (c,) row of the prediction.
        human: (c,) IoU of the human boxes.
        object: (c,) IoU of the object boxes, whatever their labels.
    """

    truth: Indices
    prediction: Indices
    human: Floats
    object: Floats

    @property
    def iou(self) -> Floats:
        """(c,) pair IoU: the smaller of the two."""
        return np.minimum(self.human, self.object)

    def __len__(self) -> int:
        return len(self.truth)

    def select(self, keep: Mask | Indices) -> Overlaps:
        """The pairs that a mask, or ascending indices, name."""
        return Overlaps(self.truth[keep], self.prediction[keep], self.human[keep], self.object[keep])


def overlaps(
    truth: Boxes,
    predictions: Boxes,
    first: Indices,
    count: Indices,
    rule: OverlapRule,
    labels: tuple[Ints, Ints] | None = None,
) -> Overlaps:
    """Compare every ground truth with every prediction on its image.

    Args:
        truth: boxes of the ground truth, grouped by its m images.
        first: (m,) first row of the predictions on each image of the truth.
        count: (m,) their number.
        rule: the overlap that both boxes must reach.
        labels: (t,) and (n,) objects: where they are given, human boxes that reach the rule are enough, or object boxes
            that do and have one label.
    """
    # Room for all pairs: what is not written to takes no memory, and nothing is copied.
    most = int((np.diff(truth.table.offsets) * count).sum())
    indices, values = np.empty((2, most), np.int64), np.empty((2, most))
    size = 0
    for rows, block, t, p in _blocks(truth.table.offsets, first, count):
        humans = _Pairs(truth.human(rows), predictions.human(block), rule.overlap)
        objects = _Pairs(truth.object(rows), predictions.object(block), rule.overlap)
        human = humans.iou(t, p)
        reached = rule.holds(human)
        if labels is not None:
            same = labels[0][rows][t] == labels[1][block][p]
            near = np.flatnonzero(reached | same)
            object_ = objects.iou(t[near], p[near])
            enough = np.flatnonzero(reached[near] | rule.holds(object_))
        else:
            near = np.flatnonzero(reached)
            object_ = objects.iou(t[near], p[near])
            enough = np.flatnonzero(rule.holds(object_))
        near = near[enough]
        part = slice(size, size := size + len(near))
        indices[0, part] = t[near] + rows.start
        indices[1, part] = p[near] + block.start if isinstance(block, slice) else block[p[near]]
        values[0, part], values[1, part] = human[near], object_[enough]
    return Overlaps(*indices[:, :size], *values[:, :size])


def overlaps_of_pairs(truth: Boxes, predictions: Boxes, truths: Indices, rows: Indices, rule: OverlapRule) -> Overlaps:
    """Compare given pairs of a ground truth and a prediction, and keep those whose two boxes reach a rule."""
    human = iou(truth.human(truths), predictions.human(rows), rule.overlap)
    near = np.flatnonzero(rule.holds(human))
    truths, rows = truths[near], rows[near]
    object_ = iou(truth.object(truths), predictions.object(rows), rule.overlap)
    both = np.flatnonzero(rule.holds(object_))
    return Overlaps(truths[both], rows[both], human[near[both]], object_[both])


def _blocks(
    offsets: Indices, first: Indices, count: Indices
) -> Iterator[tuple[slice, Indices | slice, Indices, Indices]]:
    """Images a few at a time: rows of the truth, rows of the predictions, and all pairs of the two on one image."""
    for start, end in blocks(np.diff(offsets) * count, _PAIRS_AT_ONCE):
        sizes = count[start:end]
        starts = first[start:end][sizes > 0]
        if (np.diff(starts) == sizes[sizes > 0][:-1]).all():
            block: slice | Indices = slice(starts[0], starts[0] + sizes.sum())
        else:
            block = expand(first[start:end], sizes)[1]
        image = np.repeat(np.arange(end - start), np.diff(offsets[start : end + 1]))
        t, p = expand((np.cumsum(sizes) - sizes)[image], sizes[image])
        yield slice(offsets[start], offsets[end]), block, t, p


class _Pairs:
    """Two sets of boxes by column, so that the arithmetic runs over contiguous memory."""

    def __init__(self, a: Floats, b: Floats, overlap: Overlap) -> None:
        self.columns = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        self.areas = area(a, overlap), area(b, overlap)
        self.overlap = overlap

    def iou(self, i: Indices, j: Indices) -> Floats:
        """(c,) IoU of some boxes of one set with some of the other."""
        a, b = np.take(self.columns[0], i, axis=1), np.take(self.columns[1], j, axis=1)
        return iou(a.T, b.T, self.overlap, (self.areas[0][i], self.areas[1][j]))


class _Compared(NamedTuple):
    """What has been compared: all pairs that reach a threshold, with one box or both."""

    threshold: float
    either: bool
    pairs: Overlaps


class Origin(NamedTuple):
    """The task that another one was made from, whose overlaps need not be computed again.

    Attributes:
        task: the other task, of the same images.
        prediction: (n,) its row of each prediction; -1 for one that has other boxes there, or is not there.
        truth: (t,) its row of each ground truth.
        coordinates: those in which the boxes of both tasks are the same numbers.
    """

    task: Task
    prediction: Indices
    truth: Indices
    coordinates: CommonCoordinates


@dataclass(frozen=True, eq=False)
class Task:
    """Predictions to be scored against a ground truth; n predictions, m images of the truth, K classes.

    What is asked for is computed once, and kept.

    Attributes:
        origin: the task that this one is a part, or a change, of; None for one of its own.
    """

    predictions: Interactions
    truth: GroundTruth
    origin: Origin | None = None
    _compared: dict[tuple[CommonCoordinates, Overlap, bool], _Compared] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Refuse paths, and the two swapped; call images that predictions have by number by their names.

        Raises:
            OptionError: for an argument that is no table.
        """
        check_kind("predictions", self.predictions, Interactions, "shoe.read_predictions(FILE)")
        check_kind("truth", self.truth, GroundTruth, "shoe.read_ground_truth(FILE)")
        named = self.truth.names_of(self.predictions.images)
        if named is not self.predictions.images:
            object.__setattr__(self, "predictions", replace(self.predictions, images=named))

    @cached_property
    def truth_image(self) -> Ints:
        """(prediction images,) index into the truth's images, -1 where the truth does not have it.

        Images are matched by name; see :func:`shoe.core.interactions.image_index`.

        Raises:
            InputError: when two prediction images are one image of the truth.
        """
        if self.origin is not None:
            return self.origin.task.truth_image
        names = self.predictions.images
        found = image_index(names, self.truth.interactions.images)
        twice = np.flatnonzero(np.bincount(found[found >= 0], minlength=1) > 1)
        if len(twice):
            same = [quote(name) for name, i in zip(names, found, strict=True) if i == twice[0]]
            expected = "one name for one image"
            raise InputError("predictions", field="image", found=" and ".join(same[:2]), expected=expected)
        return found

    @property
    def unknown_images(self) -> tuple[str, ...]:
        """Names of prediction images that the truth does not have."""
        return tuple(self.predictions.images[i] for i in np.flatnonzero(self.truth_image < 0).tolist())

    def check_images(self) -> None:
        """See that predictions and ground truth have an image in common.

        Raises:
            InputError: naming an image of each, if they have none.
        """
        known, unknown = self.truth.interactions.images, self.unknown_images
        if known and unknown and len(unknown) == len(self.predictions.images):
            expected = f"names of the ground truth's images, as {quote(known[0])}"
            hint = None if "." in unknown[0] else "a key 'image' with the file's name in each record says which it is"
            raise InputError("predictions", field="image", found=quote(unknown[0]), expected=expected, hint=hint)

    @cached_property
    def image(self) -> Ints:
        """(n,) the truth's image of each prediction, -1 where the truth does not have it."""
        return np.repeat(self.truth_image, np.diff(self.predictions.offsets))

    @cached_property
    def image_rows(self) -> tuple[Indices, Indices]:
        """(m,) first row, and (m,) number of rows, of the predictions on each of the truth's images."""
        first, count = np.zeros((2, len(self.truth.interactions.images)), np.int64)
        known = self.truth_image >= 0
        first[self.truth_image[known]] = self.predictions.offsets[:-1][known]
        count[self.truth_image[known]] = np.diff(self.predictions.offsets)[known]
        return first, count

    @cached_property
    def verb_label(self) -> Ints:
        """(verb words,) the dataset's verb that a predicted word is, -1 for others."""
        return match_labels(self.predictions.verbs, self.truth.classes.verbs, "verb")

    @cached_property
    def object_label(self) -> Ints:
        """(object words,) the dataset's object that a predicted word is, -1 for others."""
        return match_labels(self.predictions.objects, self.truth.classes.objects, "object")

    @cached_property
    def hoi(self) -> Ints:
        """(n,) the class that each prediction names exactly, -1 where it is none of the dataset's."""
        of = np.pad(self.truth.classes.of, ((0, 1), (0, 1)), constant_values=-1)
        return of[self.verb_label[self.predictions.verb], self.object_label[self.predictions.object]]

    def overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
        """Pairs of a ground truth and a prediction of one image whose boxes both overlap, whatever their words.

        Boxes are compared once for all that is asked of the same coordinates and way of counting areas, unless a lower
        threshold, or pairs with one box only, are asked for later.
        """
        pairs = self._known(coordinates, rule, either=False)
        keep = rule.holds(pairs.human) & rule.holds(pairs.object)
        return pairs if keep.all() else pairs.select(keep)

    def either_overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> tuple[Overlaps, Mask, Mask]:
        """Pairs of one image of which a box overlaps, and (c,) whether the human and (c,) the object boxes do.

        Object boxes do where they have one label, too. There may be further pairs, of which neither does.
        """
        pairs = self._known(coordinates, rule, either=True)
        truth, predictions = self._objects
        object_ = rule.holds(pairs.object) & (truth[pairs.truth] == predictions[pairs.prediction])
        return pairs, rule.holds(pairs.human), object_

    def _known(self, coordinates: CommonCoordinates, rule: OverlapRule, *, either: bool) -> Overlaps:
        """All pairs that reach a rule, or the threshold of it, and perhaps others."""
        key = coordinates, rule.overlap, False
        known = self._compared.get(key)
        if known is None or known.threshold > rule.threshold or (either and not known.either):
            wide = OverlapRule(rule.overlap, rule.threshold, inclusive=True)
            known = self._compared[key] = _Compared(rule.threshold, either, self._overlaps(coordinates, wide, either))
        return known.pairs

    def exact_overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
        """Pairs of one image and one class, by prediction and then by ground truth, whose two boxes overlap.

        What :meth:`overlaps` would find in more time; kept likewise.
        """
        key = coordinates, rule.overlap, True
        known = self._compared.get(key)
        if known is None or known.threshold > rule.threshold:
            wide = OverlapRule(rule.overlap, rule.threshold, inclusive=True)
            truth, predictions = Boxes(self.truth.interactions, coordinates), Boxes(self.predictions, coordinates)
            found = overlaps_of_pairs(truth, predictions, *self._exact_pairs, wide)
            known = self._compared[key] = _Compared(rule.threshold, False, found)
        keep = rule.holds(known.pairs.human) & rule.holds(known.pairs.object)
        return known.pairs if keep.all() else known.pairs.select(keep)

    @cached_property
    def _exact_pairs(self) -> tuple[Indices, Indices]:
        """Ground truth and prediction of all pairs of one image and one class, by prediction and then by truth."""
        classes = np.int64(len(self.truth.classes))
        truth_key = self.truth.interactions.image * classes + self.truth.hoi
        by_key = np.argsort(truth_key, kind="stable")
        keys = truth_key[by_key]
        starts = np.flatnonzero(first_of_each(keys))
        sizes = np.diff(starts, append=len(keys))
        # A prediction on an unknown image, number -1, falls in the part at the end that stays False.
        present = np.zeros((len(self.truth.interactions.images) + 2) * classes, bool)
        present[keys] = True
        key = self.image * classes + self.hoi
        rows = np.flatnonzero(present[key] & (self.hoi >= 0))
        group = np.searchsorted(keys[starts], key[rows])
        owner, position = expand(starts[group], sizes[group])
        return by_key[position], rows[owner]

    def _overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule, either: bool) -> Overlaps:
        if self.origin is not None and self.origin.coordinates is coordinates:
            return self._overlaps_by_origin(self.origin, rule, either)
        truth, predictions = Boxes(self.truth.interactions, coordinates), Boxes(self.predictions, coordinates)
        return overlaps(truth, predictions, *self.image_rows, rule, self._objects if either else None)

    @cached_property
    def _objects(self) -> tuple[Ints, Ints]:
        """(t,) and (n,) the dataset's object of each row, -1 for words that are none."""
        return self.truth.interactions.object, self.object_label[self.predictions.object]

    def _overlaps_by_origin(self, origin: Origin, rule: OverlapRule, either: bool) -> Overlaps:
        """What the origin has, and what the predictions have that are not there."""
        there = origin.task._known(origin.coordinates, rule, either=either)
        truth = _inverse(origin.truth, len(origin.task.truth.interactions))[there.truth]
        prediction = _inverse(origin.prediction, len(origin.task.predictions))[there.prediction]
        kept = np.flatnonzero((truth >= 0) & (prediction >= 0))
        found = Overlaps(truth[kept], prediction[kept], there.human[kept], there.object[kept])
        new = np.flatnonzero(origin.prediction < 0)
        other = Task(self.predictions.select(new), self.truth)._overlaps(origin.coordinates, rule, either)
        if not len(other):
            return found
        truth = np.concatenate([found.truth, other.truth])
        prediction = np.concatenate([found.prediction, new[other.prediction]])
        human, object_ = np.concatenate([found.human, other.human]), np.concatenate([found.object, other.object])
        # Two ascending runs: a stable sort merges them, which another one would not see.
        order = np.argsort(truth * max(len(self.predictions), 1) + prediction, kind="stable")
        return Overlaps(truth[order], prediction[order], human[order], object_[order])


def _inverse(rows: Indices, size: int) -> Indices:
    index = np.full(size, -1, np.int64)
    known = np.flatnonzero(rows >= 0)
    index[rows[known]] = known
    return index
