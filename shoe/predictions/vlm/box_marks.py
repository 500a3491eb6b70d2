"""Boxes inside text, whatever tokens or brackets a model writes them in, replaced by marks.

A token form tells its convention: ``<box>`` and ``<|box_start|>`` hold thousandths, ``<loc_n>`` bins. Numbers in plain
brackets are read under the convention of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoe.predictions.boxes.conventions import Convention
from shoe.predictions.vlm.boxed_things import numberless
from shoe.predictions.vlm.boxes import Box, box_of

# Nothing in a number is tried twice: what several numbers could be divided into grows with a power of their count.
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)")
_N = rf"\s*+{_NUMBER.pattern}(?:\s*px)?\s*+"
_FOUR = rf"{_N},{_N},{_N},{_N}"
_UNIT, _THOUSAND, _HUNDRED = Convention(scale="unit"), Convention(scale="thousand"), Convention(scale="hundred")
_GRID = 32
MARK = re.compile("\ue000(\\d+)\ue001")
"""What stands for the boxes of that number."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A text whose boxes are marks.

    Attributes:
        text: the text.
        boxes: by number of the mark, its boxes: most often one.
    """

    text: str
    boxes: list[list[Box]]


def _fours(numbers: list[float], convention: Convention | None) -> list[Box]:
    rows = [numbers[i : i + 4] for i in range(0, len(numbers) - len(numbers) % 4, 4)]
    return [Box((row[0], row[1], row[2], row[3]), convention) for row in rows]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _plain(convention: Convention | None) -> Callable[[re.Match[str]], list[Box]]:
    return lambda match: _fours(_numbers(match[1]), convention)


def _florence(match: re.Match[str]) -> list[Box]:
    return _fours([(bin_ + 0.5) / 1000 for bin_ in _numbers(re.sub(r"<loc_", " ", match[0]))], BINS)


def _paligemma(match: re.Match[str]) -> list[Box]:
    bins = [bin_ / 1024 for bin_ in _numbers(match[0])]
    boxes = _fours(bins, BINS)
    return [box._replace(numbers=(box.numbers[1], box.numbers[0], box.numbers[3], box.numbers[2])) for box in boxes]


def _kosmos(match: re.Match[str]) -> list[Box]:
    """Two cells of a 32 x 32 grid: corners in their centres, or their edges where both are in one row or column."""
    cells = [int(number) for number in re.findall(r"\d+", match[0])]
    boxes = []
    for first, last in zip(cells[::2], cells[1::2], strict=False):
        (y1, x1), (y2, x2) = divmod(first, _GRID), divmod(last, _GRID)
        low, high = (0.0, 1.0) if x1 == x2 or y1 == y2 else (0.5, 0.5)
        corners = ((x1 + low) / _GRID, (y1 + low) / _GRID, (x2 + high) / _GRID, (y2 + high) / _GRID)
        boxes.append(Box(corners, BINS))
    return boxes


def _named_corners(match: re.Match[str]) -> list[Box]:
    return _fours([float(number) for number in match.groups()], None)


_FIRST = r"(?:top|upper)[- ]?left(?: corner)?\s*(?:at|:|=)?\s*"
_TO = r"(?:,|;|to|-|→|and)?\s*(?:(?:bottom|lower)[- ]?right(?: corner)?\s*(?:at|:|=)?)?"
_CORNERS = r"[,;]?\s*".join(
    rf"{axis}_?{end}\s*[:=]\s*({_NUMBER.pattern})" for end in ("(?:1|min)", "(?:2|max)") for axis in "xy"
)
BINS = Convention(scale="unit")
"""The convention of location tokens; a mark of their own, as no user can mean another by them."""

# In this order: the form, and what it holds.
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], list[Box]]], ...] = (
    ("<box>", re.compile(r"<(?:box|quad)>(.{0,2000}?)</(?:box|quad)>", re.DOTALL), _plain(_THOUSAND)),
    (
        "box_start|>",
        re.compile(r"<\|(?:box|quad)_start\|>(.{0,2000}?)<\|(?:box|quad)_end\|>", re.DOTALL),
        _plain(_THOUSAND),
    ),
    ("<|det|>", re.compile(r"<\|det\|>(.{0,2000}?)<\|/det\|>", re.DOTALL), _plain(_THOUSAND)),
    ("<loc_", re.compile(r"(?:(?:<loc_\d{1,4}>){4})+"), _florence),
    ("<loc", re.compile(r"(?:<loc\d{4}>){4}"), _paligemma),
    (
        "<patch_index_",
        re.compile(r"(?:<patch_index_\d{4}>\s*<patch_index_\d{4}>(?:</delimiter_of_multi_objects/>)?)+"),
        _kosmos,
    ),
    ("{<", re.compile(r"\{((?:<\s*\d{1,4}\s*>){4}(?:<delim>(?:<\s*\d{1,4}\s*>){4})*)\}"), _plain(_HUNDRED)),
    ("x", re.compile(rf"[\[({{]?\s?{_CORNERS}\s?[\])}}]?"), _named_corners),
    ("<bbox>", re.compile(r"<bbox>(.{0,200}?)</bbox>", re.DOTALL), _plain(None)),
    ("[", re.compile(rf"\[\s*((?:\[{_FOUR}\](?:\s*[,;])?\s*)+)\]"), _plain(None)),
    ("[", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _plain(None)),
    ("[", re.compile(rf"\[\s*([\[(]{_N},{_N}[\])]\s*,\s*[\[(]{_N},{_N}[\])])\s*\]"), _plain(None)),
    ("(", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _plain(None)),
    (
        "(",
        re.compile(
            rf"(?:{_FIRST})?([\[(]{_N},{_N}[\])]\s*{_TO}\s*[\[(]{_N},{_N}[\])])",
            re.I,
        ),
        _plain(None),
    ),
)
_TAGS = re.compile(
    r"</?(?:ref|phrase|object|p|grounding|pred|rel|s|od|delim|g_[se])>|<\|/?(?:object_)?(?:ref|grounding)(?:_start|_end)?\|>",
    re.I,
)
_CLOSED = re.compile(r"</([A-Za-z]\w{0,15})>")
_OPENED = re.compile(r"<[A-Za-z]\w{0,40}>")  # tokens of which nobody knows whether they are words
_BARE = re.compile(
    rf"(?<![\w.,])((?:{_NUMBER.pattern}(?:\s*px)?(?:\s*+,\s*+|\s++)){{3}}{_NUMBER.pattern}(?:\s*px)?)(?![\w.])"
)
_HAS_PREDICATES = re.compile(r"<(?:pred|rel)>")
_POINTS = re.compile(r"<points?\s|<point>|\"?point_2d|<\|point_start")


def has_points(text: str) -> bool:
    """Whether a text has points in place of boxes."""
    return _POINTS.search(text) is not None


def marked(text: str) -> Marked:
    """Replace every box of a text by a mark, and take the tags around words away."""
    boxes: list[list[Box]] = []

    def mark(read: Callable[[re.Match[str]], list[Box]]) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            found = read(match)
            if not found:
                return match[0]
            boxes.append(found)
            return f" \ue000{len(boxes) - 1}\ue001 "

        return replace

    for sign, form, read in _FORMS:
        if sign in text:
            text = form.sub(mark(read), text)
    if not boxes and not has_points(text):
        text = _BARE.sub(mark(_plain(None)), text)
    if _HAS_PREDICATES.search(text):
        return Marked(text, boxes)
    if closed := {match[1] for match in _CLOSED.finditer(text)}:
        plain = re.sub(rf"</?(?:{'|'.join(closed)})>", " ", text)
        text = text if _OPENED.search(_TAGS.sub(" ", plain)) else plain
    return Marked(_TAGS.sub(" ", text), boxes)


def grounded(value: Any) -> Marked | None:
    """A caption with its list of entities, as Kosmos-2's processor gives them; None for anything else.

    An entity is its words, where they stand in the caption, and its boxes: ["a man", [0, 5], [[0.1, 0.2, 0.5, 0.9]]].
    """
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], list)):
        return None
    caption, entities = value
    spans: list[tuple[int, list[Box]]] = []
    for entity in entities:
        if not (isinstance(entity, list) and len(entity) == 3 and isinstance(entity[2], list)):
            return None
        span = entity[1]
        if not (isinstance(span, list) and len(span) == 2 and all(type(x) is int for x in span)):
            return None
        boxes = [box for inner in entity[2] if (box := box_of(inner))]
        if boxes:
            spans.append((min(max(span[1], 0), len(caption)), boxes))
    parts, start = [], 0
    spans.sort(key=lambda span: span[0])
    for number, (end, _) in enumerate(spans):
        parts.append(f"{caption[start:end]} \ue000{number}\ue001 ")
        start = end
    return Marked("".join([*parts, caption[start:]]), [boxes for _, boxes in spans]) if spans else None


def with_mentions(text: str, marks: dict[str, int], words: dict[int, str] | None = None) -> str:
    """Put marks behind the names of boxed things in a text.

    Args:
        text: words without marks.
        marks: the number of the mark of each name.
        words: what things are called whose names are no words, by the number of the mark.
    """
    names = sorted((name for name in marks if name), key=len, reverse=True)
    if not names:
        return text
    pattern = re.compile(rf"(?<![\w])(?:{'|'.join(map(re.escape, names))})(?![\w])", re.I)
    lower: dict[str, Any] = {name.lower(): number for name, number in marks.items()}

    def mention(match: re.Match[str]) -> str:
        number = lower[match[0].lower()]
        return f"{(words or {}).get(number) or numberless(match[0])} \ue000{number}\ue001 "

    return pattern.sub(mention, text)
