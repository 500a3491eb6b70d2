"""The box conventions of one file: one for all of its triplets, or one for each where the file's own words tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.boxes import Coordinates
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.rows import Rows

# Sizes of images as models saw them: the rules by which preprocessors resize, as ``--boxes`` names them.
#
# ``smart`` is the rule of Qwen2-VL's image processor (``smart_resize`` in transformers, image_processing_qwen2_vl.py):
# both sides become multiples of a factor and, where their product leaves a range of pixels, are scaled into it first.

RESIZINGS = {
    "resized:WxH": "pixels of the image resized to W x H",
    "resized:max=N": "pixels of the image resized so that its longer side is N",
    "resized:multiple=N": "pixels of the image whose sides were rounded to multiples of N",
    "resized:smart=N": "pixels of the image as Qwen-VL's processors resize it: N is 28 (Qwen2-VL, 2.5) or 32 (3)",
    "resized:smart=N:MIN:MAX": "the same with other min_pixels and max_pixels than the models' own",
}
_FIXED = re.compile(r"resized:([1-9]\d{0,4})x([1-9]\d{0,4})")
_RULE = re.compile(r"resized:(max|multiple)=([1-9]\d{0,4})")
_SMART = re.compile(r"resized:smart=([1-9]\d{0,3})(?::([1-9]\d{0,8}):([1-9]\d{0,8}))?")
# What the checkpoints' preprocessor_config.json say, in units of the factor squared: Qwen3-VL's lower end is 65,536.
_FEWEST, _MOST = {32: 64}, 16384
_USUAL_FEWEST = 4


def is_resizing(word: str) -> bool:
    """Tell whether a word names a rule."""
    if smart := _SMART.fullmatch(word):
        return smart[2] is None or int(smart[2]) <= int(smart[3])
    return bool(_FIXED.fullmatch(word) or _RULE.fullmatch(word))


def resized(word: str, sizes: Floats) -> Floats:
    """Resize (n, 2) widths and heights in pixels by the rule that a word names.

    Returns:
        (n, 2) or, where all images get one size, (2,).
    """
    if fixed := _FIXED.fullmatch(word):
        return np.array([float(fixed[1]), float(fixed[2])])
    if smart := _SMART.fullmatch(word):
        factor = int(smart[1])
        fewest = int(smart[2] or _FEWEST.get(factor, _USUAL_FEWEST) * factor**2)
        return _smart(sizes, factor, fewest, int(smart[3] or _MOST * factor**2))
    kind, _, number = word.removeprefix("resized:").partition("=")
    n = float(number)
    if kind == "max":
        fitted: Floats = np.maximum(np.rint(sizes * (n / sizes.max(axis=1, keepdims=True))), 1)
        return fitted
    rounded: Floats = np.maximum(np.rint(sizes / n) * n, n)
    return rounded


def _smart(sizes: Floats, factor: int, fewest: int, most: int) -> Floats:
    """(n, 2) sides as multiples of a factor, with ``fewest`` to ``most`` pixels."""
    pixels = sizes.prod(axis=1, keepdims=True)
    fitted = np.rint(sizes / factor) * factor
    area = fitted.prod(axis=1, keepdims=True)
    smaller = np.maximum(np.floor(sizes / np.sqrt(pixels / most) / factor) * factor, factor)
    larger = np.ceil(sizes * np.sqrt(fewest / pixels) / factor) * factor
    chosen: Floats = np.where(area > most, smaller, np.where(area < fewest, larger, fitted))
    return chosen


# Box conventions: what the four numbers of a file mean; named by the user or the format, never guessed.
#
# A convention is a layout (which four numbers), a scale (of what), a picture (whether the image was padded) and an
# order
# (which box is whose). Its name has a word for each that is not the usual one, joined by commas: ``xywh``,
# ``thousand``,
# ``thousand,yxyx``, ``unit,padded``.

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
    **RESIZINGS,
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
        return resized(self.scale, sizes) if is_resizing(self.scale) else sizes


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
    if not is_resizing(word) and (word not in SCALES or word in RESIZINGS):
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


@dataclass(frozen=True, slots=True, eq=False)
class Conventions:
    """The conventions of n triplets.

    Attributes:
        kinds: the conventions, at least one; where there are several, all give the same box coordinates.
        of: (n,) which of them each triplet has; None where all have the first.
        told: whether the file or its format tells others than the usual one, of which a name replaces the words that it
            has.
    """

    kinds: tuple[Convention, ...]
    of: Indices | None = None
    told: bool = False

    @classmethod
    def of_rows(cls, rows: Rows, usual: Convention, named: str | None) -> Conventions:
        """Find the conventions of what a reader hands over.

        Each word that the user names replaces the file's own, except a layout or scale that is fixed.

        Args:
            rows: n triplets, perhaps with conventions of their own.
            usual: that of the format.
            named: what the user named, if anything.
        """
        if rows.convention is None or not rows.conventions:
            return cls((usual if named is None else parse_convention(named, usual),), told=usual != Convention())
        own = [parse_convention(name) for name in rows.conventions]
        if named is not None:
            own = [
                replace(parse_convention(named, kind), layout=kind.layout, scale=kind.scale)
                if i in rows.fixed
                else parse_convention(named, kind)
                for i, kind in enumerate(own)
            ]
        kinds = list(dict.fromkeys(own))
        if len(kinds) == 1:
            return cls((kinds[0],), told=True)
        return cls(tuple(kinds), np.array([kinds.index(kind) for kind in own])[rows.convention], told=True)

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of boxes once converted."""
        return self.kinds[0].coordinates

    def counts(self, triplets: int) -> dict[str, int]:
        """Number of triplets by the name of their convention, the commonest first."""
        if self.of is None:
            return {str(self.kinds[0]): triplets}
        counts = np.bincount(self.of, minlength=len(self.kinds))
        return {str(self.kinds[i]): int(counts[i]) for i in np.argsort(-counts, kind="stable") if counts[i]}

    def select(self, rows: Mask | Indices) -> Conventions:
        """Those of some triplets."""
        return self if self.of is None else replace(self, of=self.of[rows])

    def at(self, row: int) -> Convention:
        """That of one triplet."""
        return self.kinds[0 if self.of is None else int(self.of[row])]

    def need_sizes(self, triplets: int) -> Mask:
        """(n,) triplets whose boxes can be converted only where the image's size is known."""
        needs = np.array([kind.needs_sizes for kind in self.kinds])
        return np.full(triplets, needs[0]) if self.of is None else needs[self.of]

    def converted(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Turn the boxes of triplets into x1, y1, x2, y2 in pixels of their images.

        Args:
            human: (n, 4) the boxes that the file gives as the person's.
            target: (n, 4) those that it gives as the object's.
            sizes: (n, 2) width and height of each triplet's image; used where a convention needs them.

        Returns:
            (n, 4) twice: human boxes and object boxes.
        """
        return self._each(Convention.converted, human, target, sizes)

    def undone(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Turn what :meth:`converted` gives back into the numbers of the file; arguments as there."""
        return self._each(Convention.undone, human, target, sizes)

    def _each(
        self, turn: Callable[[Convention, Floats, Floats], Floats], human: Floats, target: Floats, sizes: Floats
    ) -> tuple[Floats, Floats]:
        def of(kind: Convention, mine: slice | Mask) -> tuple[Floats, Floats]:
            pair = turn(kind, human[mine], sizes[mine]), turn(kind, target[mine], sizes[mine])
            return (pair[1], pair[0]) if kind.order else pair

        if self.of is None:
            return of(self.kinds[0], slice(None))
        turned = np.empty_like(human), np.empty_like(target)
        for i, kind in enumerate(self.kinds):
            turned[0][self.of == i], turned[1][self.of == i] = of(kind, self.of == i)
        return turned
