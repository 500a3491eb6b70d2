"""Exact labels: a prediction belongs to its best ground truth of its class, or to none (docs/protocols.md 1-3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices
from shoe.core.ragged import expand, first_largest, first_of_each, index_in_group, runs
from shoe.matching.task import Task
from shoe.protocols.options import StrictOptions, Ties


def true_positives(task: Task, entries: Indices, options: StrictOptions) -> Indices:
    """Find the predictions that are true positives.

    Each prediction is tied to the ground truth of its image and class with the largest pair IoU (of ties the first).
    Where that passes the rule, the prediction with the highest score is the true positive; there is no second choice.

    Args:
        task: predictions and ground truth.
        entries: (e,) rows of the predictions that compete, in the order that decides between equal scores; a row may
            stand there twice.
        options: the protocol: coordinates, overlap, and which of equally scored predictions goes first.

    Returns:
        Ascending indices into ``entries``.
    """
    pairs = task.exact_overlaps(options.coordinates, options.rule)
    first, count = runs(pairs.prediction)
    run = np.full(len(task.predictions), -1, np.int32)
    run[pairs.prediction[first]] = np.arange(len(first))
    run = run[entries]
    entry = np.flatnonzero(run >= 0)
    run = run[entry]
    owner, pair = expand(first[run], count[run])
    entry, truth, pair_iou = entry[owner], pairs.truth[pair], pairs.iou[pair]

    best = first_largest(entry, pair_iou)
    truth, entry = truth[best], entry[best]
    if options.ties is Ties.REVERSED:
        truth, entry = truth[::-1], entry[::-1]
    by_truth = np.argsort(truth, kind="stable")
    truth, entry = truth[by_truth], entry[by_truth]
    winners: Indices = np.sort(entry[first_largest(truth, task.predictions.score[entries[entry]])])
    return winners


def best_with_first_copies(image: NDArray[np.integer], score: Floats, most: int) -> Indices:
    """Cut as GEN-VLKT's evaluator does: each kept value takes the first row of its image with that value.

    So of equal scores one row is taken several times and the others are lost (docs/protocols.md 2.3). The rows come in
    the order of images, best scores first.
    """
    order = np.lexsort((np.arange(len(image)), -score, image))
    new = first_of_each(image[order]) | first_of_each(score[order])
    first_copy = order[np.flatnonzero(new)[np.cumsum(new) - 1]] if len(order) else order
    rows: Indices = first_copy[index_in_group(np.bincount(image, minlength=1)) < most]
    return rows
