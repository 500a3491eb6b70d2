"""Synthetic persons of V-COCO's true size, and predictions of them; boxes and actions are drawn, not real."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.core.roles import RolePredictions, RoleTruth, Single

IMAGES, PERSONS, OTHERS, ACTIVE = 4946, 19_058, 23_941, 0.4
"""V-COCO's test set: images, boxes of persons and of others, and the share of persons with an action."""
_ACTIONS_EACH = 0.11
_DRAWN = 0.75


def persons(rng: np.random.Generator, per_image: int = 100) -> tuple[GroundTruth, Interactions]:
    """Make a ground truth and predictions by person, as many an image as a detector has queries."""
    of = benchmark("v-coco")
    actions, names = of.actions, tuple(of.image_name(number + 1) for number in range(IMAGES))
    image = np.sort(np.concatenate([np.arange(IMAGES), rng.integers(IMAGES, size=PERSONS + OTHERS - IMAGES)]))
    first = np.searchsorted(image, np.arange(IMAGES))
    is_person = rng.random(len(image)) < (PERSONS - IMAGES) / (len(image) - IMAGES)
    is_person[first] = True
    person, offsets = np.flatnonzero(is_person), np.append(first, len(image))
    boxes = _boxes(rng, len(image))
    labels = (rng.random((len(person), len(actions))) < _ACTIONS_EACH).astype(np.int8)
    labels[rng.random(len(person)) > ACTIVE] = -1
    action_of = np.array([action for action, _ in actions.entries])
    there = (labels[:, action_of] == 1) & (rng.random((len(person), len(actions.entries))) < _DRAWN)
    some = first[image[person]][:, None] + (rng.random(there.shape) * np.diff(offsets)[image[person]][:, None]).astype(
        np.int64
    )
    roles = RoleTruth(
        offsets, boxes, np.zeros(len(image), np.int32), person, labels, np.where(there, some, -1).astype(np.int32)
    )
    shown = np.repeat(np.arange(IMAGES, dtype=np.int32), per_image)
    near = roles.offsets[shown] + (rng.random(len(shown)) * np.diff(roles.offsets)[shown]).astype(np.int64)
    does = labels[near] == 1
    of_role = roles.role[near]
    said = RolePredictions(
        names,
        shown,
        _moved(rng, boxes[person[near]]),
        _scores(rng, does),
        _scores(rng, does[:, action_of]),
        np.where((of_role >= 0) & (rng.random(of_role.shape) < _DRAWN), of_role, len(boxes)).astype(np.int32),
        np.concatenate([_moved(rng, boxes), np.zeros((1, 4), np.float32)]),
    )
    empty = Interactions.from_columns(
        images=names, image=[], human_boxes=np.zeros((0, 4)), object_boxes=np.zeros((0, 4)), verb=[], object=[],
        verbs=of.classes.verbs, objects=of.classes.objects,
    )  # fmt: skip
    truth = GroundTruth(empty, of.classes, "made", benchmark=of, roles=roles)
    return truth, replace(empty, roles=said)


def _boxes(rng: np.random.Generator, count: int) -> Single:
    corner, size = rng.random((count, 2)) * 300, 30 + rng.random((count, 2)) * 250
    return np.concatenate([corner, corner + size], axis=1).astype(np.float32)


def _moved(rng: np.random.Generator, boxes: Single) -> Single:
    return boxes + rng.normal(0, 8, boxes.shape).astype(np.float32)


def _scores(rng: np.random.Generator, right: NDArray[np.bool_]) -> Single:
    return (rng.random(right.shape, np.float32) ** 3 * 0.6 + 0.4 * rng.random(right.shape, np.float32) * right).astype(
        np.float32
    )
