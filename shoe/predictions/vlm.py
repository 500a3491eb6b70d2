"""Free text of vision-language models: who does what to what, in any words, with two boxes.

JSON Lines or a JSON list. A record is one interaction (``image``, ``human_box``, ``object_box``, perhaps ``score``, and
either ``verb`` and ``object`` or one ``phrase``), or an image with its list of ``interactions``, or an image with the
model's raw ``response``; also an object with one key per image. Keys have many names in practice; what is read as what
is in :mod:`shoe.predictions.vlm_items`. Phrases are split into verb and object by the lexicon.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.files import replacing
from shoe.io.typed import shown
from shoe.predictions.replies import items_of
from shoe.predictions.source import Source
from shoe.predictions.vlm_items import Item, UnreadableError, Words, box_of, by_role, number_of, role, words_of

_ITEMS = "a list of items with human_box, object_box, verb and object"
_NO_SIZE = (0.0, 0.0)


def is_vlm(source: Source) -> bool:
    """Tell whether a document is free text of this format."""
    first = next((record for record in source.head if record != {}), None)
    if isinstance(first, dict) and _is_record(first):
        return True
    whole = None if source.is_list or source.lines else source.document
    return isinstance(whole, dict) and any(value and _image_record("", value) for value in whole.values())


def _is_record(record: dict[Any, Any]) -> bool:
    roles = {role(key) for key in record}
    return "image" in roles and bool(roles & {"items", "response", "human_box"})


def read_vlm(source: Source) -> Rows:
    """Read free text.

    Phrases without verb and object have "" for both, which is like no class; the notes list their text.

    Raises:
        InputError: naming the record and field that break the format, or the first phrase if none could be split.
    """
    columns = _Columns(source)
    try:
        for number, record in enumerate(_records(source)):
            columns.add(number, record)
    except UnreadableError as error:
        raise error.for_user(source) from None
    return columns.rows()


def write_vlm(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines: an interaction a line, with the image's size if known; an image without any has a line too."""
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    verb, object_ = table.verb.tolist(), table.object.tolist()
    with replacing(path) as stream:
        for i, name in enumerate(table.images):
            width, height = table.sizes[i].tolist()
            size: dict[str, Any] = {"width": width, "height": height} if width and height else {}
            records: list[dict[str, Any]] = [
                {
                    "image": name,
                    "human_box": humans[row],
                    "object_box": objects[row],
                    "verb": table.verbs[verb[row]],
                    "object": table.objects[object_[row]],
                    "score": scores[row],
                    **size,
                }
                for row in range(table.offsets[i], table.offsets[i + 1])
            ]
            for record in records or [{"image": name, "interactions": [], **size}]:
                stream.write(msgspec.json.encode(record) + b"\n")


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
    raise InputError(source.path, found=shown(document), expected="one object per interaction or image")


def _image_record(name: Any, value: Any) -> Item | None:
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
        self._notes = source.notes
        self._images: dict[str, int] = {}
        self._sizes: list[tuple[float, float]] = []
        self._verbs: dict[str, int] = {}
        self._objects: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, float, bool, int, int]] = []  # image, words, score, loose, record, item
        self._boxes: list[list[float]] = []
        self._first_cut: UnreadableError | None = None
        self._first_empty: UnreadableError | None = None
        self._phrases: dict[str, Words | None] = {}

    def add(self, number: int, record: Any) -> None:
        """Take a record, whatever it holds: an interaction, an image's list of them, or a raw reply."""
        place = self._source.record_name(number)
        found = by_role(place, record)
        if not found:
            raise UnreadableError(place, "image", "no known key", "this key")
        image = self._image_index(place, found)
        if "items" in found:
            if not isinstance(found["items"], list):
                raise UnreadableError(place, "interactions", shown(found["items"]), "a list")
            for i, item in enumerate(found["items"]):
                where = f"{place}: interaction {i}"
                self._add_item(where, image, by_role(where, item), number, i)
        elif "response" in found:
            self._add_reply(place, image, found["response"], number)
        else:
            self._add_item(place, image, found, number, -1)

    def rows(self) -> Rows:
        """Put together what was gathered; a file whose replies or phrases are all of no use is refused."""
        self._check_replies()
        unparsed = self._notes.unparsed
        if unparsed and sum(unparsed.values()) == len(self._rows):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)
        boxes = np.array(self._boxes, np.float64).reshape(-1, 8)
        columns = np.array(self._rows, np.float64).reshape(-1, 7)
        image, verb, object_, loose = (columns[:, i].astype(np.int64) for i in (0, 1, 2, 4))
        return Rows(
            images=list(self._images),
            image=image,
            human_boxes=boxes[:, :4],
            object_boxes=boxes[:, 4:],
            verbs=list(self._verbs),
            objects=list(self._objects),
            verb=verb,
            object=object_,
            score=columns[:, 3],
            sizes=np.array(self._sizes, np.float64).reshape(-1, 2),
            loose=loose.astype(bool) if loose.any() else None,
            place=self._place,
        )

    def _place(self, row: int) -> str:
        *_, loose, record, item = self._rows[row]
        name = self._source.record_name(record)
        return name if item < 0 else f"{name}, {'item' if loose else 'interaction'} {item}"

    def _image_index(self, place: str, found: Item) -> int:
        if "image" not in found:
            raise UnreadableError(place, "image", "no such key", "the name of the image")
        try:
            name = self._source.benchmark.image_name(found["image"])
        except ValueError:
            expected = "a file name, or the number of a test image"
            raise UnreadableError(place, "image", shown(found["image"]), expected) from None
        size = _NO_SIZE
        if found.get("width") is not None and found.get("height") is not None:
            size = (_side(place, found, "width"), _side(place, found, "height"))
        index = self._images.setdefault(name, len(self._images))
        if index == len(self._sizes):
            self._sizes.append(size)
        elif size != _NO_SIZE:
            if self._sizes[index] not in (_NO_SIZE, size):
                raise UnreadableError(place, "width", f"another size of {quote(name)}", "one size for an image")
            self._sizes[index] = size
        return index

    def _add_item(self, place: str, image: int, found: Item, record: int, item: int, *, loose: bool = False) -> None:
        boxes = box_of(place, found, "human_box") + box_of(place, found, "object_box")
        words = words_of(place, found, self._split)
        score = np.nan if found.get("score") is None else number_of(found["score"])
        if score is None and not loose:
            raise UnreadableError(place, "score", shown(found["score"]), "a number")
        if isinstance(words, str):
            self._notes.unparsed[words] = self._notes.unparsed.get(words, 0) + 1
            words = ("", "")
        verb = self._verbs.setdefault(words[0], len(self._verbs))
        object_ = self._objects.setdefault(words[1], len(self._objects))
        self._rows.append((image, verb, object_, np.nan if score is None else score, loose, record, item))
        self._boxes.append(boxes)

    def _add_reply(self, place: str, image: int, text: Any, record: int) -> None:
        if not isinstance(text, str):
            raise UnreadableError(place, "response", shown(text), "text")
        reply = items_of(text, lambda key: role(key) == "items", lambda key: role(key) == "human_box")
        self._notes.replies += 1
        self._notes.replies_fixed += reply.fixed
        self._notes.replies_empty += reply.empty
        if reply.empty:
            self._first_empty = self._first_empty or UnreadableError(place, "response", quote(text), _ITEMS)
        for i, item in enumerate(reply.items):
            where = f"{place}, item {i}"
            try:
                self._add_item(where, image, by_role(where, item), record, i, loose=True)
            except UnreadableError as error:
                self._cut(error, error.field or "item")
        if reply.cut:
            self._cut(UnreadableError(place, "response", "an incomplete item", _ITEMS), "incomplete", reply.cut)

    def _cut(self, error: UnreadableError, cause: str, count: int = 1) -> None:
        self._notes.items_cut[cause] = self._notes.items_cut.get(cause, 0) + count
        if self._first_cut is None:
            self._first_cut, self._notes.first_cut = error, str(error)

    def _split(self, text: str) -> Words | None:
        """Verb and object of a phrase; None if it has none."""
        from shoe.lexicon.phrases import best_reading

        if text not in self._phrases:
            self._phrases[text] = best_reading(text)
        return self._phrases[text]

    def _check_replies(self) -> None:
        notes = self._notes
        if self._rows or not notes.replies:
            return
        if self._first_cut is not None:
            count = sum(notes.items_cut.values())
            hint = f"none of the {count:,} items can be read" if count > 1 else "no other item can be read"
            raise self._first_cut.for_user(self._source, hint)
        if self._first_empty is not None and notes.replies_empty == notes.replies:
            raise self._first_empty.for_user(self._source, "no reply holds JSON")


def _side(place: str, found: Item, field: str) -> float:
    value = found[field]
    if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
        raise UnreadableError(place, field, shown(value), "pixels")
    return float(value)
