"""Persons, what they do, and what plays a part in it: actions scored by person, as V-COCO's evaluation takes them.

A triplet needs two boxes. Here a person may do something without an object, or with one whose box nobody drew, and may
be left out of account. There are A actions and R entries, each an action with one of its roles
(:meth:`shoe.benchmarks.base.Actions.entries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask

Single = NDArray[np.float32]
"""Boxes and scores here have the single precision in which the official evaluation compares them."""


NO_BOX = (-9.0, -9.0, -9.0, -9.0)
"""What triplets have in place of a box that nobody drew, or that is said not to be there: far from all other boxes."""


def no_boxes(boxes: Floats) -> Mask:
    """(n,) which of (n, 4) boxes stand for none."""
    none: Mask = (boxes == NO_BOX).all(axis=1)
    return none


@dataclass(frozen=True, slots=True, eq=False)
class RoleTruth:
    """What was annotated on m images: b boxes, p of them persons.

    Attributes:
        box_offsets: (m + 1,) the boxes of image i are rows box_offsets[i] to box_offsets[i + 1].
        boxes: (b, 4) single-precision x1, y1, x2, y2, indices of the first and last pixel counted from 0.
        object: (b,) category of each box, an index into the benchmark's objects.
        person: (p,) row of each person among the boxes, ascending.
        labels: (p, A) int8: 1 does it, 0 does not, -1 for all actions of a person that nobody annotated.
        role: (p, R) row of the box that has this role; -1 where the person does not do it, or the box is missing.
    """

    box_offsets: Indices
    boxes: Single
    object: Ints
    person: Indices
    labels: NDArray[np.int8]
    role: Ints

    @property
    def offsets(self) -> Indices:
        """(m + 1,) the persons of image i are rows offsets[i] to offsets[i + 1]."""
        return np.searchsorted(self.person, self.box_offsets)

    @property
    def person_boxes(self) -> Single:
        """(p, 4) the persons' boxes."""
        return self.boxes[self.person]

    @property
    def ignored(self) -> Mask:
        """(p,) persons that nobody annotated."""
        nobody: Mask = self.labels.min(axis=1, initial=0) < 0
        return nobody

    @property
    def has_role(self) -> Mask:
        """(p, R) whether there is a box with this role."""
        return self.role >= 0

    def select_images(self, keep: Indices) -> RoleTruth:
        """Keep some images, by ascending indices."""
        counts = np.diff(self.box_offsets)
        mask = np.zeros(len(counts), bool)
        mask[keep] = True
        boxes = np.repeat(mask, counts)
        moved = np.append(np.cumsum(boxes) - 1, -1)  # the row of no box stays -1
        persons = boxes[self.person]
        return RoleTruth(
            np.concatenate([[0], np.cumsum(counts[keep])]),
            self.boxes[boxes],
            self.object[boxes],
            moved[self.person[persons]],
            self.labels[persons],
            moved[self.role[persons]].astype(np.int32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RolePredictions:
    """What a model says of n persons, who may be one person n times, on m images; b boxes.

    Attributes:
        image: (n,) index into ``images``.
        person_boxes: (n, 4) single-precision x1, y1, x2, y2.
        agent: (n, A) how sure the model is that the person does it; NaN where it does not say.
        score: (n, R) the same, of each action with one of its roles.
        role: (n, R) row of the box that has this role.
        boxes: (b, 4) boxes; all zeros, or all NaN, for what is said to have no box.
    """

    images: tuple[str, ...]
    image: Ints
    person_boxes: Single
    agent: Single
    score: Single
    role: Ints
    boxes: Single

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def of_triplets(
        cls,
        images: tuple[str, ...],
        record: Indices,
        image: Ints,
        human_boxes: Single,
        object_boxes: Single,
        action: Ints,
        entry: Ints,
        score: Single,
        size: tuple[int, int],
    ) -> RolePredictions:
        """Gather n triplets into records: those of one pair of boxes are one, with its best score for each action.

        Args:
            record: (n,) number of each triplet's pair, the same for the same two boxes of an image, in any order.
            image: (n,) index into ``images``.
            human_boxes: (n, 4).
            object_boxes: (n, 4).
            action: (n,) what is done.
            entry: (n,) action and role; -1 for what needs no object.
            score: (n,) how sure.
        """
        _, first, number = np.unique(record, return_index=True, return_inverse=True)
        by_file = np.argsort(first)
        first, number = first[by_file], np.argsort(by_file)[number]
        agent, of_role = (np.full((len(first), count), np.nan, np.float32) for count in size)
        np.fmax.at(agent, (number, action), score)
        with_role = np.flatnonzero(entry >= 0)
        np.fmax.at(of_role, (number[with_role], entry[with_role]), score[with_role])
        role = np.broadcast_to(np.arange(len(first), dtype=np.int32)[:, None], of_role.shape)
        return cls(images, image[first], human_boxes[first], agent, of_role, role, object_boxes[first])

    @classmethod
    def joined(cls, parts: Sequence[RolePredictions]) -> RolePredictions:
        """Put the predictions of several files together, images in the order of first appearance."""
        index = {name: i for i, name in enumerate(dict.fromkeys(name for part in parts for name in part.images))}
        before = np.cumsum([0, *(len(part.boxes) for part in parts)], dtype=np.int32)
        images = [np.array([index[name] for name in part.images], np.int32)[part.image] for part in parts]
        roles = [part.role + first for part, first in zip(parts, before[:-1], strict=True)]
        return cls(
            tuple(index),
            np.concatenate(images),
            np.concatenate([part.person_boxes for part in parts]),
            np.concatenate([part.agent for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate(roles),
            np.concatenate([part.boxes for part in parts]),
        )
