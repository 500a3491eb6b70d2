"""One item of free text: its keys have many names in practice, and its box, words and score many shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from shoe.core.errors import InputError, printable
from shoe.io.typed import shown
from shoe.predictions.flat import SCORE_NAMES
from shoe.predictions.source import Source

# Role of a key, after lower case, "_" for "-" and " ", "box" for "bbox" and "bounding_box", and without "_2d".
KEYS = {
    "image": ("image", "image_id", "image_name", "image_path", "img", "img_id", "img_path", "file", "file_name",
              "filename"),
    "human_box": ("human_box", "person_box", "subject_box", "sub_box", "subj_box", "h_box", "box_human", "box_person",
                  "human", "person", "subject"),
    "object_box": ("object_box", "obj_box", "o_box", "box_object", "target_box"),
    "object": ("object", "object_name", "object_label", "object_category", "object_class", "obj", "noun", "target"),
    "verb": ("verb", "action", "predicate", "relation", "relationship"),
    "phrase": ("phrase", "interaction", "hoi", "text", "description", "caption", "triplet"),
    "score": SCORE_NAMES,
    "items": ("interactions", "hois", "triplets", "relations", "relationships"),
    "response": ("response", "reply", "output", "answer", "completion", "content", "raw", "raw_response"),
    "width": ("width", "image_width", "img_width"),
    "height": ("height", "image_height", "img_height"),
}  # fmt: skip
ROLES = {key: role for role, keys in KEYS.items() for key in keys}
_BOX_KEYS = ("box", "coordinates")
_WORD_KEYS = ("label", "name", "category", "class")
_CORNERS = ("x1", "y1", "x2", "y2")

Item = dict[str, Any]
Words = tuple[str, str]


@dataclass(eq=False)
class UnreadableError(Exception):
    """A record or item that breaks the format: where, and the parts of the message."""

    place: str
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        where = [self.place, self.field] if self.field else [self.place]
        return printable(f"{': '.join(where)}: found {self.found}, expected {self.expected}", longest=300)

    def for_user(self, source: Source, hint: str | None = None) -> InputError:
        """The error that the user reads."""
        return InputError(
            source.path, record=self.place, field=self.field, found=self.found, expected=self.expected, hint=hint
        )


@lru_cache(4096)
def role(key: Any) -> str | None:
    """Return what a key means, None if nothing known."""
    if not isinstance(key, str):
        return None
    plain = key.strip().lower().replace("-", "_").replace(" ", "_").replace("bounding_box", "box")
    plain = plain.replace("bbox", "box").removesuffix("_2d")
    return ROLES.get(plain, plain if plain in _BOX_KEYS or plain in _WORD_KEYS else None)


def by_role(place: str, record: Any) -> Item:
    """A record's values by role; of several keys with one role, the one named like it counts, else the first."""
    if not isinstance(record, dict):
        raise UnreadableError(place, None, shown(record), "an object")
    item: Item = {}
    for key, value in record.items():
        name = role(key)
        # The same key is a box where it holds one, and a word where it holds text.
        if name == "object" and isinstance(value, list | dict):
            name = "object_box"
        elif name == "human_box" and isinstance(value, str) and "box" not in key.lower():
            name = None
        known = name in item and item[name] is not None
        if name is not None and (not known or (key == name and value is not None)):
            item[name] = value
    return item


def number_of(value: Any) -> float | None:
    """A number, also one that a model wrote as text; None for anything else."""
    if type(value) is str:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if isfinite(number) and "_" not in value else None
    return value if type(value) in (int, float) else None


def box_of(place: str, item: Item, part: str) -> list[float]:
    """The four numbers of ``human_box`` or ``object_box``."""
    if part not in item:
        raise UnreadableError(place, part, "no such key", "x1, y1, x2, y2")
    value = item[part]
    if isinstance(value, dict):
        value = next(
            (v for key, v in value.items() if role(key) in _BOX_KEYS),
            [value[c] for c in _CORNERS] if all(c in value for c in _CORNERS) else value,
        )
    if isinstance(value, list) and value and all(isinstance(v, list) for v in value):
        value = [x for v in value for x in v]
    numbers = [number_of(x) for x in value] if isinstance(value, list) and len(value) == 4 else [None]
    if None in numbers:
        raise UnreadableError(place, part, shown(item[part]), "four numbers")
    return [float(x) for x in numbers if x is not None]


def words_of(place: str, item: Item, split: Callable[[str], Words | None]) -> Words | str:
    """Verb and object of an item; the phrase where it has none.

    Args:
        place: the item's, for messages.
        item: its values by role.
        split: finds verb and object in a phrase.
    """
    verb, phrase, object_ = item.get("verb"), item.get("phrase"), item.get("object")
    target = item.get("object_box")
    if object_ is None and isinstance(target, dict):
        object_ = next((v for k, v in target.items() if role(k) in _WORD_KEYS), None)
    for field, value in (("verb", verb), ("phrase", phrase), ("object", object_)):
        if value is not None and not isinstance(value, str):
            raise UnreadableError(place, field, shown(value), "text")
    if verb is not None and object_ is not None:
        return verb, object_
    text = phrase if phrase is not None else verb
    if text is None:
        field = "verb" if "verb" in item and "phrase" not in item else "phrase"
        found = shown(None) if field in item else "no such key"
        raise UnreadableError(place, field, found, "a phrase, or a verb and an object")
    parsed = split(text)
    if object_ is not None:
        return (parsed[0] if parsed else text), object_
    return parsed or text
