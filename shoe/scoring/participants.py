"""Which predictions take part in SHOE at all, and which in SHOE-mF1."""

from __future__ import annotations

import math

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.ragged import best_of_each
from shoe.matching.nms import pair_nms
from shoe.matching.task import Task
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity

_ROUNDING = 1e-9
"""0.07 of 100 predictions are 7, though the product is a little more."""


def confident(task: Task, rows: Indices, options: SemanticOptions) -> Indices:
    """Keep the predictions that tau keeps, of some ascending rows (Algorithm 2, line 2; A22)."""
    tau, score = options.tau, task.predictions.score[rows]
    if options.tau_by == "score":
        return rows[score >= tau]
    # What ties with the last that is kept is kept: no order of lines says which of equals are better.
    if options.tau_by == "dataset":
        kept = max(1, math.ceil((1 - tau) * len(rows) - _ROUNDING))
        return rows[score >= np.partition(score, len(rows) - kept)[len(rows) - kept]] if len(rows) else rows
    image = task.image[rows]
    sizes = np.bincount(image, minlength=1)
    most = np.minimum(sizes, np.maximum(1, np.ceil((1 - tau) * sizes - _ROUNDING).astype(np.int64)))
    order = np.lexsort((-score, image))
    last = np.append(score[order], np.inf)[np.where(most > 0, np.cumsum(sizes) - sizes + most - 1, len(order))]
    return rows[score >= last[image]]


def participants(task: Task, similarities: HoiSimilarity, options: SemanticOptions) -> Indices:
    """Rows of the predictions that take part, ascending."""
    predictions, classes = task.predictions, task.truth.classes
    keep = task.image >= 0
    if options.no_interaction == "exclude":
        silent = {classes.verbs[v] for v in classes.verb[classes.no_interaction]}
        silent_words = np.array([v >= 0 and classes.verbs[v] in silent for v in task.verb_label], bool)
        keep &= ~silent_words[predictions.verb]
    if options.unrated == "drop":
        keep &= similarities.rated_verbs[predictions.verb] & similarities.rated_objects[predictions.object]
    rows = np.flatnonzero(keep)
    if options.cap is not None:
        rows = rows[best_of_each(task.image[rows], predictions.score[rows], options.cap)]
    return rows if options.nms is None else pair_nms(predictions, rows, options.nms)
