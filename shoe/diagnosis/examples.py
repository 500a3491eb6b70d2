"""Examples of an error type, to be drawn: the best-scored errors, from many images and with many classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, first_of_each, index_in_group, random_numbers
from shoe.core.boxes import CommonCoordinates, iou
from shoe.core.interactions import Interactions
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import ErrorType, TruthStatus
from shoe.scoring.matching.task import Boxes


@dataclass(frozen=True, slots=True)
class Shown:
    """Triplet to be drawn: human box, object box, verb and noun. Box edges are in pixels of the annotated image."""

    human: tuple[float, ...]
    object: tuple[float, ...]
    verb: str
    noun: str


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """One error: a wrong prediction, or a missed ground truth.

    Attributes:
        image: image name.
        size: annotated width and height of the image; (0, 0) if unknown.
        predicted: wrong prediction; None for missed ground truth.
        score: confidence of the prediction; None for missed ground truth.
        truth: ground truth that the prediction refers to, else the ground truth of the image with the largest sum of
            human and object IoU; None if the image has no ground truth.
        about: whether the prediction refers to ``truth``; True for missed ground truth.
        found: score of the true positive of ``truth``; None without a true positive.
        overlap: human IoU and object IoU of ``predicted`` and ``truth``; None if either is missing.
    """

    image: str
    size: tuple[int, int]
    predicted: Shown | None
    score: float | None
    truth: Shown | None
    about: bool
    found: float | None
    overlap: tuple[float, float] | None


def examples(analysis: ErrorAnalysis, error: str, most: int = 6) -> list[ErrorExample]:
    """Return at most ``most`` examples of an error type, such as "human_box", each from a different image.

    From each image, the example with the highest score is used. Combinations of verb and object take turns, each with
    its best-scored remaining example. Equal scores, and missed ground truths, are in random order by the seed of the
    analysis.
    """
    if error == "missed_gt":
        truth = analysis.task.truth.interactions
        rows = np.flatnonzero(analysis.truth_status == TruthStatus.MISSED)
        kind = analysis.task.truth.hoi[rows]
        return [_missed(analysis, row) for row in _spread(rows, np.zeros(len(rows)), truth, kind, analysis.seed, most)]
    table = analysis.task.predictions
    rows = np.flatnonzero(analysis.types == ErrorType[error.upper()])
    kind = table.verb[rows] * np.int64(len(table.objects)) + table.object[rows]
    return [_wrong(analysis, row) for row in _spread(rows, table.score[rows], table, kind, analysis.seed, most)]


def _spread(
    rows: Indices, score: Floats, table: Interactions, kind: NDArray[np.integer], seed: int, most: int
) -> list[int]:
    """Return at most ``most`` rows: of the best-scored row of each image, the best of each kind, then the second, ...

    ``kind`` is the (n,) combination of verb and object of each row. Equal scores are in random order by ``seed``.
    """
    order = np.lexsort((random_numbers(seed, (len(table), 1))[rows, 0], -score))
    rows, kind = rows[order], kind[order]
    image = table.image[rows]
    by_image = np.argsort(image, kind="stable")
    best = np.sort(by_image[first_of_each(image[by_image])])
    rows, kind = rows[best], kind[best]
    by_kind = np.argsort(kind, kind="stable")
    turn = np.empty(len(rows), np.int64)
    turn[by_kind] = index_in_group(np.diff(np.flatnonzero(first_of_each(kind[by_kind])), append=len(rows)))
    return [int(row) for row in rows[np.argsort(turn, kind="stable")[:most]]]


def _missed(analysis: ErrorAnalysis, row: int) -> ErrorExample:
    truth = analysis.task.truth.interactions
    image = int(truth.image[row])
    return ErrorExample(truth.images[image], _size(truth, image), None, None, _pair(truth, row), True, None, None)


def _wrong(analysis: ErrorAnalysis, row: int) -> ErrorExample:
    task, options = analysis.task, analysis.variant.strict
    table, truth = task.predictions, task.truth.interactions
    image, target = int(task.image[row]), int(analysis.target[row])
    ours, theirs = Boxes(table, options.coordinates), Boxes(truth, options.coordinates)
    near = np.flatnonzero(analysis.truth_status[truth.offsets[image] : truth.offsets[image + 1]] >= 0)
    near += truth.offsets[image]
    mine = np.full(len(near), row)
    humans = iou(ours.human(mine), theirs.human(near), options.overlap)
    objects = iou(ours.object(mine), theirs.object(near), options.overlap)
    nearest = int(np.argmax(near == target if target >= 0 else humans + objects)) if len(near) else -1
    finder = int(analysis.found_by[near[nearest]]) if nearest >= 0 else -1
    return ErrorExample(
        image=truth.images[image],
        size=_size(truth, image),
        predicted=_pair(table, row),
        score=float(table.score[row]),
        truth=_pair(truth, int(near[nearest])) if nearest >= 0 else None,
        about=target >= 0,
        found=float(table.score[finder]) if finder >= 0 else None,
        overlap=(float(humans[nearest]), float(objects[nearest])) if nearest >= 0 else None,
    )


def _pair(table: Interactions, row: int) -> Shown:
    rows, boxes = np.array([row]), Boxes(table, CommonCoordinates.EDGES)
    human, object_ = (tuple(side(rows)[0].tolist()) for side in (boxes.human, boxes.object))
    return Shown(human, object_, table.verbs[table.verb[row]], table.objects[table.object[row]])


def _size(table: Interactions, image: int) -> tuple[int, int]:
    width, height = table.sizes[image].tolist()
    return width, height
