"""Visual prompts: how a model is told which person and which object of a picture are meant.

Marks are joined by ``+``, in any order, as ``boxes+crop``; they are applied in the order of :data:`MARKS`. What is done
to a picture is data, and its digest follows from that: pictures to which nothing is done are the same for all pairs,
and are sent through a model once.
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
from shoe.predict.questions import Shown
from shoe.predict.records import Pair

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]
Edges = tuple[int, int, int, int]

MARKS = {
    "others-black": "the boxes of others are black, but for what the two cover",
    "black": "all but the two boxes is black",
    "blur": "all but the two boxes is blurred",
    "boxes": "a blue box around the person, a red one around the object",
    "crop": "only the smallest part with both boxes is shown, and a margin",
    "crops": "the person and the object are shown once more, each alone",
    "text": "coordinates stand in the text",
}
"""What may be done to a picture, in this order."""
USUAL = "boxes"
_PERSON_COLOUR, _OBJECT_COLOUR = (0, 0, 255), (255, 0, 0)
_THICKNESS = 1 / 200
_BLUR = 1 / 40
_SMALLEST = 32
"""Pixels: what is cut out has at least this width and height, where the picture has."""
_DIGEST_BYTES = 16
_KEPT_OPEN = 2


class Visual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A visual prompt; the defaults leave a picture in its size.

    Attributes:
        marks: names of ``MARKS``, in their order.
        margin: of a crop, on each side, as a share of the longer side of what is cut out.
        coordinates: of ``text``: pixels of the picture as it is shown, or thousandths or fractions of its sides.
        max_pixels, min_pixels: a larger or smaller picture is scaled to about so many.
        multiple: sides become multiples of so many pixels. With what a processor does itself (Qwen2.5-VL: 28), it does
            nothing more, and pixels in a text are the model's.
    """

    marks: tuple[str, ...] = (USUAL,)
    margin: Annotated[float, Meta(ge=0, le=10)] = 0.1
    coordinates: Literal["pixels", "thousandths", "fractions"] = "pixels"
    max_pixels: Annotated[int, Meta(ge=1)] | None = None
    min_pixels: Annotated[int, Meta(ge=1)] | None = None
    multiple: Annotated[int, Meta(ge=1, le=1024)] = 1


def marks_named(text: str) -> tuple[str, ...]:
    """Read the name of a visual prompt, as "boxes+crop"; "none" for no mark."""
    names = [] if text == "none" else text.split("+")
    if "none" in names:
        raise OptionError(f"visual prompt {quote(text)}: found 'none' beside others, expected it alone")
    for name in names:
        if name not in MARKS:
            raise unknown_name("visual prompt", name, [*MARKS, "none"])
    return tuple(name for name in MARKS if name in names)


@dataclass(frozen=True, slots=True)
class View:
    """A picture, and what is done to it before it is shown.

    Attributes:
        picture: the file.
        steps: each a name of what :func:`_done` knows, and its numbers.
    """

    picture: Picture
    steps: tuple[tuple[Any, ...], ...] = ()

    @property
    def digest(self) -> str:
        """32 hex digits that stand for what is shown."""
        if not self.steps:
            return self.picture.digest
        done = self.picture.digest.encode() + canonical(self.steps)
        return hashlib.blake2b(done, digest_size=_DIGEST_BYTES).hexdigest()

    def open(self) -> Image:
        """Make the picture, RGB."""
        image = _opened_once(self.picture)
        for name, *numbers in self.steps:
            image = _done(image, name, numbers)
        return image


def shown(picture: Picture, pair: Pair, others: Sequence[Pair], visual: Visual) -> Shown:
    """Show a pair.

    Args:
        picture: the picture.
        pair: which person and object are meant.
        others: the pairs of the picture, whose boxes are those of others.
        visual: how.
    """
    marks = visual.marks
    human, thing = _pixels(pair.human_box, picture), _pixels(pair.object_box, picture)
    steps: list[tuple[Any, ...]] = []
    if "others-black" in marks:
        boxes = {_pixels(box, picture) for one in others for box in (one.human_box, one.object_box)}
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
    return Shown((View(picture, tuple(steps)), *extra), person, object_)


def whole(picture: Picture, visual: Visual) -> View:
    """Show a whole picture without a mark, in the size that a visual prompt asks for."""
    size = fitted((picture.width, picture.height), visual)
    return View(picture, () if size == (picture.width, picture.height) else (("scale", *size),))


def fitted(size: tuple[int, int], visual: Visual) -> tuple[int, int]:
    """The width and height in which a picture of a size is shown; as Qwen's processors choose theirs."""
    width, height = size
    multiple = visual.multiple
    sides = [max(multiple, round(side / multiple) * multiple) for side in size]
    pixels = sides[0] * sides[1]
    if visual.max_pixels and pixels > visual.max_pixels:
        factor = math.sqrt(width * height / visual.max_pixels)
        sides = [max(multiple, math.floor(side / factor / multiple) * multiple) for side in size]
    elif visual.min_pixels and pixels < visual.min_pixels:
        factor = math.sqrt(visual.min_pixels / (width * height))
        sides = [math.ceil(side * factor / multiple) * multiple for side in size]
    return sides[0], sides[1]


@lru_cache(maxsize=_KEPT_OPEN)
def _opened_once(picture: Picture) -> Image:
    """A picture's pixels, which nobody changes: the pairs of a picture come one after the other."""
    return opened(picture)


def _done(image: Image, name: str, numbers: Sequence[Any]) -> Image:
    """Do one step, on a copy."""
    from PIL import ImageDraw, ImageFilter
    from PIL.Image import Resampling

    if name == "crop":
        return image.crop(numbers[0])
    if name == "scale":
        return image.resize((numbers[0], numbers[1]), resample=Resampling.BICUBIC)
    if name == "boxes":
        changed = image.copy()
        pen, width = ImageDraw.Draw(changed), max(1, round(min(image.size) * _THICKNESS))
        for (x1, y1, x2, y2), colour in zip(numbers, (_PERSON_COLOUR, _OBJECT_COLOUR), strict=True):
            pen.rectangle((x1, y1, x2 - 1, y2 - 1), outline=colour, width=width)
        return changed
    if name == "blur":
        changed, kept = image.filter(ImageFilter.GaussianBlur(_BLUR * min(image.size))), numbers[0]
    else:
        changed, kept = image.copy(), numbers[1]
        for box in numbers[0]:
            changed.paste((0, 0, 0), box)
    for box in kept:
        changed.paste(image.crop(box), box)
    return changed


def _pixels(box: Box, picture: Picture) -> Edges:
    """The smallest edges in whole pixels around a box."""
    x1, y1 = (math.floor(value) for value in box[:2])
    x2, y2 = max(math.ceil(box[2]), x1 + 1), max(math.ceil(box[3]), y1 + 1)
    return x1, y1, min(x2, picture.width), min(y2, picture.height)


def _grown(box: Edges, margin: float, picture: Picture) -> Edges:
    """A box with a margin, no smaller than ``_SMALLEST``, inside of the picture."""
    more = round(margin * max(box[2] - box[0], box[3] - box[1]))
    edges = []
    for low, high, most in ((box[0], box[2], picture.width), (box[1], box[3], picture.height)):
        missing = max(0, _SMALLEST - (high - low + 2 * more))
        start = min(max(0, low - more - missing // 2), max(0, most - _SMALLEST))
        edges.append((start, min(most, max(high + more, start + _SMALLEST))))
    (x1, x2), (y1, y2) = edges
    return x1, y1, x2, y2


def _coordinates(box: Box, part: Edges, size: tuple[int, int], visual: Visual) -> str:
    """A box's coordinates in words, in the part of the picture that is shown, in its size."""
    shares = [
        (value - part[axis]) / (part[axis + 2] - part[axis]) for value, axis in zip(box, (0, 1, 0, 1), strict=True)
    ]
    inside = np.clip(shares, 0, 1)
    if visual.coordinates == "fractions":
        return f"[{', '.join(f'{value:.3f}' for value in inside)}]"
    scale = (1000, 1000) if visual.coordinates == "thousandths" else size
    return f"[{', '.join(str(round(value * side)) for value, side in zip(inside, 2 * scale, strict=True))}]"
