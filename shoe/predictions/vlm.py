"""Free text of vision-language models: who does what to what, in any words, with two boxes.

JSON Lines or a JSON list. A record is one interaction (``image``, ``human_box``, ``object_box``, perhaps ``score``, and
either ``verb`` and ``object`` or one ``phrase``), or an image with its list of ``interactions``, or an image with the
model's raw ``response``; also an object with one key per image. Keys have many names in practice; what is read as what
is in :mod:`shoe.predictions.vlm_keys`. Phrases are split into verb and object by the lexicon.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from shoe.benchmarks import fields
from shoe.core.errors import InputError, printable, quote
from shoe.core.rows import Rows
from shoe.predictions.names import image_name
from shoe.predictions.replies import items_of
from shoe.predictions.source import Source
from shoe.predictions.vlm_keys import BOX_KEYS, WORD_KEYS, role

_CORNERS = ("x1", "y1", "x2", "y2")

Record = dict[str, Any]


@dataclass(eq=False)
class _UnreadableError(Exception):
    """A record that breaks the form: where, and the parts of the message."""

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


def read_vlm(source: Source) -> Rows:
    """Read free text.

    Phrases without verb and object have "" for both, which is like no class; the notes list their text.

    Raises:
        InputError: naming the record and field that break the form, or the first phrase if none could be split.
    """
    columns = _Columns(source)
    try:
        for number, record in enumerate(_records(source)):
            columns.add(number, record)
    except _UnreadableError as error:
        raise error.for_user(source) from None
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
        self._record: list[int] = []
        self._item: list[int] = []
        self._first_cut: _UnreadableError | None = None
        self._first_empty: _UnreadableError | None = None
        self._phrases: dict[str, tuple[str, str] | None] = {}

    def add(self, number: int, record: Any) -> None:
        """Take a record, whatever it holds: an interaction, an image's list of them, or a raw reply."""
        place = self._source.place(number)
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
                self._item.append(i)
        elif "response" in found:
            self._add_reply(place, image, found["response"])
        else:
            self._add_item(place, image, found)
            self._item.append(-1)
        self._record += [number] * (len(self._image) - len(self._record))

    def rows(self) -> Rows:
        """Put together what was gathered; a file whose replies or phrases are all of no use is refused."""
        self._check_replies()
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
            place=self._place,
        )

    def _place(self, row: int) -> str:
        record, item = self._source.place(self._record[row]), self._item[row]
        kind = "item" if self._loose[row] else "interaction"
        return record if item < 0 else f"{record}, {kind} {item}"

    def _roles(self, place: str, record: Any) -> Record:
        """A record's values by role; of several keys with one role, the one named like it counts, else the first."""
        if not isinstance(record, dict):
            self._refuse(place, None, fields.shown(record), "an object")
        found: Record = {}
        for key, value in record.items():
            name = role(key)
            # The same key is a box where it holds one, and a word where it holds text.
            if name == "object" and isinstance(value, list | dict):
                name = "object_box"
            elif name == "human_box" and isinstance(value, str) and "box" not in key.lower():
                name = None
            known = name in found and found[name] is not None
            if name is not None and (not known or (key == name and value is not None)):
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
        if found.get("width") is not None and found.get("height") is not None:
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
        score = np.nan if found.get("score") is None else _number(found["score"])
        if score is None:
            if not loose:
                self._refuse(place, "score", fields.shown(found["score"]), "a number")
            score = np.nan
        pair = (self._verbs.setdefault(verb, len(self._verbs)), self._objects.setdefault(object_, len(self._objects)))
        self._image.append(image)
        self._boxes.append(human + target)
        self._words.append(pair)
        self._score.append(score)
        self._loose.append(loose)

    def _add_reply(self, place: str, image: int, text: Any) -> None:
        if not isinstance(text, str):
            self._refuse(place, "response", fields.shown(text), "text")
        items_form = "a list of items with human_box, object_box, verb and object"
        notes = self._source.notes
        reply = items_of(text, lambda key: role(key) == "items", lambda key: role(key) == "human_box")
        notes.replies += 1
        notes.replies_mended += reply.mended
        notes.replies_empty += reply.empty
        if reply.empty:
            self._first_empty = self._first_empty or _UnreadableError(place, "response", quote(text), items_form)
        for i, item in enumerate(reply.items):
            try:
                self._add_item(f"{place}, item {i}", image, self._roles(f"{place}, item {i}", item), loose=True)
                self._item.append(i)
            except _UnreadableError as error:
                self._cut(error, error.field or "item")
        if reply.cut:
            self._cut(_UnreadableError(place, "response", "an incomplete item", items_form), "incomplete", reply.cut)

    def _cut(self, error: _UnreadableError, cause: str, count: int = 1) -> None:
        notes = self._source.notes
        notes.items_cut[cause] = notes.items_cut.get(cause, 0) + count
        if self._first_cut is None:
            self._first_cut, notes.first_cut = error, str(error)

    def _box(self, place: str, found: Record, part: str) -> list[float]:
        if part not in found:
            self._refuse(place, part, "no such key", "x1, y1, x2, y2")
        value = found[part]
        if isinstance(value, dict):
            value = next(
                (v for key, v in value.items() if role(key) in BOX_KEYS),
                [value[c] for c in _CORNERS] if all(c in value for c in _CORNERS) else value,
            )
        if isinstance(value, list) and value and all(isinstance(v, list) for v in value):
            value = [x for v in value for x in v]
        numbers = [_number(x) for x in value] if isinstance(value, list) and len(value) == 4 else [None]
        if None in numbers:
            self._refuse(place, part, fields.shown(found[part]), "four numbers")
        return [float(x) for x in numbers if x is not None]

    def _item_words(self, place: str, found: Record) -> tuple[str, str]:
        verb, phrase, object_ = found.get("verb"), found.get("phrase"), found.get("object")
        target = found.get("object_box")
        if object_ is None and isinstance(target, dict):
            object_ = next((v for k, v in target.items() if role(k) in WORD_KEYS), None)
        for field, value in (("verb", verb), ("phrase", phrase), ("object", object_)):
            if value is not None and not isinstance(value, str):
                self._refuse(place, field, fields.shown(value), "text")
        if verb is not None and object_ is not None:
            return verb, object_
        text = phrase if phrase is not None else verb
        if text is None:
            field = "verb" if "verb" in found and "phrase" not in found else "phrase"
            what = fields.shown(None) if field in found else "no such key"
            self._refuse(place, field, what, "a phrase, or a verb and an object")
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

    def _check_replies(self) -> None:
        notes = self._source.notes
        if self._image or not notes.replies:
            return
        if self._first_cut is not None:
            count = sum(notes.items_cut.values())
            hint = f"none of the {count:,} items can be read" if count > 1 else "no other item can be read"
            raise self._first_cut.for_user(self._source, hint)
        if self._first_empty is not None and notes.replies_empty == notes.replies:
            raise self._first_empty.for_user(self._source, "no reply holds JSON")

    def _check_phrases(self) -> None:
        unparsed = self._source.notes.unparsed
        if unparsed and sum(unparsed.values()) == len(self._image):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)

    def _refuse(self, place: str, field: str | None, found: str, expected: str) -> NoReturn:
        raise _UnreadableError(place, field, found, expected)


def _number(value: Any) -> float | None:
    """A number, also one that a model wrote as text; None for anything else."""
    if type(value) is str:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if isfinite(number) and "_" not in value else None
    return value if type(value) in (int, float) else None


def _split(text: str) -> tuple[str, str] | None:
    """Split a phrase into verb and object; None if it has none."""
    from shoe.lexicon.phrases import parse_phrase

    try:
        phrase = parse_phrase(text)
    except ValueError:
        return None
    return phrase.verb, phrase.object
