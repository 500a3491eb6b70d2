"""A box in any of the shapes in which models write it: numbers in lists, in text, under the names of corners."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from shoe.predictions.boxes.conventions import Convention
from shoe.predictions.vlm.keys import LAYOUTS, meaning

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_CORNER_NAME = re.compile(r"(?i)\b(?:[xy]_?[012]|[xy]_?m(?:in|ax)|left|top|right|bottom|x|y|w|h)\s*[:=]|(?<=\d)\s?px\b")
_NAMED_NUMBER = re.compile(r"\b([A-Za-z][A-Za-z_]{0,11}\d?)\s{0,3}[:=]\s{0,3}(-?\d{1,9}(?:\.\d{1,9})?)(?![\w.])")
_UNIT = re.compile(r"\s*(px|pixels?|%)\s*$", re.I)
_WIDTHS = re.compile(r"\bw\s*[:=]")
_OTHER = re.compile(r"[^\s\[\](){}<>,;|\d.eE+-]")
# Names of the four numbers, without separators and in lower case, and the layout that they make in this order.
_NAMES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("x1", "y1", "x2", "y2"), "xyxy"),
    (("x0", "y0", "x1", "y1"), "xyxy"),
    (("xmin", "ymin", "xmax", "ymax"), "xyxy"),
    (("minx", "miny", "maxx", "maxy"), "xyxy"),
    (("left", "top", "right", "bottom"), "xyxy"),
    (("xleft", "ytop", "xright", "ybottom"), "xyxy"),
    (("startx", "starty", "endx", "endy"), "xyxy"),
    (("x", "y", "x2", "y2"), "xyxy"),
    (("x", "y", "width", "height"), "xywh"),
    (("x", "y", "w", "h"), "xywh"),
    (("left", "top", "width", "height"), "xywh"),
    (("xmin", "ymin", "width", "height"), "xywh"),
    (("x1", "y1", "width", "height"), "xywh"),
    (("x1", "y1", "w", "h"), "xywh"),
    (("cx", "cy", "w", "h"), "cxcywh"),
    (("cx", "cy", "width", "height"), "cxcywh"),
    (("xcenter", "ycenter", "width", "height"), "cxcywh"),
    (("centerx", "centery", "width", "height"), "cxcywh"),
)
_CORNERS = (
    ("topleft", "bottomright"),
    ("lefttop", "rightbottom"),
    ("upperleft", "lowerright"),
    ("tl", "br"),
    ("lt", "rb"),
    ("min", "max"),
    ("start", "end"),
    ("p1", "p2"),
)
_LAYOUT_KEYS = frozenset(("xyxy", "xyxyn", "vertices", "corners"))
_TAGS = re.compile(r"</?box>|<\|box_(?:start|end)\|>|<\|/?det\|>")
_PLAIN_TAGS = re.compile(r"</?bbox>")
_TAGGED = Convention(scale="thousand")
_PERCENT = Convention(scale="hundred")
_ONE_NUMBER = frozenset(name for names, _ in _NAMES for name in names)
_CORNER_KEYS = frozenset([*(name for names, _ in _NAMES for name in names), *(x for pair in _CORNERS for x in pair)])
_GEMINI = Convention("yxyx", "thousand")
_DIGIT = re.compile(r"\d")


class Box(NamedTuple):
    """Four numbers as the model wrote them; the convention where their form says it; a score where it is the fifth."""

    numbers: tuple[float, float, float, float]
    convention: Convention | None = None
    score: float | None = None


def number_of(value: Any) -> float | None:
    """A number, also one that a model wrote as text; None for anything else."""
    if type(value) is str:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if isfinite(number) and "_" not in value else None
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def box_of(value: Any, key: object = None) -> Box | None:
    """Read a box; None if a value is none.

    Args:
        value: as a model wrote it.
        key: under which it stands: ``box_2d`` is Gemini's, and ``bbox_xywh`` names a layout.
    """
    if key is not None and meaning(key).part in ("score", "id", "verb"):
        return None
    box = _box(value, 0)
    if box is None or box.convention is not None or key is None:
        return box
    named = convention_of(key)
    return box if named is None else box._replace(convention=named)


@lru_cache(8192)
def convention_of(key: object) -> Convention | None:
    """The convention that a key says, if it says one."""
    words = meaning(key).words
    if "box" in words and words[-2:] == ("2", "d"):
        return _GEMINI
    return next((Convention(layout=word) for word in words if word in LAYOUTS), None)


@lru_cache(8192)
def _joined(key: object) -> str:
    """A key in lower case, without what separates its words."""
    return re.sub(r"[\W_]", "", str(key)).lower()


def _box(value: Any, depth: int) -> Box | None:
    if isinstance(value, list):
        return _of_list(value, depth)
    if isinstance(value, dict):
        return _of_names(value, depth)
    return _of_text(value) if isinstance(value, str) and 7 <= len(value) <= 200 else None


def _of_text(text: str) -> Box | None:
    if not _DIGIT.search(text):
        return None
    named = _NAMED_NUMBER.findall(text) if ":" in text or "=" in text else []
    if len(named) == 4 and (box := _of_names(dict(named), 0)):
        return box
    plain, tags = _TAGS.subn(" ", _CORNER_NAME.sub(" ", _PLAIN_TAGS.sub(" ", text)))
    if _OTHER.search(plain):
        return None
    box = _of_numbers(_NUMBER.findall(plain))
    if box and tags:
        return box._replace(convention=_TAGGED)
    return box._replace(convention=Convention("xywh")) if box and _WIDTHS.search(text) else box


def _of_list(value: list[Any], depth: int) -> Box | None:
    if depth < 3 and value and isinstance(value[0], list):
        if len(value) == 1:
            return _box(value[0], depth + 1)
        if len(value) == 5 and value[0] == value[-1]:  # a polygon that is closed
            value = value[:4]
        flat = [x for point in value if isinstance(point, list) and len(point) == 2 for x in point]
        return _of_numbers(flat) if len(flat) == 2 * len(value) and len(value) in (2, 4) else None
    if len(value) == 1 and depth < 3 and isinstance(value[0], str | dict):
        return _box(value[0], depth + 1)
    if len(value) in (2, 4) and depth < 3 and isinstance(value[0], dict):
        return _of_list(points, depth + 1) if dict not in map(type, points := [*map(_point, value)]) else None
    return _of_numbers(value)


def _of_numbers(value: Sequence[Any]) -> Box | None:
    if len(value) not in (4, 5, 8):
        return None
    numbers = [x if type(x) is float else number_of(x) for x in value]
    found = [x for x in numbers if x is not None]
    if len(found) < len(numbers):
        return _of_units(value)
    if len(found) == 8:
        found = [min(found[::2]), min(found[1::2]), max(found[::2]), max(found[1::2])]
    return Box((found[0], found[1], found[2], found[3]), None, found[4] if len(found) == 5 else None)


def _of_units(value: Sequence[Any]) -> Box | None:
    """A box whose numbers are texts with their unit: "144px", "12.5%"."""
    units = [_UNIT.search(x) if isinstance(x, str) else None for x in value]
    if None in units:
        return None
    box = _of_numbers([x[: unit.start()] for x, unit in zip(value, units, strict=True) if unit])
    return box._replace(convention=_PERCENT) if box and all(unit and unit[1] == "%" for unit in units) else box


def corners_in(record: dict[Any, Any]) -> list[tuple[str, Box, list[object]]]:
    """The boxes of a record that has a key for each number, "human_x1": the side, the box, and the keys of each."""
    found: dict[str, dict[str, object]] = {}
    for key in record:
        corner = _corner(key)
        if corner is not None:
            found.setdefault(corner[0], {})[corner[1]] = key
    boxes = []
    for side, keys in found.items():
        box = _of_names({name: record[key] for name, key in keys.items()}, 0) if len(keys) > 3 else None
        if box is not None:
            boxes.append((side, box, list(keys.values())))
    return boxes


@lru_cache(8192)
def _corner(key: object) -> tuple[str, str] | None:
    """The side and the number of a box that a key names: "human_x1", "xmin"; None for any other."""
    if not isinstance(key, str) or len(key) > 40:
        return None
    if (plain := _joined(key)) in _ONE_NUMBER:
        return "", plain
    if plain[0:1] in ("h", "o", "s") and plain[1:] in _ONE_NUMBER:
        return meaning(plain[0]).side, plain[1:]
    said = meaning(key)
    words = [word for word in said.words if meaning(word).part != "box"]
    own = next((i for i, word in enumerate(words) if meaning(word).side), None)
    name = "".join(word for i, word in enumerate(words) if i != own)
    return (said.side, name) if name in _ONE_NUMBER else None


def _point(value: Any) -> Any:
    """The two numbers of a point that has names for them; anything else as it is."""
    if not isinstance(value, dict) or len(value) != 2:
        return value
    plain = {_joined(key): inner for key, inner in value.items()}
    return [plain["x"], plain["y"]] if plain.keys() == {"x", "y"} else value


def _of_names(value: dict[Any, Any], depth: int) -> Box | None:
    if len(value) == 1:
        ((key, inner),) = value.items()
        words = meaning(key).words
        return _box(inner, depth + 1) if depth < 3 and len(words) == 1 and words[0] in _LAYOUT_KEYS else None
    if not 2 <= len(value) <= 8:
        return None
    plain = {_joined(key): inner for key, inner in value.items()}
    if _CORNER_KEYS.isdisjoint(plain):
        return None
    for names, layout in _NAMES:
        if all(name in plain for name in names):
            box = _of_numbers([plain[name] for name in names])
            return box if box is None or layout == "xyxy" else box._replace(convention=Convention(layout))
    for first, second in _CORNERS:
        if first in plain and second in plain and depth < 3:
            points = [plain[first], plain[second]]
            flat = [_point(p) for p in points]
            return _of_list(flat, depth + 1) if all(isinstance(p, list) and len(p) == 2 for p in flat) else None
    return None
