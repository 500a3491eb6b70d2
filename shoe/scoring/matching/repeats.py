"""Repeated predictions (equal or nearly equal boxes and words of one image), and pair-wise NMS."""

import numpy as np

from shoe.core.arrays import (
    Floats,
    Indices,
    Mask,
    as_bits,
    blocks,
    expand,
    first_of_each,
    group_equal_rows,
    mask_of,
    maybe_equal,
    runs,
    stable_order,
)
from shoe.core.boxes import Overlap, OverlapRule, iou
from shoe.core.interactions import Interactions
from shoe.scoring.matching.assignment import ByContent
from shoe.scoring.matching.task import BoxColumns, Boxes

_COMPARISONS_AT_ONCE = 1 << 17
_ROWS_AT_ONCE = 1 << 17


def pair_nms(table: Interactions, rows: Indices, threshold: float) -> Indices:
    """Return the (r,) ``rows``, in their order, that remain after NMS among pairs of equal image, verb and object."""
    return rows[Suppression(table, rows, threshold).kept(threshold)]


class Suppression:
    """Pair-wise NMS of rows of a table, for any threshold of at least ``lowest`` (CDN; docs/protocols.md 2.2).

    Pairs with the same image, verb and object are ranked by score; equal scores keep the order of the rows. The overlap
    of two pairs is human IoU times the square root of object IoU, with box sides x2 - x1 + 1. A pair is kept if its
    overlap with every better pair that is kept is at most the threshold.
    """

    def __init__(self, table: Interactions, rows: Indices, lowest: float) -> None:
        """Compare the boxes of (r,) rows; ``lowest`` is the lowest threshold that will be used, 0 to 1."""
        words = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
        group = table.image[rows] * np.int64(len(table.verbs) * len(table.objects)) + words
        self.order = order = np.lexsort((-table.score[rows], group))
        first = np.repeat(*runs(group[order]))
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
        by_index = stable_order(self.index[later])  # sorted once, for all thresholds
        self.later, self.earlier, self.overlap = later[by_index], earlier[by_index], overlap[by_index]

    def kept(self, threshold: float) -> Mask:
        """Return the (r,) mask of the rows that NMS keeps at an overlap threshold, at least ``lowest``."""
        close = self.overlap > threshold
        kept = greedily_kept(self.later[close], self.earlier[close], self.index)
        return mask_of(self.order[kept], len(self.order))


def greedily_kept(later: Indices, earlier: Indices, index: Indices) -> Mask:
    """Return (n,) whether each element is kept: elements too close to an earlier kept element are removed.

    ``later`` and ``earlier`` are the (c,) elements of each pair that is too close, both in one group; ``index`` is the
    (n,) position of each element in its group, best first.
    """
    later_index = index[later]
    if (later_index[1:] < later_index[:-1]).any():
        by_index = stable_order(later_index)
        later, earlier = later[by_index], earlier[by_index]
    kept = np.ones(len(index), bool)
    end = 0
    for size in np.bincount(later_index).tolist():
        begin, end = end, end + size
        kept[later[begin:end][kept[earlier[begin:end]]]] = False
    return kept


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Return the ascending ``rows`` that repeat another of these rows: same image, boxes and words.

    Of equal triplets, the row with the highest score (the first row if scores are equal) is the original, not a repeat.
    """
    at: Indices | slice = rows if len(rows) < len(table) else slice(None)
    words = (table.image[at] * np.int64(len(table.verbs)) + table.verb[at]) * len(table.objects) + table.object[at]
    # Image, words and two coordinates distinguish most triplets; only the others are compared in full.
    some = [*as_bits(table.human_boxes[at, 0]), *as_bits(table.object_boxes[at, 3]), words.view(np.uint64)]
    rows = rows[maybe_equal(some)]
    if len(rows) == 0:
        return rows
    columns = (table.human_boxes, table.object_boxes, table.image, table.verb, table.object)
    order, new = group_equal_rows(as_bits(*(column[rows] for column in columns)))
    run = np.cumsum(new) - 1
    best_first = np.lexsort((order, -table.score[rows[order]], run))
    return np.sort(rows[order[~mask_of(best_first[new], len(rows))]])


def near_repeats(boxes: Boxes, rows: Indices, wanted: Mask, group: Indices, rule: OverlapRule) -> Indices:
    """Return the ascending rows that nearly repeat a better row; rows outside the mask ``wanted`` may be missing.

    A near repeat has the same meaning as a better row that is no near repeat itself, and both boxes of the two rows
    overlap. A row is better if its score is higher or, with equal scores, if its words and boxes sort earlier.

    Args:
        boxes: boxes of the n predictions, in the coordinates in which they are compared.
        rows: (r,) ascending rows.
        wanted: (n,) mask of the rows to test.
        group: (n,) group ID from 0, ascending by image, equal for predictions of one image with the same meaning.
        rule: overlap that both boxes must reach.
    """
    by_content, found = ByContent(boxes.table), [rows[:0]]
    starts = np.searchsorted(rows, boxes.table.offsets)
    for begin, end in blocks(np.diff(starts), _ROWS_AT_ONCE):
        part, own = _ranked(rows[starts[begin] : starts[end]], wanted, group, by_content)
        humans = BoxColumns(boxes.human(part), rule.overlap)
        objects = BoxColumns(boxes.object(part), rule.overlap)
        left, repeats = np.arange(len(part)), np.zeros(len(part), bool)
        while len(left):
            # The best remaining row of each group is no repeat; rows close to it are repeats.
            new = first_of_each(own)
            start, others = np.flatnonzero(new), np.flatnonzero(~new)
            best = np.repeat(left.take(start), np.diff(start, append=len(left)) - 1)
            left, own = left.take(others), own.take(others)
            close = rule.is_reached(humans.iou(left, humans, best))
            near = np.flatnonzero(close)
            close[near] = rule.is_reached(objects.iou(left.take(near), objects, best.take(near)))
            repeats[left.take(np.flatnonzero(close))] = True
            rest = np.flatnonzero(~close)
            left, own = left.take(rest), own.take(rest)
        found.append(np.sort(part[repeats]))
    return np.concatenate(found)


def _ranked(rows: Indices, wanted: Mask, group: Indices, by_content: ByContent) -> tuple[Indices, Indices]:
    """Return the rows in groups with several rows and a wanted row, best first in each group, and their groups.

    Rows after the last wanted row of their group are left out, because they decide nothing.
    """
    own, score = group.take(rows), by_content.table.score
    own -= own.min(initial=own[0])
    last = np.zeros(int(own.max()) + 1, np.int64)
    several = np.bincount(own) > 1
    last[own[wanted.take(rows)]] = 1
    kept = np.flatnonzero(((last > 0) & several).take(own))
    kept = kept.take(stable_order(own.take(kept)))
    rows, own = rows.take(kept), own.take(kept)
    same, step = own[1:] == own[:-1], np.diff(score.take(rows))
    if (same & (step > 0)).any():  # most files list the predictions of an image by score
        order = np.lexsort((-score.take(rows), own))
        rows, step = rows.take(order), np.diff(score.take(rows.take(order)))
    same &= step == 0
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        order = np.lexsort((by_content(rows[tied]), -score[rows[tied]], own[tied]))
        rows[tied] = rows[tied][order]
    position = np.flatnonzero(wanted.take(rows))
    last[own.take(position)] = position
    kept = np.flatnonzero(np.arange(len(rows)) <= last.take(own))
    return rows.take(kept), own.take(kept)
