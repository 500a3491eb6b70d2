"""Which triplets of an image are about the same two boxes: exactly, or as annotators draw them twice.

HICO-DET draws the boxes of a pair anew for each verb, so pairs have to be merged by overlap. All overlaps here count
pixels as the official evaluation does: the width of a box that holds pixel indices is x2 - x1 + 1.
"""

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Bits, Indices, Ints, Mask, as_bits, blocks, expand, first_equal
from shoe.core.boxes import CommonCoordinates, Overlap, converted
from shoe.core.boxes import iou as overlap_of
from shoe.core.interactions import Interactions

CANDIDATES_AT_ONCE = 1 << 19


def overlapping(table: Interactions, label: NDArray[np.integer], iou: float) -> tuple[Indices, Indices]:
    """Find the triplets that overlap an earlier one of their image and label.

    Args:
        label: (n,) only triplets of one label are compared.
        iou: both the human and the object boxes overlap at least this much, 0 to 1.

    Returns:
        (pairs,) rows and (pairs,) earlier rows, ordered by the former, then the latter.
    """
    humans = converted(table.human_boxes, table.triplet_coordinates, CommonCoordinates.EDGES)
    objects = converted(table.object_boxes, table.triplet_coordinates, CommonCoordinates.EDGES)
    later, earlier = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first = np.repeat(table.offsets[:-1], np.diff(table.offsets))
    count = np.arange(len(first)) - first
    for start, stop in blocks(count, CANDIDATES_AT_ONCE):  # every row with every earlier row of its image
        row, before = expand(first[start:stop], count[start:stop])
        row += start
        same = label[row] == label[before]
        row, before = row[same], before[same]
        near = overlap_of(humans[row], humans[before], Overlap.CONTINUOUS) >= iou
        near &= overlap_of(objects[row], objects[before], Overlap.CONTINUOUS) >= iou
        later.append(row[near])
        earlier.append(before[near])
    return np.concatenate(later), np.concatenate(earlier)


def merged(table: Interactions, iou: float) -> Indices:
    """Merge n triplets into box pairs, greedily in file order: a triplet joins the first pair that it overlaps.

    It overlaps a pair if their object words are the same, and both its boxes overlap those of the pair's first triplet
    by at least ``iou``, 0 to 1.

    Returns:
        (n,) row of the first triplet of each triplet's pair; as many distinct rows as there are pairs.
    """
    leader = np.arange(len(table))
    for row, before in zip(*(rows.tolist() for rows in overlapping(table, table.object, iou)), strict=True):
        if leader[row] == row and leader[before] == before:
            leader[row] = before
    return leader


def single_pair_images(table: Interactions, iou: float = 0.8) -> Mask:
    """Find the images that show one pair only: all triplets merge to one human box and one object box.

    With 0.8 these are 3,920 images and 575 classes of HICO-DET's test set: the count of classes that the SHOE paper's
    supplement gives for its "single HOI" subset, which it does not define further.

    Returns:
        (m,) True for such an image; an image without triplets is none.
    """
    is_pair = merged(table, iou) == np.arange(len(table))
    pairs = np.bincount(table.image[is_pair], minlength=len(table.images))
    return np.asarray(pairs == 1, bool)


def distinct_pairs(table: Interactions) -> int:
    """Count the pairs of boxes with the same eight numbers and the same object word."""
    return int(np.count_nonzero(first_equal(_columns(table, table.object)) == np.arange(len(table))))


def repeats(table: Interactions) -> Mask:
    """(n,) triplets that say exactly what an earlier one of their image says: the same words, the same boxes."""
    repeated: Mask = first_equal(_columns(table, table.verb, table.object)) != np.arange(len(table))
    return repeated


def _columns(table: Interactions, *words: Ints) -> list[Bits]:
    of_boxes = [*as_bits(table.human_boxes), *as_bits(table.object_boxes)]
    return [*as_bits(table.image), *(bits for column in words for bits in as_bits(column)), *of_boxes]
