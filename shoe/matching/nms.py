"""Pair-wise non-maximum suppression, as CDN's evaluator offers it (docs/protocols.md 2.2)."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.interactions import Interactions
from shoe.core.iou import Overlap, iou
from shoe.core.ragged import blocks, expand, first_of_each, stable_order

_COMPARISONS_AT_ONCE = 1 << 17


def pair_nms(table: Interactions, rows: Indices, threshold: float) -> Indices:
    """Drop predictions that lie on a better one with the same words; see :class:`Suppression`.

    Args:
        table: the predictions.
        rows: (r,) rows that take part.
        threshold: 0 to 1.

    Returns:
        The rows that stay, in their order.
    """
    return rows[Suppression(table, rows, threshold).kept(threshold)]


class Suppression:
    """Pair-wise NMS of some rows of a table, prepared for all thresholds from a lowest one on.

    Of one image, verb and object the best score comes first (of ties the first row); a later pair stays if human IoU
    times the root of object IoU is at most the threshold with every pair that stayed before it (IoU of inclusive
    pixels).
    """

    def __init__(self, table: Interactions, rows: Indices, lowest: float) -> None:
        """Compare boxes.

        Args:
            table: the predictions.
            rows: (r,) rows that take part.
            lowest: lowest threshold that will be asked for, 0 to 1.
        """
        words = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
        group = table.image[rows] * np.int64(len(table.verbs) * len(table.objects)) + words
        self.order = order = np.lexsort((-table.score[rows], group))
        start = np.flatnonzero(first_of_each(group[order]))
        first = np.repeat(start, np.diff(start, append=len(rows)))
        self.index = np.arange(len(rows)) - first
        humans, objects = table.human_boxes[rows[order]], table.object_boxes[rows[order]]
        none = np.zeros(0, np.int64)
        found: list[tuple[Indices, Indices, Floats]] = [(none, none, np.zeros(0))]
        for begin, end in blocks(self.index, _COMPARISONS_AT_ONCE):
            later, earlier = expand(first[begin:end], self.index[begin:end])
            later += begin
            overlap = iou(humans[later], humans[earlier], Overlap.PIXELS)
            close = np.flatnonzero(overlap > lowest)
            later, earlier = later[close], earlier[close]
            overlap = overlap[close] * np.sqrt(iou(objects[later], objects[earlier], Overlap.PIXELS))
            close = np.flatnonzero(overlap > lowest)
            found.append((later[close], earlier[close], overlap[close]))
        later, earlier, overlap = (np.concatenate(column) for column in zip(*found, strict=True))
        by_index = stable_order(self.index[later])  # so that no threshold has to sort
        self.later, self.earlier, self.overlap = later[by_index], earlier[by_index], overlap[by_index]

    def kept(self, threshold: float) -> Mask:
        """(r,) which of the rows stay."""
        close = self.overlap > threshold
        kept = np.zeros(len(self.order), bool)
        kept[self.order[greedily_kept(self.later[close], self.earlier[close], self.index)]] = True
        return kept


def greedily_kept(later: Indices, earlier: Indices, index: Indices) -> Mask:
    """Go through groups from their first element on, and keep what is not close to one that was kept before it.

    Args:
        later: (c,) element of each pair of close ones of a group.
        earlier: (c,) the other one, which comes before it.
        index: (n,) index of each element in its group, from 0.

    Returns:
        (n,) which elements are kept.
    """
    turn = index[later]
    if (turn[1:] < turn[:-1]).any():
        by_index = stable_order(turn)
        later, earlier = later[by_index], earlier[by_index]
    kept = np.ones(len(index), bool)
    end = 0
    for size in np.bincount(turn).tolist():
        begin, end = end, end + size
        kept[later[begin:end][kept[earlier[begin:end]]]] = False
    return kept
