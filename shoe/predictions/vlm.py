"""Free text of vision-language models: who does what to what, in any words, with two boxes.

JSON Lines or a JSON list. A record is one interaction (``image``, ``human_box``, ``object_box``, perhaps ``score``, and
either ``verb`` and ``object`` or one ``phrase``), or an image with its list of ``interactions``, or an image with the
model's raw ``response``; also an object with one key per image. Keys have many names in practice; what is read as what
is in :data:`_KEYS`. Phrases are split into verb and object by the lexicon.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from shoe.datasets import fields
from shoe.errors import InputError, quote
from shoe.predictions.names import image_name
from shoe.predictions.replies import items_of
from shoe.predictions.rows import Rows
from shoe.predictions.source import Source

# Role of a key, after lower case, "_" for "-" and " ", "box" for "bbox" and "bounding_box", and without "_2d".
_KEYS = {
    "image": ("image", "image_id", "image_name", "image_path", "img", "img_id", "img_path", "file", "file_name",
              "filename"),
    "human_box": ("human_box", "person_box", "subject_box", "sub_box", "subj_box", "h_box", "box_human", "box_person",
                  "human", "person", "subject"),
    "object_box": ("object_box", "obj_box", "o_box", "box_object", "target_box"),
    "object": ("object", "object_name", "object_label", "object_category", "object_class", "obj", "noun", "target"),
    "verb": ("verb", "action", "predicate", "relation", "relationship"),
    "phrase": ("phrase", "interaction", "hoi", "text", "description", "caption", "triplet"),
    "score": ("score", "confidence", "conf", "probability", "prob"),
    "items": ("interactions", "hois", "triplets", "relations", "relationships"),
    "response": ("response", "reply", "output", "answer", "completion", "content", "raw", "raw_response"),
    "width": ("width", "image_width", "img_width"),
    "height": ("height", "image_height", "img_height"),
}  # fmt: skip
_ROLES = {key: role for role, keys in _KEYS.items() for key in keys}
_BOX_KEYS = ("box", "coordinates")
_WORD_KEYS = ("label", "name", "category", "class")
_CORNERS = ("x1", "y1", "x2", "y2")

Record = dict[str, Any]


def is_vlm(source: Source) -> bool:
    """Tell whether a document is free text of this form."""
    document = source.document
    if isinstance(document, dict):
        return _is_record(document) or any(value and _image_record("", value) for value in document.values())
    first = next((record for record in source.records if record != {}), None)
    return isinstance(first, dict) and _is_record(first)


def _is_record(record: Record) -> bool:
    roles = {role(key) for key in record}
    return "image" in roles and ("items" in roles or "response" in roles or "human_box" in roles)


@lru_cache(4096)
def role(key: Any) -> str | None:
    """Return what a key means, None if nothing known."""
    if not isinstance(key, str):
        return None
    plain = key.strip().lower().replace("-", "_").replace(" ", "_").replace("bounding_box", "box")
    plain = plain.replace("bbox", "box").removesuffix("_2d")
    return _ROLES.get(plain, plain if plain in _BOX_KEYS or plain in _WORD_KEYS else None)


def read_vlm(source: Source) -> Rows:
    """Read free text.

    Phrases without verb and object have "" for both, which is like no class; the notes list their text.

    Raises:
        InputError: naming the record and field that break the form, or the first phrase if none could be split.
    """
    columns = _Columns(source)
    for number, record in enumerate(_records(source)):
        columns.add(source.place(number), record)
    return columns.rows()


def _records(source: Source) -> list[Any]:
    document = source.document
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        if _is_record(document):
            return [document]
        records = [_image_record(name, value) for name, value in document.items()]
        if None not in records:
            return records
    raise InputError(source.path, found=fields.shown(document), expected="one object per interaction or image")


def _image_record(name: Any, value: Any) -> Record | None:
    """The record of an entry of an object that has one key per image."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        boxes = {role(key) for item in value[:1] for key in item}
        return {"image": name, "interactions": value} if not value or "human_box" in boxes else None
    if isinstance(value, dict) and any(role(key) == "items" for key in value):
        return {"image": name, **value}
    return None


class _Columns:
    """Gathers records one by one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._images: dict[str, int] = {}
        self._sizes: list[tuple[float, float]] = []
        self._verbs: dict[str, int] = {}
        self._objects: dict[str, int] = {}
        self._image: list[int] = []
        self._boxes: list[list[float]] = []
        self._words: list[tuple[int, int]] = []
        self._score: list[float] = []
        self._loose: list[bool] = []
        self._phrases: dict[str, tuple[str, str] | None] = {}

    def add(self, place: str, record: Any) -> None:
        """Take a record, whatever it holds: an interaction, an image's list of them, or a raw reply."""
        found = self._roles(place, record)
        if not found and isinstance(record, dict):
            self._refuse(place, "image", "no known key", "this key")
        image = self._image_index(place, found)
        if "items" in found:
            items = found["items"]
            if not isinstance(items, list):
                self._refuse(place, "interactions", fields.shown(items), "a list")
            for i, item in enumerate(items):
                self._add_item(f"{place}: interaction {i}", image, self._roles(f"{place}: interaction {i}", item))
        elif "response" in found:
            self._add_reply(place, image, found["response"])
        else:
            self._add_item(place, image, found)

    def rows(self) -> Rows:
        """Put together what was gathered; a file in which no phrase could be split is refused."""
        self._check_phrases()
        boxes = np.array(self._boxes, np.float64).reshape(-1, 8)
        words = np.array(self._words, np.int64).reshape(-1, 2)
        score = np.array(self._score, np.float64)
        return Rows(
            images=list(self._images),
            image=np.array(self._image, np.int64),
            human_boxes=boxes[:, :4],
            object_boxes=boxes[:, 4:],
            verbs=list(self._verbs),
            objects=list(self._objects),
            verb=words[:, 0],
            object=words[:, 1],
            score=score,
            sizes=np.array(self._sizes, np.float64).reshape(-1, 2),
            loose=np.array(self._loose, bool) if any(self._loose) else None,
        )

    def _roles(self, place: str, record: Any) -> Record:
        """A record's values by role; of several keys with one role, the one named like it counts, else the first."""
        if not isinstance(record, dict):
            self._refuse(place, None, fields.shown(record), "an object")
        found: Record = {}
        for key, value in record.items():
            name = role(key)
            # The same key is a box where it holds one, and a word where it holds text.
            if name == "object" and not isinstance(value, str):
                name = "object_box"
            elif name == "human_box" and isinstance(value, str):
                name = None
            if name is not None and (name not in found or key == name):
                found[name] = value
        return found

    def _image_index(self, place: str, found: Record) -> int:
        try:
            name = image_name(found["image"])
        except KeyError:
            self._refuse(place, "image", "no such key", "the name of the image")
        except ValueError:
            self._refuse(place, "image", fields.shown(found["image"]), "a file name, or the number of a test image")
        size = (0.0, 0.0)
        if "width" in found and "height" in found:
            size = self._size(place, found["width"], found["height"])
        index = self._images.setdefault(name, len(self._images))
        if index == len(self._sizes):
            self._sizes.append(size)
        elif size != (0.0, 0.0):
            if self._sizes[index] not in ((0.0, 0.0), size):
                self._refuse(place, "width", f"another size of {quote(name)}", "one size for an image")
            self._sizes[index] = size
        return index

    def _size(self, place: str, width: Any, height: Any) -> tuple[float, float]:
        for field, value in (("width", width), ("height", height)):
            if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
                self._refuse(place, field, fields.shown(value), "pixels")
        return float(width), float(height)

    def _add_item(self, place: str, image: int, found: Record, *, loose: bool = False) -> None:
        human, target = self._box(place, found, "human_box"), self._box(place, found, "object_box")
        verb, object_ = self._item_words(place, found)
        score = found.get("score")
        if score is None:
            score = np.nan
        elif type(score) not in (int, float):
            self._refuse(place, "score", fields.shown(score), "a number")
        pair = (self._verbs.setdefault(verb, len(self._verbs)), self._objects.setdefault(object_, len(self._objects)))
        self._image.append(image)
        self._boxes.append(human + target)
        self._words.append(pair)
        self._score.append(score)
        self._loose.append(loose)

    def _add_reply(self, place: str, image: int, text: Any) -> None:
        if not isinstance(text, str):
            self._refuse(place, "response", fields.shown(text), "text")
        notes = self._source.notes
        reply = items_of(text, lambda key: role(key) == "items", lambda key: role(key) == "human_box")
        notes.replies += 1
        notes.replies_mended += reply.mended
        notes.replies_empty += reply.empty
        notes.items_cut += reply.cut
        for i, item in enumerate(reply.items):
            try:
                self._add_item(place, image, self._roles(f"{place}: item {i}", item), loose=True)
            except InputError:
                notes.items_cut += 1

    def _box(self, place: str, found: Record, part: str) -> list[float]:
        if part not in found:
            self._refuse(place, part, "no such key", "x1, y1, x2, y2")
        value = found[part]
        if isinstance(value, dict):
            value = next(
                (v for key, v in value.items() if role(key) in _BOX_KEYS),
                [value[c] for c in _CORNERS] if all(c in value for c in _CORNERS) else value,
            )
        if isinstance(value, list) and value and all(isinstance(v, list) for v in value):
            value = [x for v in value for x in v]
        if not isinstance(value, list) or len(value) != 4 or not {type(x) for x in value} <= {int, float}:
            self._refuse(place, part, fields.shown(found[part]), "four numbers")
        return [float(x) for x in value]

    def _item_words(self, place: str, found: Record) -> tuple[str, str]:
        verb, phrase, object_ = found.get("verb"), found.get("phrase"), found.get("object")
        target = found.get("object_box")
        if object_ is None and isinstance(target, dict):
            object_ = next((v for k, v in target.items() if role(k) in _WORD_KEYS), None)
        for field, value in (("verb", verb), ("phrase", phrase), ("object", object_)):
            if value is not None and not isinstance(value, str):
                self._refuse(place, field, fields.shown(value), "text")
        if verb is not None and object_ is not None:
            return verb, object_
        text = phrase if phrase is not None else verb
        if text is None:
            self._refuse(place, "phrase", "no such key", "a phrase, or a verb and an object")
        parsed = self._parsed(text)
        if object_ is not None:
            return (parsed[0] if parsed else text), object_
        if parsed is None:
            self._source.notes.unparsed[text] = self._source.notes.unparsed.get(text, 0) + 1
            return "", ""
        return parsed

    def _parsed(self, text: str) -> tuple[str, str] | None:
        if text not in self._phrases:
            self._phrases[text] = _split(text)
        return self._phrases[text]

    def _check_phrases(self) -> None:
        unparsed = self._source.notes.unparsed
        if unparsed and sum(unparsed.values()) == len(self._image):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)

    def _refuse(self, place: str, field: str | None, found: str, expected: str) -> NoReturn:
        raise InputError(self._source.path, record=place, field=field, found=found, expected=expected)


def _split(text: str) -> tuple[str, str] | None:
    """Split a phrase into verb and object; None if it has none."""
    from shoe.lexicon.phrases import parse_phrase

    try:
        phrase = parse_phrase(text)
    except ValueError:
        return None
    return phrase.verb, phrase.object
