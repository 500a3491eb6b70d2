"""Scope of a diagnosis: its ground truths and predictions, their labels, and which of them match in a box."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.arrays import Floats, Indices, Ints, Mask, blocks, descending_order, expand, mask_of, scatter
from shoe.core.boxes import CommonCoordinates, OverlapRule, iou
from shoe.scoring.matching.task import Boxes, Overlaps as Compared, Task

_PAIRS_AT_ONCE = 1 << 16  # block size that keeps work arrays in the processor's cache
_PERSON = "person"  # label of every human box; objects may have the same label


@dataclass(frozen=True, eq=False)
class Scope:
    """The t ground truths and p predictions that are diagnosed, grouped by image in the order of the ground truth.

    Everywhere in this package, "a truth" is an index 0 to t - 1, and "a prediction" an index 0 to p - 1, into these
    arrays. ``truth`` and ``prediction`` contain the rows of the tables at these indices.
    """

    task: Task
    truth: Indices  # (t,) rows of the ground truth, ascending
    prediction: Indices  # (p,) rows of the predictions
    # truth_image, truth_verb, truth_object, truth_hoi: (t,) image and labels of each truth
    truth_image: Indices
    truth_verb: Ints
    truth_object: Ints
    truth_hoi: Ints
    # image, verb, object, hoi: (p,) image and labels of each prediction. ``verb`` and ``object`` are -1 for a word that
    # is no label, and ``hoi`` is -1 if the labels form no class.
    image: Ints
    verb: Ints
    object: Ints
    hoi: Ints

    @property
    def images(self) -> int:
        """Number of images of the ground truth, including images out of scope."""
        return len(self.task.truth.interactions.images)

    @cached_property
    def score(self) -> Floats:
        """(p,) confidence of each prediction."""
        return self.task.predictions.score[self.prediction]

    @cached_property
    def by_rank(self) -> Indices:
        """(p,) indices of the predictions by descending score; equal scores keep their order."""
        return descending_order(self.score)

    @property
    def rank(self) -> Indices:
        """(p,) rank of each prediction by descending score, from 0."""
        return self.rank_or_last[:-1]

    @cached_property
    def rank_or_last(self) -> Indices:
        """(p + 1,) rank of each prediction, from 0, and p as last element, so that index -1 (no prediction) is last."""
        rank = np.empty(len(self.by_rank) + 1, np.int64)
        rank[self.by_rank], rank[-1] = np.arange(len(self.by_rank)), len(self.by_rank)
        return rank

    def best_of(self, prediction: Indices, truth: Indices, present: Indices | None = None) -> Indices:
        """Return the best-scored candidate of each ground truth, shape (t,), or -1.

        ``prediction`` and ``truth``, both (c,), are pairs of a candidate and its ground truth. If given, the (t,) array
        ``present`` has one more candidate per ground truth, or -1.
        """
        rank = self.rank_or_last[np.full(len(self.truth), -1) if present is None else present]
        np.minimum.at(rank, truth, self.rank[prediction])
        return np.append(self.by_rank, -1)[rank]

    @classmethod
    def from_task(cls, task: Task, no_interaction: str) -> Self:
        """Return the scope of a task: predictions and ground truths on images with ground truth (protocols.md 8.1).

        ``no_interaction`` is ``keep`` or ``exclude``. ``exclude`` removes ground truths and predictions of
        no_interaction, and images without any other ground truth.
        """
        table, classes = task.truth.interactions, task.truth.classes
        exclude, hoi = no_interaction == "exclude", task.truth.hoi
        truth = np.flatnonzero(~classes.no_interaction[hoi]) if exclude else np.arange(len(table))
        truth_image = table.image[truth]
        annotated = np.bincount(truth_image, minlength=len(table.images)) > 0
        # An unknown image is number -1: the last, which is not annotated.
        rows = np.flatnonzero(np.append(annotated, False)[task.image])
        verb = task.verb_label[task.predictions.verb[rows]]
        idle = np.array([exclude and name == NO_INTERACTION for name in (*classes.verbs, "")])
        rows, verb = rows[~idle[verb]], verb[~idle[verb]]
        image = task.image[rows]
        if (np.diff(image) < 0).any():
            by_image = np.argsort(image, kind="stable")
            rows, verb, image = rows[by_image], verb[by_image], image[by_image]
        of_truth = truth_image.astype(np.int64), table.verb[truth], table.object[truth], hoi[truth]
        of_prediction = image, verb, task.object_label[task.predictions.object[rows]], task.hoi[rows]
        return cls(task, truth, rows, *of_truth, *of_prediction)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """c pairs of a prediction and a truth in an image that match in a box or both, sorted by prediction, then truth."""

    # prediction, truth: (c,) indices of the prediction and the truth in the scope
    prediction: Indices
    truth: Indices
    human: Mask  # (c,) whether the human boxes overlap enough
    object: Mask  # (c,) whether the object boxes overlap enough and have equal labels
    pair: Mask  # (c,) whether ``human`` and ``object`` both hold
    # human_correct, object_correct: (p,) whether the human (object) box of each prediction overlaps enough with *any*
    # box of the image that has its label. A human box and an object box with the label "person" may match, too.
    human_correct: Mask
    object_correct: Mask
    compared: Compared  # all compared pairs of the task, with their IoUs
    row: Indices  # (c,) index in ``compared`` of each pair

    def iou(self, chosen: Indices) -> Floats:
        """Return the pair IoU (smaller of human IoU and object IoU) of the pairs with the given indices."""
        row = self.row[chosen]
        return np.minimum(self.compared.human[row], self.compared.object[row])


def overlaps(scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
    """Return the pairs of a prediction and a truth in scope that match in at least one box, by an IoU rule."""
    compared, human, object_ = scope.task.either_overlaps(coordinates, rule)
    index_of_truth = scatter(np.arange(len(scope.truth)), scope.truth, len(scope.task.truth.interactions))
    index = scatter(np.arange(len(scope.prediction)), scope.prediction, len(scope.task.predictions))
    part = human | object_
    part &= (index_of_truth >= 0)[compared.truth]
    part &= (index >= 0)[compared.prediction]
    row = np.flatnonzero(part)
    prediction = index[compared.prediction[row]]
    order = np.argsort(prediction, kind="stable")
    row, prediction = row[order], prediction[order]
    truth, human, object_ = index_of_truth[compared.truth[row]], human[row], object_[row]
    with_human, with_object = (mask_of(prediction[side], len(scope.prediction)) for side in (human, object_))
    correct = _correct(scope, coordinates, rule, with_human, with_object)
    return Overlaps(prediction, truth, human, object_, human & object_, *correct, compared, row)


def _correct(
    scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule, human_correct: Mask, object_correct: Mask
) -> tuple[Mask, Mask]:
    """Return ``human_correct`` and ``object_correct`` of :class:`Overlaps`, given the same without "person" objects."""
    names = scope.task.truth.classes.objects
    if _PERSON not in names:
        return human_correct, object_correct
    ours, theirs = Boxes(scope.task.predictions, coordinates), Boxes(scope.task.truth.interactions, coordinates)
    person = names.index(_PERSON)
    for t, p in _pairs(np.flatnonzero(scope.truth_object == person), scope.truth_image, scope.image):
        on = rule.is_reached(iou(ours.human(scope.prediction[p]), theirs.object(scope.truth[t]), rule.overlap))
        human_correct[p[on]] = True
    for p, t in _pairs(np.flatnonzero(scope.object == person), scope.image, scope.truth_image):
        on = rule.is_reached(iou(ours.object(scope.prediction[p]), theirs.human(scope.truth[t]), rule.overlap))
        object_correct[p[on]] = True
    return human_correct, object_correct


def _pairs(
    people: Indices, image: NDArray[np.integer], others: NDArray[np.integer]
) -> Iterator[tuple[Indices, Indices]]:
    """Yield, in blocks, pairs (row in ``people``, row) of one image; all rows have images ``image`` and ``others``."""
    count = np.bincount(others, minlength=image.max(initial=-1) + 1)
    first, image = np.cumsum(count) - count, image[people]
    for start, end in blocks(count[image], _PAIRS_AT_ONCE):
        owner, other = expand(first[image[start:end]], count[image[start:end]])
        yield people[start:end][owner], other


def near_in_image(
    image: NDArray[np.integer], label: NDArray[np.integer], boxes: Iterable[Floats], rule: OverlapRule
) -> tuple[Indices, Indices]:
    """Return the index pairs (later, earlier) of rows with equal image and label whose boxes all overlap by ``rule``.

    ``image`` is ascending. ``boxes`` are (n, 4) arrays, such as the human boxes and the object boxes of the n rows.
    """
    index = np.arange(len(image)) - np.searchsorted(image, image)
    later, earlier = expand(np.arange(len(index)) - index, index)
    close = np.flatnonzero(label[later] == label[earlier])
    for each in boxes:
        later, earlier = later[close], earlier[close]
        close = np.flatnonzero(rule.is_reached(iou(each[later], each[earlier], rule.overlap)))
    return later[close], earlier[close]
