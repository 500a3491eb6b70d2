"""What the ground truth has twice: nearly the same boxes, and what merging such annotations would do to the figures.

A model that finds such a pair once misses the other annotation; one that says it twice is paid twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.coordinates import CommonCoordinates
from shoe.core.documents import Count, Document, Fraction, MeanFields
from shoe.core.interactions import Interactions
from shoe.core.iou import Overlap, OverlapRule
from shoe.core.ragged import first_of_each
from shoe.matching.overlaps import Boxes, overlaps
from shoe.matching.task import Task
from shoe.protocols.options import StrictOptions
from shoe.scoring.strict import strict_entries

THRESHOLDS = (0.9, 0.7, 0.5)
"""IoUs, continuous, from which two boxes, or both boxes of two triplets of a class, are one."""


class NearDuplicates(Document, frozen=True):
    """What is there twice from one threshold on; of a group of near duplicates, one stays.

    Attributes:
        threshold: the IoU.
        humans: different person boxes of one image that go.
        objects: the same for boxes of one object label.
        triplets: triplets of one image and class that go.
        images, classes: where there are such triplets.
        protocols: by protocol, mAP where each group of triplets became one, on the mean of its boxes.
    """

    threshold: Fraction
    humans: Count
    objects: Count
    triplets: Count
    images: Count
    classes: Count
    protocols: dict[str, MeanFields]


def near_duplicates(task: Task, protocols: Sequence[StrictOptions]) -> list[NearDuplicates]:
    """Merge near duplicates of the ground truth, and score again; one finding for each of ``THRESHOLDS``."""
    truth, table = task.truth, task.truth.interactions
    humans = _boxes(table, table.human_boxes, np.zeros(len(table), np.int64))
    objects = _boxes(table, table.object_boxes, table.object)
    found = []
    for threshold in THRESHOLDS:
        group = groups(table, truth.hoi, threshold)
        size = np.bincount(group)
        several = np.flatnonzero(size[group] > 1)
        changed = Task(task.predictions, merged(truth, group)) if len(several) else task
        found.append(
            NearDuplicates(
                threshold,
                humans=_that_go(*humans, threshold),
                objects=_that_go(*objects, threshold),
                triplets=len(group) - len(size),
                images=len(np.unique(table.image[several])),
                classes=len(np.unique(truth.hoi[several])),
                protocols={
                    options.protocol: MeanFields(**strict_entries(changed, options).means()._asdict())
                    for options in protocols
                },
            )
        )
    return found


def _boxes(table: Interactions, boxes: Floats, label: Indices | Ints) -> tuple[Interactions, Indices]:
    """The different boxes of a label on each image, as a table of triplets with that box twice; and their labels."""
    _, first = np.unique(np.column_stack([table.image, label, boxes]), axis=0, return_index=True)
    rows = np.sort(first)
    kept = table.select(rows)
    return replace(kept, human_boxes=boxes[rows], object_boxes=boxes[rows]), label[rows]


def _that_go(table: Interactions, label: Indices | Ints, threshold: float) -> int:
    return len(table) - len(np.unique(groups(table, label, threshold)))


def groups(table: Interactions, label: Indices | Ints, threshold: float) -> Indices:
    """Find near duplicates: triplets of one image and label both of whose boxes reach an IoU, and chains of such.

    ``label`` is (n,) what has to be equal, and ``threshold`` a continuous IoU, 0..1.

    Returns:
        (n,) a number from 0 for each triplet, equal for those of a group.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    boxes, first = Boxes(table, CommonCoordinates.EDGES), table.offsets[:-1]
    pairs = overlaps(boxes, boxes, first, np.diff(table.offsets), OverlapRule(Overlap.CONTINUOUS, threshold, True))
    pairs = pairs.select(label[pairs.truth] == label[pairs.prediction])
    links = coo_array((np.ones(len(pairs)), (pairs.truth, pairs.prediction)), shape=(len(table), len(table)))
    group: Indices = connected_components(links, directed=False)[1]
    return group


def merged(truth: GroundTruth, group: Indices) -> GroundTruth:
    """One triplet a group, at the place of its first, on the mean of its boxes."""
    order = np.argsort(group, kind="stable")
    first = np.sort(order[first_of_each(group[order])])
    table, size = truth.interactions, np.bincount(group)

    def mean(boxes: Floats) -> Floats:
        return np.stack([np.bincount(group, weights=column) / size for column in boxes.T], axis=1)[group[first]]

    kept = replace(table.select(first), human_boxes=mean(table.human_boxes), object_boxes=mean(table.object_boxes))
    return replace(truth, interactions=kept)
