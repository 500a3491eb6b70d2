"""Boxed things: a box with its word, as a reply writes the two together."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.store import by_wordnet, lexicon
from shoe.predictions.vlm.boxes import Box, box_of, number_of
from shoe.predictions.vlm.keys import meaning

# Which words are words for a person, and which for a verb.

_PERSONS = text.WORD_CLASSES["persons"] - {"it", "one", "they", "group", "couple", "crowd"}
_THINGS = frozenset(f"noun.{kind}" for kind in ("animal", "artifact", "food", "object", "plant"))
_ENDS = text.PREPOSITIONS | {"wearing", "who", "that", "holding", "sitting", "standing", ","}


@lru_cache(8192)
def is_person(label: str) -> bool:
    """Tell whether a label is a word for a person, by its head noun.

    >>> is_person("man in a red shirt"), is_person("Surfer"), is_person("bench")
    (True, True, False)
    """
    words = [word for word in text.tokens(text.plain(label[:200])) if not word.isdigit()]
    if len(words) > 1 and len(words[-1]) == 1:  # "person A", "player #7"
        words = words[:-1]
    head = next((i for i, word in enumerate(words) if i and word in _ENDS), len(words))
    return bool(words) and _names_person(words[head - 1])


@lru_cache(8192)
@by_wordnet
def _names_person(word: str) -> bool:
    if word in _PERSONS:
        return True
    store = lexicon()
    for base in store.base_forms(word, "n"):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) == "noun.person"
    return False


@lru_cache(8192)
@by_wordnet
def is_thing(label: str) -> bool:
    """Tell whether a label is first of all a word for something that can be held or seen: "wine glass"; not "data"."""
    words = text.tokens(text.plain(label[:200]))
    store = lexicon()
    names = ["_".join(words), words[-1]] if words else []
    for base in (base for name in names for base in store.base_forms(name, "n")):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) in _THINGS
    return False


@lru_cache(8192)
@by_wordnet
def can_be_verb(phrase: str) -> bool:
    """Tell whether a phrase begins like a verb: "riding", "sit on"; not "bench"."""
    words = text.tokens(text.plain(phrase[:200]))
    return bool(words) and (words[0].endswith("ing") or bool(bases(words[0], "verb")))


@lru_cache(8192)
def verb_likeness(phrase: str) -> float:
    """How much words look like a verb, and not like a noun: from -1 to 1."""
    words = text.tokens(text.plain(phrase[:200]))
    if text.says_no_interaction(words):
        return 1.0
    if not words or not can_be_verb(phrase):
        return -1.0
    if words[0].endswith("ing") or (len(words) > 1 and words[-1] in text.PREPOSITIONS):
        return 1.0
    return -0.5 if len(words) > 1 else 0.0 if _is_noun(words[0]) else 1.0


@by_wordnet
def _is_noun(word: str) -> bool:
    store = lexicon()
    return any(len(store.senses(base, "n")) for base in store.base_forms(word, "n"))


_NUMBERING = re.compile(r"[\s_.#-]*\(?\d+\)?$")
_ARTICLE = re.compile(r"^(?:an?|the)\s+(?=\w)", re.I)
_REF = re.compile(r"</?ref>|<\|/?(?:object_)?ref(?:_start|_end)?\|>")
_LABELLED_BOX = re.compile(r"\s*([^\W\d][^\[\](){}<>:=]{0,80}?)\s*[:=]?\s*([\[(<{].*)", re.DOTALL)
_RELATIVE = frozenset(("norm", "normalized", "normalised", "rel", "relative", "n", "ratio", "percent", "1000"))
_UNITS = _RELATIVE | {"abs", "absolute", "px", "pixel", "pixels", "raw", "orig", "original"}
_SAYS_WHAT = {"interaction", "interactions", "hoi", "hois", "triplet", "triplets"}


class Entity(NamedTuple):
    """A box with what a reply calls it.

    Attributes:
        box: its numbers.
        side: "human", "subject", "object", or "" where nothing says whose it is.
        label: its word, "" if it has none.
        key: the key that it stands under, as its word where there is no other.
    """

    box: Box
    side: str = ""
    label: str = ""
    key: str = ""


@lru_cache(8192)
def numberless(label: str) -> str:
    """A label without its article and the number that tells it from others: "the horse_1" is horse.

    >>> numberless("person.2"), numberless("a wine glass"), numberless("man #1")
    ('person', 'wine glass', 'man')
    """
    plain = _ARTICLE.sub("", label.strip())
    return _NUMBERING.sub("", plain) or plain


def entity_of(value: Any, key: object, side: str, *, holds_more: bool = False) -> Entity | None:
    """A box, or an object that holds one box and its label; None for anything else.

    Args:
        value: as a model wrote it.
        key: under which it stands.
        side: whose box it is, "" where nothing says so.
        holds_more: whether the object may hold a list of what is done, beside its box.
    """
    if type(value) not in (str, list, dict):
        return None
    if isinstance(value, dict):
        for name, inner in value.items():
            if not (holds_more and isinstance(inner, list)) and _says_what(name, inner):
                return None
    box = box_of(value, key)
    if box is not None:
        said = value.items() if isinstance(value, dict) else ()
        names = [text for name, inner in said if _is_name(name, text := inner[0] if _is_one(inner) else inner)]
        return Entity(box, side, names[0] if names else "", _as_label(key))
    if isinstance(value, str):
        return _labelled(value, key, side)
    if not isinstance(value, dict):
        if isinstance(value, list) and len(value) in (2, 5) and isinstance(value[0], str):
            inner = box_of(value[1] if len(value) == 2 else value[1:])
            return Entity(inner, side, value[0], _as_label(key)) if inner else None
        return None
    boxes = [(name, found) for name, inner in value.items() if (found := box_of(inner, name)) is not None]
    if len(boxes) > 1:
        boxes = _in_pixels(boxes)
    if len(boxes) != 1:
        return None
    name, box = boxes[0]
    texts = {key: inner[0] if _is_one(inner) else inner for key, inner in value.items() if key != name}
    labels = {name: inner for name, inner in texts.items() if isinstance(inner, str)}
    ranked = sorted(labels, key=lambda name: (meaning(name).part != "label", meaning(name).part != "phrase"))
    label = next((labels[name] for name in ranked if meaning(name).part != "id"), "")
    if not label and meaning(name).part == "":
        label = numberless(str(name))
    if box.convention is None and (outer := box_of(list(box.numbers), key)) is not None:
        box = box._replace(convention=outer.convention)
    return Entity(box, side, label, _as_label(key))


def _in_pixels(boxes: list[tuple[object, Box]]) -> list[tuple[object, Box]]:
    """Of boxes that are one in several units, "bbox" beside "bbox_norm", that in pixels; else all of them."""
    plain = {tuple(word for word in meaning(name).words if word not in _UNITS) for name, _ in boxes}
    relative = [not _RELATIVE.isdisjoint(meaning(name).words) for name, _ in boxes]
    return [boxes[relative.index(False)]] if len(plain) == 1 and any(relative) and not all(relative) else boxes


def _is_one(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1


def _is_name(key: object, value: Any) -> bool:
    """Whether a value beside the four numbers of a box is its word."""
    return isinstance(value, str) and meaning(key).part in ("label", "phrase") and number_of(value) is None


def _says_what(key: object, value: Any) -> bool:
    """Whether a value beside a box says what is done, or holds items that may."""
    if not isinstance(value, str | list | dict) or not value:
        return False
    said = meaning(key)
    if said.part == "verb" or (not isinstance(value, dict) and _SAYS_WHAT.intersection(said.words)):
        return not isinstance(value, list) or box_of(value) is None
    if isinstance(value, dict):
        return said.part == "phrase"
    return isinstance(value, list) and any(isinstance(inner, dict) for inner in value) and box_of(value) is None


@lru_cache(8192)
def _as_label(key: object) -> str:
    """The key as a word, if it is nothing else: {"horse": [1, 2, 3, 4]}."""
    said = meaning(key)
    is_word = isinstance(key, str) and not said.part and not said.side and any(word.isalpha() for word in said.words)
    return numberless(str(key).replace("_", " ")) if is_word else ""


def _labelled(text: str, key: object, side: str) -> Entity | None:
    """A word and its box in one text, as in "horse [1, 2, 3, 4]"."""
    match = _LABELLED_BOX.fullmatch(_REF.sub(" ", text)) if len(text) <= 200 else None
    box = box_of(match[2], key) if match else None
    return Entity(box, side, match[1], _as_label(key)) if match and box else None


def words_of_boxes(record: dict[Any, Any]) -> dict[Any, Any]:
    """The key of the word of each box that has one of the same name: "doer" for "doer_box"."""
    named: dict[Any, Any] = {}
    for key, value in record.items():
        if (own := _box_of_whom(key)) and box_of(value, key) is not None:
            words = (k for k, text in record.items() if isinstance(text, str) and _plain_words(k) == own)
            named |= {key: next(words, None)}
    return {key: name for key, name in named.items() if name is not None}


@lru_cache(8192)
def _box_of_whom(key: object) -> tuple[str, ...]:
    """The words of a key of a box beside those for a box, where it says of no side: "what" of "what_bbox"."""
    said = meaning(key)
    if said.part != "box" or said.side:
        return ()
    return tuple(word for word in said.words if meaning(word).part != "box")


@lru_cache(8192)
def _plain_words(key: object) -> tuple[str, ...]:
    """The words of a key that means nothing by itself."""
    said = meaning(key)
    return () if said.part or said.side else said.words
