"""Predictions and ground truth of one evaluation, with cached images, classes and box overlaps of the predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, blocks, expand, mask_of, number_distinct, runs, scatter
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule, area, convert_boxes, iou
from shoe.core.errors import InputError, check_kind, quote
from shoe.core.interactions import Interactions, image_index
from shoe.lexicon.resolve import match_labels

_PAIRS_AT_ONCE = 1 << 16  # pairs per block, so that work arrays fit in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Human and object boxes of a table's triplets, converted to the box convention ``coordinates``."""

    table: Interactions
    coordinates: CommonCoordinates

    def human(self, rows: Indices | slice) -> Floats:
        """Return the (r, 4) human boxes of the given rows; a slice is not copied if no conversion is needed."""
        return self._converted(self.table.human_boxes, rows)

    def object(self, rows: Indices | slice) -> Floats:
        """Return the (r, 4) object boxes of the given rows."""
        return self._converted(self.table.object_boxes, rows)

    def _converted(self, boxes: Floats, rows: Indices | slice) -> Floats:
        coordinates = self.table.triplet_coordinates
        boxes = boxes[rows] if isinstance(rows, slice) else boxes.take(rows, axis=0)  # faster than an index
        return convert_boxes(boxes, coordinates if len(coordinates) == 1 else coordinates[rows], self.coordinates)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """c pairs of a ground truth and a prediction on one image, usually sorted by ground truth, then by prediction."""

    # truth, prediction: (c,) rows of the ground truth and of the prediction
    truth: Indices
    prediction: Indices
    # human, object: (c,) IoU of the human boxes, and of the object boxes; labels are ignored
    human: Floats
    object: Floats

    @property
    def iou(self) -> Floats:
        """(c,) pair IoU: the smaller of the two IoUs."""
        return np.minimum(self.human, self.object)

    def __len__(self) -> int:
        return len(self.truth)

    def select(self, keep: Mask | Indices) -> Overlaps:
        """Return the pairs selected by the mask or the ascending indices ``keep``."""
        if keep.dtype == bool and keep.all():
            return self
        rows = np.flatnonzero(keep) if keep.dtype == bool else keep
        return Overlaps(self.truth[rows], self.prediction[rows], self.human[rows], self.object[rows])

    def reaching(self, rule: OverlapRule) -> Overlaps:
        """Return the pairs whose human IoU and object IoU both reach the threshold of an overlap rule."""
        return self.select(rule.is_reached(self.human) & rule.is_reached(self.object))


def overlaps(
    truth: Boxes,
    predictions: Boxes,
    first: Indices,
    count: Indices,
    rule: OverlapRule,
    labels: tuple[Ints, Ints] | None = None,
) -> Overlaps:
    """Compare every ground truth with every prediction on its image, and return the pairs that pass an overlap rule.

    Args:
        truth: boxes of the ground truth, grouped by its m images.
        first, count: (m,) first row and number of the predictions on each image of the ground truth.
        rule: overlap that human and object boxes must reach.
        labels: (t,) and (n,) object labels of ground truths and predictions. If given, a pair passes if its human boxes
            reach the overlap, or if its object boxes reach it and have the same label.
    """
    # Room for all pairs: unwritten memory costs nothing, and no array has to be copied.
    most = int((np.diff(truth.table.offsets) * count).sum())
    indices, values = np.empty((2, most), np.int64), np.empty((2, most))
    size = 0
    for rows, block, t, p in _blocks(truth.table.offsets, first, count):
        humans = [BoxColumns(boxes, rule.overlap) for boxes in (truth.human(rows), predictions.human(block))]
        objects = [BoxColumns(boxes, rule.overlap) for boxes in (truth.object(rows), predictions.object(block))]
        human = humans[0].iou(t, humans[1], p)
        reached = rule.is_reached(human)
        near = np.flatnonzero(reached if labels is None else reached | (labels[0][rows][t] == labels[1][block][p]))
        object_ = objects[0].iou(t[near], objects[1], p[near])
        enough = np.flatnonzero(
            rule.is_reached(object_) if labels is None else reached[near] | rule.is_reached(object_)
        )
        near = near[enough]
        part = slice(size, size := size + len(near))
        indices[0, part] = t[near] + rows.start
        indices[1, part] = p[near] + block.start if isinstance(block, slice) else block[p[near]]
        values[0, part], values[1, part] = human[near], object_[enough]
    return Overlaps(*indices[:, :size], *values[:, :size])


def overlaps_of_pairs(truth: Boxes, predictions: Boxes, truths: Indices, rows: Indices, rule: OverlapRule) -> Overlaps:
    """Return the pairs (``truths[i]``, ``rows[i]``) of a ground truth and a prediction that pass an overlap rule."""
    human = iou(truth.human(truths), predictions.human(rows), rule.overlap)
    near = np.flatnonzero(rule.is_reached(human))
    truths, rows = truths[near], rows[near]
    object_ = iou(truth.object(truths), predictions.object(rows), rule.overlap)
    both = np.flatnonzero(rule.is_reached(object_))
    return Overlaps(truths[both], rows[both], human[near[both]], object_[both])


def _blocks(
    offsets: Indices, first: Indices, count: Indices
) -> Iterator[tuple[slice, Indices | slice, Indices, Indices]]:
    """Yield, for a few images at a time, truth rows, prediction rows, and positions in these rows of all pairs."""
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


class BoxColumns:
    """Boxes stored by column, so that arithmetic runs over contiguous memory."""

    def __init__(self, boxes: Floats, overlap: Overlap) -> None:
        """Store (n, 4) ``boxes``, whose overlap with other boxes is computed by the rule ``overlap``."""
        self.overlap, self.columns = overlap, np.ascontiguousarray(boxes.T)
        self.areas = area(self.columns.T, overlap)

    def iou(self, rows: Indices, other: BoxColumns, others: Indices) -> Floats:
        """Return the (c,) IoU of box ``rows[i]`` with box ``others[i]`` of ``other``; both are (c,) indices."""
        a, b = self.columns.take(rows, axis=1), other.columns.take(others, axis=1)
        return iou(a.T, b.T, self.overlap, (self.areas[rows], other.areas[others]))


class Origin(NamedTuple):
    """Task from which another task was derived; its box overlaps are reused."""

    task: Task  # original task, with the same images
    # (n,) row in the original task of each prediction; -1 if the prediction is new or has other boxes
    prediction: Indices
    truth: Indices  # (t,) row in the original task of each ground truth
    coordinates: CommonCoordinates  # box convention in which the boxes of both tasks are equal


@dataclass(frozen=True, eq=False)
class Task:
    """Predictions and the ground truth to score them against; n predictions, m images of the ground truth, K classes.

    All derived values are computed once and cached.
    """

    predictions: Interactions
    truth: GroundTruth
    origin: Origin | None = None  # task from which this task was derived, or None
    _compared: dict[tuple[CommonCoordinates, Overlap, bool], tuple[float, bool, Overlaps]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        # Numeric image IDs of predictions become the names of the images.
        check_kind("predictions", self.predictions, Interactions, "shoe.read_predictions(FILE)")
        check_kind("truth", self.truth, GroundTruth, "shoe.read_ground_truth(FILE)")
        named = self.truth.names_of(self.predictions.images)
        if named is not self.predictions.images:
            object.__setattr__(self, "predictions", replace(self.predictions, images=named))

    @cached_property
    def truth_image(self) -> Ints:
        """(prediction images,) index of each image in the ground truth, matched by name; -1 for unknown images.

        Raises InputError if two images of the predictions are the same image of the ground truth.
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
        """Names of images in the predictions that are missing from the ground truth."""
        return tuple(self.predictions.images[i] for i in np.flatnonzero(self.truth_image < 0).tolist())

    def check_images(self) -> None:
        """Raise InputError if predictions and ground truth both have images, but none in common."""
        known, unknown = self.truth.interactions.images, self.unknown_images
        if known and unknown and len(unknown) == len(self.predictions.images):
            expected = f"names of the ground truth's images, such as {quote(known[0])}"
            hint = None if "." in unknown[0] else "add a key 'image' with the name of the image file to each record"
            raise InputError("predictions", field="image", found=quote(unknown[0]), expected=expected, hint=hint)

    @cached_property
    def image(self) -> Ints:
        """(n,) ground-truth image of each prediction, -1 for unknown images."""
        return np.repeat(self.truth_image, np.diff(self.predictions.offsets))

    @cached_property
    def image_rows(self) -> tuple[Indices, Indices]:
        """(m,) first row and (m,) number of the predictions on each ground-truth image; 0 without predictions."""
        first, count = np.zeros((2, len(self.truth.interactions.images)), np.int64)
        known = self.truth_image >= 0
        first[self.truth_image[known]] = self.predictions.offsets[:-1][known]
        count[self.truth_image[known]] = np.diff(self.predictions.offsets)[known]
        return first, count

    @cached_property
    def verb_label(self) -> Ints:
        """(verb words,) index of the verb label equal to each predicted word apart from inflection, -1 for none."""
        return match_labels(self.predictions.verbs, self.truth.classes.verbs, "verb")

    @cached_property
    def object_label(self) -> Ints:
        """(object words,) index of the object label equal to each predicted word apart from inflection, -1 for none."""
        return match_labels(self.predictions.objects, self.truth.classes.objects, "object")

    @property
    def labelled_words(self) -> tuple[int, int]:
        """Two counts of the distinct predicted verbs plus objects: those that are labels of the dataset, and all."""
        table, benchmark = self.predictions, self.truth.benchmark
        verb, target = map(np.unique, self.word_pairs[:2])
        is_label = self.verb_label[verb] >= 0
        if len(benchmark.actions):  # some actions have no class, because they have no object
            is_label |= match_labels([table.verbs[i] for i in verb], benchmark.actions.names, "verb") >= 0
        return int(is_label.sum() + (self.object_label[target] >= 0).sum()), len(verb) + len(target)

    @cached_property
    def word_pairs(self) -> tuple[Indices, Indices, Indices]:
        """(w,) verb and (w,) object word of each distinct (verb, object) pair, and the (n,) pair of each prediction."""
        table, objects = self.predictions, max(len(self.predictions.objects), 1)
        keys = table.verb * np.int64(objects) + table.object
        found, which = number_distinct(keys, max(len(table.verbs), 1) * objects)
        return *np.divmod(found, objects), which

    @cached_property
    def words_by_image(self) -> tuple[Indices, Indices, Indices]:
        """(k,) image and (k,) word pair of each distinct combination, and the (n,) combination of each prediction.

        Combinations are sorted by image (of the predictions), then by word pair (of :attr:`word_pairs`).
        """
        table, (verb, _, which) = self.predictions, self.word_pairs
        words, image = np.int64(max(len(verb), 1)), table.image
        found, combination, size = [np.zeros(0, np.int64)], np.empty(len(which), np.int64), 0
        # A few images at a time, so that the table of possible combinations fits in the processor's cache.
        for begin in range(0, len(table.images), step := max(1, int(_PAIRS_AT_ONCE * 8 // words))):
            rows = slice(table.offsets[begin], table.offsets[min(begin + step, len(table.images))])
            keys, index = number_distinct((image[rows] - begin) * words + which[rows], step * int(words))
            combination[rows] = index + size
            found.append(keys + begin * words)
            size += len(keys)
        return *np.divmod(np.concatenate(found), words), combination

    @cached_property
    def hoi(self) -> Ints:
        """(n,) class whose verb and object equal the words of each prediction apart from inflection, -1 for none."""
        class_of = np.pad(self.truth.classes.of, ((0, 1), (0, 1)), constant_values=-1)
        verb, object_, which = self.word_pairs
        return class_of[self.verb_label[verb], self.object_label[object_]].take(which)

    def overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
        """Return the pairs of a ground truth and a prediction of one image whose human and object boxes both overlap.

        Labels are ignored. Results are cached per box convention and area formula. Boxes are compared again only for a
        lower threshold.
        """
        return self._cached(coordinates, rule).reaching(rule)

    def either_overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> tuple[Overlaps, Mask, Mask]:
        """Return c (ground truth, prediction) pairs of one image, and two (c,) masks of the pairs.

        The first mask says whether the human boxes overlap, the second whether the object boxes overlap and have the
        same label. All pairs in one of the masks are returned, and perhaps some pairs in neither.
        """
        pairs = self._cached(coordinates, rule, either=True)
        truth, predictions = self._objects
        object_ = rule.is_reached(pairs.object) & (truth[pairs.truth] == predictions[pairs.prediction])
        return pairs, rule.is_reached(pairs.human), object_

    def exact_overlaps(self, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
        """Return the pairs of a ground truth and a prediction of the same image and class whose boxes both overlap.

        The pairs are sorted by prediction, then by ground truth. This is faster than :meth:`overlaps`, and cached, too.
        """
        return self._cached(coordinates, rule, exact=True).reaching(rule)

    def _cached(
        self, coordinates: CommonCoordinates, rule: OverlapRule, *, either: bool = False, exact: bool = False
    ) -> Overlaps:
        # All pairs that reach the threshold of a rule with both boxes (or ``either`` box), and perhaps others.
        key = coordinates, rule.overlap, exact
        known = self._compared.get(key)
        if known is None or known[0] > rule.threshold or either > known[1]:
            wide = OverlapRule(rule.overlap, rule.threshold, inclusive=True)
            if exact:
                truth, predictions = Boxes(self.truth.interactions, coordinates), Boxes(self.predictions, coordinates)
                pairs = overlaps_of_pairs(truth, predictions, *self._exact_pairs, wide)
            else:
                pairs = self._overlaps(coordinates, wide, either)
            known = self._compared[key] = rule.threshold, either, pairs
        return known[2]

    @cached_property
    def _exact_pairs(self) -> tuple[Indices, Indices]:
        """Ground truths and predictions of all pairs of the same image and class, sorted by prediction, then truth."""
        classes = np.int64(len(self.truth.classes))
        truth_key = self.truth.interactions.image * classes + self.truth.hoi
        by_key = np.argsort(truth_key, kind="stable")
        keys = truth_key[by_key]
        starts, sizes = runs(keys)
        # Predictions on unknown images, index -1, refer to the end of the array, which stays False.
        present = mask_of(keys, (len(self.truth.interactions.images) + 2) * int(classes))
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
        """(t,) object of each ground truth and (n,) object of each prediction in the dataset, -1 for unknown words."""
        return self.truth.interactions.object, self.object_label[self.predictions.object]

    def _overlaps_by_origin(self, origin: Origin, rule: OverlapRule, either: bool) -> Overlaps:
        # Pairs of the origin, and those of predictions that are not in it.
        known = origin.task._cached(origin.coordinates, rule, either=either)
        truth = _inverse(origin.truth, len(origin.task.truth.interactions))[known.truth]
        prediction = _inverse(origin.prediction, len(origin.task.predictions))[known.prediction]
        rows = np.flatnonzero((truth >= 0) & (prediction >= 0))
        found = Overlaps(truth[rows], prediction[rows], known.human[rows], known.object[rows])
        new = np.flatnonzero(origin.prediction < 0)
        other = Task(self.predictions.select(new), self.truth)._overlaps(origin.coordinates, rule, either)
        if not len(other):
            return found
        truth = np.concatenate([found.truth, other.truth])
        prediction = np.concatenate([found.prediction, new[other.prediction]])
        human, object_ = np.concatenate([found.human, other.human]), np.concatenate([found.object, other.object])
        # Two ascending runs, which a stable sort (radix or merge) joins quickly.
        order = np.argsort(truth * max(len(self.predictions), 1) + prediction, kind="stable")
        return Overlaps(truth[order], prediction[order], human[order], object_[order])


def _inverse(rows: Indices, size: int) -> Indices:
    known = np.flatnonzero(rows >= 0)
    return scatter(known, rows[known], size)
