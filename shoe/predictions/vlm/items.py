"""Find interactions in a parsed reply: items with two boxes, or references to boxes, and words for the interaction.

A reply may have any structure. Its values are visited from the outermost level to the innermost. Items without boxes or
words of their own inherit those of the enclosing level.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from shoe.core.errors import printable
from shoe.core.io.json import describe_value
from shoe.predictions.field_names import WRAPPERS, is_version_of_answer, meaning, role
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
from shoe.predictions.vlm.parsed_reply import Pair, Problem, Reading


def pair_of(fields: Fields) -> Pair:
    """Return the human-object pair and its words from ``fields`` of an item with two or more boxes; may change them."""
    if len(fields.names) == len(fields.entities) and not any(entity.side or entity.label for entity in fields.entities):
        labelled = zip(fields.entities, fields.names, strict=True)
        fields.entities, fields.names = [entity._replace(label=name) for entity, name in labelled], []
    human, target, is_relation = _assign_sides(fields.entities)
    is_relation |= not human.side and meaning(fields.list_key).part == "verb"
    subject = fields.labels.get("human") or fields.labels.get("subject") or human.label
    thing = fields.labels.get("object") or target.label
    label = fields.label
    texts = list(fields.texts)
    if not thing and target.key and not (fields.phrase or label or texts):
        thing = target.key
    number = fields.references.get("object")
    if not thing and fields.verbs and not (fields.phrase or label or texts) and type(number) is int:
        thing = str(number)  # which is refused: numbers are no words
    verbs = fields.verbs
    if not fields.has_words and label and len(texts) == 1 and label in fields.keys_of and not thing:
        texts, label = [t for t in fields.keys_of if t in (label, *texts)], ""
    if not fields.has_words and not thing and _opens_with_verb(fields.outer_key, words := [*fields.names, *texts]):
        verbs, thing, label, texts = [Verb(fields.outer_key.replace("_", " "))], words[0], "", []
    if not fields.has_words and label:
        verbs, label = [Verb(label)], ""
    if not thing and label and fields.has_words:
        thing = label
    phrase = fields.phrase
    if not verbs and not phrase and not texts:
        phrase = fields.outer_key.replace("_", " ")
    keys = tuple(fields.keys_of.get(text, "") for text in texts)
    return Pair(
        human, target, numberless(subject), numberless(thing), tuple(verbs), phrase, tuple(texts), fields.score,
        is_relation, fields.invalid_word, keys, tuple(fields.verdicts.items()),
    )  # fmt: skip


def _opens_with_verb(outer_key: str, words: list[str]) -> bool:
    """Return whether ``outer_key``, the key of an item, is the verb, and ``words`` are only the name of the object."""
    if not outer_key or len(words) != 1 or plain(outer_key) in WRAPPERS:
        return False
    likeness, word_likeness = verb_likeness(outer_key), verb_likeness(words[0])
    is_clear = is_thing(words[0]) and not is_thing(outer_key) and outer_key[-1] != "s"
    return likeness > word_likeness or (is_clear and likeness == word_likeness > -1)


def add_outer_boxes(own: list[Entity], outer: list[Entity]) -> list[Entity]:
    """Return the boxes ``own`` of a JSON object; if fewer than two, also boxes ``outer`` of the enclosing object.

    Without own boxes, all outer boxes are returned. With one own box, the outer box that can be its counterpart (human
    or object) is added if there is exactly one.
    """
    if not own:
        return list(outer)
    if len(own) > 1 or not outer:
        return own
    (entity,) = own
    if len(outer) > 1:
        outer = [other for other in outer if entity.side and other.side and other.side != entity.side]
    if len(outer) != 1 or (entity.side and entity.side == outer[0].side):
        return own
    return [*own, *outer] if entity.side in ("human", "subject") or outer[0].side == "object" else [*outer, *own]


def apply_list_key(fields: Fields, list_key: str) -> None:
    """Set the side of the box ("humans": a person) and the verb of a list item, in place, from the key of the list."""
    info = meaning(list_key)
    if len(fields.entities) == 1 and not fields.entities[0].side and info.words:
        is_people = info.side in ("human", "subject") or (not info.side and not info.part and is_person(info.words[-1]))
        box = fields.entities[0]._replace(side="human" if is_people else "")
        is_label = not (info.side or info.part or box.label or box.key or is_people or plain(list_key) in WRAPPERS)
        is_label = is_label and is_thing(list_key)
        fields.entities[0] = box._replace(key=numberless(list_key.replace("_", " "))) if is_label else box
    if info.part in ("verb", "phrase") and not fields.has_words and fields.names:
        is_type = fields.keys_of.get(fields.names[0]) == "type" and verb_likeness(fields.names[0]) > 0
        if is_type or not fields.entities:
            fields.verbs, fields.names = [Verb(fields.names[0])], fields.names[1:]


def inherit_words(fields: Fields, context: Fields) -> None:
    """Add words and score of the enclosing JSON object (``context``) to an item without them, in place."""
    if not fields.has_words:
        fields.verbs, fields.phrase = list(context.verbs), context.phrase
    if not (fields.names or context.entities) and context.has_words:
        fields.names = list(context.names)
    for side, label in context.labels.items():
        fields.labels.setdefault(side, label)
    if fields.score is None:
        fields.score = context.score


def _assign_sides(entities: list[Entity]) -> tuple[Entity, Entity, bool]:
    """Return the human, the object, and whether the first is the subject of a relation (and may be a thing)."""
    subjects = [entity for entity in entities if entity.side in ("human", "subject")]
    objects = [entity for entity in entities if entity.side == "object"]
    unsided = [entity for entity in entities if not entity.side]
    if subjects and (objects or unsided):
        return subjects[0], (objects or unsided)[0], subjects[0].side == "subject"
    if len(subjects) > 1:
        return subjects[0], subjects[1], subjects[0].side == "subject"
    if objects and unsided:
        return unsided[0], objects[0], False
    if len(objects) > 1:
        return objects[0], objects[1], False
    unnamed = [e for e in unsided if not e.label] if any(e.label for e in unsided) else []
    person = next((e for e in unsided if is_person(e.label or e.key)), (unnamed or unsided)[0])
    return person, next(e for e in unsided if e is not person), False


_DEEPEST = 12
_REFERENCE, _TWO_BOXES = "the index, ID or name of a box in the reply", "a box for the human and a box for the object"
_FINAL = {"final", "last", "revised", "refined"}  # of {"draft": [...], "final": []}
_VERSION = re.compile(r"(?:step|stage|draft|attempt|version|round|iteration|pass|try|model|turn)[\W_]?\w{1,12}", re.I)
_ANSWERS, _SIDED = ("answer", "prediction", "conclusion", "result"), ("human", "subject", "object")


def interactions_in(values: list[Any], context: Fields | None = None, pool_values: list[Any] | None = None) -> Reading:
    """Return the interactions in the parsed ``values`` of a reply.

    ``context`` are the other fields of the record, whose words and boxes complete the reply. References to boxes are
    looked up in ``pool_values``, by default in ``values``.
    """
    walker = _Walker(pool_values if pool_values is not None else values)
    for value in values:
        if value in ([], {}):
            walker.reading.says_none = True
        walker.visit(value, context or Fields(), 0)
    return walker.done()


class _Walker:
    """Visitor that collects the interactions in the values of one reply."""

    def __init__(self, pool_values: list[Any]) -> None:
        self.reading = Reading()
        self._pool_values = pool_values
        self._pool: Pool | None = None
        self._referenced: set[Box] = set()
        self._pairs_by_key: list[Pair] = []  # pairs whose only words are their key

    def done(self) -> Reading:
        """Return the interactions and problems, without items that only list the boxes to which relations refer."""
        if self._referenced:
            self.reading.items = [item for item in self.reading.items if not self._is_from_reference_list(item)]
        return self.reading

    def _is_from_reference_list(self, item: Pair | Problem) -> bool:
        if isinstance(item, Problem):
            return False
        if item.has_words:
            is_by_key = any(item is pair for pair in self._pairs_by_key)
            return is_by_key and self._referenced.issuperset((item.human.box, item.object.box))
        return not self._referenced.isdisjoint((item.human.box, item.object.box))

    @property
    def pool(self) -> Pool:
        """The boxed entities of the reply, collected on first use."""
        if self._pool is None:
            self._pool = Pool(self._pool_values)
            self._pool.set_index_base(list(_pointer_numbers(self._pool_values, 0, is_sided=self._pool.is_sided)))
        return self._pool

    def visit(self, value: Any, context: Fields, depth: int) -> None:
        if depth > _DEEPEST:
            return
        if isinstance(value, list):
            if depth == 0 and len(context.entities) > 1 and value and all(isinstance(each, str) for each in value):
                thing = {side: label for side, label in context.labels.items() if side == "object"}
                self._visit_item(thing | {"interaction": value}, context, depth)  # '["hold", "ride"]'
                return
            if 8 < len(value) <= 11 and isinstance(value[8], str) and all(type(x) in (int, float) for x in value[:8]):
                value = [value[:4], value[4:8], *value[8:]]
            if _is_row(value) or (len(value) == 2 and all(box_of(inner) is not None for inner in value)):
                keys = [str(i) for i in range(len(value))]
                if len(value) == 5 and type(value[4]) is float and all(isinstance(each, str) for each in value[2:4]):
                    keys[4] = "score"
                self._visit_item(dict(zip(keys, value, strict=True)), context, depth)
                return
            for inner in value:
                if isinstance(inner, dict | list):
                    self.visit(inner, context, depth + 1)
                elif type(inner) in (int, float) and (depth == 0 or any(isinstance(item, dict) for item in value)):
                    self.reading.items.append(Problem("incomplete", describe_value(inner), "an object with two boxes"))
        elif isinstance(value, dict):
            self.reading.keys.update(dict.fromkeys(map(_shown_key, list(value)[:20])))
            rows = relations_of(value) or rows_of(value)
            first = fields_of(rows[0]) if rows else None
            if rows and first and (len(first.entities) == 2 or (not first.entities and len(first.references) == 2)):
                for row in rows:
                    self._visit_item(row, context, depth)
            else:
                self._visit_item(value, context, depth)

    def _visit_item(self, record: dict[Any, Any], context: Fields, depth: int) -> None:
        fields = fields_of(record)
        self.reading.joined += fields.joined
        apply_list_key(fields, context.list_key)
        self.reading.is_points |= fields.points
        # {"interactions": []} and {"objects": []} mean no interactions; {"objects": [], "people": [{...}]} does not.
        empty = {meaning(key).part or meaning(key).side for key in fields.empty_lists} - {""}
        self.reading.says_none |= bool(empty & {"verb", "phrase"}) or (bool(empty) and not fields.children)
        if not (fields.entities or fields.has_words) and any(_FINAL & {*meaning(k).words} for k in fields.empty_lists):
            self.reading.says_none = True
            return
        # {"first_guess": "hold", "final": "ride"}, or, about two given boxes, {"caption": "...", "answer": "ride"}
        is_about = len(context.entities) > 1 and not (fields.entities or context.has_words)
        answers = [words for words in fields.texts if is_version_of_answer(fields.keys_of[words])]
        answers = answers or [words for words in fields.texts if is_about and plain(fields.keys_of[words]) in _ANSWERS]
        answers = [words for words in answers if " " in words or can_be_verb(words)]
        if len(answers) == 1 and not fields.verbs and (is_about or (len(fields.entities) > 1 and not fields.phrase)):
            self.reading.unread += [("text", fields.phrase)] * bool(fields.phrase)
            fields.phrase, fields.texts = answers[0], [words for words in fields.texts if words != answers[0]]
        # {"step1": [...], "step2": [...]}: versions of one list
        versions = [k for k, child in fields.children if _VERSION.fullmatch(str(k)) and _lists_interactions(child)]
        fields.children = [each for each in fields.children if each[0] not in versions[:-1]]
        self.reading.replaced += len(versions) > 1
        # {"subject_id": 0, "predicate": "ride", "object_id": 1}, beside a list of boxes with these ids
        count = len(fields.entities)
        self._resolve_references(fields, context)
        self._referenced.update(entity.box for entity in fields.entities[count:])
        has_reference = len(fields.entities) > count
        is_judged = count > 1 or fields.has_words
        self.reading.unread += (fields.unread if is_judged else fields.unread | fields.verdicts).items()
        if count > 1 or (fields.has_words and not fields.labels and len(context.entities) > 1):
            self.reading.unread += ((key, value) for key, value in fields.references.items() if role(key) is None)
        if fields.has_words or (not count and context.has_words):
            self.reading.unread += ((fields.keys_of.get(text, ""), text) for text in fields.texts)
        if count > 1 and fields.has_words and "object" in fields.labels:
            self.reading.unread += ((fields.keys_of[name], name) for name in fields.names)
        # {"edges": ["person_1 riding horse_2"]}: texts with any key that name two boxes of the reply
        is_bare = not (fields.has_words or fields.entities)
        lists = [fields.texts, *(value for _, value in fields.children if isinstance(value, list))] if is_bare else []
        texts = [each for value in lists for each in value if isinstance(each, str) and sum(map(str.isdigit, each)) > 1]
        if texts and self._find_mentions(replace(fields, verbs=[*map(Verb, texts)])):
            return
        # {"relation": "P1 rides H1"}, or {"relations": ["P1 rides H1"], "objects": [{"id": "P1", "bbox": [...]}, ...]}
        if fields.has_words:
            firsts = [value[0] for value in record.values() if type(value) is list and value and type(value[0]) is dict]
            has_ids = any(meaning(key).part == "id" for first in firsts for key in first)
            if (has_ids or not (fields.entities or fields.labels)) and self._find_mentions(fields):
                return
        # {"human_box": [...], "objects": [{"box": [...], "verb": "ride"}]}: inner items take the outer box and words.
        own, has_words = list(fields.entities), fields.has_words
        fields.outer_key, fields.list_key = context.outer_key, context.list_key
        fields.entities = add_outer_boxes(own, context.entities)
        inherit_words(fields, context)
        has_pairs_inside = any(
            isinstance(child, dict) or any(isinstance(each, dict | list) for each in child)
            for _, child in fields.children
        )
        if has_pairs_inside:
            before = len(self.reading.items)
            # {"name": "man", "bbox": [...], "actions": [...]}: the name is the label of the box.
            if own and fields.label and not own[0].label and len(fields.entities) == 1:
                fields.entities = [own[0]._replace(label=fields.label)]
            for key, child in fields.children:
                # {"riding a horse": [{...}]}: the key describes the interaction.
                names = str(key) if _is_phrase(key) else fields.outer_key
                # {"o1": {"bbox": ...}, "o2": {"bbox": ..., "actions": [...]}}: no entity inherits another's box.
                outer = context.entities if _is_other_entity(key, child, own) else fields.entities
                self.visit(child, replace(fields, entities=outer, outer_key=names, list_key=str(key)), depth + 1)
            joined = [str(key) for key, child in fields.children if _lists_interactions(child)]
            if len(joined := [key for key in joined if numberless(key) == key]) > 1:  # other keys are IDs
                self.reading.joined += joined
            # {"human_box": ..., "verb": "ride", "alternatives": [{"verb": "kick"}]}: the verb of the item counts.
            inner, kinds = self.reading.items[before:], {meaning(key).part for key, _ in fields.children}
            boxes = {each.box for each in own if has_words and fields.verbs and kinds.isdisjoint(("verb", "phrase"))}
            if any(isinstance(item, Problem) or not boxes >= {item.human.box, item.object.box} for item in inner):
                return
            self.reading.unread += [(str(key), value) for key, value in fields.children if inner]
            del self.reading.items[before:]
        # Two boxes are an interaction if there is a verb, {"human_box", "object_box", "verb"}; a word of unknown role,
        # {"human_box", "object_box", "label": "ride"}; sides, {"person": ..., "horse": ...}; or a descriptive key,
        # {"riding": {"a": [...], "b": [...]}}.
        are_sided = len(own) > 1 and any(entity.side for entity in own)
        has_label = fields.label and len(own) > 1
        is_described = fields.has_words or fields.texts or has_label or are_sided or (len(own) > 1 and fields.outer_key)
        if len(fields.entities) >= 2 and is_described:
            # An item without its own box is an interaction if it has its own words:
            # {"human_box": [...], "object_box": [...], "actions": [{"verb": "ride"}, {"verb": "hold"}]}.
            if own or has_words:
                pairs = [pair_of(each) for each in _expand_pairs(fields)]
                self.reading.items += pairs
                if fields.outer_key and not (fields.has_words or fields.texts or fields.label):
                    self._pairs_by_key += pairs
        # {"human_box": [...], "verb": "ride"}: a box is missing.
        elif (has_words or (fields.has_words and not own)) and not has_pairs_inside and not fields.empty_lists:
            self._add_problem(fields, context, has_reference=has_reference)
        self.reading.single += len(own) == 1

    def _resolve_references(self, fields: Fields, context: Fields) -> None:
        """Add boxes of the reply to an item's entities: the boxes to which the item's references and labels refer.

        If an item has its own box, its labels never refer to the enclosing box: a person hugs a "person", not himself.
        """
        around = {entity.box for entity in context.entities} if fields.entities else set()
        sides = {entity.side for entity in fields.entities}
        pointer_count = len(fields.references) + len(fields.texts)
        is_edge = bool(fields.label) and pointer_count + len(fields.labels) > 1
        may_point = fields.has_words or is_edge or (fields.texts and pointer_count > 2)
        if len(fields.entities) >= 2 or fields.invalid_boxes or not may_point or not len(self.pool):
            return
        # {"subject": "P1", "predicate": "ride", "object": "horse"}: for each side, try the reference, then the label
        for side in _SIDED:
            if side in sides or (side != "object" and sides & {"human", "subject"}):
                continue
            for reference in (fields.references.get(side), fields.labels.get(side)):
                entity = None if reference is None else self.pool.find(reference, side)
                if entity is not None and entity.box not in around:
                    fields.entities.append(entity)
                    fields.labels[side] = entity.label or fields.labels.get(side, "")
                    break
        if len(fields.entities) > 1:
            return
        # {"pair": [0, 1], "verb": "ride"}: the person's index is first. {"person": ..., "target 1": 4}: one is missing
        pointers = [value for key, value in fields.references.items() if key not in _SIDED]
        of_sides = ("human", "object") if len(pointers) == 2 and self.pool.is_sided else ("",) * len(pointers)
        resolved = [self.pool.find(value, side) for value, side in zip(pointers, of_sides, strict=True)]
        resolved += [self.pool.find(text, "") for text in fields.texts]
        referenced = [entity for entity in resolved if entity is not None]
        if len(referenced) == 2 and not fields.entities:
            fields.entities = [referenced[0]._replace(side="subject"), referenced[1]._replace(side="object")]
        elif len(referenced) == 1 and fields.entities:
            other = "subject" if fields.entities[0].side == "object" else "object"
            fields.entities.append(referenced[0]._replace(side=other))
        fields.texts = [text for text in fields.texts if self.pool.find(text, "") is None]

    def _find_mentions(self, fields: Fields) -> bool:
        """Add relations in texts like "person_1 riding horse_2". Return False unless each text names two entities."""
        texts = [verb.text for verb in fields.verbs] or [fields.phrase]
        if not texts[0] or fields.references or not len(self.pool):
            return False
        mentions = [self.pool.mentions(text) for text in texts]
        if not all(len(things) == 2 for things, _ in mentions):
            return False
        self._referenced.update(thing.box for things, _ in mentions for thing in things)
        for (things, rest), verb in zip(mentions, [*fields.verbs, Verb("")], strict=False):
            human, target = things[0]._replace(side="subject"), things[1]._replace(side="object")
            score = verb.score if verb.score is not None else fields.score
            pair = Pair(human, target, human.label, target.label, (), rest, (), score, is_relation=True)
            self.reading.items.append(pair)
        return True

    def _add_problem(self, fields: Fields, context: Fields, *, has_reference: bool) -> None:
        """Add a :class:`Problem` with the reason why an item with words is not an interaction."""
        missing, sides = "object_box", ["object"]
        if any(entity.side == "object" for entity in fields.entities):
            missing, sides = "human_box", ["human", "subject"]
        words = fields.labels | fields.references
        pointed = [words[side] for side in sides if words.get(side) is not None][:1] if has_reference else []
        if not fields.entities and (fields.references or fields.labels.get("human") or fields.labels.get("subject")):
            pointed = [*fields.references.values(), *fields.labels.values()][:3]
        if fields.invalid_boxes:
            side, value = next(iter(fields.invalid_boxes.items()))
            missing = "object_box" if side == "object" else "human_box" if side else "box"
            self.reading.items.append(Problem(missing, describe_value(value), "four numbers"))
        elif fields.points:
            self.reading.items.append(Problem("points", "points", _TWO_BOXES))
        elif pointed:
            found = f"no single box for {', '.join(map(describe_value, pointed))}"
            self.reading.items.append(Problem("reference", found, _REFERENCE))
        elif fields.entities:
            self.reading.items.append(Problem(missing, "no such key", _TWO_BOXES))
        elif context.entities or fields.verbs or fields.labels:
            self.reading.items.append(Problem("human_box", "no box", _TWO_BOXES))


@lru_cache(8192)
def _shown_key(key: object) -> str:
    return printable(str(key), 40)


def _pointer_numbers(value: Any, depth: int, *, is_sided: bool) -> Iterator[tuple[str, int]]:
    """Yield (side, integer) of the integers in a value that relations may use as references to boxes."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if type(inner) is int and meaning(key).side:
                yield meaning(key).side, inner
            elif type(inner) in (dict, list):
                yield from _pointer_numbers(inner, depth + 1, is_sided=is_sided)
    elif isinstance(value, list):
        if _is_row(value) or len(value) == 2:
            numbers = [x for x in value if type(x) is int]
            yield from zip(("human", "object") if is_sided and len(numbers) == 2 else ("",) * 6, numbers, strict=False)
        for inner in value:
            if type(inner) in (dict, list):
                yield from _pointer_numbers(inner, depth + 1, is_sided=is_sided)


def _lists_interactions(value: Any) -> bool:
    """Return whether a value is a list whose items have their own verb and object."""
    first = value[0] if isinstance(value, list) and value else None
    roles = set(map(role, first)) if isinstance(first, dict) else set()
    return "phrase" in roles or roles >= {"verb", "object"}


def _expand_pairs(fields: Fields) -> list[Fields]:
    """Return one item per human if several humans share one object, or per object of one human; else the item."""
    sides = [entity.side for entity in fields.entities]
    several = next((side for side in ("human", "object") if 1 < sides.count(side) < len(sides)), None)
    if several is None or len(set(sides)) != 2 or len(sides) - sides.count(several) != 1:
        return [fields]
    (other,) = (entity for entity in fields.entities if entity.side != several)
    entities = [entity for entity in fields.entities if entity.side == several]
    return [replace(fields, entities=[entity, other]) for entity in entities]


def _is_other_entity(key: object, child: Any, own: list[Entity]) -> bool:
    """Return whether a child has a box and is no part of the item with the boxes ``own``: an ID "o1", or no sides."""
    is_thing = isinstance(child, dict) and entity_of(child, key, "", holds_more=True) is not None
    is_id = numberless(str(key)) != str(key)
    return is_thing and bool(own) and (is_id or not (meaning(key).side or any(entity.side for entity in own)))


def _is_row(value: list[Any]) -> bool:
    """Return whether a list of 3 to 6 values is an item without keys: texts with boxes, or with indices of boxes."""
    if not 3 <= len(value) <= 6 or not any(isinstance(inner, str) for inner in value):
        return False
    return all(isinstance(v, str | list | int | float) or entity_of(v, None, "") is not None for v in value)


def _is_phrase(key: object) -> bool:
    """Return whether a key may describe an interaction: "riding a horse", "ride"."""
    info = meaning(key)
    if len(info.words) > 1:
        return not info.part and any(word.isalpha() for word in info.words)
    return not info.part and not info.side and can_be_verb(str(key))
