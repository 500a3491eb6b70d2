"""What any file of V-COCO with persons says, put together: triplets, and persons with their actions and roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.roles import RoleTruth
from shoe.core.rows import Rows

_PERSON = "person"


@dataclass(frozen=True, slots=True, eq=False)
class Annotated:
    """The boxes of m images, b in all, and what q annotations say of them.

    Attributes:
        images: m names.
        sizes: (m, 2) width and height; 0 where the file does not say.
        counts: (m,) boxes of each image, which follow each other.
        boxes: (b, 4) x1, y1, x1 + width, y1 + height.
        object: (b,) category, an index into the benchmark's objects.
        left_out: (b,) boxes that the official evaluation leaves out, beside those without area.
        listed: rows of the persons that were annotated, with or without an action.
        person: (q,) row of a person.
        action, entry: (q,) what it does, and in which role the target is; an entry of -1 for actions without roles.
        target: (q,) row of the box that has the role; -1 where there is none.
    """

    images: Sequence[str]
    sizes: Floats
    counts: Indices
    boxes: Floats
    object: Indices
    left_out: Mask
    listed: Indices
    person: Indices
    action: Indices
    entry: Indices
    target: Indices

    def rows(self, benchmark: Benchmark) -> Rows:
        """The triplets with both boxes, and the persons."""
        actions = benchmark.actions
        pair = np.flatnonzero(self.target >= 0)
        image = np.repeat(np.arange(len(self.images)), self.counts)
        order = pair[np.argsort(image[self.person[pair]], kind="stable")]
        return Rows(
            images=self.images,
            image=image[self.person[order]],
            human_boxes=self.boxes[self.person[order]],
            object_boxes=self.boxes[self.target[order]],
            verbs=actions.names,
            objects=benchmark.objects,
            verb=self.action[order],
            object=self.object[self.target[order]],
            sizes=self.sizes,
            annotated=self._roles(benchmark, image),
        )

    def _roles(self, benchmark: Benchmark, image: Indices) -> RoleTruth:
        """Persons as the official evaluation takes them (docs/protocols.md 4.2).

        Boxes are of single precision, hold their last pixel, lie in the image and are larger than a pixel.
        """
        actions = benchmark.actions
        boxes = self.boxes.copy()
        boxes[:, 2:] = boxes[:, :2] + np.maximum(0, boxes[:, 2:] - boxes[:, :2] - 1)
        last = np.where(self.sizes > 0, self.sizes - 1, np.inf)[image]
        boxes = np.minimum(np.tile(last, 2), np.maximum(0, boxes))
        kept = ~self.left_out & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        persons = np.flatnonzero(kept & (self.object == benchmark.objects.index(_PERSON)))
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        labels = np.full((len(kept), len(actions)), -1, np.int8)
        labels[self.listed] = 0
        labels[self.person, self.action] = 1
        role = np.full((len(kept), len(actions.entries)), -1, np.int32)
        known = np.flatnonzero((self.entry >= 0) & (self.target >= 0))
        role[self.person[known], self.entry[known]] = moved[self.target[known]]
        offsets = np.append(0, np.cumsum(np.bincount(image[kept], minlength=len(self.images))))
        return RoleTruth(
            box_offsets=offsets,
            boxes=boxes[kept].astype(np.float32),
            object=self.object[kept].astype(np.int32),
            person=moved[persons],
            labels=labels[persons],
            role=role[persons],
        )
