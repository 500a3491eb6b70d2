"""The short way through items of a shape already seen: where its boxes and words stand is decided once for each shape.

A shape is the keys of an item and the kinds of their values. What is read here is what :mod:`items` and :mod:`words`
read; an item whose shape or words leave anything to decide goes their way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoe.predictions.vlm.fields import Entity, fields_of
from shoe.predictions.vlm.items import Pair, interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.words import words_of

_NUMBERS = frozenset((int, float))
_MOST = 10_000

Words = tuple[tuple[str, str], ...]
Row = tuple[Words, float, tuple[float, ...]]
"""Verbs with their objects, score (NaN where there is none), and the eight numbers of the two boxes."""


class _Plan(NamedTuple):
    """Where the parts of an item stand: a key, and the key inside it or None."""

    human: tuple[str, str | None]
    target: tuple[str, str | None]
    texts: tuple[tuple[str, str | None], ...]
    score: str | None
    convention: str | None
    words: dict[Any, Words | None]


class Plans:
    """The shapes of a file."""

    def __init__(self) -> None:
        self._plans: dict[Any, _Plan | None] = {}
        self._keys: dict[tuple[str, ...], str | None] = {}

    def rows_of(self, value: Any) -> tuple[list[Row], str | None] | None:
        """Read a reply's value, a list of items or an object with one, if all its items have known shapes.

        Args:
            value: as parsed.

        Returns:
            one row an item, and the convention that their keys tell; None where the short way does not do.
        """
        if type(value) is dict:
            keys = tuple(value)
            if keys not in self._keys:
                self._keys[keys] = _list_key(value)
            key = self._keys[keys]
            value = None if key is None else value[key]
        if type(value) is not list or not value:
            return None
        rows: list[Row] = []
        plan: _Plan | None = None
        for item in value:
            if type(item) is not dict:
                return None
            before, shape = plan, _shape(item)
            plan = self._plans[shape] if shape in self._plans else self._learn(shape, item)
            if plan is None or (before is not None and before.convention != plan.convention):
                return None
            (a, b), (c, d), texts, score_key, _, known = plan
            numbers = (*(item[a] if b is None else item[a][b]), *(item[c] if d is None else item[c][d]))
            score = None if score_key is None else item[score_key]
            said = tuple([item[a] if b is None else item[a][b] for a, b in texts])
            words = known[said] if said in known else _words(plan, said, item, numbers)
            if words is None or len(numbers) != 8 or not _NUMBERS.issuperset(map(type, numbers)):
                return None
            if score is None:
                score = np.nan
            elif type(score) not in _NUMBERS:
                return None
            rows.append((words, score, numbers))
        return rows, plan.convention if plan else None

    def _learn(self, shape: Any, item: dict[str, Any]) -> _Plan | None:
        """The plan of a shape seen first."""
        if len(self._plans) >= _MOST:
            return None
        self._plans[shape] = _planned(item)
        return self._plans[shape]


def _words(plan: _Plan, said: Any, item: dict[str, Any], numbers: tuple[Any, ...]) -> Words | None:
    """The words of an item; None where they need a closer look."""
    found = interactions_in([item]).found
    pair = found[0] if len(found) == 1 and isinstance(found[0], Pair) else None
    words = pair and words_of(pair)
    is_plain = words and words.interactions and not (words.turned or words.doubtful or words.denied)
    if pair and words and any(said.score is not pair.score for said in words.interactions):
        is_plain = False
    if pair and pair.human.box.numbers + pair.object.box.numbers != numbers:
        is_plain = False
    if len(plan.words) >= 10 * _MOST:
        plan.words.clear()
    plan.words[said] = tuple((said.verb, said.object) for said in words.interactions) if words and is_plain else None
    return plan.words[said]


def _shape(item: dict[str, Any]) -> Any:
    """The keys of an item and the kinds of their values, in objects inside it too."""
    kinds = tuple(map(type, item.values()))
    if dict not in kinds:
        return (*item, *kinds)
    inner = [(*value, *map(type, value.values())) for value in item.values() if type(value) is dict]
    return (*item, *kinds, *inner)


def _list_key(value: dict[str, Any]) -> str | None:
    """The key of the list of items in an object that holds nothing else that matters."""
    lists = [key for key, inner in value.items() if isinstance(inner, list)]
    others = [meaning(key).part in ("image", "width", "height") for key in value if key not in lists]
    return lists[0] if len(lists) == 1 and all(others) else None


def _planned(item: dict[str, Any]) -> _Plan | None:
    """Where the parts of an item stand; None where that is for its words to say."""
    fields = fields_of(item)
    sides = [entity.side for entity in fields.entities]
    is_open = (
        fields.children or fields.texts or fields.broken or fields.wrong or fields.empty_lists or fields.references
    )
    if len(sides) != 2 or is_open or sorted(sides) not in (["human", "object"], ["object", "subject"]):
        return None
    paths = [_path(item, entity) for entity in sorted(fields.entities, key=lambda entity: entity.side == "object")]
    conventions = {entity.box.convention for entity in fields.entities}
    found = [path for path in paths if path is not None]
    if len(found) != 2 or len(conventions) != 1:
        return None
    convention = conventions.pop()
    texts: list[tuple[str, str | None]] = []
    for key, value in item.items():
        if isinstance(value, str):
            texts.append((key, None))
        elif isinstance(value, dict):
            texts += [(key, inner) for inner, text in value.items() if isinstance(text, str)]
    scores = [key for key, value in item.items() if value is fields.score and fields.score is not None]
    if fields.score is None:
        scores = [key for key in item if meaning(key).part == "score" and not meaning(key).side]
    if len(scores) > 1:
        return None
    values = [
        *item.values(),
        *(inner for value in item.values() if isinstance(value, dict) for inner in value.values()),
    ]
    if sum(isinstance(value, list) for value in values) != 2 or fields.points:
        return None
    name = None if convention is None else str(convention)
    return _Plan(found[0], found[1], tuple(texts), scores[0] if scores else None, name, {})


def _path(item: dict[str, Any], entity: Entity) -> tuple[str, str | None] | None:
    """Where the four numbers of an entity stand, as they are."""
    found: list[tuple[str, str | None]] = []
    for key, value in item.items():
        if meaning(key).side != entity.side:
            continue
        if isinstance(value, list):
            found.append((key, None))
        elif isinstance(value, dict):
            found += [(key, inner) for inner, box in value.items() if isinstance(box, list)]
    if len(found) != 1:
        return None
    key, inner = found[0]
    numbers = item[key] if inner is None else item[key][inner]
    return found[0] if tuple(numbers) == entity.box.numbers else None
