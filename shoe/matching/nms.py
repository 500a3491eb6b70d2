"""Pair-wise non-maximum suppression, as CDN's evaluator offers it (docs/protocols.md 2.2)."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.interactions import Interactions
from shoe.core.iou import Overlap, iou
from shoe.core.ragged import expand, first_of_each


def pair_nms(table: Interactions, rows: Indices, threshold: float) -> Indices:
    """Drop predictions that lie on a better one with the same words.

    Of one image, verb and object the best score comes first (of equals the first row); a later pair stays if human IoU
    times the root of object IoU is at most the threshold with every pair that stayed before it (IoU of inclusive
    pixels).

    Args:
        table: the predictions.
        rows: (r,) rows that take part, grouped by image.
        threshold: 0 to 1.

    Returns:
        The rows that stay, in their order.
    """
    words = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
    group = table.image[rows] * np.int64(len(table.verbs) * len(table.objects)) + words
    order = np.lexsort((np.arange(len(rows)), -table.score[rows], group))
    start = np.flatnonzero(first_of_each(group[order]))
    first = np.repeat(start, np.diff(start, append=len(rows)))
    place = np.arange(len(rows)) - first
    later, earlier = expand(first, place)
    a, b = rows[order[later]], rows[order[earlier]]
    overlap = iou(table.human_boxes[a], table.human_boxes[b], Overlap.PIXELS)
    overlap *= np.sqrt(iou(table.object_boxes[a], table.object_boxes[b], Overlap.PIXELS))
    close = np.flatnonzero(overlap > threshold)
    close = close[np.argsort(place[later[close]], kind="stable")]
    later, earlier = later[close], earlier[close]

    stays = np.ones(len(rows), bool)
    ends = np.cumsum(np.bincount(place[later]))
    for begin, end in zip([0, *ends[:-1]], ends, strict=False):
        suppressed = stays[earlier[begin:end]]
        stays[later[begin:end][suppressed]] = False
    return rows[np.sort(order[stays])]
