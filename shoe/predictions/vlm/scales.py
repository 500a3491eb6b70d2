"""The scale of boxes whose form tells a convention that their numbers may contradict."""

from __future__ import annotations

import numpy as np

from shoe.core.arrays import Floats

_UNIT, _THOUSAND, _LAST, _Y_FIRST, _USUAL = "unit", "thousand", 1000, "yxyx", "xyxy"
_SMALL = 800  # sides of images whose pixels tell from thousandths
_MANY = 0.02
_ENOUGH = 20  # pairs that tell something of all pairs of a file


def by_content(convention: str, boxes: Floats, sides: Floats) -> str:
    """A convention that the form of boxes says, with another scale where their numbers cannot be of that.

    Thousandths are not all below 1, nor beyond 1000; nor do nearly all of them stay below the pixels of small images.

    Args:
        convention: its name.
        boxes: (n, 8) the numbers of both boxes.
        sides: (n, 2) width and height of their images, 0 where not known.
    """
    words = convention.split(",")
    if _THOUSAND not in words or not len(boxes):
        return convention
    rest = [word for word in words if word != _THOUSAND]
    if boxes.max() <= 1:
        return ",".join([_UNIT, *rest])
    small = (sides > 0).all(axis=1) & (sides.max(axis=1) <= _SMALL)
    limits = np.tile(sides[small][:, ::-1] if _Y_FIRST in words else sides[small], 4)
    are_inside = small.sum() >= _ENOUGH and (boxes[small] <= limits + 1).all(axis=1).mean() > 1 - _MANY
    if are_inside or (boxes.max(axis=1) > _LAST).mean() >= _MANY:
        return ",".join(rest) or _USUAL
    return convention
