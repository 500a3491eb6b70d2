"""The fields of one item of a reply, sorted by what they hold: boxes, words, references, lists of further items."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoe.core.io.tolerant import values_in
from shoe.lexicon.text import ALTERNATIVES
from shoe.predictions.vlm.box_marks import Entity, can_be_verb, entity_of, is_person, words_of_boxes
from shoe.predictions.vlm.boxes import box_of, corners_in, number_of
from shoe.predictions.vlm.keys import Meaning, meaning

_AROUND_ALL = {"union", "interaction", "hoi", "pair", "relation", "relationship", "image", "predicate", "action"}
_NUMBERED = {"hoi", "verb", "action", "interaction", "predicate", "relation"}
_SHORT, _LONGEST_WORD = 40, 4
_WRITTEN_OUT = ("image", "width", "height")


_DIGIT = re.compile(r"\d")


class Verb(NamedTuple):
    """A verb with the score that stands beside it, if one does."""

    text: str
    score: Any = None


@dataclass(slots=True)
class Fields:
    """What an item holds.

    Attributes:
        entities: its boxes.
        references: by side, what points to a box elsewhere.
        labels: by side, words of the human and the object.
        verbs: the verbs, as written.
        phrase: a sentence or triplet.
        names: words of which no side is said.
        texts: other texts, in order.
        keys_of: the key of each of these texts.
        score: as written; None if there is none.
        children: lists and objects inside it, with their keys.
        opened_by: the key that it stands under, where that may say what is done.
        within: the key of the list that it stands in, "" for none.
        points: whether it has points.
        empty_lists: keys with a list of nothing.
        broken: by side, what stands where a box should.
        wrong: the part that a word should have had, and what stands there.
    """

    entities: list[Entity] = field(default_factory=list)
    references: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    verbs: list[Verb] = field(default_factory=list)
    phrase: str = ""
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    keys_of: dict[str, str] = field(default_factory=dict)
    score: Any = None
    children: list[tuple[object, Any]] = field(default_factory=list)
    opened_by: str = ""
    within: str = ""
    points: bool = False
    empty_lists: list[str] = field(default_factory=list)
    broken: dict[str, Any] = field(default_factory=dict)
    wrong: tuple[str, Any] | None = None

    @property
    def label(self) -> str:
        """The first word of which no side is said."""
        return self.names[0] if self.names else ""

    @property
    def has_words(self) -> bool:
        """Whether anything says what is done."""
        return bool(self.verbs or self.phrase)


def fields_of(record: dict[Any, Any]) -> Fields:
    """Sort the fields of an item."""
    fields = Fields()
    corners = corners_in(record)
    fields.entities = [Entity(box, side) for side, box, _ in corners]
    of_boxes = {key for _, _, keys in corners for key in keys}
    named = words_of_boxes(record)
    is_placed = any(map(_says_what_is_done, record))
    for key, value in record.items():
        said = meaning(key)
        if is_placed and said.part == "verb" and "spatial" in said.words:
            continue
        if said.part in _WRITTEN_OUT or key in of_boxes or key in named.values():
            continue
        if key in named:
            box = box_of(value, key)
            fields.entities += [Entity(box, "", record[named[key]])] if box else []
            continue
        if value is None or value == "":
            if said.part == "box" and said.side:
                fields.broken[said.side] = value
            elif said.part in ("verb", "phrase"):
                fields.wrong = (said.part, value)
            continue
        if said.part == "score":
            if not said.side and (fields.score is None or key in ("score", "confidence")):
                fields.score = _score_in(value) if isinstance(value, dict) else value
        elif isinstance(value, dict | list):
            _sort_structure(fields, key, said, value)
        elif isinstance(value, str):
            _sort_text(fields, key, said, value)
        elif type(value) in (int, float):
            if said.part in ("verb", "phrase"):
                fields.wrong = (said.part, value)
            if said.part == "id" and not said.side:
                if fields.wrong is None and not _NUMBERED.isdisjoint(said.words):
                    fields.wrong = (str(key), value)
                continue
            fields.references[said.side or str(key)] = value
    return fields


def _says_what_is_done(key: object) -> bool:
    """Whether a key is of a verb or a phrase, and not of where things are."""
    said = meaning(key)
    return said.part in ("verb", "phrase") and "spatial" not in said.words


def _score_in(scores: dict[Any, Any]) -> Any:
    """The score of the interaction among those of its parts; all of them where none is its own."""
    return next((score for key, score in scores.items() if meaning(key).part in ("phrase", "verb", "score")), scores)


def _sort_structure(fields: Fields, key: object, said: Meaning, value: Any) -> None:
    if said.part == "point":
        fields.points = True
        return
    if not value:
        fields.empty_lists.append(str(key))
        return
    entity = entity_of(value, key, said.side)
    if entity is not None:
        if not (_AROUND_ALL.intersection(said.words) and said.part == "box" and not said.side):
            fields.entities.append(entity)
    elif isinstance(value, dict):
        _sort_object(fields, key, said, value)
    elif is_pointer_pair(value):
        fields.references |= {f"{key} 1": value[0], f"{key} 2": value[1]}
    elif all(isinstance(inner, str) for inner in value):
        _sort_words(fields, key, said, value)
    elif _may_hold_boxes(said, len(value)) and all(box_of(inner, key) for inner in value):
        fields.entities += [Entity(box, said.side) for inner in value if (box := box_of(inner, key))]
    elif said.part == "box" or (said.side and all(type(inner) in (int, float) for inner in value)):
        fields.broken[said.side] = value
        if any(isinstance(inner, dict) for inner in value):
            fields.children.append((key, value))
    elif said.side and len(value) == 1:
        _sort_structure(fields, key, said, value[0]) if isinstance(value[0], dict) else fields.children.append(
            (key, value)
        )
    else:
        fields.children.append((key, value))


def _may_hold_boxes(said: Meaning, count: int) -> bool:
    """Whether a list may be of boxes, a pair's two or several of one side."""
    return said.part == "box" if said.side and count != 2 else count == 2 and said.part in ("box", "", "label")


def _sort_object(fields: Fields, key: object, said: Meaning, value: dict[Any, Any]) -> None:
    if said.part == "verb" and all(type(is_done) is bool for is_done in value.values()):
        fields.verbs += [Verb(str(name)) for name, is_done in value.items() if is_done]
        return
    scores = [number_of(score) for score in value.values()]
    if said.part in ("verb", "phrase") and None not in scores and all(isinstance(name, str) for name in value):
        fields.verbs += [Verb(name, value[name]) for name in value]
        return
    simple = not any(isinstance(inner, dict | list) for inner in value.values())
    texts = {name: inner for name, inner in value.items() if isinstance(inner, str)}
    if said.side and simple:
        ids = [inner for name, inner in value.items() if meaning(name).part == "id" and isinstance(inner, str | int)]
        if ids:
            fields.references[said.side] = ids[0]
        labels = [inner for name, inner in texts.items() if meaning(name).part != "id"]
        if labels:
            fields.labels[said.side] = labels[0]
        if not ids and not labels:
            fields.broken[said.side] = value
    elif said.part in ("verb", "phrase") and simple and texts and not (inner_fields := fields_of(value)).entities:
        names = [verb.text for verb in inner_fields.verbs] or list(texts.values())[:1]
        if inner_fields.verbs and inner_fields.names:
            inner_fields.labels.setdefault("object", inner_fields.names[0])
        for side, label in inner_fields.labels.items():
            fields.labels.setdefault(side, label)
        fields.verbs += [Verb(name, inner_fields.score) for name in names]
    else:
        fields.children.append((key, value))


def _sort_words(fields: Fields, key: object, said: Meaning, value: list[str]) -> None:
    found = [entity_of(inner, key, said.side) for inner in value] if len(value) == 2 else []
    if found and None not in found:
        fields.entities += [entity for entity in found if entity]
    elif said.part == "phrase" and _is_triplet(said, value):
        *subject, verb, target = value
        if not can_be_verb(verb) and can_be_verb(target) and not subject:
            verb, target = target, verb
        fields.verbs.append(Verb(verb))
        fields.labels.setdefault("object", target)
        for word in subject:
            fields.labels.setdefault("subject", word)
    elif said.part in ("verb", "phrase"):
        fields.verbs += [Verb(text) for text in value]
    elif said.side:
        fields.labels[said.side] = ALTERNATIVES.join(value) if said.side == "object" else value[0]
    elif len(value) == 1:
        _sort_text(fields, key, said, value[0])
    elif said.part == "label" and len(value) == 2:
        fields.names += value
    else:
        fields.children.append((key, value))


def _is_triplet(said: Meaning, value: list[str]) -> bool:
    """Whether words are subject, verb and object of one interaction, or verb and object, and not interactions."""
    if any(len(word.split()) > _LONGEST_WORD or "," in word or _is_clause(word) for word in value):
        return False
    if len(value) == 3:
        return is_person(value[0]) or "triplet" in said.words
    return len(value) == 2 and not any(word.endswith("s") and word != "s" for word in said.words)


def _is_clause(phrase: str) -> bool:
    """Whether words say of a person what it does: "person_1 riding horse_2"."""
    first, _, rest = phrase.partition(" ")
    return bool(rest) and is_person(first) and can_be_verb(rest)


def _sort_text(fields: Fields, key: object, said: Meaning, value: str) -> None:
    is_data = value[0] in "[{" and len(value) > _SHORT and box_of(value, key) is None
    if is_data and (inner := values_in(value)) and inner[0].value is not None:
        fields.children.append((key, inner[0].value))
        return
    entity = entity_of(value, key, said.side) if _DIGIT.search(value, 0, 200) else None
    if entity is not None:
        fields.entities.append(entity)
    elif said.part == "id":
        if said.side:
            fields.references[said.side] = value
    elif said.part == "box":
        fields.broken[said.side] = value
    elif said.side and said.part in ("", "label", "phrase"):
        fields.labels.setdefault(said.side, value)
    elif said.part == "verb":
        fields.verbs.append(Verb(value))
    elif said.part == "phrase":
        fields.phrase = fields.phrase or value
    elif said.part == "label":
        fields.names.append(value)
        fields.keys_of[value] = str(key)
    elif len(value) <= 100:
        fields.texts.append(value)
        fields.keys_of[value] = str(key)


def is_pointer_pair(value: Any) -> bool:
    """Whether a value is two numbers that may point to boxes."""
    return isinstance(value, list) and len(value) == 2 and all(type(inner) is int for inner in value)


def rows_of(record: dict[Any, Any]) -> list[dict[Any, Any]] | None:
    """The items of a record that holds them as columns: lists of one length, two of them lists of boxes."""
    lists = {key: value for key, value in record.items() if isinstance(value, list) and len(value) > 1}
    if len(lists) < 2:
        return None
    boxes = {key: len(value) for key, value in lists.items() if all(box_of(inner) for inner in value)}
    lengths = set(boxes.values())
    if len(lengths) != 1 or len(boxes) not in (1, 2):
        return None
    count = lengths.pop()
    related = {word for key, value in lists.items() if all(map(is_pointer_pair, value)) for word in meaning(key).words}
    if related and any(meaning(key).side for key in boxes):  # numbers tell which belong together, not the places
        return None
    columns = [
        key
        for key, value in lists.items()
        if len(value) == count and not (related and (related & {*meaning(key).words} or _says_what_is_done(key)))
    ]
    if len(columns) < 2:
        return None
    rest = {key: value for key, value in record.items() if key not in columns and not isinstance(value, list)}
    return [rest | {key: lists[key][i] for key in columns} for i in range(count)]


def relations_of(record: dict[Any, Any]) -> list[dict[Any, Any]] | None:
    """The relations of a record that holds them as columns: pairs of numbers, and what is said of each."""
    lists = {key: value for key, value in record.items() if isinstance(value, list) and value}
    if len(lists) < 2:
        return None
    pointers = [key for key, value in lists.items() if all(map(is_pointer_pair, value))]
    if len(pointers) != 1:
        return None
    related, count = set(meaning(pointers[0]).words), len(lists[pointers[0]])
    columns = [
        key
        for key, value in lists.items()
        if len(value) == count and (related & {*meaning(key).words} or meaning(key).part in ("verb", "phrase"))
    ]
    return [{key: lists[key][i] for key in columns} for i in range(count)] if len(columns) > 1 else None
