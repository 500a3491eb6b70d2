"""Box conventions: what the four numbers of a file mean; named by the user or the format, never guessed.

A convention is a layout (which four numbers), a scale (of what), a picture (whether the image was padded) and an order
(which box is whose). Its name has a word for each that is not the usual one, joined by commas: ``xywh``, ``thousand``,
``thousand,yxyx``, ``unit,padded``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats
from shoe.core.coordinates import Coordinates
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.predictions import resizing

LAYOUTS = {
    "xyxy": "x1, y1, x2, y2",
    "xywh": "x1, y1, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
    "xxyy": "x1, x2, y1, y2",
}
SCALES = {
    "pixels": "pixels, continuous",
    "unit": "0 to 1, of the image's width and height",
    "hundred": "0 to 100, of the image's width and height: percent",
    "thousand": "0 to 1000, of the image's width and height",
    "pixels-0": "indices of the first and last pixel, from 0",
    "pixels-1": "indices of the first and last pixel, from 1",
    **resizing.SCALES,
}
PICTURES = {"padded": "numbers are of the image in the middle of a square, as long as its longer side"}
ORDERS = {"swapped": "the box named as the person's is the object's, and the other way round"}
_MEANT = {
    **dict.fromkeys(("1000", "0-1000", "0..1000", "999", "norm1000", "permille"), "thousand"),
    **dict.fromkeys(("100", "0-100", "0..100", "percent", "%"), "hundred"),
    **dict.fromkeys(("1", "0-1", "0..1", "normalized", "normalised", "relative", "norm", "float"), "unit"),
    **dict.fromkeys(("px", "pixel", "absolute", "abs"), "pixels"),
    **dict.fromkeys(("coco", "ltwh", "tlwh"), "xywh"),
    **dict.fromkeys(("ltrb", "tlbr", "x1y1x2y2", "voc", "pascal"), "xyxy"),
    **dict.fromkeys(("yolo", "cxcywhn"), "unit,cxcywh"),
    **dict.fromkeys(("gemini", "box_2d"), "thousand,yxyx"),
}
_COORDINATES = {"pixels-0": Coordinates.PIXELS_0, "pixels-1": Coordinates.PIXELS_1}
_RELATIVE = {"unit": 1.0, "hundred": 100.0, "thousand": 1000.0}


@dataclass(frozen=True, slots=True)
class Convention:
    """One meaning of four numbers; see :data:`LAYOUTS`, :data:`SCALES`, :data:`PICTURES` and :data:`ORDERS`."""

    layout: str = "xyxy"
    scale: str = "pixels"
    picture: str = ""
    order: str = ""

    def __str__(self) -> str:
        usual = Convention()
        words = [self.scale if self.scale != usual.scale else "", self.layout if self.layout != usual.layout else ""]
        return ",".join(word for word in [*words, self.picture, self.order] if word) or usual.layout

    @property
    def full_name(self) -> str:
        """Its name with layout and scale, usual or not: what replaces whatever a file tells by itself."""
        return ",".join(word for word in (self.scale, self.layout, self.picture, self.order) if word)

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of boxes once converted."""
        return _COORDINATES.get(self.scale, Coordinates.CONTINUOUS)

    @property
    def needs_sizes(self) -> bool:
        """Whether boxes can be converted only where the image's size is known."""
        return bool(self.picture) or self.scale in _RELATIVE or self.scale.startswith("resized:")

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused with the record's name
    def converted(self, boxes: Floats, sizes: Floats) -> Floats:
        """Turn boxes into x1, y1, x2, y2 in pixels of the image.

        Args:
            boxes: (n, 4) as the file has them.
            sizes: (n, 2) width and height of each box's image; used only where :attr:`needs_sizes`.

        Returns:
            (n, 4), the same array where nothing has to change.
        """
        corners = corners_of(boxes, self.layout)
        if not self.needs_sizes:
            return corners
        factor, margin = self.fitting(sizes)
        scaled: Floats = corners * np.tile(factor, 2) - np.tile(margin, 2)
        return scaled

    def undone(self, boxes: Floats, sizes: Floats) -> Floats:
        """Turn what :meth:`converted` gives back into the numbers of the file, rounding aside.

        Args:
            boxes: (n, 4) x1, y1, x2, y2 in pixels of the image.
            sizes: as :meth:`converted` got them.

        Returns:
            (n, 4), the same array where nothing has to change.
        """
        if self.needs_sizes:
            factor, margin = self.fitting(sizes)
            boxes = (boxes + np.tile(margin, 2)) / np.tile(factor, 2)
        return _NUMBERS[self.layout](boxes)

    def fitting(self, sizes: Floats) -> tuple[Floats, Floats]:
        """Say how corners in the numbers of the file become pixels: times the first, less the second.

        Args:
            sizes: (n, 2) width and height of images.

        Returns:
            (n, 2) twice: pixels of one of the file's numbers, and where in its picture the image begins.
        """
        square = np.repeat(sizes.max(axis=1, keepdims=True), 2, axis=1) if self.picture else sizes
        return square / self._extent(square), (square - sizes) // 2

    def _extent(self, sizes: Floats) -> Floats:
        """(n, 2) or (2,) width and height of a picture in the numbers of the file."""
        if self.scale in _RELATIVE:
            return np.full(2, _RELATIVE[self.scale])
        return resizing.resized(self.scale, sizes) if resizing.is_resizing(self.scale) else sizes


def parse_convention(name: str, own: Convention | None = None) -> Convention:
    """Read the name of a convention.

    Args:
        name: its words, in any order.
        own: whose layout and scale hold where the name has none: what a file tells by itself.

    Raises:
        OptionError: for an unknown name, or two that exclude each other.
    """
    words: dict[str, list[str]] = {"layout": [], "scale": [], "picture": [], "order": []}
    for word in (word.strip().lower() for word in name.split(",")):
        words[_kind(word)].append(word)
    if any(len(of_kind) > 1 for of_kind in words.values()):
        raise OptionError(f"box convention {quote(name)}: at most one layout and one scale, as in thousand,yxyx")
    given = {kind: of_kind[0] for kind, of_kind in words.items() if of_kind}
    if own:
        given = {"layout": own.layout, "scale": own.scale} | given
    convention = Convention(**given)
    if convention.scale in _COORDINATES and convention.layout in ("xywh", "cxcywh"):
        raise OptionError(f"box convention {quote(name)}: pixel indices have corners, not a width")
    return convention


def _kind(word: str) -> str:
    """Which part of a convention a word names."""
    for kind, names in (("layout", LAYOUTS), ("picture", PICTURES), ("order", ORDERS)):
        if word in names:
            return kind
    if word.startswith(("normali", "relative")):
        known = "unit (0 to 1), hundred (0 to 100) or thousand (0 to 1000)"
        raise OptionError(f"box convention {quote(word)}: found no scale, expected {known}")
    if not resizing.is_resizing(word) and (word not in SCALES or word in resizing.SCALES):
        if word in _MEANT:
            raise OptionError(f"unknown box convention {quote(word)} (did you mean {_MEANT[word]}?)")
        raise unknown_name("box convention", word, [*LAYOUTS, *SCALES, *PICTURES, *ORDERS])
    return "scale"


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


def corners_of(boxes: Floats, layout: str) -> Floats:
    """(n, 4) boxes of a layout to x1, y1, x2, y2 in the same numbers."""
    return _CORNERS[layout](boxes)


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
    "xxyy": lambda boxes: boxes[:, [0, 2, 1, 3]],
}
_NUMBERS: dict[str, Callable[[Floats], Floats]] = {
    "xyxy": lambda corners: corners,
    "xywh": _to_widths,
    "cxcywh": _to_centres,
    "yxyx": _CORNERS["yxyx"],
    "xxyy": _CORNERS["xxyy"],
}
