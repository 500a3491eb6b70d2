"""Columns returned by file readers, before they are validated and converted to a table of interactions."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

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
"""Fields that :class:`Rows` and :class:`Interactions` share."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The n triplets of a file with m images, in file order and with boxes as in the file.

    Attributes:
        images: names of the m images.
        image: (n,) index into ``images``.
        human_boxes, object_boxes: (n, 4) box coordinates as in the file, in any box convention.
        verbs, objects: vocabularies of words; if the file has class IDs, the names of the classes.
        verb, object: (n,) indices into ``verbs`` and ``objects``.
        score: (n,) confidence, NaN if missing; None if the file has no scores.
        sizes: (m, 2) width and height; 0 if unknown.
        coordinates: (m,) ``Coordinates`` of each image, or one value for all images.
        loose: (n,) mask of triplets from raw model replies, whose boxes may have no area; None if there are none.
        place: callback that returns the name of a triplet's record for messages, given its row index.
        left_out: names of images that could not be used.
        numbers: (m,) IDs by which prediction files refer to images; None if they use names.
        conventions: names of the box conventions (as in ``--boxes``) that the file itself states; empty if the
            convention of the format holds for all rows.
        convention: (n,) indices into ``conventions``.
        fixed: indices of conventions that the user cannot override, such as that of location tokens.
        annotated: ground truth per person for the same images, or None.
        detected: predictions per person, or None.
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
    def from_table(cls, table: Interactions) -> Self:
        """Return the columns of a table; fields that a table does not have are left at their defaults."""
        return cls(**{name: getattr(table, name) for name in _COLUMNS})

    def table(self, source: str | Path) -> Interactions:
        """Return the validated table; boxes must be x1, y1, x2, y2. Raises as :meth:`Interactions.from_columns`."""
        table = Interactions.from_columns(**{name: getattr(self, name) for name in _COLUMNS}, source=source)
        return table if self.detected is None else replace(table, roles=self.detected)
