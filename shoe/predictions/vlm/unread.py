"""What stands in items and was not read, or was read as what it may not have been meant to be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from shoe.core.errors import quote
from shoe.predictions.source import Source
from shoe.predictions.vlm.boxes import box_of, corners_in
from shoe.predictions.vlm.keys import role
from shoe.predictions.vlm.replies import answer_of, parsed

_DEEPEST = 12
_MOST_RECORDS = 100
_MOST_ITEMS = 300
_MOST_NAMED = 3
Items = list[dict[Any, Any]]
_BOXES, _WORDS = {"human_box", "object_box"}, {"verb", "object"}


def first_items(source: Source) -> Items:
    """The innermost objects that hold boxes in the first records, those in text that is clean data included."""
    return list(islice(_items(source.head[:_MOST_RECORDS], 0), _MOST_ITEMS))


def numbers_unread(items: Items) -> str:
    """Name the keys that hold a number in every one of the first items and mean nothing; "" where there are none."""
    names: set[str] | None = None
    for item in items:
        found = {key for key in _open(item) if type(item[key]) in (int, float)}
        names = found if names is None else names & found
    shown = ", ".join(map(quote, sorted(names or ())[:_MOST_NAMED]))
    return f"numbers under {shown} were not read as scores" if shown else ""


def keys_unread(items: Items) -> list[str]:
    """Name the keys that say nothing, beside the boxes and words of those of the first items that say all themselves.

    Where an item does not, what stands under such a key may be a word, or point to a box.
    """
    names: dict[str, None] = {}
    for item in items:
        words = {key: value for key, value in item.items() if value and isinstance(value, str | list | dict)}
        roles = {role(key) for key in words if isinstance(key, str)}
        if roles >= _BOXES and (roles >= _WORDS or "phrase" in roles):
            names |= {key: None for key in _open(item) if not isinstance(item[key], dict | list)}
    return list(names)


def alternatives(items: Items) -> list[str]:
    """The first list of words, among the first items, that stands for an object; empty where there is none."""
    for item in items:
        for key, value in item.items():
            is_words = isinstance(value, list) and len(value) > 1 and all(isinstance(word, str) for word in value)
            if is_words and isinstance(key, str) and role(key) == "object":
                return list(value)
    return []


def _open(item: dict[Any, Any]) -> list[str]:
    """The keys of an item that say nothing."""
    corners = {key for _, _, keys in corners_in(item) for key in keys}
    return [key for key in item if isinstance(key, str) and key not in corners and role(key) is None]


def _items(value: Any, depth: int) -> Iterator[dict[Any, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        value = parsed(answer_of(value).removeprefix("```json").removesuffix("```")) if value[:1] in "[{`" else None
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_outer = False
    for part in inner:
        for item in _items(part, depth + 1):
            is_outer = True
            yield item
    if not is_outer and isinstance(value, dict):
        yield from [value] if corners_in(value) or any(box_of(part, key) for key, part in value.items()) else []
