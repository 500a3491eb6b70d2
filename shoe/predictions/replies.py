"""Raw replies of vision-language models: JSON in fences, with prose around it, cut off in the middle.

Every complete item is kept and what was lost is counted. An item is an object with a box; lists of items may stand
alone or in an object under a key like "interactions".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

_FENCE = re.compile(r"```[a-zA-Z]*\s*(.*?)\s*(?:```|\Z)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}]')
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
_TALLEST = 8

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What one reply holds.

    Attributes:
        items: its complete items.
        fixed: whether it was more or less than one clean JSON value.
        cut: items that begin but are not complete.
        empty: whether it has no JSON at all.
    """

    items: list[Item]
    fixed: bool = False
    cut: int = 0
    empty: bool = False


def items_of(text: str, is_list_key: Callable[[str], bool], is_box_key: Callable[[str], bool]) -> Reply:
    """Find the items of a reply.

    Args:
        text: the reply.
        is_list_key: tells the keys that hold a list of items.
        is_box_key: tells the keys that only items have.
    """
    clean = _parsed(text)
    if clean is None and (fenced := _FENCE.search(text)):
        clean = _parsed(fenced[1])
    if isinstance(clean, dict | list):
        listed = _listed(clean, is_list_key, is_box_key)
        items = [item for item in listed if isinstance(item, dict)]
        return Reply(items, cut=len(listed) - len(items))
    items, cut = _complete_objects(text, is_list_key, is_box_key)
    if not items and not cut:
        return Reply([], empty=True)
    return Reply(items, fixed=True, cut=cut)


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _listed(value: Any, is_list_key: Callable[[str], bool], is_box_key: Callable[[str], bool]) -> list[Any]:
    """The items of a parsed value."""
    if isinstance(value, list):
        nested = [v for v in value if isinstance(v, dict) and any(is_list_key(k) for k in v)]
        return [i for v in nested for i in _listed(v, is_list_key, is_box_key)] if nested else value
    for key, inner in value.items():
        if is_list_key(key) and isinstance(inner, list):
            return inner
    return [value] if any(is_box_key(key) for key in value) else []


def _complete_objects(
    text: str, is_list_key: Callable[[str], bool], is_box_key: Callable[[str], bool]
) -> tuple[list[Item], int]:
    """Parse the outermost objects that are whole; of one that does not parse, those inside it.

    Returns:
        the items, and how many objects were lost with nothing inside them that could be kept.
    """
    items: list[Item] = []
    marks: list[int] = []  # where kept items and lost objects start
    lost: list[tuple[int, int]] = []
    covered = -1
    for start, end, is_low in _spans(text):
        if start < covered:
            continue
        value = None
        if end and is_low:
            value = _parsed(text[start:end]) or _parsed(_TRAILING_COMMA.sub("", text[start:end]))
        if isinstance(value, dict):
            covered = end
            found = [item for item in _listed(value, is_list_key, is_box_key) if isinstance(item, dict)]
            items += found
            marks += [start] * bool(found)
        else:
            lost.append((start, end or len(text)))
            marks.append(start)
    cut = sum(bisect_left(marks, end) - bisect_right(marks, start) == 0 for start, end in lost)
    return items, cut


def _spans(text: str) -> list[tuple[int, int, bool]]:
    """Start and end of each object, in order of start; end 0 if it is cut off; whether it is not nested too deeply."""
    spans: list[tuple[int, int, bool]] = []
    opened: list[int] = []
    heights: list[int] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            opened.append(len(spans))
            heights.append(0)
            spans.append((token.start(), 0, True))
        elif token[0] == "}" and opened:
            index, height = opened.pop(), heights.pop()
            spans[index] = (spans[index][0], token.end(), height <= _TALLEST)
            if heights:
                heights[-1] = max(heights[-1], height + 1)
    return spans
