"""Exact repeats: the same words on the same boxes of the same image, given more than once."""

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.equal_rows import as_bits, maybe_equal, together
from shoe.core.interactions import Interactions


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
