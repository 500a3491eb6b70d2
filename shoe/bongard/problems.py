"""Bongard problems: six pictures that show a concept, six that show its object otherwise, and two queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask

SHOTS = 6
"""Pictures on a side (M of the paper); one more is its query."""
SIDE = SHOTS + 1

GROUPS = ("seen_obj_seen_act", "unseen_obj_seen_act", "seen_obj_unseen_act", "unseen_obj_unseen_act")
"""The four groups by what training problems showed, as the field's files are named."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Pictures of problems: n crops of images, each around one interaction.

    Attributes:
        images: names or paths of the images.
        image: (n,) index into ``images``.
        crops: (n, 4) x1, y1, x2, y2 of the crop in the image, in pixels from its top-left corner.
        human_boxes, object_boxes: (n, 4) the same of the interaction's boxes; some of the field's leave their crop.
        verb, object: (n,) indices into ``verbs`` and ``objects``.
        verbs, objects: actions and objects, as their files have them; an action may be several merged to one,
            "ride_or_straddle".
    """

    images: tuple[str, ...]
    image: Ints
    crops: Floats
    human_boxes: Floats
    object_boxes: Floats
    verb: Ints
    object: Ints
    verbs: tuple[str, ...]
    objects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.image)


@dataclass(frozen=True, eq=False, repr=False)
class Problems:
    """P problems.

    Attributes:
        regions: their pictures.
        positives: (P, 7) regions that show the concept; the last is a query.
        negatives: (P, 7) regions with the concept's object and another action; the last is a query.
        group: (P,) index into ``groups``.
    """

    regions: Regions
    positives: Indices
    negatives: Indices
    groups: tuple[str, ...]
    group: Ints

    def __repr__(self) -> str:
        return f"<Problems: {len(self):,} of {len(self.concepts)} concepts on {len(self.regions.images):,} images>"

    def __len__(self) -> int:
        return len(self.positives)

    @property
    def rows(self) -> Indices:
        """(P, 14) regions, positives first."""
        return np.hstack([self.positives, self.negatives])

    @cached_property
    def _concepts(self) -> tuple[Indices, Indices]:
        first = self.positives[:, 0]
        number = self.regions.verb[first].astype(np.int64) * len(self.regions.objects) + self.regions.object[first]
        found, concept = np.unique(number, return_inverse=True)
        return found, concept

    @property
    def concept(self) -> Indices:
        """(P,) index into ``concepts``."""
        return self._concepts[1]

    @property
    def concepts(self) -> list[tuple[str, str]]:
        """Action and object of each concept that there is."""
        verb, object_ = np.divmod(self._concepts[0], max(1, len(self.regions.objects)))
        return [(self.regions.verbs[v], self.regions.objects[o]) for v, o in zip(verb, object_, strict=True)]

    def select(self, chosen: Sequence[int] | Indices | Mask) -> Problems:
        """Keep some problems (a mask, or indices); regions and groups stay."""
        keep = np.asarray(chosen)
        return Problems(self.regions, self.positives[keep], self.negatives[keep], self.groups, self.group[keep])

    def counts(self) -> dict[str, tuple[int, int, int]]:
        """Of each group: concepts, problems, and images."""
        found = {}
        for number, name in enumerate(self.groups):
            of = self.group == number
            images = np.unique(self.regions.image[self.rows[of]])
            found[name] = (len(np.unique(self.concept[of])), int(of.sum()), len(images))
        return found
