"""Box conventions: the meaning of the four box numbers in a file, named by the user, the format or the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask, number_words
from shoe.core.boxes import Coordinates
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.interactions import Rows

# Resizing rules of model preprocessors. ``smart`` is the rule of Qwen2-VL's image processor (``smart_resize`` in
# transformers, image_processing_qwen2_vl.py): both sides become multiples of a factor, and the image is first scaled if
# its number of pixels is outside a range.
RESIZINGS = {
    "resized:WxH": "pixels of the image resized to W x H",
    "resized:max=N": "pixels of the image resized so that its longer side is N",
    "resized:scale=F": "pixels of the image resized by the factor F, such as 0.5",
    "resized:shorter=N:MAX": "pixels of the image resized so that its shorter side is N and its longer side at most "
    "MAX (DETR: 800:1333); MAX may be omitted",
    "resized:multiple=N": "pixels of the image whose sides were rounded to multiples of N",
    "resized:smart=N": "pixels of the image as Qwen-VL's processors resize it: N is 28 (Qwen2-VL, 2.5) or 32 (3)",
    "resized:smart=N:MIN:MAX": "as resized:smart=N, with MIN as min_pixels and MAX as max_pixels of the processor",
}
_FIXED = re.compile(r"resized:([1-9]\d{0,4})x([1-9]\d{0,4})")
_RULE = re.compile(r"resized:(max|multiple)=([1-9]\d{0,4})")
_SCALE = re.compile(r"resized:scale=(\d{1,3}(?:\.\d{1,6})?)")
_SHORTER = re.compile(r"resized:shorter=([1-9]\d{0,4})(?::([1-9]\d{0,4}))?")
_SMART = re.compile(r"resized:smart=([1-9]\d{0,3})(?::([1-9]\d{0,8}):([1-9]\d{0,8}))?")
# From the checkpoints' preprocessor_config.json, in units of factor squared: min_pixels of Qwen3-VL is 65,536.
_FEWEST, _USUAL_FEWEST, _MOST = {32: 64}, 4, 16384


def is_resizing(word: str) -> bool:
    """Return whether a word is a rule by which images were resized, such as "resized:640x480" or "resized:max=800"."""
    if smart := _SMART.fullmatch(word):
        return smart[2] is None or int(smart[2]) <= int(smart[3])
    if scale := _SCALE.fullmatch(word):
        return float(scale[1]) > 0
    if shorter := _SHORTER.fullmatch(word):
        return shorter[2] is None or int(shorter[1]) <= int(shorter[2])
    return bool(_FIXED.fullmatch(word) or _RULE.fullmatch(word))


def resized(word: str, sizes: Floats) -> Floats:
    """Return the (n, 2) image sizes after resizing by the rule ``word``, or (2,) if all images get the same size."""
    if fixed := _FIXED.fullmatch(word):
        return np.array([float(fixed[1]), float(fixed[2])])
    if smart := _SMART.fullmatch(word):
        factor = int(smart[1])
        fewest = int(smart[2] or _FEWEST.get(factor, _USUAL_FEWEST) * factor**2)
        return _smart(sizes, factor, fewest, int(smart[3] or _MOST * factor**2))
    if scale := _SCALE.fullmatch(word):
        return sizes * float(scale[1])
    if shorter := _SHORTER.fullmatch(word):
        # As in DETR (datasets/transforms.py): the limit lowers the shorter side, the longer side is rounded down.
        short, long = sizes.min(axis=1, keepdims=True), sizes.max(axis=1, keepdims=True)
        side = np.full_like(short, float(shorter[1]))
        if shorter[2]:
            side = np.where(long / short * side > int(shorter[2]), np.rint(int(shorter[2]) * short / long), side)
        return np.asarray(np.maximum(np.where(sizes == short, side, np.floor(side * sizes / short)), 1))
    kind, _, number = word.removeprefix("resized:").partition("=")
    n = float(number)
    if kind == "max":
        return np.asarray(np.maximum(np.rint(sizes * (n / sizes.max(axis=1, keepdims=True))), 1))
    return np.asarray(np.maximum(np.rint(sizes / n) * n, n))


def _smart(sizes: Floats, factor: int, fewest: int, most: int) -> Floats:
    """Return (n, 2) image sizes whose sides are multiples of ``factor``, with about ``fewest`` to ``most`` pixels."""
    pixels = sizes.prod(axis=1, keepdims=True)
    fitted = np.rint(sizes / factor) * factor
    area = fitted.prod(axis=1, keepdims=True)
    smaller = np.maximum(np.floor(sizes / np.sqrt(pixels / most) / factor) * factor, factor)
    larger = np.ceil(sizes * np.sqrt(fewest / pixels) / factor) * factor
    return np.where(area > most, smaller, np.where(area < fewest, larger, fitted))


# A convention has a layout (order of the numbers), a scale (unit), a picture (padding) and an order (human and object
# box). Its name joins the words that are not the default by commas: ``xywh``, ``thousand,yxyx``, ``unit,padded``.
LAYOUTS = {
    "xyxy": "x1, y1, x2, y2",
    "xywh": "x1, y1, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
    "xxyy": "x1, x2, y1, y2",
}
SCALES = {
    "pixels": "pixels, continuous",
    "unit": "0 to 1, fractions of the image's width and height",
    "hundred": "0 to 100, percent of the image's width and height",
    "thousand": "0 to 1000, thousandths of the image's width and height",
    "pixels-0": "indices of the first and last pixel, from 0",
    "pixels-1": "indices of the first and last pixel, from 1",
    **RESIZINGS,
}
PICTURES = {"padded": "coordinates in the image after centred padding to a square with its longer side"}
ORDERS = {"swapped": "human and object boxes are exchanged in the file"}
_SUGGESTIONS = {
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
    """Meaning of the four numbers of a box in a file.

    Attributes:
        layout: order of the numbers, a key of :data:`LAYOUTS`.
        scale: unit, a key of :data:`SCALES` or a resizing rule such as "resized:640x480".
        picture: "padded" if the image was padded to a square for the model; else "".
        order: "swapped" if the file has the object box in place of the human box, and vice versa; else "".
    """

    layout: str = "xyxy"
    scale: str = "pixels"
    picture: str = ""
    order: str = ""

    def __str__(self) -> str:
        words = ["" if self.scale == "pixels" else self.scale, "" if self.layout == "xyxy" else self.layout]
        return ",".join(word for word in [*words, self.picture, self.order] if word) or "xyxy"

    @property
    def full_name(self) -> str:
        """Name with layout and scale even if default ("pixels,xyxy"), so that it overrides those stated in a file."""
        return ",".join(word for word in (self.scale, self.layout, self.picture, self.order) if word)

    @property
    def coordinates(self) -> Coordinates:
        """Coordinate system of the boxes after conversion to pixels."""
        return _COORDINATES.get(self.scale, Coordinates.CONTINUOUS)

    @property
    def needs_sizes(self) -> bool:
        """Whether conversion to pixels needs the image size."""
        return bool(self.picture) or self.scale in _RELATIVE or self.scale.startswith("resized:")

    @np.errstate(over="ignore", invalid="ignore")  # non-finite numbers are refused later, with the record's name
    def to_pixels(self, boxes: Floats, sizes: Floats) -> Floats:
        """Convert (n, 4) boxes to x1, y1, x2, y2 in pixels; (n, 2) ``sizes`` are only used if :attr:`needs_sizes`."""
        corners = TO_CORNERS[self.layout](boxes)
        if not self.needs_sizes:
            return corners
        scale, offset = self.scale_and_offset(sizes)
        return np.asarray(corners * np.tile(scale, 2) - np.tile(offset, 2))

    def from_pixels(self, boxes: Floats, sizes: Floats) -> Floats:
        """Convert (n, 4) boxes from x1, y1, x2, y2 in pixels back to the numbers of the file, up to rounding."""
        if self.needs_sizes:
            scale, offset = self.scale_and_offset(sizes)
            boxes = (boxes + np.tile(offset, 2)) / np.tile(scale, 2)
        return _FROM_CORNERS[self.layout](boxes)

    def scale_and_offset(self, sizes: Floats) -> tuple[Floats, Floats]:
        """Return scale and offset for images with (n, 2) widths and heights: pixel = file coordinate * scale - offset.

        ``scale`` is (n, 2) pixels per unit; ``offset`` the (n, 2) corner of the image in the padded image, in pixels.
        """
        square = np.repeat(sizes.max(axis=1, keepdims=True), 2, axis=1) if self.picture else sizes
        extent: float | Floats = _RELATIVE.get(self.scale, 0.0)  # of the padded image, in the unit of the file
        if not extent:
            extent = resized(self.scale, square) if is_resizing(self.scale) else square
        return square / extent, (square - sizes) // 2


def parse_convention(name: str, own: Convention | None = None) -> Convention:
    """Parse the name of a box convention: comma-separated words in any order, such as "xywh,unit".

    Layout and scale of ``own``, which the file states, apply if ``name`` has no word for them. Raises OptionError for
    an unknown word, two words for the same field, or pixel indices with width and height.
    """
    words: dict[str, list[str]] = {"layout": [], "scale": [], "picture": [], "order": []}
    for word in (word.strip().lower() for word in name.split(",")):
        words[_part_of_name(word)].append(word)
    shown = f"box convention {quote(name)}"
    if any(len(each) > 1 for each in words.values()):
        raise OptionError(f"{shown}: must have at most one layout and one scale, as in thousand,yxyx")
    default = {"layout": own.layout, "scale": own.scale} if own else {}
    found = Convention(**default | {part: each[0] for part, each in words.items() if each})
    if found.scale in _COORDINATES and found.layout in ("xywh", "cxcywh"):
        why = "because pixel indices have corners and no width"
        raise OptionError(f"{shown}: {found.scale} and {found.layout} are mutually exclusive, {why}")
    return found


def _part_of_name(word: str) -> str:
    for kind, names in (("layout", LAYOUTS), ("picture", PICTURES), ("order", ORDERS)):
        if word in names:
            return kind
    if is_resizing(word) or (word in SCALES and word not in RESIZINGS):
        return "scale"
    if word.startswith(("normali", "relative")):
        known = "unit (0 to 1), hundred (0 to 100) or thousand (0 to 1000)"
        raise OptionError(f"box convention {quote(word)}: the range of the coordinates is missing: use {known}")
    if word in _SUGGESTIONS:
        raise OptionError(f"unknown box convention {quote(word)} (did you mean {_SUGGESTIONS[word]}?)")
    raise unknown_name("box convention", word, [*LAYOUTS, *SCALES, *PICTURES, *ORDERS])


def are_valid(boxes: Floats, coordinates: Coordinates) -> NDArray[np.bool_]:
    """Return an (n,) mask of valid boxes: x1 < x2 and y1 < y2, or <= if coordinates are pixel indices."""
    compare = np.less if coordinates == Coordinates.CONTINUOUS else np.less_equal
    return np.asarray(compare(boxes[:, :2], boxes[:, 2:]).all(axis=1))


def valid_conventions(boxes: Floats) -> list[str]:
    """Return the names of the conventions in pixels (each layout, and "pixels-0") under which all boxes are valid."""
    candidates = [Convention(layout) for layout in LAYOUTS] + [Convention(scale="pixels-0")]
    return [str(c) for c in candidates if are_valid(c.to_pixels(boxes, np.zeros((0, 2))), c.coordinates).all()]


TO_CORNERS: dict[str, Callable[[Floats], Floats]] = {
    "xyxy": lambda boxes: boxes,
    "xywh": lambda boxes: np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]),
    "cxcywh": lambda boxes: np.column_stack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2]),
    "yxyx": lambda boxes: boxes[:, [1, 0, 3, 2]],
    "xxyy": lambda boxes: boxes[:, [0, 2, 1, 3]],
}
"""Functions that convert (n, 4) boxes of a layout to x1, y1, x2, y2 in the same unit, by the name of the layout."""
_FROM_CORNERS: dict[str, Callable[[Floats], Floats]] = {
    "xyxy": lambda corners: corners,
    "xywh": lambda corners: np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]]),
    "cxcywh": lambda corners: np.column_stack([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]]),
    "yxyx": TO_CORNERS["yxyx"],
    "xxyy": TO_CORNERS["xxyy"],
}


@dataclass(frozen=True, slots=True, eq=False)
class Conventions:
    """Box conventions of n triplets: distinct ``kinds`` with one coordinate system, and the (n,) ``index`` into them.

    ``index`` is None if all have the first convention. If the file or its format has ``stated`` conventions, a name
    given by the user overrides only the parts (layout, scale, ...) that it contains.
    """

    kinds: tuple[Convention, ...]
    index: Indices | None = None
    stated: bool = False

    @classmethod
    def from_rows(cls, rows: Rows, default: Convention, chosen: str | None) -> Conventions:
        """Return the conventions of the n triplets in ``rows``.

        ``default`` is the convention of the format, used if the file states no convention. ``chosen`` is the name given
        by the user, or None. Its words override those in the file, except layout and scale of ``rows.fixed``.
        """
        if rows.convention is None or not rows.conventions:
            kind = default if chosen is None else parse_convention(chosen, default)
            return cls((kind,), stated=default != Convention())
        in_file = [parse_convention(name) for name in rows.conventions]
        for i, kind in enumerate(in_file if chosen is not None else ()):
            in_file[i] = parse_convention(str(chosen), kind)
            if i in rows.fixed:
                in_file[i] = replace(in_file[i], layout=kind.layout, scale=kind.scale)
        kinds, index = number_words(in_file)
        return cls(tuple(kinds), index[rows.convention] if len(kinds) > 1 else None, stated=True)

    @property
    def coordinates(self) -> Coordinates:
        """Coordinate system of the boxes after conversion to pixels, which all conventions share."""
        return self.kinds[0].coordinates

    def counts(self, triplets: int) -> dict[str, int]:
        """Return the number of triplets per convention, the most frequent first."""
        if self.index is None:
            return {str(self.kinds[0]): triplets}
        counts = np.bincount(self.index, minlength=len(self.kinds))
        return {str(self.kinds[i]): int(counts[i]) for i in np.argsort(-counts, kind="stable") if counts[i]}

    def select(self, rows: Mask | Indices) -> Conventions:
        """Return the conventions of the triplets selected by a mask or by indices."""
        return self if self.index is None else replace(self, index=self.index[rows])

    def at(self, row: int) -> Convention:
        """Return the convention of the triplet with index ``row``."""
        return self.kinds[0 if self.index is None else int(self.index[row])]

    def need_sizes(self, triplets: int) -> Mask:
        """Return the (``triplets``,) mask of the triplets whose boxes need the image size for conversion to pixels."""
        needs = np.array([kind.needs_sizes for kind in self.kinds])
        return np.full(triplets, needs[0]) if self.index is None else needs[self.index]

    def to_pixels(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Convert (n, 4) human and object boxes, exchanged if "swapped", to pixels, given the (n, 2) image sizes."""
        return self._each(Convention.to_pixels, human, target, sizes)

    def from_pixels(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Convert (n, 4) human and object boxes in pixels back to the numbers of the file, exchanged if "swapped"."""
        return self._each(Convention.from_pixels, human, target, sizes)

    def _each(
        self, convert: Callable[[Convention, Floats, Floats], Floats], human: Floats, target: Floats, sizes: Floats
    ) -> tuple[Floats, Floats]:
        def convert_rows(kind: Convention, rows: slice | Mask) -> tuple[Floats, Floats]:
            pair = convert(kind, human[rows], sizes[rows]), convert(kind, target[rows], sizes[rows])
            return (pair[1], pair[0]) if kind.order else pair

        if self.index is None:
            return convert_rows(self.kinds[0], slice(None))
        results = np.empty_like(human), np.empty_like(target)
        for i, kind in enumerate(self.kinds):
            results[0][self.index == i], results[1][self.index == i] = convert_rows(kind, self.index == i)
        return results
