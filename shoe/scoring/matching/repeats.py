"""Repeats: the same said of the same boxes of the same image, exactly or nearly, given more than once."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import (
    Floats,
    Indices,
    Ints,
    Mask,
    as_bits,
    blocks,
    expand,
    first_of_each,
    maybe_equal,
    runs,
    stable_order,
    together,
)
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule, iou
from shoe.core.interactions import Interactions
from shoe.scoring.matching.assignment import ByContent
from shoe.scoring.matching.task import Boxes

# Pair-wise non-maximum suppression, as CDN's evaluator offers it (docs/protocols.md 2.2).

_COMPARISONS_AT_ONCE = 1 << 17


def pair_nms(table: Interactions, rows: Indices, threshold: float) -> Indices:
    """Drop predictions that lie on a better one with the same words; see :class:`Suppression`.

    Args:
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


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Find the rows, among ``rows``, that repeat another one of them.

    Of equal triplets the one with the highest score is the original, then the first.

    Args:
        rows: (r,) ascending rows.

    Returns:
        Ascending rows that are repeats.
    """
    words = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
    # Two coordinates and the words tell most triplets apart, and only what they do not is looked at in full.
    some = [*as_bits(table.human_boxes[rows, 0]), *as_bits(table.object_boxes[rows, 3]), words.view(np.uint64)]
    rows = rows[maybe_equal(some)]
    if len(rows) == 0:
        return rows
    columns = (table.human_boxes, table.object_boxes, table.image, table.verb, table.object)
    order, new = together([bits for column in columns for bits in as_bits(column[rows])])
    run = np.cumsum(new) - 1
    best_first = np.lexsort((order, -table.score[rows[order]], run))
    repeats = np.ones(len(rows), bool)
    repeats[best_first[new]] = False
    return np.sort(rows[order[repeats]])


def near_repeats(
    table: Interactions,
    rows: Indices,
    wanted: Mask,
    verb_meaning: Ints,
    object_meaning: Ints,
    coordinates: CommonCoordinates,
    rule: OverlapRule,
) -> Indices:
    """Find wanted rows that say what a better row says: words of one meaning, and both boxes overlap with its boxes.

    Better is a higher score, of ties what comes first by words and boxes; and the better row is no repeat itself.

    Args:
        rows: (r,) ascending rows.
        wanted: (n,) of which rows to know.
        verb_meaning: (verb words,) a number that is equal for words that mean the same.
        object_meaning: (object words,) the same.
        coordinates: those in which boxes are compared.
        rule: the overlap that both boxes must reach.

    Returns:
        Ascending rows that are repeats, perhaps some that are not wanted among them.
    """
    meanings = np.int64(object_meaning.max(initial=0)) + 1
    group = verb_meaning[table.verb[rows]] * meanings + object_meaning[table.object[rows]]
    group += table.image[rows] * (np.int64(verb_meaning.max(initial=0)) + 1) * meanings
    order = np.lexsort((-table.score[rows], group))
    rows, group = rows[order], group[order]
    same = (np.diff(group) == 0) & (np.diff(table.score[rows]) == 0)
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same)) if len(rows) else rows
    by_content = np.lexsort((ByContent(table)(rows[tied]), -table.score[rows[tied]], group[tied]))
    rows[tied] = rows[tied][by_content]
    boxes, repeats = Boxes(table, coordinates), np.zeros(len(rows), bool)
    humans, objects = boxes.human(rows), boxes.object(rows)
    left = np.arange(len(rows))
    while len(left):
        # The best that is left of each group is no repeat; what is close to it is one.
        start, count = runs(group[left])
        asked = np.logical_or.reduceat(wanted[rows[left]], start)
        best, count = left[start[asked]], count[asked] - 1
        later = left[expand(start[asked] + 1, count)[1]]
        earlier = np.repeat(best, count)
        close = rule.holds(iou(humans[later], humans[earlier], rule.overlap))
        near = np.flatnonzero(close)
        close[near] = rule.holds(iou(objects[later[near]], objects[earlier[near]], rule.overlap))
        repeats[later[close]] = True
        left = later[~close]
    return np.sort(rows[repeats])
