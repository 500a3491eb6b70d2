"""Ground truth and predictions per person, for agent AP and role AP as in V-COCO's evaluation.

Unlike in a table of triplets, an action may have no object box, and a person may be ignored. Arrays have A columns, one
per action, or R columns, one per (action, role) entry (:meth:`shoe.benchmarks.base.Actions.entries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask, as_bits, first_equal, mask_of

Single = NDArray[np.float32]  # boxes and scores in single precision, in which the official evaluation compares them


NO_BOX = (-9.0, -9.0, -9.0, -9.0)  # placeholder for a missing object box in triplets; it overlaps no real box
ABSENT = (0.0, 0.0, 0.1, 0.1)  # role box of a missing key, as ``CacheTemplate.__missing__`` of UPT returns it


def no_boxes(boxes: Floats) -> Mask:
    """Return the (n,) mask of (n, 4) boxes that are the placeholder :data:`NO_BOX`."""
    return np.asarray((boxes == NO_BOX).all(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class RoleTruth:
    """Annotations of p persons, with A actions and R (action, role) entries, on m images with b boxes in all."""

    box_offsets: Indices  # (m + 1,) the boxes of image i are ``boxes[box_offsets[i]:box_offsets[i + 1]]``
    boxes: Single  # (b, 4) x1, y1, x2, y2: indices of the first and last pixel, counted from 0
    object: Ints  # (b,) category of each box, an index into the benchmark's objects
    person: Indices  # (p,) row of each person in ``boxes``, ascending
    # (p, A) int8: 1 if the person does the action, 0 if not, -1 if the person was not annotated.
    labels: NDArray[np.int8]
    # (p, R) row in ``boxes`` of the object of each (action, role) entry; -1 if the person does not do the action,
    # or no object box was annotated.
    role: Ints

    @property
    def offsets(self) -> Indices:
        """(m + 1,) the persons of image i are ``person[offsets[i]:offsets[i + 1]]``."""
        return np.searchsorted(self.person, self.box_offsets)

    @property
    def person_boxes(self) -> Single:
        """(p, 4) boxes of the persons."""
        return self.boxes[self.person]

    @property
    def ignored(self) -> Mask:
        """(p,) mask of persons that have a box but no annotated actions (label -1); the evaluation ignores them."""
        return np.asarray(self.labels.min(axis=1, initial=0) < 0)

    def select_images(self, keep: Indices) -> RoleTruth:
        """Return the annotations of the images with the ascending indices ``keep``."""
        counts = np.diff(self.box_offsets)
        boxes = np.repeat(mask_of(keep, len(counts)), counts)
        new_row = np.append(np.cumsum(boxes) - 1, -1)  # -1, a missing box, stays -1
        persons = boxes[self.person]
        return RoleTruth(
            np.concatenate([[0], np.cumsum(counts[keep])]),
            self.boxes[boxes],
            self.object[boxes],
            new_row[self.person[persons]],
            self.labels[persons],
            new_row[self.role[persons]].astype(np.int32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RolePredictions:
    """Predictions for n person boxes (several per person are possible), A actions and R (action, role) entries."""

    images: tuple[str, ...]  # names of the images
    image: Ints  # (n,) index into ``images``
    person_boxes: Single  # (n, 4) x1, y1, x2, y2
    agent: Single  # (n, A) confidence that the person does the action; NaN without a prediction
    score: Single  # (n, R) confidence of each (action, role) entry with its role box; NaN without a prediction
    role: Ints  # (n, R) row in ``boxes`` of the role box of each entry
    # (b, 4) x1, y1, x2, y2 of b role boxes; all zeros or all NaN if the object is predicted to have no box.
    boxes: Single

    def __len__(self) -> int:
        return len(self.image)

    @property
    def is_placeholder(self) -> Mask:
        """(b,) mask of the ``boxes`` that mean "no box": all zeros, all NaN, or 0, 0, 0.1, 0.1."""
        stated = (self.boxes == 0, np.isnan(self.boxes), self.boxes == np.array(ABSENT, np.float32))
        return np.asarray(np.all(stated, axis=2).any(axis=0))

    @property
    def repeats(self) -> int:
        """Number of duplicates: person boxes whose image, boxes and scores all equal those of an earlier person box."""
        first = first_equal(as_bits(np.column_stack([self.image, self.person_boxes, self.agent, self.score])))
        rows = np.flatnonzero(np.bincount(first)[first] > 1)
        if not len(rows):
            return 0
        boxes = np.nan_to_num(self.boxes[self.role[rows]]).reshape(len(rows), -1)
        first = first_equal(as_bits(np.column_stack([first[rows], boxes])))
        return int((first != np.arange(len(rows))).sum())

    def select(self, rows: Mask) -> RolePredictions:
        """Return only the person boxes marked in the (n,) mask ``rows``; ``images`` and ``boxes`` stay unchanged."""
        by_person = ("image", "person_boxes", "agent", "score", "role")
        return replace(self, **{name: getattr(self, name)[rows] for name in by_person})

    def apply_bad_boxes(self, rule: str) -> tuple[RolePredictions, int]:
        """Return the predictions after the rule "drop" or "count" for bad boxes, and the number of bad boxes.

        Bad boxes are invalid person boxes and, for valid person boxes, invalid role boxes with a score; placeholders
        (:meth:`is_placeholder`) are valid. "drop" removes bad person boxes, and the scores of bad role boxes; "count"
        keeps both, but they match nothing. Infinite scores are not in the number; "drop" makes them NaN, "count" last.
        """
        person, box = (
            np.asarray(np.isfinite(boxes).all(axis=1) & (boxes[:, :2] < boxes[:, 2:]).all(axis=1))
            for boxes in (self.person_boxes, self.boxes)
        )
        box |= self.is_placeholder
        bad = ~np.isnan(self.score) & ~box[self.role]
        number = int((~person).sum() + bad[person].sum())
        last = np.float32(np.nan) if rule == "drop" else np.finfo(np.float32).min
        agent, score = (np.where(np.isinf(values), last, values) for values in (self.agent, self.score))
        if rule == "count":
            return replace(self, agent=agent, score=score), number
        return replace(self, agent=agent, score=np.where(bad, last, score)).select(person), number

    @classmethod
    def from_triplets(
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
        """Return predictions with one person box per human-object pair, and its highest score per action and entry.

        The (n,) triplets with equal ``record`` are one pair. ``action`` is 0 to A - 1; ``entry``, the (action, role)
        entry, 0 to R - 1, or -1 for an action without object. ``size`` is (A, R).
        """
        _, first, pair = np.unique(record, return_index=True, return_inverse=True)
        by_file = np.argsort(first)
        first, pair = first[by_file], np.argsort(by_file)[pair]
        agent, role_score = (np.full((len(first), count), np.nan, np.float32) for count in size)
        np.fmax.at(agent, (pair, action), score)
        with_role = np.flatnonzero(entry >= 0)
        np.fmax.at(role_score, (pair[with_role], entry[with_role]), score[with_role])
        role = np.broadcast_to(np.arange(len(first), dtype=np.int32)[:, None], role_score.shape)
        return cls(images, image[first], human_boxes[first], agent, role_score, role, object_boxes[first])

    @classmethod
    def concatenate(cls, parts: Sequence[RolePredictions]) -> RolePredictions:
        """Return the predictions of several files as one object, with images in the order of first appearance."""
        index = {name: i for i, name in enumerate(dict.fromkeys(name for part in parts for name in part.images))}
        before = np.cumsum([0, *(len(part.boxes) for part in parts)], dtype=np.int32)
        images = [np.array([index[name] for name in part.images], np.int32)[part.image] for part in parts]
        roles = [part.role + first for part, first in zip(parts, before[:-1], strict=True)]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("person_boxes", "agent", "score", "boxes")
        }
        return cls(images=tuple(index), image=np.concatenate(images), role=np.concatenate(roles), **columns)
