"""Exact labels: a prediction belongs to its best ground truth of its class, or to none (docs/protocols.md 1-3)."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.iou import OverlapRule, iou
from shoe.core.ragged import expand, first_of_each
from shoe.matching.task import Boxes


def true_positives(
    truth: Boxes,
    truth_key: Indices,
    predictions: Boxes,
    entries: Indices,
    entry_key: Indices,
    rule: OverlapRule,
    *,
    ties_reversed: bool,
) -> Indices:
    """Find the predictions that are true positives.

    Each prediction is tied to the ground truth of its key with the largest pair IoU (the first of equals). Where that
    passes the rule, the prediction with the highest score is the true positive; there is no second choice.

    Args:
        truth: boxes of t ground truths.
        truth_key: (t,) image and class of each as one number; -1 takes no part.
        predictions: boxes of the predictions.
        entries: (e,) rows of the predictions that compete, in the order that decides between equal scores.
        entry_key: (e,) image and class of each entry.
        rule: the overlap that counts.
        ties_reversed: whether the last, not the first, of equally scored predictions goes first.

    Returns:
        Ascending indices into ``entries``.
    """
    by_key = np.argsort(truth_key, kind="stable")
    by_key = by_key[truth_key[by_key] >= 0]
    sorted_keys = truth_key[by_key]
    starts = np.flatnonzero(first_of_each(sorted_keys))
    sizes = np.diff(starts, append=len(sorted_keys))
    present = np.zeros(max(truth_key.max(initial=-1), entry_key.max(initial=-1)) + 1, bool)
    present[sorted_keys] = True
    entry = np.flatnonzero(present[entry_key])
    group = np.searchsorted(sorted_keys[starts], entry_key[entry])
    owner, position = expand(starts[group], sizes[group])
    candidate, entry = by_key[position], entry[owner]

    pair_iou = iou(truth.human(candidate), predictions.human(entries[entry]), rule.overlap)
    inside = np.flatnonzero(rule.holds(pair_iou))
    candidate, entry, pair_iou = candidate[inside], entry[inside], pair_iou[inside]
    object_iou = iou(truth.object(candidate), predictions.object(entries[entry]), rule.overlap)
    pair_iou = np.minimum(pair_iou, object_iou)
    inside = np.flatnonzero(rule.holds(pair_iou))
    candidate, entry, pair_iou = candidate[inside], entry[inside], pair_iou[inside]

    starts = np.flatnonzero(first_of_each(entry))
    highest = np.maximum.reduceat(pair_iou, starts) if len(starts) else pair_iou
    best = np.flatnonzero(pair_iou == np.repeat(highest, np.diff(starts, append=len(entry))))
    best = best[first_of_each(entry[best])]
    candidate, entry = candidate[best], entry[best]
    score = predictions.table.score[entries[entry]]
    earliest = np.lexsort((-entry if ties_reversed else entry, -score, candidate))
    winners: Indices = np.sort(entry[earliest[first_of_each(candidate[earliest])]])
    return winners
