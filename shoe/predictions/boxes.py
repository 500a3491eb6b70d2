"""Box conventions: what the four numbers of a file mean; named by the user or the format, never guessed.

A convention is a layout (which four numbers) and a scale (of what). Its name is one word, or both joined by a comma:
``xywh``, ``thousand``, ``thousand,yxyx``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats
from shoe.core.coordinates import Coordinates
from shoe.core.errors import OptionError, quote, unknown_name

LAYOUTS = {
    "xyxy": "x1, y1, x2, y2",
    "xywh": "x1, y1, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
}
SCALES = {
    "pixels": "pixels, continuous",
    "unit": "0 to 1, of the image's width and height",
    "thousand": "0 to 1000, of the image's width and height",
    "pixels-0": "indices of the first and last pixel, from 0",
    "pixels-1": "indices of the first and last pixel, from 1",
    "resized:WxH": "pixels of the image resized to W x H",
    "resized:max=N": "pixels of the image resized so that its longer side is N",
    "resized:multiple=N": "pixels of the image whose sides were rounded to multiples of N",
}
_COORDINATES = {"pixels-0": Coordinates.PIXELS_0, "pixels-1": Coordinates.PIXELS_1}
_FIXED = re.compile(r"resized:(\d{1,5})x(\d{1,5})")
_RULE = re.compile(r"resized:(max|multiple)=(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Convention:
    """One meaning of four numbers; see :data:`LAYOUTS` and :data:`SCALES`."""

    layout: str = "xyxy"
    scale: str = "pixels"

    def __str__(self) -> str:
        words = [self.scale] if self.scale != "pixels" else []
        return ",".join(words + ([self.layout] if self.layout != "xyxy" or not words else []))

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of boxes once converted."""
        return _COORDINATES.get(self.scale, Coordinates.CONTINUOUS)

    @property
    def needs_sizes(self) -> bool:
        """Whether boxes can be converted only where the image's size is known."""
        return self.scale in ("unit", "thousand") or self.scale.startswith("resized:")

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused with the record's name
    def converted(self, boxes: Floats, sizes: Floats) -> Floats:
        """Turn boxes into x1, y1, x2, y2 in pixels of the image.

        Args:
            boxes: (n, 4) as the file has them.
            sizes: (n, 2) width and height of each box's image; used only where :attr:`needs_sizes`.

        Returns:
            (n, 4), the same array where nothing has to change.
        """
        corners = _CORNERS[self.layout](boxes)
        if not self.needs_sizes:
            return corners
        scaled: Floats = corners * np.tile(sizes / self._extent(sizes), 2)
        return scaled

    def undone(self, boxes: Floats, sizes: Floats) -> Floats:
        """Turn what :meth:`converted` gives back into the numbers of the file, rounding aside.

        Args:
            boxes: (n, 4) x1, y1, x2, y2 in pixels of the image.
            sizes: as :meth:`converted` got them.

        Returns:
            (n, 4), the same array where nothing has to change.
        """
        corners = boxes * np.tile(self._extent(sizes) / sizes, 2) if self.needs_sizes else boxes
        return _NUMBERS[self.layout](corners)

    def _extent(self, sizes: Floats) -> Floats:
        """(n, 2) or (2,) width and height of the picture that the numbers are of."""
        if self.scale in ("unit", "thousand"):
            return np.full(2, 1.0 if self.scale == "unit" else 1000.0)
        if fixed := _FIXED.fullmatch(self.scale):
            return np.array([float(fixed[1]), float(fixed[2])])
        rule = _RULE.fullmatch(self.scale)
        n = float(rule[2]) if rule else 1.0
        if rule and rule[1] == "max":
            fitted: Floats = np.maximum(np.rint(sizes * (n / sizes.max(axis=1, keepdims=True))), 1)
            return fitted
        rounded: Floats = np.maximum(np.rint(sizes / n) * n, n)
        return rounded


def parse_convention(name: str) -> Convention:
    """Read the name of a convention.

    Raises:
        OptionError: for an unknown name, or two that exclude each other.
    """
    words = [word.strip().lower() for word in name.split(",")]
    layouts = [word for word in words if word in LAYOUTS]
    scales = [word for word in words if word not in LAYOUTS]
    for word in scales:
        match = _FIXED.fullmatch(word) or _RULE.fullmatch(word)
        if match and int(match[2]) and match[1] not in ("0", "00"):
            continue
        if word not in SCALES or word.startswith("resized:"):
            raise unknown_name("box convention", word, [*LAYOUTS, *SCALES])
    if len(layouts) > 1 or len(scales) > 1:
        raise OptionError(f"box convention {quote(name)}: at most one layout and one scale, as in thousand,yxyx")
    convention = Convention(layouts[0] if layouts else "xyxy", scales[0] if scales else "pixels")
    if convention.scale in _COORDINATES and convention.layout in ("xywh", "cxcywh"):
        raise OptionError(f"box convention {quote(name)}: pixel indices have corners, not a width")
    return convention


def ordered(boxes: Floats, coordinates: Coordinates) -> NDArray[np.bool_]:
    """(n,) boxes that a table accepts: x1 < x2 and y1 < y2, or <= where coordinates count pixels."""
    corner, opposite = boxes[:, :2], boxes[:, 2:]
    compare = np.less if coordinates == Coordinates.CONTINUOUS else np.less_equal
    valid: NDArray[np.bool_] = np.all(compare(corner, opposite), axis=1)
    return valid


def valid_conventions(boxes: Floats) -> list[str]:
    """Name the conventions, among those that need no image sizes, under which all boxes have an area."""
    candidates = [Convention(layout) for layout in LAYOUTS] + [Convention(scale="pixels-0")]
    return [str(c) for c in candidates if ordered(c.converted(boxes, np.zeros((0, 2))), c.coordinates).all()]


def _from_widths(boxes: Floats) -> Floats:
    return np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])


def _from_centres(boxes: Floats) -> Floats:
    half = boxes[:, 2:] / 2
    return np.column_stack([boxes[:, :2] - half, boxes[:, :2] + half])


def _to_widths(corners: Floats) -> Floats:
    return np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])


def _to_centres(corners: Floats) -> Floats:
    return np.column_stack([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]])


_CORNERS: dict[str, Callable[[Floats], Floats]] = {
    "xyxy": lambda boxes: boxes,
    "xywh": _from_widths,
    "cxcywh": _from_centres,
    "yxyx": lambda boxes: boxes[:, [1, 0, 3, 2]],
}
_NUMBERS: dict[str, Callable[[Floats], Floats]] = {
    "xyxy": lambda corners: corners,
    "xywh": _to_widths,
    "cxcywh": _to_centres,
    "yxyx": _CORNERS["yxyx"],
}
