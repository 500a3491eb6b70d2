"""Replies that are clean data of known shapes, read from known places: the same as the general reader says, sooner."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from shoe.predictions.vlm.entities import Pool
from shoe.predictions.vlm.found import Pair, Reading
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.lines import Lines
from shoe.predictions.vlm.openings import Openings, is_name, names_first
from shoe.predictions.vlm.replies import Reply, answer_of, parsed, reply_of
from shoe.predictions.vlm.shapes import Shape
from shoe.predictions.vlm.wordings import Hit, UnfitError, holds_any
from shoe.predictions.vlm.wrapper_keys import is_end

_CHECKS = 3
_MOST_SHAPES = 8
_MOST_ALIKE = 2  # each that does not fit takes half the time of the way without them
_MOST_FAMILIES = 256
_MOST_MISSES = 20
_MOST_FRAMES = 4096
_FENCE = "```"


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

    @property
    def only_shape(self) -> Shape | None:
        """The shape of all items, where that may be told from their keys in any order."""
        is_one = len(self.shapes) == 1 and self.shapes[0].in_any_order and not (self.asks and self.answers)
        return self.shapes[0] if is_one else None

    def add(self, items: list[dict[str, Any]], hits: list[Hit]) -> bool:
        """Add what items hold; tell whether it could be told without the general reader."""
        for shape in self.shapes:
            try:
                return shape.add(items, hits)
            except UnfitError:
                continue
        return len(items) > 1 and all(self.add([item], hits) for item in items)


class Quick:
    """What was learned from the replies of a file so far; its ``openings`` tell where their records have them."""

    def __init__(self) -> None:
        self.openings = Openings()
        self._frames: dict[tuple[str, str], bool] = {}
        self._lists: dict[str | None, int] = {}
        self._empty: dict[str | None, int] = {}
        self._families: dict[tuple[str, ...], _Family] = {}
        self._records: dict[tuple[Any, ...], tuple[str, tuple[str, ...]] | None] = {}
        self._lines = Lines()
        # By what replies begin with that are lists of items of one shape: the key around the list and that shape, and
        # how often a reply was no such list.
        self._alike: dict[str, list[tuple[str | None, Shape]]] = {}
        self._mixed: Counter[str] = Counter()

    def hits(self, text: str) -> list[Hit] | None:
        """What a reply holds; None if the general reader has to tell."""
        body = self._body(text)
        if body is None:
            return self._lines.hits(text)
        begins = body[: body.find('"', body.find('"') + 1)]
        if begins in self._alike and (hits := self._alike_hits(begins, body)):
            return hits
        value = parsed(body)
        if value is None:
            return self._lines.hits(text)
        key, items = _items(value)
        if not items:
            return [] if items is not None and self._empty.get(key, 0) >= _CHECKS else None
        if self._lists.get(key, 0) < _CHECKS:
            return None
        found: list[Hit] = []
        asks = answers = False
        shape = None
        for keys, group in groupby(items, _keys):
            family, same = self._families.get(keys), [*group]
            if family is None or not family.add(same, found):
                return None
            asks |= family.asks
            answers |= family.answers
            shape = family.only_shape if len(same) == len(items) else None
        if (asks and answers) or not holds_any(found):
            return None
        if shape is not None and key != "" and self._mixed[begins] < _MOST_MISSES:
            alike = self._alike.setdefault(begins, [])
            if len(alike) < _MOST_ALIKE:
                alike.append((key, shape))
        return found

    def _alike_hits(self, begins: str, body: str) -> list[Hit] | None:
        """What a list of items of one shape holds; None if it is none, or could not be told."""
        hits: list[Hit] = []
        for key, shape in self._alike[begins]:
            try:
                is_told = shape.add_text(body, key, hits)
            except UnfitError:
                continue
            return hits if is_told and holds_any(hits) else None
        self._mixed[begins] += len(self._alike[begins]) == _MOST_ALIKE
        if self._mixed[begins] >= _MOST_MISSES:
            del self._alike[begins]
        return None

    def record_hits(self, record: Any) -> tuple[str, list[Hit]] | None:
        """The image of a record that is an item itself, and what it holds; None if the general reader has to tell."""
        known = self._records.get(tuple(record)) if type(record) is dict else None
        if known is None:
            return None
        image, keys = record[known[0]], known[1]
        family = self._families.get(keys)
        if family is None or (family.asks and family.answers) or type(image) is not str:
            return None
        item = {key: record[key] for key in keys}
        hits: list[Hit] = []
        is_read = not holds_items(item) and family.add([item], hits)
        return (image, hits) if is_read and holds_any(hits) and is_name(image) else None

    def learn_record(self, record: dict[Any, Any], image: Any, item: dict[Any, Any], pair: Pair) -> None:
        """Learn from what the general reader says of a record that is an item itself."""
        self._alike.clear()
        frame = tuple(record)
        if frame not in self._records and len(self._records) < _MOST_FAMILIES:
            keys = [key for key in record if key not in item]
            matter = any(is_end(key) or meaning(key).part in ("width", "height") for key in record)
            is_plain = len(keys) == 1 and record[keys[0]] is image and names_first(keys[0]) and not matter
            self._records[frame] = (keys[0], tuple(item)) if is_plain else None
        if self._records.get(frame):
            self._learn_item(item, None, [pair])

    def learn(self, text: str, reading: Reading, reply: Reply) -> None:
        """Learn from what the general reader says of a reply."""
        self._alike.clear()  # what is learned may make a family one of several shapes, or of none
        if reply.fixed or reply.lost or reply.drafts:
            return
        body = self._body(text)
        value = None if body is None else parsed(body)
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
        shape.in_any_order = not pairs[0].texts and interactions_in([_backward(item)]).found == pairs
        watched = _Watched([item])
        interactions_in([item], None, watched)
        family.asks |= watched.looked_at
        family.answers |= Pool([item]).has_names

    def _body(self, text: str) -> str | None:
        """The part of a reply that may be one clean value: all of it, or the one fence in it; None if there is none."""
        if text[:1] in "[{":
            return text
        start = text.find(_FENCE)
        end = text.find(_FENCE, start + 3)
        if start < 0 or end < 0 or not text.startswith("json\n", start + 3) or not text.isascii():
            return None
        if answer_of(text) != text.strip():
            return None
        frame = (text[:start], text[end:])
        is_plain, body = self._frames.get(frame), text[start + 8 : end]
        if is_plain is None and isinstance(value := parsed(body), dict | list):
            is_plain = _is_frame(text, value)
            if len(self._frames) < _MOST_FRAMES:
                self._frames[frame] = is_plain
        return body if is_plain else None


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


def _backward(value: Any) -> Any:
    """A value whose keys stand in the opposite order."""
    if isinstance(value, dict):
        return {key: _backward(inner) for key, inner in reversed(value.items())}
    return [_backward(inner) for inner in value] if isinstance(value, list) else value


def _keys(item: Any) -> tuple[str, ...]:
    return tuple(item) if type(item) is dict else ()


def holds_items(item: dict[Any, Any]) -> bool:
    """Whether a list of items stands in an item."""
    return any(isinstance(value, list) and value and isinstance(value[0], dict) for value in item.values())


def _inside(item: dict[str, Any]) -> tuple[str | None, int]:
    """The key of the list of items inside an item, if it has one, and how many pairs there are."""
    lists = [key for key, value in item.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    return (lists[0], len(item[lists[0]])) if len(lists) == 1 else (None, 1)
