"""Which predictions people are asked about, as a table to fill in that does not say whose they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.errors import OptionError
from shoe.core.ragged import best_of_each
from shoe.matching.task import Task
from shoe.study.metric.judgements import BOXES
from shoe.study.plan import shuffled

HEADER = ("image", "verb", "object", *BOXES, "rater", "rating")
_STREAM, _STREAMS = 13 << 28, 1 << 11
"""First stream of random numbers, and how many a seed has: the images', and one for each rater."""


def sheet(tasks: Sequence[Task], images: int, most: int, raters: int, seed: int) -> tuple[list[list[object]], int]:
    """Draw images, and ask each rater about the most confident predictions of all models on them.

    What several models predicted in the same words and boxes stands there once. Every rater has an order of their own,
    and everything drawn follows from the seed.

    Args:
        tasks: of each model, with one ground truth.
        images: how many, of those on which a model predicts something.
        most: predictions of each model on an image.
        raters: how many people, at most 1,000.
        seed: below 65536.

    Returns:
        Rows of the table, header first, and the number of predictions.

    Raises:
        OptionError: if there are not so many images.
    """
    counts = np.sum([task.image_rows[1] for task in tasks], axis=0)
    some = np.flatnonzero(counts > 0)
    if len(some) < images:
        raise OptionError(f"--images: found {images}, expected at most {len(some)}, on which models predict something")
    first = _STREAM + seed * _STREAMS
    chosen = np.sort(shuffled(some, first, 0)[:images])
    lines = list(dict.fromkeys(line for task in tasks for line in _lines(task, chosen, most)))
    rows: list[list[object]] = [list(HEADER)]
    for rater in range(raters):
        order = shuffled(np.arange(len(lines)), first + 1 + rater, 0)
        rows += [[*lines[i], f"rater-{rater + 1}", ""] for i in order.tolist()]
    return rows, len(lines)


def _lines(task: Task, images: Indices, most: int) -> list[tuple[str, ...]]:
    table, names = task.predictions, task.truth.interactions.images
    rows = np.flatnonzero(np.isin(task.image, images))
    rows = rows[best_of_each(task.image[rows], table.score[rows], most)]
    return [
        (
            names[task.image[row]],
            table.verbs[table.verb[row]],
            table.objects[table.object[row]],
            *(" ".join(f"{x:.1f}" for x in boxes[row]) for boxes in (table.human_boxes, table.object_boxes)),
        )
        for row in rows.tolist()
    ]
