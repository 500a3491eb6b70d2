"""What a diagnosis looks at: which ground truths, which predictions, and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.ragged import falling_order
from shoe.matching.task import Task


@dataclass(frozen=True, eq=False)
class Scope:
    """t ground truths and p predictions, both grouped by image in the truth's order of images.

    Everywhere in this package "a truth" and "a prediction" is an index into these columns; ``truth`` and ``prediction``
    lead back to the rows of the tables.

    Attributes:
        task: the whole of both tables.
        truth: (t,) rows of the ground truth, ascending.
        prediction: (p,) rows of the predictions.
        truth_image, truth_verb, truth_object, truth_hoi: (t,) image and labels of each truth.
        image, verb, object, hoi: (p,) image and labels of each prediction; -1 for words that are no label, or labels
            that make no class.
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
        """Number of the truth's images, those out of scope included."""
        return len(self.task.truth.interactions.images)

    @cached_property
    def score(self) -> Floats:
        """(p,) confidence of each prediction."""
        return self.task.predictions.score[self.prediction]

    @cached_property
    def by_rank(self) -> Indices:
        """(p,) the predictions by descending score; of equals the first comes first."""
        return falling_order(self.score)

    @cached_property
    def rank(self) -> Indices:
        """(p,) index of each prediction in that order."""
        rank = np.empty(len(self.by_rank), np.int64)
        rank[self.by_rank] = np.arange(len(rank))
        return rank

    def best_of(self, prediction: Indices, truth: Indices, present: Indices | None = None) -> Indices:
        """Find the best-scored prediction of each truth.

        Args:
            prediction: (c,) candidates.
            truth: (c,) the truth that each is a candidate for.
            present: (t,) a further candidate of each truth; -1 for none.

        Returns:
            (t,) the best of all; -1 where there is none.
        """
        nobody = len(self.rank)
        rank = np.full(len(self.truth), nobody) if present is None else np.append(self.rank, nobody)[present]
        np.minimum.at(rank, truth, self.rank[prediction])
        best: Indices = np.append(self.by_rank, -1)[rank]
        return best

    @classmethod
    def of(cls, task: Task, no_interaction: str) -> Scope:
        """Leave out images without ground truth, and what says that a person does nothing (protocols.md 8.1).

        Args:
            task: both tables.
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
