"""Replies that are clean data of known shapes, read from known places: the same as the general reader says, sooner."""

from __future__ import annotations

import re
from typing import Any

from shoe.predictions.vlm.answers import said_outside
from shoe.predictions.vlm.entities import Pool
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.found import Pair, Reading
from shoe.predictions.vlm.images import image_of
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.lines import Lines
from shoe.predictions.vlm.replies import Reply, answer_of, parsed, reply_of
from shoe.predictions.vlm.shapes import Shape
from shoe.predictions.vlm.wordings import Hit, UnfitError, holds_any

_CHECKS = 3
_MOST_SHAPES = 8
_MOST_FAMILIES = 256
_MOST_MISSES = 20
_MOST_FRAMES = 4096
_FENCE = "```"
_NOT_A_NAME = re.compile(r"\Adata:|://|\A\s*\Z")
_SCALARS = (str, int, float, bool, type(None))


class _Watched(list[Any]):
    """A list that tells whether anybody looked at what it holds."""

    looked_at = False

    def __iter__(self) -> Any:
        self.looked_at = True
        return super().__iter__()


class _Family:
    """The shapes of items that have the same keys.

    Attributes:
        shapes: those learned.
        misses: how often nothing could be learned; a family with many is left to the general reader.
        asks: whether its items ask for boxes elsewhere in the reply.
        answers: whether its items have a name or a word by which others may mean them.
    """

    __slots__ = ("answers", "asks", "misses", "shapes")

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.misses = 0
        self.asks = self.answers = False


class Quick:
    """What was learned from the replies of a file so far."""

    def __init__(self) -> None:
        self._openings: dict[tuple[Any, ...], tuple[str, str, list[str]] | None] = {}
        self._names: set[str] = set()
        self._frames: dict[tuple[str, str], bool] = {}
        self._lists: dict[str | None, int] = {}
        self._empty: dict[str | None, int] = {}
        self._families: dict[tuple[str, ...], _Family] = {}
        self._lines = Lines()

    def open(self, record: Any) -> tuple[tuple[Any, ...], str] | None:
        """The image with its size, and the answer, of a record of known keys; None for any other."""
        if type(record) is not dict:
            return None
        keys = self._openings.get(tuple(record))
        if keys is None:
            return None
        image, answer = record[keys[0]], record[keys[1]]
        if type(image) is not str or type(answer) is not str:
            return None
        if image not in self._names:
            if _NOT_A_NAME.search(image):
                return None
            self._names.add(image)
        if len(record) > 2 and not all(type(value) in _SCALARS for value in record.values()):
            return None
        return (image, *(record[side] for side in keys[2])), answer

    def learn_opening(self, record: dict[Any, Any], image_name: Any, said: Any) -> None:
        """Learn under which keys the image and the answer stand, where no other key of the record matters."""
        keys = tuple(record)
        if keys in self._openings:
            return
        image, answer = (
            [key for key in keys if isinstance(key, str) and record[key] is value] for value in (image_name, said)
        )
        named = [key for key in keys if meaning(key).part == "image"]
        sides = [key for key in keys if meaning(key).part in ("width", "height")]
        rest = {key: "x" for key in keys if [key] not in (image, answer)}
        is_plain = len(image) == len(answer) == 1 and named == image and said_outside(rest) == Fields()
        is_plain = is_plain and _names_first(image[0])
        self._openings[keys] = (image[0], answer[0], sides) if is_plain else None

    def hits(self, text: str) -> list[Hit] | None:
        """What a reply holds; None if the general reader has to tell."""
        value = self._value(text)
        if value is None:
            return self._lines.hits(text)
        key, items = _items(value)
        if not items:
            return [] if items is not None and self._empty.get(key, 0) >= _CHECKS else None
        if self._lists.get(key, 0) < _CHECKS:
            return None
        found: list[Hit] = []
        asks = answers = False
        for item in items:
            family = self._families.get(tuple(item)) if type(item) is dict else None
            hits = None if family is None else _hits(family.shapes, item)
            if family is None or hits is None:
                return None
            found += hits
            asks |= family.asks
            answers |= family.answers
        return None if (asks and answers) or not holds_any(found) else found

    def learn(self, text: str, reading: Reading, reply: Reply) -> None:
        """Learn from what the general reader says of a reply."""
        if reply.fixed or reply.lost or reply.drafts:
            return
        value = self._value(text)
        if value is None:
            self._lines.learn(text, reading, reply)
        if value is None or reply.values != [value]:
            return
        key, items = _items(value)
        if items is None:
            return
        if not items:
            self._empty[key] = self._empty.get(key, 0) + 1 if reading.says_none and not reading.found else -_MOST_MISSES
            return
        pairs = list(reading.found)
        parts = [(item, *_inside(item)) for item in items if type(item) is dict]
        if len(parts) != len(items) or sum(count for _, _, count in parts) != len(pairs):
            self._lists[key] = self._lists.get(key, 0) - 1
            return
        self._lists[key] = self._lists.get(key, 0) + 1
        start = 0
        for item, nested, count in parts:
            found = [pair for pair in pairs[start : start + count] if isinstance(pair, Pair)]
            if len(found) == count:
                self._learn_item(item, nested, found)
            start += count

    def _learn_item(self, item: dict[str, Any], nested: str | None, pairs: list[Pair]) -> None:
        if len(self._families) >= _MOST_FAMILIES:
            return
        family = self._families.setdefault(tuple(item), _Family())
        if family.misses >= _MOST_MISSES:
            return
        for shape in family.shapes:
            try:
                is_right = shape.check(item, pairs)
            except UnfitError:
                continue
            if not is_right:
                family.shapes.clear()
                family.misses = _MOST_MISSES
            return
        try:
            shape = Shape(item, nested, pairs[0])
            if len(family.shapes) >= _MOST_SHAPES or not shape.check(item, pairs):
                raise UnfitError
        except UnfitError:
            family.misses += 1
            return
        family.shapes.append(shape)
        watched = _Watched([item])
        interactions_in([item], None, watched)
        family.asks |= watched.looked_at
        family.answers |= Pool([item]).has_names

    def _value(self, text: str) -> Any:
        """The clean value of a reply, or of the one fence in it; None for anything else."""
        if text[:1] in "[{":
            return parsed(text)
        start = text.find(_FENCE)
        end = text.find(_FENCE, start + 3)
        if start < 0 or end < 0 or not text.startswith("json\n", start + 3) or not text.isascii():
            return None
        if answer_of(text) != text.strip():
            return None
        frame = (text[:start], text[end:])
        is_plain = self._frames.get(frame)
        if is_plain is False:
            return None
        value = parsed(text[start + 8 : end])
        if is_plain is None and isinstance(value, dict | list):
            is_plain = _is_frame(text, value)
            if len(self._frames) < _MOST_FRAMES:
                self._frames[frame] = is_plain
        return value if is_plain else None


def _names_first(key: str) -> bool:
    """Whether what stands under a key is the image, whatever file names stand elsewhere in a record."""
    return bool(image_of({"prompt": "another.jpg", key: "image"}) == "image")


def _is_frame(text: str, value: Any) -> bool:
    """Whether what is around a fence leaves nothing but the value in it."""
    try:
        reply = reply_of(text, _refuse)
    except UnfitError:
        return False
    is_all: bool = reply.values == [value] and not (reply.fixed or reply.lost or reply.drafts or reply.says_none)
    return is_all


def _refuse(value: Any, pool: list[Any]) -> int:
    raise UnfitError


def _items(value: Any) -> tuple[str | None, list[Any] | None]:
    """The items of a reply, and the key of the object around their list, None if there is none."""
    if isinstance(value, list):
        return None, value
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, inner),) = value.items()
            if isinstance(inner, list) and (not inner or isinstance(inner[0], dict)):
                return key, inner
        return "", [value]
    return None, None


def _inside(item: dict[str, Any]) -> tuple[str | None, int]:
    """The key of the list of items inside an item, if it has one, and how many pairs there are."""
    lists = [key for key, value in item.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    return (lists[0], len(item[lists[0]])) if len(lists) == 1 else (None, 1)


def _hits(shapes: list[Shape], item: dict[str, Any]) -> list[Hit] | None:
    for shape in shapes:
        try:
            return shape.hits(item)
        except UnfitError:
            continue
    return None
