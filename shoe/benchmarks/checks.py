"""What every format that points from triplets to boxes and classes has to keep: checked here, named by image and index.

Arguments that come up everywhere: ``place_of`` is the names of m images and the (n,) index of each triplet's image,
ascending; ``counts`` is the (m,) number of boxes of each image.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shoe.core.arrays import Indices, Mask
from shoe.core.errors import InputError, quote

PlaceOf = tuple[Sequence[str], Indices]


def triplet_name(place_of: PlaceOf, row: int) -> str:
    """Name a triplet in a message: its image, and its index there, counted from 0."""
    images, image = place_of
    return f"image {quote(images[image[row]])}: triplet {row - int(np.searchsorted(image, image[row]))}"


def check_range(
    path: str | Path,
    place_of: PlaceOf,
    field: str,
    index: Indices,
    size: int,
    first: int = 0,
    meaning: str = "",
) -> None:
    """Raise for the first triplet whose index is not ``first`` to ``first + size - 1``.

    Args:
        path: the file.
        place_of: see the module.
        field: the index's name in the file.
        index: (n,) as the file has it.
        size: how many values there are.
        first: where the file starts counting.
        meaning: what to say of the range.
    """
    wrong = (index < first) | (index >= first + size)
    _refuse(path, place_of, field, index, wrong, f"{first} to {first + size - 1}{meaning}")


def check_boxes(
    path: str | Path, place_of: PlaceOf, field: str, index: Indices, counts: Indices, wrong: Mask | None = None
) -> None:
    """Raise for the first triplet whose index is none of its image's boxes.

    Args:
        path: the file.
        place_of: see the module.
        field: the index's name in the file.
        index: (n,) from 0.
        counts: see the module.
        wrong: (n,) the rows to refuse, where not all that are out of range are.
    """
    limit = counts[place_of[1]]
    wrong = (index < 0) | (index >= limit) if wrong is None else wrong
    if wrong.any():
        row = int(np.argmax(wrong))
        hint = "triplets without object are V-COCO's" if index[row] == -1 else None
        expected = f"the index of one of the image's {limit[row]} boxes, from 0"
        _refuse(path, place_of, field, index, wrong, expected, hint)


def _refuse(
    path: str | Path,
    place_of: PlaceOf,
    field: str,
    values: Indices,
    wrong: Mask,
    expected: str,
    hint: str | None = None,
) -> None:
    """Raise for the first triplet that is wrong, if any is."""
    if wrong.any():
        row = int(np.argmax(wrong))
        record, found = triplet_name(place_of, row), str(values[row])
        raise InputError(path, record=record, field=field, found=found, expected=expected, hint=hint)


def objects_of(
    path: str | Path, images: Sequence[str], counts: Indices, category: Indices, table: Indices, expected: str
) -> Indices:
    """Look up what the categories of boxes mean.

    Args:
        path: the file.
        images: m names.
        counts: see the module.
        category: (boxes,) as the file has it.
        table: object of each category; -1 for numbers that are none.
        expected: the categories there are, in words.

    Returns:
        (boxes,) object of each box.

    Raises:
        InputError: naming the first box whose category is none.
    """
    inside = (category >= 0) & (category < len(table))
    found = np.where(inside, table[np.where(inside, category, 0)], -1)
    if (found < 0).any():
        box = int(np.argmax(found < 0))
        image = int(np.searchsorted(np.cumsum(counts), box, side="right"))
        record = f"image {quote(images[image])}: box {box - int(counts[:image].sum())}"
        raise InputError(path, record=record, field="category_id", found=str(category[box]), expected=expected)
    return found
