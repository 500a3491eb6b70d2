"""Who of an item's boxes is the human, and which of its words are whose."""

from __future__ import annotations

from shoe.predictions.vlm.fields import Fields, Verb
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.persons import is_person, is_thing, verb_likeness
from shoe.predictions.vlm.things import Entity, numberless
from shoe.predictions.vlm.wrapper_keys import WRAPPERS


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
