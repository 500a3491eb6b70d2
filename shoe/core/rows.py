"""What readers of files hand over: columns as a file has them, before they are checked and become a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.core.roles import RolePredictions, RoleTruth

_COLUMNS = (
    *("images", "image", "human_boxes", "object_boxes", "verbs", "objects", "verb", "object"),
    *("score", "sizes", "coordinates"),
)
"""Those that a table has too."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The triplets of one file in file order, boxes as the file has them; n triplets, m images.

    Attributes:
        image: (n,) index into ``images``.
        human_boxes, object_boxes: (n, 4) four numbers each, whatever they mean.
        verbs, objects: words, or the names that the file means by its numbers.
        verb, object: (n,) indices into ``verbs`` and ``objects``.
        score: (n,) confidence; NaN, or no array at all, where the file gives none.
        sizes: (m, 2) width and height as the file says; 0 where it does not.
        coordinates: (m,) ``Coordinates`` of each image, or one for all, where the format says what its numbers count.
        loose: (n,) triplets that come from a raw model reply, which may hold boxes without area.
        place: names the record of a triplet, given its row, where the file has one for each.
        left_out: names of images that could not be used.
        numbers: (m,) what other files call the images where they do not name them.
        conventions: names of the box conventions that the file's own words tell, as ``--boxes`` spells them; none where
            that of the format holds for all.
        convention: (n,) indices into ``conventions``.
        fixed: indices of those whose numbers mean one thing whatever the user names, as those of location tokens.
        annotated: of ground truth by person, the persons of the same images.
        detected: of predictions by person, what they say.
    """

    images: Sequence[str]
    image: Indices
    human_boxes: Floats
    object_boxes: Floats
    verbs: Sequence[str]
    objects: Sequence[str]
    verb: Indices
    object: Indices
    score: Floats | None = None
    sizes: Floats | None = None
    coordinates: NDArray[np.uint8] | Coordinates = Coordinates.CONTINUOUS
    loose: Mask | None = None
    place: Callable[[int], str] | None = None
    left_out: tuple[str, ...] = ()
    numbers: Indices | None = None
    conventions: Sequence[str] = ()
    convention: Indices | None = None
    fixed: Collection[int] = ()
    annotated: RoleTruth | None = None
    detected: RolePredictions | None = None

    @classmethod
    def of(cls, table: Interactions) -> Rows:
        """The rows of a table."""
        return cls(**{name: getattr(table, name) for name in _COLUMNS})

    def table(self, source: str | Path) -> Interactions:
        """Make a table of them, whose boxes are x1, y1, x2, y2; errors as :meth:`Interactions.from_columns`."""
        table = Interactions.from_columns(**{name: getattr(self, name) for name in _COLUMNS}, source=source)
        return table if self.detected is None else replace(table, roles=self.detected)
