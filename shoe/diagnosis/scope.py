"""Scope of a diagnosis: its ground truths and predictions, their labels, and the pairs that share a box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.arrays import Floats, Indices, Ints, Mask, blocks, expand, falling_order
from shoe.core.boxes import CommonCoordinates, OverlapRule, iou
from shoe.scoring.matching.task import Boxes, Task
from shoe.scoring.matching.task import Overlaps as Compared

_PAIRS_AT_ONCE = 1 << 16
"""Keeps the work arrays of a block in the processor's cache."""
_PERSON = "person"
"""The label of every human box; an object may have it too."""


@dataclass(frozen=True, eq=False)
class Scope:
    """t ground truths and p predictions, both grouped by image in the truth's order of images.

    Everywhere in this package "a truth" and "a prediction" is an index into these columns; ``truth`` and ``prediction``
    lead back to the rows of the tables.

    Attributes:
        truth: (t,) rows of the ground truth, ascending.
        prediction: (p,) rows of the predictions.
        truth_image, truth_verb, truth_object, truth_hoi: (t,) image and labels of each truth.
        image, verb, object, hoi: (p,) image and labels of each prediction; -1 for words that are no label, or labels
            that form no class.
    """

    task: Task
    truth: Indices
    prediction: Indices
    truth_image: Indices
    truth_verb: Ints
    truth_object: Ints
    truth_hoi: Ints
    image: Ints
    verb: Ints
    object: Ints
    hoi: Ints

    @property
    def images(self) -> int:
        """Number of the truth's images, including those out of scope."""
        return len(self.task.truth.interactions.images)

    @cached_property
    def score(self) -> Floats:
        """(p,) confidence of each prediction."""
        return self.task.predictions.score[self.prediction]

    @cached_property
    def by_rank(self) -> Indices:
        """(p,) the predictions by descending score, the first of equals first."""
        return falling_order(self.score)

    @property
    def rank(self) -> Indices:
        """(p,) index of each prediction in that order."""
        return self.rank_or_last[:-1]

    @cached_property
    def rank_or_last(self) -> Indices:
        """(p + 1,) rank of each prediction; index -1, for no prediction, has the rank behind all."""
        rank = np.empty(len(self.by_rank) + 1, np.int64)
        rank[self.by_rank], rank[-1] = np.arange(len(self.by_rank)), len(self.by_rank)
        return rank

    @cached_property
    def _at_rank(self) -> Indices:
        return np.append(self.by_rank, -1)

    def best_of(self, prediction: Indices, truth: Indices, present: Indices | None = None) -> Indices:
        """Find the best-scored prediction of each truth.

        Args:
            prediction: (c,) candidates.
            truth: (c,) the truth that each is a candidate for.
            present: (t,) a further candidate of each truth; -1 for none.

        Returns:
            (t,) the best of all; -1 where there is none.
        """
        rank = self.rank_or_last[np.full(len(self.truth), -1) if present is None else present]
        np.minimum.at(rank, truth, self.rank[prediction])
        return self._at_rank[rank]

    @classmethod
    def of(cls, task: Task, no_interaction: str) -> Scope:
        """Exclude images without ground truth, and no_interaction (protocols.md 8.1).

        Args:
            no_interaction: ``exclude``, with its boxes and the images that have nothing else, or ``keep``.
        """
        table, classes = task.truth.interactions, task.truth.classes
        exclude = no_interaction == "exclude"
        hoi = task.truth.hoi
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
        return cls(
            task=task,
            truth=truth,
            prediction=rows,
            truth_image=truth_image.astype(np.int64),
            truth_verb=table.verb[truth],
            truth_object=table.object[truth],
            truth_hoi=hoi[truth],
            image=image,
            verb=verb,
            object=task.object_label[task.predictions.object[rows]],
            hoi=task.hoi[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a prediction and a truth of its image that share a box; c pairs, by prediction, then by truth.

    Attributes:
        prediction, truth: (c,) places in the scope.
        human: (c,) whether the human boxes overlap enough.
        object: (c,) whether the object boxes do, and have one label.
        pair: (c,) whether both do.
        human_correct, object_correct: (p,) whether a prediction's box overlaps enough with *any* box of the image that
            has its label. Where people are objects too, a human box can so be correct at an object box.
        compared: all pairs of the task, in its order.
        row: (c,) which of them each pair is.
    """

    prediction: Indices
    truth: Indices
    human: Mask
    object: Mask
    pair: Mask
    human_correct: Mask
    object_correct: Mask
    compared: Compared
    row: Indices

    def iou(self, chosen: Indices) -> Floats:
        """Pair IoU of some of the pairs."""
        row = self.row[chosen]
        return np.minimum(self.compared.human[row], self.compared.object[row])


def overlaps(scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule) -> Overlaps:
    """Find which predictions in scope share a box with which truths."""
    compared, human, object_ = scope.task.either_overlaps(coordinates, rule)
    index_of_truth = _index(scope.truth, len(scope.task.truth.interactions))
    index = _index(scope.prediction, len(scope.task.predictions))
    part = human | object_
    part &= (index_of_truth >= 0)[compared.truth]
    part &= (index >= 0)[compared.prediction]
    row = np.flatnonzero(part)
    prediction = index[compared.prediction[row]]
    order = np.argsort(prediction, kind="stable")
    row, prediction = row[order], prediction[order]
    truth, human, object_ = index_of_truth[compared.truth[row]], human[row], object_[row]
    correct = _correct(scope, coordinates, rule, prediction[np.flatnonzero(human)], prediction[np.flatnonzero(object_)])
    return Overlaps(prediction, truth, human, object_, human & object_, *correct, compared, row)


def _correct(
    scope: Scope, coordinates: CommonCoordinates, rule: OverlapRule, with_human: Indices, with_object: Indices
) -> tuple[Mask, Mask]:
    """Return (p,) which human boxes, and which object boxes, match a box of their label, human or object."""
    human_correct, object_correct = np.zeros((2, len(scope.prediction)), bool)
    human_correct[with_human] = True
    object_correct[with_object] = True
    names = scope.task.truth.classes.objects
    if _PERSON not in names:
        return human_correct, object_correct
    ours, theirs = Boxes(scope.task.predictions, coordinates), Boxes(scope.task.truth.interactions, coordinates)
    person = names.index(_PERSON)
    for t, p in _pairs(np.flatnonzero(scope.truth_object == person), scope.truth_image, scope.image):
        on = rule.holds(iou(ours.human(scope.prediction[p]), theirs.object(scope.truth[t]), rule.overlap))
        human_correct[p[on]] = True
    for p, t in _pairs(np.flatnonzero(scope.object == person), scope.image, scope.truth_image):
        on = rule.holds(iou(ours.object(scope.prediction[p]), theirs.human(scope.truth[t]), rule.overlap))
        object_correct[p[on]] = True
    return human_correct, object_correct


def _pairs(
    people: Indices, image: NDArray[np.integer], others: NDArray[np.integer]
) -> Iterator[tuple[Indices, Indices]]:
    """Yield each row with all other-side rows of its image, a bounded number at a time; ``image`` is ascending."""
    count = np.bincount(others, minlength=image.max(initial=-1) + 1)
    first, image = np.cumsum(count) - count, image[people]
    for start, end in blocks(count[image], _PAIRS_AT_ONCE):
        owner, other = expand(first[image[start:end]], count[image[start:end]])
        yield people[start:end][owner], other


def _index(rows: Indices, size: int) -> Indices:
    """Return (size,) index of each row of a table in the scope; -1 for rows out of scope."""
    index = np.full(size, -1, np.int64)
    index[rows] = np.arange(len(rows))
    return index
