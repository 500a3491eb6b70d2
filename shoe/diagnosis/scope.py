"""What a diagnosis looks at: which ground truths, which predictions, and their labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.arrays import Indices, Ints
from shoe.matching.task import Task


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """t ground truths and p predictions, both grouped by image in the truth's order of images.

    Everywhere in this package "a truth" and "a prediction" is a place in these columns; ``truth`` and ``prediction``
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
