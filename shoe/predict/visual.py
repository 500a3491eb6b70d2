"""Visual prompts, which show a model the person and the object of a pair in an image.

A visual prompt is a set of marks: drawing steps, or descriptions in the text. Names of marks are joined by ``+`` in any
order (``boxes+crop``), and marks are applied in the order of ``MARKS``. The digest of an image depends on the drawing
steps, so that an image without them is encoded only once for all its pairs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from shoe.core.errors import OptionError, quote, unknown_name
from shoe.llm.ledger import canonical
from shoe.predict.detection_files import PERSON
from shoe.predict.images import Picture, opened
from shoe.predict.questions import VisualPrompt
from shoe.predict.records import Pair

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]
Edges = tuple[int, int, int, int]

MARKS = {
    "others-black": "black out the boxes of other pairs, except where they overlap the person or the object",
    "black": "black out everything outside the two boxes",
    "blur": "blur everything outside the two boxes",
    "boxes": "draw a blue box around the person and a red box around the object",
    "crop": "crop the image to the two boxes and a margin",
    "crops": "add two more images: crops of the person and of the object",
    "text": "give the coordinates of both boxes in the text",
}
"""Marks by name, in the order in which they are applied."""
USUAL = "boxes"
_PERSON_COLOUR, _OBJECT_COLOUR = (0, 0, 255), (255, 0, 0)
_THICKNESS = 1 / 200
_BLUR = 1 / 40
_SMALLEST = 32  # smallest width and height of a crop in pixels, if the image is large enough
_DIGEST_BYTES = 16


class Visual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a visual prompt. By default, images are not scaled.

    Attributes:
        marks: names of marks, in the order of ``MARKS``.
        margin: margin on each side of the crop, as a fraction of the longer side of the region with both boxes.
        coordinates: unit of the box coordinates for the mark ``text``: pixels of the shown image, or thousandths or
            fractions of the sides of this image.
        max_pixels, min_pixels: maximum and minimum number of pixels; other images are scaled to about this number.
        multiple: image sides are rounded to multiples of this number of pixels. With the number that the model's image
            processor uses (Qwen2.5-VL: 28), the processor does not scale images again, and pixel coordinates refer to
            the image that the model gets.
    """

    marks: tuple[str, ...] = (USUAL,)
    margin: Annotated[float, Meta(ge=0, le=10)] = 0.1
    coordinates: Literal["pixels", "thousandths", "fractions"] = "pixels"
    max_pixels: Annotated[int, Meta(ge=1)] | None = None
    min_pixels: Annotated[int, Meta(ge=1)] | None = None
    multiple: Annotated[int, Meta(ge=1, le=1024)] = 1


def marks_named(text: str) -> tuple[str, ...]:
    """Return the marks of a visual prompt, given its name such as "boxes+crop", in the order of ``MARKS``.

    The name "none" is a visual prompt without marks. Raises OptionError if a mark is unknown.
    """
    names = [] if text == "none" else text.split("+")
    if "none" in names:
        raise OptionError(f"visual prompt {quote(text)}: 'none' cannot be combined with other marks")
    for name in names:
        if name not in MARKS:
            raise unknown_name("visual prompt", name, [*MARKS, "none"])
    return tuple(name for name in MARKS if name in names)


@dataclass(frozen=True, slots=True)
class View:
    """Image file, and the drawing steps that are applied to the image; each step is a tuple (name, *values)."""

    picture: Picture
    steps: tuple[tuple[Any, ...], ...] = ()

    @property
    def digest(self) -> str:
        """Hash of the image file and the drawing steps, as 32 hex digits; without steps, the hash of the image file."""
        if not self.steps:
            return self.picture.digest
        data = self.picture.digest.encode() + canonical(self.steps)
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()

    def open(self) -> Image:
        """Return the image in mode RGB, after all drawing steps."""
        image = _opened_once(self.picture)
        for name, *values in self.steps:
            image = _applied(image, name, values)
        return image


def visual_prompt(picture: Picture, pair: Pair, others: Sequence[Pair], visual: Visual) -> VisualPrompt:
    """Return the visual prompt of a pair: the images to be shown, and descriptions of person and object.

    ``others`` are all pairs of the image; the mark "others-black" paints their boxes black, except those of ``pair``.
    """
    marks = visual.marks
    human, thing = _pixels(pair.human_box, picture), _pixels(pair.object_box, picture)
    steps: list[tuple[Any, ...]] = []
    if "others-black" in marks:
        boxes = {_pixels(box, picture) for other in others for box in (other.human_box, other.object_box)}
        steps.append(("black", sorted(boxes - {human, thing}), [human, thing]))
    if "black" in marks:
        steps.append(("black", [(0, 0, picture.width, picture.height)], [human, thing]))
    if "blur" in marks:
        steps.append(("blur", [human, thing]))
    extra: list[View] = []
    if "crops" in marks:
        extra = [View(picture, (*steps, ("crop", _grown(box, 0, picture)))) for box in (human, thing)]
    if "boxes" in marks:
        steps.append(("boxes", human, thing))
    part = (0, 0, picture.width, picture.height)
    if "crop" in marks:
        x1, y1, x2, y2 = zip(human, thing, strict=True)
        part = _grown((min(x1), min(y1), max(x2), max(y2)), visual.margin, picture)
        steps.append(("crop", part))
    size = fitted((part[2] - part[0], part[3] - part[1]), visual)
    if size != (part[2] - part[0], part[3] - part[1]):
        steps.append(("scale", *size))
    person = "the person"
    object_ = "the other person" if pair.object == PERSON else f"the {pair.object.replace('_', ' ')}"
    for name, words in (
        ("boxes", ("in the blue box", "in the red box")),
        ("crops", ("that the second picture shows alone", "that the third picture shows alone")),
        ("text", tuple(f"at {_coordinates(box, part, size, visual)}" for box in (pair.human_box, pair.object_box))),
    ):
        if name in marks:
            person, object_ = f"{person} {words[0]}", f"{object_} {words[1]}"
    return VisualPrompt((View(picture, tuple(steps)), *extra), person, object_)


def whole(picture: Picture, visual: Visual) -> View:
    """Return a whole image without marks, scaled if its size does not fit ``visual``; see :func:`fitted`."""
    size = fitted((picture.width, picture.height), visual)
    return View(picture, () if size == (picture.width, picture.height) else (("scale", *size),))


def fitted(size: tuple[int, int], visual: Visual) -> tuple[int, int]:
    """Return the scaled width and height of an image of the given size, computed as in Qwen's image processors.

    Both are multiples of ``visual.multiple``, and their product is about ``min_pixels`` to ``max_pixels`` if set.
    """
    multiple = visual.multiple
    sides = [max(multiple, round(side / multiple) * multiple) for side in size]
    pixels = sides[0] * sides[1]
    if visual.max_pixels and pixels > visual.max_pixels:
        factor = math.sqrt(size[0] * size[1] / visual.max_pixels)
        sides = [max(multiple, math.floor(side / factor / multiple) * multiple) for side in size]
    elif visual.min_pixels and pixels < visual.min_pixels:
        factor = math.sqrt(visual.min_pixels / (size[0] * size[1]))
        sides = [math.ceil(side * factor / multiple) * multiple for side in size]
    return sides[0], sides[1]


# The image must not be modified. A small cache suffices, because the pairs of an image are consecutive.
_opened_once = lru_cache(maxsize=2)(opened)


def _applied(image: Image, name: str, values: Sequence[Any]) -> Image:
    from PIL import ImageDraw, ImageFilter
    from PIL.Image import Resampling

    if name == "crop":
        return image.crop(values[0])
    if name == "scale":
        return image.resize((values[0], values[1]), resample=Resampling.BICUBIC)
    if name == "boxes":
        changed = image.copy()
        pen, width = ImageDraw.Draw(changed), max(1, round(min(image.size) * _THICKNESS))
        for (x1, y1, x2, y2), colour in zip(values, (_PERSON_COLOUR, _OBJECT_COLOUR), strict=True):
            pen.rectangle((x1, y1, x2 - 1, y2 - 1), outline=colour, width=width)
        return changed
    if name == "blur":
        changed, unchanged_boxes = image.filter(ImageFilter.GaussianBlur(_BLUR * min(image.size))), values[0]
    else:
        changed, unchanged_boxes = image.copy(), values[1]
        for box in values[0]:
            changed.paste((0, 0, 0), box)
    for box in unchanged_boxes:
        changed.paste(image.crop(box), box)
    return changed


def _pixels(box: Box, picture: Picture) -> Edges:
    x1, y1 = (math.floor(value) for value in box[:2])
    x2, y2 = max(math.ceil(box[2]), x1 + 1), max(math.ceil(box[3]), y1 + 1)
    return x1, y1, min(x2, picture.width), min(y2, picture.height)


def _grown(box: Edges, margin: float, picture: Picture) -> Edges:
    """Return a box with a margin (fraction of its longer side), at least ``_SMALLEST`` pixels wide, in the image."""
    more = round(margin * max(box[2] - box[0], box[3] - box[1]))
    edges = []
    for low, high, most in ((box[0], box[2], picture.width), (box[1], box[3], picture.height)):
        missing = max(0, _SMALLEST - (high - low + 2 * more))
        start = min(max(0, low - more - missing // 2), max(0, most - _SMALLEST))
        edges.append((start, min(most, max(high + more, start + _SMALLEST))))
    (x1, x2), (y1, y2) = edges
    return x1, y1, x2, y2


def _coordinates(box: Box, part: Edges, size: tuple[int, int], visual: Visual) -> str:
    """Return a box as text, such as "[10, 20, 90, 80]", within the shown region ``part``, scaled to ``size``."""
    low, high = np.array(part[:2] * 2), np.array(part[2:] * 2)
    inside = np.clip((np.array(box) - low) / (high - low), 0, 1)
    if visual.coordinates == "fractions":
        return f"[{', '.join(f'{value:.3f}' for value in inside)}]"
    scale = (1000, 1000) if visual.coordinates == "thousandths" else size
    return f"[{', '.join(str(round(value * side)) for value, side in zip(inside, 2 * scale, strict=True))}]"
