"""Look up the boxes of a reply to which its relations refer by a number, ID, name or label."""

import re
from typing import Any, NamedTuple

from shoe.predictions.field_names import meaning
from shoe.predictions.vlm.box_marks import Entity, entity_of, is_person, numberless
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import rows_of

_SEPARATORS = re.compile(r"[\W_]+")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_CANONICAL_SIDE = {"subject": "human"}
_DEEPEST = 10
_SHORTEST = 3


class _NamedEntity(NamedTuple):
    """An entity of a reply, as the target of references."""

    entity: Entity
    names: frozenset[str]  # normalised names and IDs by which a reference finds the entity
    name: str  # name by which a sentence mentions the entity; "" if there is none
    side: str  # side of the list that contains the entity: "human", "object" or ""
    place: int  # index of the entity in this list


class Pool:
    """All entities (labelled boxes) in the values of a reply, to be looked up by index, ID, name or label."""

    def __init__(self, values: list[Any]) -> None:
        self._entities: list[_NamedEntity] = []
        self._lists = 0
        for value in values:
            self._collect(value, 0)
        self._by_name: dict[str, list[_NamedEntity]] = {}
        self._by_label: dict[str, list[_NamedEntity]] = {}
        for thing in self._entities:
            self._by_label.setdefault(_normalize(numberless(thing.entity.label)), []).append(thing)
            for name in thing.names:
                self._by_name.setdefault(name, []).append(thing)
        self.index_base = 0
        self._name_pattern: re.Pattern[str] | None = None

    def __len__(self) -> int:
        return len(self._entities)

    @property
    def is_sided(self) -> bool:
        """Whether the reply has a list of people and a list of objects, and no entity elsewhere."""
        return {thing.side for thing in self._entities} == {"human", "object"}

    def _listed(self, side: str) -> list[_NamedEntity]:
        """Return the entities in the list of a side, or all entities if none is in such a list."""
        of_side = [thing for thing in self._entities if side and thing.side == _CANONICAL_SIDE.get(side, side)]
        return of_side or self._entities

    def set_index_base(self, numbers: list[tuple[str, int]]) -> None:
        """Set the index of first entities, given (side, index) of references: 1 if none is 0 and one is the length."""
        beyond = [number - len(self._listed(side)) for side, number in numbers]
        self.index_base = int(max(beyond, default=1) == 0 and all(number for _, number in numbers))

    def find(self, reference: Any, side: str) -> Entity | None:
        """Return the entity with this index, ID, name or label, with ``side`` set; None if none or several fit."""
        if isinstance(reference, dict):
            inner = [value for key, value in reference.items() if meaning(key).part == "id"]
            inner += [value for key, value in reference.items() if isinstance(value, str)]
            return next((found for value in inner if (found := self.find(value, side))), None)
        named = self._by_name.get(_normalize(reference), [])
        of_side = [thing for thing in named if side and thing.side == _CANONICAL_SIDE.get(side, side)]
        named = of_side if len(of_side) == 1 else named
        if len(named) == 1:
            return named[0].entity._replace(side=side)
        if type(reference) is float and reference.is_integer():
            reference = int(reference)
        if type(reference) is int or (isinstance(reference, str) and reference.strip().isdigit()):
            index = int(reference) - self.index_base
            if len(listed := self._listed(side)) < len(self._entities):
                return next((thing.entity._replace(side=side) for thing in listed if thing.place == index), None)
            is_numbered = self._lists == 1 and 0 <= index < len(self._entities)
            return self._entities[index].entity._replace(side=side) if is_numbered else None
        return self._find_by_label(reference, side) if isinstance(reference, str) else None

    def mentions(self, text: str) -> tuple[list[Entity], str]:
        """Return the entities named in a text, cut to 500 characters, and the text with labels in place of names."""
        if self._name_pattern is None:
            names = {thing.name for thing in self._entities} - {""}
            ordered = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
            self._name_pattern = re.compile(rf"(?<!\w)(?:{ordered or '(?!)'})(?!\w)", re.I)
        mentions = self._name_pattern.findall(text[:500])
        found = {name: entity for name in mentions if (entity := self.find(name, ""))}
        words = {name: entity.label for name, entity in found.items() if entity.label}
        plain_text = self._name_pattern.sub(lambda match: words.get(match[0]) or numberless(match[0]), text[:500])
        return [found[name] for name in mentions if name in found], plain_text

    def _find_by_label(self, reference: str, side: str) -> Entity | None:
        candidates = self._by_label.get(_normalize(numberless(reference)), [])
        number = _LAST_NUMBER.search(reference) if numberless(reference) != reference.strip() else None
        if number and 0 < int(number[1]) <= len(candidates):
            return candidates[int(number[1]) - 1].entity._replace(side=side)
        return candidates[0].entity._replace(side=side) if len(candidates) == 1 else None

    def _collect(self, value: Any, depth: int, side: str = "") -> None:
        if depth > _DEEPEST:
            return
        if isinstance(value, list):
            is_boxes = bool(side) and all(box_of(item) is not None for item in value)
            entities = [
                entity_of(item, None, "", holds_more=True)
                if isinstance(item, dict)
                or is_boxes  # or a word and its box: ["cup", [1, 2, 3, 4]]
                or (isinstance(item, list) and len(item) in (2, 5) and isinstance(item[0], str))
                else None
                for item in value
            ]
            if any(entities):
                self._lists += 1
            for place, (item, entity) in enumerate(zip(value, entities, strict=True)):
                if entity is not None:
                    self._add(entity, item if isinstance(item, dict) else {}, side, place)
                    self._collect_inside(item, depth)
                else:
                    self._collect(item, depth + 1)
        elif isinstance(value, dict):
            rows = rows_of(value)
            if rows:
                self._collect(rows, depth + 1)
            is_nested = {k for k, v in value.items() if isinstance(v, list) and any(isinstance(x, list) for x in v)}
            candidates = {} if rows else {k: v for k, v in value.items() if k not in is_nested}
            named = {k: e for k, v in candidates.items() if (e := entity_of(v, k, "", holds_more=True))}
            if (named and len(named) == len(value)) or len(named) > 1:
                self._lists += 1
                for key, entity in named.items():
                    self._add(entity._replace(label=entity.label or numberless(str(key))), {"id": key})
                    if isinstance(value[key], dict):
                        self._add_inner_ids(value[key])
                    self._collect_inside(value[key], depth)
            for key, inner in value.items():
                if key not in named:
                    info = meaning(key)
                    side = _CANONICAL_SIDE.get(info.side, info.side) if isinstance(inner, list) else ""
                    self._collect(_with_words(inner, side, value), depth + 1, side)

    def _collect_inside(self, item: Any, depth: int) -> None:
        """Collect the entities in lists inside an entity, e.g. the objects in the interactions of a person."""
        for inner in item.values() if isinstance(item, dict) else ():
            if isinstance(inner, list) and any(isinstance(each, dict) for each in inner):
                self._collect(inner, depth + 1)

    def _add(self, entity: Entity, item: dict[Any, Any], side: str = "", place: int = 0) -> None:
        names = {value for key, value in item.items() if meaning(key).part == "id" and type(value) in (str, int)}
        label = entity.label or next((word for name in names if (word := _word_in(name))), "")
        label = label or ("person" if side == "human" else "")
        if label and numberless(label) != label:
            names.add(label)
        plain = frozenset(_normalize(name) for name in names)
        name = label if label in names else next((name for name in names if isinstance(name, str)), label)
        self._entities.append(_NamedEntity(entity._replace(label=numberless(label)), plain, name, side, place))

    def _add_inner_ids(self, item: dict[Any, Any]) -> None:
        """Add the IDs in ``item``, the object of the last entity, to the names of this entity."""
        thing = self._entities[-1]
        ids = {_normalize(v) for key, v in item.items() if meaning(key).part == "id" and type(v) in (str, int)}
        self._entities[-1] = thing._replace(names=thing.names | ids)


def _with_words(boxes: Any, side: str, record: dict[Any, Any]) -> Any:
    """Return [word, box] for each box of a side if the record has as many words for this side; else ``boxes``."""
    if not side or not all(map(box_of, boxes)):
        return boxes
    words = (
        inner
        for key, inner in record.items()
        if isinstance(inner, list) and _CANONICAL_SIDE.get(side_of := meaning(key).side, side_of) == side
        if len(inner) == len(boxes) and all(isinstance(word, str) and box_of(word) is None for word in inner)
    )
    return [[word, box] for word, box in zip(found, boxes, strict=True)] if (found := next(words, None)) else boxes


def _word_in(name: Any) -> str:
    """Return the word in an ID: "person" for "person_1"; "" for "P1", "object_1" and "node_1"."""
    word = numberless(name) if isinstance(name, str) else ""
    if len(word) < _SHORTEST or word == name or meaning(word).part:
        return ""
    return word.replace("_", " ") if is_person(word) or not meaning(word).side else ""


def _normalize(name: Any) -> str:
    return _SEPARATORS.sub("", str(name)).lower() or str(name)
