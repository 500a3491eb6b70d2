"""The boxes of a reply that its relations only point to, by number, id, name or label."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from shoe.predictions.vlm.box_marks import Entity, entity_of, is_person, numberless
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import rows_of
from shoe.predictions.vlm.keys import meaning

_PLAIN = re.compile(r"[\W_]+")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_FIRST = {"subject": "human"}
_DEEPEST = 10
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class _Named:
    """An entity and what a reference may call it."""

    entity: Entity
    names: frozenset[str]
    name: str
    side: str
    place: int


class Pool:
    """Every boxed thing of a reply."""

    def __init__(self, values: list[Any]) -> None:
        self._things: list[_Named] = []
        self._lists = 0
        for value in values:
            self._collect(value, 0)
        self._by_name: dict[str, list[_Named]] = {}
        for thing in self._things:
            for name in thing.names:
                self._by_name.setdefault(name, []).append(thing)
        self._by_label: dict[str, list[_Named]] = {}
        for thing in self._things:
            self._by_label.setdefault(_plain(numberless(thing.entity.label)), []).append(thing)
        self.counts_from = 0
        self._mention: re.Pattern[str] | None = None

    def __len__(self) -> int:
        """How many things there are."""
        return len(self._things)

    @property
    def labels(self) -> tuple[str, ...]:
        """The words for the things."""
        return tuple(dict.fromkeys(numberless(thing.entity.label) for thing in self._things if thing.entity.label))

    @property
    def is_sided(self) -> bool:
        """Whether people and objects stand in lists of their own."""
        return {thing.side for thing in self._things} == {"human", "object"}

    def note_numbers(self, numbers: list[int]) -> None:
        """Take the numbers that a reply's relations use: they count from 1 where none is 0 and one is the last."""
        self.counts_from = int(bool(numbers) and 0 not in numbers and max(numbers) == len(self._things))

    def find(self, reference: Any, side: str) -> Entity | None:
        """The one thing that a reference means; None where there is none, or more than one."""
        if isinstance(reference, dict):
            inner = [value for key, value in reference.items() if meaning(key).part == "id"]
            inner += [value for key, value in reference.items() if isinstance(value, str)]
            return next((found for value in inner if (found := self.find(value, side))), None)
        named = self._of_side(self._by_name.get(_plain(reference), []), side)
        if len(named) == 1:
            return named[0].entity._replace(side=side)
        if type(reference) is float and reference.is_integer():
            reference = int(reference)
        if type(reference) is int or (isinstance(reference, str) and reference.strip().isdigit()):
            index = int(reference) - self.counts_from
            mine = [thing for thing in self._things if side and thing.side == _FIRST.get(side, side)]
            if mine and mine != self._things:
                return next((thing.entity._replace(side=side) for thing in mine if thing.place == index), None)
            is_numbered = self._lists == 1 and 0 <= index < len(self._things)
            return self._things[index].entity._replace(side=side) if is_numbered else None
        return self._by_words(reference, side) if isinstance(reference, str) else None

    def _of_side(self, things: list[_Named], side: str) -> list[_Named]:
        """Those of several things of one name that stand in the list of a side."""
        mine = [thing for thing in things if side and thing.side == _FIRST.get(side, side)]
        return mine if len(things) > 1 and len(mine) == 1 else things

    def mentions(self, text: str) -> tuple[list[Entity], str]:
        """The things that a text names, in order, and the text with their plain words."""
        if self._mention is None:
            names = {thing.name for thing in self._things} - {""}
            ordered = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
            self._mention = re.compile(rf"(?<!\w)(?:{ordered or '(?!)'})(?!\w)", re.I)
        mentioned = self._mention.findall(text[:500])
        found = {name: entity for name in mentioned if (entity := self.find(name, ""))}
        words = {name: entity.label for name, entity in found.items() if entity.label}
        plain = self._mention.sub(lambda match: words.get(match[0]) or numberless(match[0]), text[:500])
        return [found[name] for name in mentioned if name in found], plain

    def _by_words(self, reference: str, side: str) -> Entity | None:
        same = self._by_label.get(_plain(numberless(reference)), [])
        number = _LAST_NUMBER.search(reference)
        if number and numberless(reference) != reference.strip():
            index = int(number[1]) - 1
            if 0 <= index < len(same):
                return same[index].entity._replace(side=side)
        return same[0].entity._replace(side=side) if len(same) == 1 else None

    def _collect(self, value: Any, depth: int, side: str = "") -> None:
        if depth > _DEEPEST:
            return
        if isinstance(value, list):
            is_boxes = bool(side) and all(box_of(item) is not None for item in value)
            things = [
                entity_of(item, None, "", holds_more=True)
                if isinstance(item, dict)
                or is_boxes  # or a word and its box: ["cup", [1, 2, 3, 4]]
                or (isinstance(item, list) and len(item) in (2, 5) and isinstance(item[0], str))
                else None
                for item in value
            ]
            if any(things):
                self._lists += 1
            for place, (item, thing) in enumerate(zip(value, things, strict=True)):
                if thing is not None:
                    self._add(thing, item if isinstance(item, dict) else {}, side, place)
                    self._collect_inside(item, depth)
                else:
                    self._collect(item, depth + 1)
        elif isinstance(value, dict):
            rows = rows_of(value)
            if rows:
                self._collect(rows, depth + 1)
            things_of = {} if rows else {key: inner for key, inner in value.items() if not _is_list_of_lists(inner)}
            named = {
                key: thing for key, inner in things_of.items() if (thing := entity_of(inner, key, "", holds_more=True))
            }
            if (named and len(named) == len(value)) or len(named) > 1:
                self._lists += 1
                for key, thing in named.items():
                    self._add(thing._replace(label=thing.label or numberless(str(key))), {"id": key})
                    if isinstance(value[key], dict):
                        self._name(value[key])
                    self._collect_inside(value[key], depth)
            for key, inner in value.items():
                if key not in named:
                    said = meaning(key)
                    side = _FIRST.get(said.side, said.side) if isinstance(inner, list) else ""
                    self._collect(_with_words(inner, side, value), depth + 1, side)

    def _collect_inside(self, item: Any, depth: int) -> None:
        """Take the things in the lists of a thing, as the objects in a person's interactions."""
        for inner in item.values() if isinstance(item, dict) else ():
            if isinstance(inner, list) and any(isinstance(each, dict) for each in inner):
                self._collect(inner, depth + 1)

    def _add(self, entity: Entity, item: dict[Any, Any], side: str = "", place: int = 0) -> None:
        names = {value for key, value in item.items() if meaning(key).part == "id" and type(value) in (str, int)}
        label = entity.label or next((word for name in names if (word := _word_in(name))), "")
        label = label or ("person" if side == "human" else "")
        if label and numberless(label) != label:
            names.add(label)
        plain = frozenset(_plain(name) for name in names)
        name = label if label in names else next((name for name in names if isinstance(name, str)), label)
        self._things.append(_Named(entity._replace(label=numberless(label)), plain, name, side, place))

    def _name(self, item: dict[Any, Any]) -> None:
        """Let the last thing be called by the ids inside it too."""
        thing = self._things[-1]
        ids = {_plain(v) for key, v in item.items() if meaning(key).part == "id" and type(v) in (str, int)}
        self._things[-1] = replace(thing, names=thing.names | ids)


def _with_words(boxes: Any, side: str, record: dict[Any, Any]) -> Any:
    """The boxes of one side, each with its word where a list beside them has as many."""
    if not side or not all(map(box_of, boxes)):
        return boxes
    words = (
        inner
        for key, inner in record.items()
        if isinstance(inner, list) and _FIRST.get(side_of := meaning(key).side, side_of) == side
        if len(inner) == len(boxes) and all(isinstance(word, str) and box_of(word) is None for word in inner)
    )
    return [[word, box] for word, box in zip(found, boxes, strict=True)] if (found := next(words, None)) else boxes


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(inner, list) for inner in value)


def _word_in(name: Any) -> str:
    """The word in an id that is made of one: "person_1" is person; "" for "P1", "object_1", "node_1"."""
    word = numberless(name) if isinstance(name, str) else ""
    if len(word) < _SHORTEST or word == name or meaning(word).part:
        return ""
    return word.replace("_", " ") if is_person(word) or not meaning(word).side else ""


def _plain(name: Any) -> str:
    return _PLAIN.sub("", str(name)).lower() or str(name)
