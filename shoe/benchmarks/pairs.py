"""Human-object pairs of ground truth: merging triplets by overlap, duplicates, and images with a single pair.

HICO-DET annotators drew the boxes of a pair anew for each verb, so pairs are merged by overlap. Overlaps are computed
as in the official evaluation: the width of a box of pixel indices is x2 - x1 + 1.
"""

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask, as_bits, blocks, expand, first_equal
from shoe.core.boxes import CommonCoordinates, Overlap, convert_boxes, iou as overlap_of
from shoe.core.interactions import Interactions

CANDIDATES_AT_ONCE = 1 << 19


def overlapping_triplets(table: Interactions, label: NDArray[np.integer], iou: float) -> tuple[Indices, Indices]:
    """Return all pairs (later row, earlier row) of triplets with the same image and (n,) label whose boxes overlap.

    Both IoUs, of human boxes and of object boxes, are at least ``iou``. Pairs are sorted by later, then earlier row.
    """
    both = [
        convert_boxes(boxes, table.triplet_coordinates, CommonCoordinates.EDGES)
        for boxes in (table.human_boxes, table.object_boxes)
    ]
    found = [np.zeros((2, 0), np.int64)]
    first = np.repeat(table.offsets[:-1], np.diff(table.offsets))
    count = np.arange(len(first)) - first
    for start, stop in blocks(count, CANDIDATES_AT_ONCE):  # every row with every earlier row of its image
        row, before = expand(first[start:stop], count[start:stop])
        row += start
        pair = np.stack([row, before])[:, label[row] == label[before]]
        for boxes in both:
            pair = pair[:, overlap_of(boxes[pair[0]], boxes[pair[1]], Overlap.CONTINUOUS) >= iou]
        found.append(pair)
    later, earlier = np.concatenate(found, axis=1)
    return later, earlier


def merge_pairs(table: Interactions, iou: float) -> Indices:
    """Merge n triplets into human-object pairs; return the (n,) row of the first triplet in each triplet's pair.

    Triplets are processed in file order. A triplet joins the first pair of its image with the same object word whose
    first triplet it overlaps: IoU of human boxes and of object boxes at least ``iou``. Otherwise it starts a new pair.
    """
    leader = np.arange(len(table))
    for row, before in zip(*(rows.tolist() for rows in overlapping_triplets(table, table.object, iou)), strict=True):
        if leader[row] == row and leader[before] == before:
            leader[row] = before
    return leader


def single_pair_images(table: Interactions, iou: float = 0.8) -> Mask:
    """Return an (m,) mask of the images whose triplets :func:`merge_pairs` merges into one pair.

    With ``iou`` 0.8, the mask selects 3,920 images of HICO-DET's test set, with 575 classes. The "single HOI" subset of
    the SHOE paper's supplement also has 575 classes; the paper does not define it.
    """
    is_pair = merge_pairs(table, iou) == np.arange(len(table))
    return np.asarray(np.bincount(table.image[is_pair], minlength=len(table.images)) == 1, bool)


def distinct_pairs(table: Interactions) -> int:
    """Return the number of distinct box pairs; equal pairs have equal image, object word and box coordinates."""
    first = first_equal(as_bits(table.image, table.object, table.human_boxes, table.object_boxes))
    return int(np.count_nonzero(first == np.arange(len(table))))


def exact_duplicates(table: Interactions) -> Mask:
    """Return an (n,) mask of triplets that repeat verb, object and exact boxes of an earlier triplet in their image."""
    first = first_equal(as_bits(table.image, table.verb, table.object, table.human_boxes, table.object_boxes))
    return np.asarray(first != np.arange(len(table)))
