"""Repeats: the same said of the same boxes of the same image, exactly or nearly, given more than once."""

import numpy as np

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.coordinates import CommonCoordinates
from shoe.core.equal_rows import as_bits, maybe_equal, together
from shoe.core.interactions import Interactions
from shoe.core.iou import OverlapRule, iou
from shoe.core.ragged import expand, runs
from shoe.matching.best_first import ByContent
from shoe.matching.overlaps import Boxes


def repeated(table: Interactions, rows: Indices) -> Indices:
    """Find the rows, among ``rows``, that repeat another one of them.

    Of equal triplets the one with the highest score is the original, then the first.

    Args:
        table: the predictions.
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
        table: the predictions.
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
