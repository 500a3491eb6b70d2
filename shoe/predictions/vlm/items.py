"""Interactions in a parsed reply: whatever has two boxes, or boxes and references to others, and says what is done.

The keys around them do not matter: a reply is walked from the outside in, and what an outer level says, a person's box
or the words of a class, holds for the levels inside that say no other.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

from shoe.core.errors import printable
from shoe.core.io.json import shown
from shoe.predictions.vlm.box_marks import (
    Entity,
    can_be_verb,
    entity_of,
    is_person,
    is_thing,
    numberless,
    verb_likeness,
)
from shoe.predictions.vlm.boxes import Box, box_of
from shoe.predictions.vlm.entities import Pool
from shoe.predictions.vlm.fields import Fields, Verb, fields_of, relations_of, rows_of
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.keys import WRAPPERS, meaning
from shoe.predictions.vlm.parsed_reply import Pair, Problem, Reading

# Who of an item's boxes is the human, and which of its words are whose.


def pair_of(fields: Fields) -> Pair:
    """The pair that an item with two boxes or more is."""
    if len(fields.names) == len(fields.entities) and not any(entity.side or entity.label for entity in fields.entities):
        named = zip(fields.entities, fields.names, strict=True)
        fields.entities, fields.names = [entity._replace(label=name) for entity, name in named], []
    human, target, is_relation = _who_is_who(fields.entities)
    is_relation |= not human.side and meaning(fields.within).part == "verb"
    subject = fields.labels.get("human") or fields.labels.get("subject") or human.label
    thing = fields.labels.get("object") or target.label
    label = fields.label
    texts = list(fields.texts)
    if not thing and target.key and not (fields.phrase or label or texts):
        thing = target.key
    verbs = fields.verbs
    if not fields.has_words and label and len(texts) == 1 and label in fields.keys_of and not thing:
        texts, label = [t for t in fields.keys_of if t in (label, *texts)], ""
    if not fields.has_words and not thing and _opens_with_verb(fields.opened_by, said := [*fields.names, *texts]):
        verbs, thing, label, texts = [Verb(fields.opened_by.replace("_", " "))], said[0], "", []
    if not fields.has_words and label:
        verbs, label = [Verb(label)], ""
    if not thing and label and fields.has_words:
        thing = label
    phrase = fields.phrase
    if not verbs and not phrase and not texts:
        phrase = fields.opened_by.replace("_", " ")
    return Pair(
        human,
        target,
        numberless(subject),
        numberless(thing),
        tuple(verbs),
        phrase,
        tuple(texts),
        fields.score,
        is_relation,
        fields.wrong,
        tuple(fields.keys_of.get(text, "") for text in texts),
    )


def _opens_with_verb(opened_by: str, words: list[str]) -> bool:
    """Whether the key around an item is the verb, and the item's one word that of the object."""
    if not opened_by or len(words) != 1 or plain(opened_by) in WRAPPERS:
        return False
    likeness, other = verb_likeness(opened_by), verb_likeness(words[0])
    is_told = is_thing(words[0]) and not is_thing(opened_by) and opened_by[-1] != "s"
    return likeness > other or (is_told and likeness == other > -1)


def with_outer(own: list[Entity], outer: list[Entity]) -> list[Entity]:
    """An item's boxes, and those of the level around it for the sides that it lacks."""
    if len(own) >= 2 or not outer:
        return own
    if len(own) == 1:
        if len(outer) > 1:
            others = [entity for entity in outer if entity.side and entity.side != own[0].side]
            if not own[0].side or len(others) != 1:
                return own
            outer = others
        (inner,), (around,) = own, outer
        if inner.side and inner.side == around.side:
            return own
        first = inner.side in ("human", "subject") or around.side == "object"
        return [inner, around] if first else [around, inner]
    return list(outer)


def take_meaning(fields: Fields, within: str) -> None:
    """Let the key of the list that an item stands in say what the item's own keys do not.

    What has one box of no side is a person in "interacting_humans"; the name of a relation in "relations" is its verb.
    """
    said = meaning(within)
    if len(fields.entities) == 1 and not fields.entities[0].side and said.words:
        is_people = said.side in ("human", "subject") or (not said.side and not said.part and is_person(said.words[-1]))
        own = fields.entities[0]._replace(side="human" if is_people else "")
        names_it = not (said.side or said.part or own.label or own.key or is_people or plain(within) in WRAPPERS)
        names_it = names_it and is_thing(within)
        fields.entities[0] = own._replace(key=numberless(within.replace("_", " "))) if names_it else own
    if said.part in ("verb", "phrase") and not fields.has_words and not fields.entities and fields.names:
        fields.verbs, fields.names = [Verb(fields.names[0])], fields.names[1:]


def inherit_words(fields: Fields, around: Fields) -> None:
    """Take the words of the level around an item for what the item does not say."""
    if not fields.has_words:
        fields.verbs, fields.phrase = list(around.verbs), around.phrase
    if not (fields.names or around.entities) and around.has_words:
        fields.names = list(around.names)
    for side, label in around.labels.items():
        fields.labels.setdefault(side, label)
    if fields.score is None:
        fields.score = around.score


def _who_is_who(entities: list[Entity]) -> tuple[Entity, Entity, bool]:
    """The human, the object, and whether a relation says so whose subject need not be a person."""
    first = [entity for entity in entities if entity.side in ("human", "subject")]
    second = [entity for entity in entities if entity.side == "object"]
    neither = [entity for entity in entities if not entity.side]
    if first and (second or neither):
        return first[0], (second or neither)[0], first[0].side == "subject"
    if len(first) > 1:
        return first[0], first[1], first[0].side == "subject"
    if second and neither:
        return neither[0], second[0], False
    if len(second) > 1:
        return second[0], second[1], False
    unnamed = [e for e in neither if not e.label] if any(e.label for e in neither) else []
    person = next((e for e in neither if is_person(e.label or e.key)), (unnamed or neither)[0])
    other = next(e for e in neither if e is not person)
    return person, other, False


_DEEPEST = 12
_REFERENCE = "the number, id or name of a box in the reply"
_SIDED = ("human", "subject", "object")


def interactions_in(values: list[Any], around: Fields | None = None, pool_values: list[Any] | None = None) -> Reading:
    """Find the interactions of a reply.

    Args:
        values: its parsed values.
        around: fields of the record that the reply is in, whose words hold where the reply has none.
        pool_values: where references point to, if not into the values.
    """
    walk = _Walk(pool_values if pool_values is not None else values)
    for value in values:
        if value in ([], {}):
            walk.reading.says_none = True
        walk.visit(value, around or Fields(), 0)
    return walk.done()


class _Walk:
    """One walk through the values of a reply."""

    def __init__(self, pool_values: list[Any]) -> None:
        self.reading = Reading()
        self._pool_values = pool_values
        self._pool: Pool | None = None
        self._pointed: set[Box] = set()
        self._by_key: list[Pair] = []  # whose words are the key that they stand under

    def done(self) -> Reading:
        """What was found, without the lists of boxed things that relations point into."""
        if self._pointed:
            self.reading.found = [item for item in self.reading.found if not self._is_listed(item)]
        return self.reading

    def _is_listed(self, item: Pair | Problem) -> bool:
        if isinstance(item, Problem):
            return False
        if item.has_words:
            is_named = any(item is each for each in self._by_key)
            return is_named and self._pointed.issuperset((item.human.box, item.object.box))
        return not self._pointed.isdisjoint((item.human.box, item.object.box))

    @property
    def pool(self) -> Pool:
        """The boxed things of the reply; made when the first relation asks for them."""
        if self._pool is None:
            self._pool = Pool(self._pool_values)
            self._pool.note_numbers(list(_numbers(self._pool_values, 0)))
        return self._pool

    def visit(self, value: Any, around: Fields, depth: int) -> None:
        """Find the interactions inside a value."""
        if depth > _DEEPEST:
            return
        if isinstance(value, list):
            if _is_flat(value):
                value = [value[:4], value[4:8], *value[8:]]
            if _is_row(value) or (len(value) == 2 and all(box_of(inner) is not None for inner in value)):
                self._item({str(i): inner for i, inner in enumerate(value)}, around, depth)
                return
            for inner in value:
                if isinstance(inner, dict | list):
                    self.visit(inner, around, depth + 1)
                elif type(inner) in (int, float) and (depth == 0 or any(isinstance(item, dict) for item in value)):
                    self.reading.found.append(Problem("incomplete", shown(inner), "an object with two boxes"))
        elif isinstance(value, dict):
            self.reading.keys.update(dict.fromkeys(map(_shown_key, list(value)[:20])))
            rows = relations_of(value) or rows_of(value)
            first = fields_of(rows[0]) if rows else None
            if rows and first and (len(first.entities) == 2 or (not first.entities and len(first.references) == 2)):
                for row in rows:
                    self._item(row, around, depth)
            else:
                self._item(value, around, depth)

    def _item(self, record: dict[Any, Any], around: Fields, depth: int) -> None:
        fields = fields_of(record)
        take_meaning(fields, around.within)
        self.reading.is_points |= fields.points
        # {"interactions": []} says none, and so does {"objects": []}; {"objects": [], "people": [{...}]} does not.
        said = {meaning(key).part or meaning(key).side for key in fields.empty_lists} - {""}
        self.reading.says_none |= bool(said & {"verb", "phrase"}) or (bool(said) and not fields.children)
        # {"subject_id": 0, "predicate": "ride", "object_id": 1}, beside a list of boxes with these ids
        count = len(fields.entities)
        self._find_referred(fields)
        self._pointed.update(entity.box for entity in fields.entities[count:])
        points_out = len(fields.entities) > count
        # {"edges": ["person_1 riding horse_2"]}: texts under any key that name two boxes of the reply
        listed = [] if fields.has_words or fields.entities else _numbered_texts(fields)
        if listed and self._find_mentions(replace(fields, verbs=listed)):
            return
        # {"relation": "P1 rides H1"}, or {"relations": ["P1 rides H1"], "objects": [{"id": "P1", "bbox": [...]}, ...]}
        if fields.has_words:
            may_mention = not (fields.entities or fields.labels) or any(map(_lists_by_id, record.values()))
            if may_mention and self._find_mentions(fields):
                return
        # {"human_box": [...], "objects": [{"box": [...], "verb": "ride"}]}: inner items take the outer box and words.
        own, said_own = list(fields.entities), fields.has_words
        fields.opened_by, fields.within = around.opened_by, around.within
        fields.entities = with_outer(own, around.entities)
        inherit_words(fields, around)
        has_pairs_inside = any(
            isinstance(child, dict)
            or (isinstance(child, list) and any(isinstance(each, dict | list) for each in child))
            for _, child in fields.children
        )
        if has_pairs_inside:
            before = len(self.reading.found)
            # {"name": "man", "bbox": [...], "actions": [...]}: the name is that of the box beside it.
            if own and fields.label and not own[0].label and len(fields.entities) == 1:
                fields.entities = [own[0]._replace(label=fields.label)]
            for key, child in fields.children:
                # {"riding a horse": [{...}]}: the key says what is done.
                names = str(key) if _is_phrase(key) else fields.opened_by
                # {"o1": {"bbox": ...}, "o2": {"bbox": ..., "actions": [...]}}: a thing takes no box of one beside it.
                outer = around.entities if _is_sibling(key, child, own) else fields.entities
                inner = replace(fields, entities=outer, opened_by=names, within=str(key))
                self.visit(child, inner, depth + 1)
            if len(self.reading.found) != before:
                return
        # Two boxes are an interaction if something says what is done: a verb, {"human_box", "object_box", "verb"};
        # a word of unknown role, {"human_box", "object_box", "label": "ride"}; sides, {"person": ..., "horse": ...};
        # or the key around the item, {"riding": {"a": [...], "b": [...]}}.
        named = len(own) > 1 and any(entity.side for entity in own)
        said_here = fields.label and len(own) > 1
        is_said = fields.has_words or fields.texts or said_here or named or (len(own) > 1 and fields.opened_by)
        if len(fields.entities) >= 2 and is_said:
            # An item without a box of its own is one if it says more than the level around it:
            # {"human_box": [...], "object_box": [...], "actions": [{"verb": "ride"}, {"verb": "hold"}]}.
            if own or (fields is not around and (fields.verbs != around.verbs or fields.phrase != around.phrase)):
                pairs = [pair_of(each) for each in _each_with_each(fields)]
                self.reading.found += pairs
                if fields.opened_by and not (fields.has_words or fields.texts or fields.label):
                    self._by_key += pairs
        # {"human_box": [...], "verb": "ride"} lacks a box.
        elif (said_own or (fields.has_words and not own)) and not has_pairs_inside and not fields.empty_lists:
            self._explain(fields, around, points_out=points_out)
        self.reading.single += len(own) == 1

    def _find_referred(self, fields: Fields) -> None:
        """Turn references and labels that mean boxes elsewhere in the reply into those boxes."""
        sides = {entity.side for entity in fields.entities}
        pointers = len(fields.references) + len(fields.texts)
        is_edge = bool(fields.label) and pointers + len(fields.labels) > 1
        may_point = fields.has_words or is_edge or (fields.texts and pointers > 2)
        if len(fields.entities) >= 2 or fields.broken or not may_point or not len(self.pool):
            return
        # {"subject": "P1", "predicate": "ride", "object": "horse"}: by side, a reference before a label
        for side in _SIDED:
            if side in sides or (side != "object" and sides & {"human", "subject"}):
                continue
            for reference in (fields.references.get(side), fields.labels.get(side)):
                entity = None if reference is None else self.pool.find(reference, side)
                if entity is not None:
                    fields.entities.append(entity)
                    fields.labels[side] = entity.label or fields.labels.get(side, "")
                    break
        if len(fields.entities) > 1:
            return
        # {"pair": [0, 1], "verb": "ride"}, the person's first; {"person": ..., "target 1": 4} lacks one
        numbers = [value for key, value in fields.references.items() if key not in _SIDED]
        of_sides = ("human", "object") if len(numbers) == 2 and self.pool.is_sided else ("",) * len(numbers)
        found = [self.pool.find(value, side) for value, side in zip(numbers, of_sides, strict=True)]
        found += [self.pool.find(text, "") for text in fields.texts]
        pointed = [entity for entity in found if entity is not None]
        if len(pointed) == 2 and not fields.entities:
            fields.entities = [pointed[0]._replace(side="subject"), pointed[1]._replace(side="object")]
        elif len(pointed) == 1 and fields.entities:
            other = "subject" if fields.entities[0].side == "object" else "object"
            fields.entities.append(pointed[0]._replace(side=other))
        fields.texts = [text for text in fields.texts if self.pool.find(text, "") is None]

    def _find_mentions(self, fields: Fields) -> bool:
        """Read relations that are texts with the names of boxed things: "person_1 riding horse_2"."""
        texts = [verb.text for verb in fields.verbs] or [fields.phrase]
        if not texts[0] or fields.references or not len(self.pool):
            return False
        found = [self.pool.mentions(text) for text in texts]
        if not all(len(things) == 2 for things, _ in found):
            return False
        self._pointed.update(thing.box for things, _ in found for thing in things)
        for (things, rest), verb in zip(found, [*fields.verbs, Verb("")], strict=False):
            human, target = (
                thing._replace(side=side) for thing, side in zip(things, ("subject", "object"), strict=True)
            )
            score = verb.score if verb.score is not None else fields.score
            self.reading.found.append(
                Pair(human, target, human.label, target.label, (), rest, (), score, is_relation=True)
            )
        return True

    def _explain(self, fields: Fields, around: Fields, *, points_out: bool) -> None:
        """Say what an item lacks that has words and is no interaction."""
        sides = {entity.side for entity in fields.entities}
        lacking = "human_box" if sides & {"object"} else "object_box"
        if fields.broken:
            side = next(iter(fields.broken))
            lacking = "object_box" if side == "object" else "human_box" if side else "box"
            problem = Problem(lacking, shown(fields.broken[side]), "four numbers")
        elif fields.points:
            problem = Problem("points", "points", "a box for the human and one for the object")
        elif len(fields.entities) == 1 and points_out and (said := _reference(fields, lacking)) is not None:
            problem = Problem("reference", f"no one box for {shown(said)}", _REFERENCE)
        elif len(fields.entities) == 1:
            problem = Problem(lacking, "no such key", "a box for the human and one for the object")
        elif fields.references or any(fields.labels.get(side) for side in ("human", "subject")):
            pointed = [*fields.references.values(), *fields.labels.values()]
            found = f"no one box for {', '.join(shown(p) for p in pointed[:3])}"
            problem = Problem("reference", found, _REFERENCE)
        elif around.entities or fields.verbs or fields.labels:
            problem = Problem("human_box", "no box", "a box for the human and one for the object")
        else:
            return
        self.reading.found.append(problem)


@lru_cache(8192)
def _shown_key(key: object) -> str:
    return printable(str(key), 40)


def _reference(fields: Fields, lacking: str) -> Any:
    """What an item says of the box that it lacks; None if nothing."""
    sides = ("object",) if lacking == "object_box" else ("human", "subject")
    said = [fields.references.get(side, fields.labels.get(side)) for side in sides]
    return next((each for each in said if each is not None), None)


def _numbers(value: Any, depth: int) -> Any:
    """The whole numbers by which relations point to boxes."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            said = meaning(key)
            if type(inner) is int and said.side:
                yield inner
            elif type(inner) in (dict, list):
                yield from _numbers(inner, depth + 1)
    elif isinstance(value, list):
        if _is_row(value) or len(value) == 2:
            yield from (x for x in value if type(x) is int)
        for inner in value:
            if type(inner) in (dict, list):
                yield from _numbers(inner, depth + 1)


def _lists_by_id(value: Any) -> bool:
    """Whether a value lists things that have ids."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and any(meaning(key).part == "id" for key in first)


def _numbered_texts(fields: Fields) -> list[Verb]:
    """Texts under keys of any name that may name numbered things: "person_1 riding horse_2"."""
    lists = [value for _, value in fields.children if isinstance(value, list)]
    texts = [text for text in chain(fields.texts, *lists) if isinstance(text, str)]
    return [Verb(text) for text in texts if sum(map(str.isdigit, text)) > 1]


def _each_with_each(fields: Fields) -> list[Fields]:
    """An item for every box of several on one side, as of all who eat one cake."""
    sides = [entity.side for entity in fields.entities]
    several = next((side for side in ("human", "object") if 1 < sides.count(side) < len(sides)), None)
    if several is None or len(set(sides)) != 2 or len(sides) - sides.count(several) != 1:
        return [fields]
    (other,) = (entity for entity in fields.entities if entity.side != several)
    same = [entity for entity in fields.entities if entity.side == several]
    return [replace(fields, entities=[one, other]) for one in same]


def _is_sibling(key: object, child: Any, own: list[Entity]) -> bool:
    """Whether a child is one more of several boxed things, as in an object of things by their ids, "o1" or "7"."""
    is_thing = isinstance(child, dict) and entity_of(child, key, "", holds_more=True) is not None
    is_id = numberless(str(key)) != str(key)
    return is_thing and bool(own) and (is_id or not (meaning(key).side or any(entity.side for entity in own)))


def _is_row(value: list[Any]) -> bool:
    """Whether a list is one item without keys: some text beside boxes, or beside numbers of boxes."""
    if not 3 <= len(value) <= 6 or not any(isinstance(inner, str) for inner in value):
        return False
    return all(isinstance(v, str | list | int | float) or entity_of(v, None, "") is not None for v in value)


def _is_flat(value: list[Any]) -> bool:
    """Whether a list is one item whose eight numbers stand before its words."""
    return 8 < len(value) <= 11 and isinstance(value[8], str) and all(type(x) in (int, float) for x in value[:8])


def _is_phrase(key: object) -> bool:
    """Whether a key may say what is done: "riding a horse", "ride"."""
    said = meaning(key)
    if len(said.words) > 1:
        return not said.part and any(word.isalpha() for word in said.words)
    return not said.part and not said.side and can_be_verb(str(key))
