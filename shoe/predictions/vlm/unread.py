"""Numbers beside the boxes of items whose keys say nothing: what may have been meant as the score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoe.core.errors import quote
from shoe.predictions.source import Source
from shoe.predictions.vlm.boxes import box_of, corners_in
from shoe.predictions.vlm.keys import role
from shoe.predictions.vlm.replies import answer_of, parsed

_DEEPEST = 12
_MOST_RECORDS = 100
_MOST_NAMED = 3


def numbers_unread(source: Source) -> str:
    """Name the keys that hold a number in every one of the first items and mean nothing; "" where there are none."""
    names: set[str] | None = None
    for item in _items(source.head[:_MOST_RECORDS], 0):
        corners = {key for _, _, keys in corners_in(item) for key in keys}
        found = {key for key, value in item.items() if type(value) in (int, float) and _is_open(key, corners)}
        names = found if names is None else names & found
    shown = ", ".join(map(quote, sorted(names or ())[:_MOST_NAMED]))
    return f"numbers under {shown} were not read as scores" if shown else ""


def _is_open(key: object, corners: set[object]) -> bool:
    return isinstance(key, str) and key not in corners and role(key) is None


def _items(value: Any, depth: int) -> Iterator[dict[Any, Any]]:
    """The innermost objects that hold boxes, those in text that is clean data included."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        value = parsed(answer_of(value).removeprefix("```json").removesuffix("```")) if value[:1] in "[{`" else None
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    items = [item for part in inner for item in _items(part, depth + 1)]
    if not items and isinstance(value, dict):
        items = [value] if corners_in(value) or any(box_of(part, key) for key, part in value.items()) else []
    yield from items
