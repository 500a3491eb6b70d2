"""Records put together like records before: their image and their answer, from the places where those had them.

A record whose other values are numbers and texts of one level is known by its keys. One with more around the answer is
known by all of its keys and types: its words must be the same, and its numbers and identifiers say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from shoe.predictions.vlm.answers import said_outside
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.images import image_of
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.records import Record
from shoe.predictions.vlm.wordings import UnfitError
from shoe.predictions.vlm.wrapper_keys import SPEAKERS, holds_data, is_beside, is_end, is_error

Named = tuple[Any, ...]
"""The image of a record, and its width and height where it has them."""

_SCALARS = (str, int, float, bool, type(None))
_MOST, _MOST_ALIKE = 256, 20
_MOST_KEYS, _DEEPEST = 30, 12
# Identifiers, names of models and times: no box, no file of an image, no list, and no number alone.
_NAMELIKE = r"\A(?=.*[A-DF-Za-df-z_])(?:[\w:/+=-]|\.(?![jpwbgtJPWBGT])){1,200}\Z"
_NUMBERED = rf"{_NAMELIKE[:2]}(?=.*\d){_NAMELIKE[2:]}"
_EMPTY = msgspec.Meta(max_length=0)


class Openings:
    """What was learned from the records of a file so far."""

    def __init__(self) -> None:
        self._flat: dict[tuple[Any, ...], tuple[str, str, list[str]] | None] = {}
        self._nested: dict[tuple[Any, ...], list[_Nested | None]] = {}

    def open(self, record: Any) -> tuple[Named, str] | None:
        """The image with its size, and the answer, of a known record; None for any other."""
        if type(record) is not dict:
            return None
        frame = tuple(record)
        keys = self._flat.get(frame)
        if keys is None:
            for nested in self._nested.get(frame, ()):
                if nested is not None and (opened := nested.open(record)) is not None:
                    return opened
            return None
        image, answer = record[keys[0]], record[keys[1]]
        if type(image) is not str or type(answer) is not str or not is_name(image):
            return None
        if len(record) > 2 and not all(type(value) in _SCALARS for value in record.values()):
            return None
        return (image, *[record[side] for side in keys[2]]) if keys[2] else (image,), answer

    def learn(self, record: dict[Any, Any], opened: Record) -> None:
        """Learn under which keys the image and the answer stand, where no other key of the record matters."""
        found, frame = opened.answer, tuple(record)
        if not found or not found.answers or max(len(self._flat), len(self._nested)) >= _MOST:
            return
        if frame not in self._flat and not any(map(is_end, record)):
            self._flat[frame] = _flat_places(record, opened.image, found.answers[0])
        if self._flat.get(frame) or len(alike := self._nested.setdefault(frame, [])) >= _MOST_ALIKE:
            return
        try:
            if len(found.answers) > 1 or found.choices or found.is_cut or found.error:
                raise UnfitError
            alike.append(_Nested(record, opened.image, found.answers[0]))
        except UnfitError:
            alike.append(None)


def _flat_places(record: dict[Any, Any], name: Any, said: Any) -> tuple[str, str, list[str]] | None:
    """The keys of the image, of the answer, and of the image's sides; None if other keys matter."""
    image, answer = ([key for key in record if isinstance(key, str) and record[key] is value] for value in (name, said))
    named = [key for key in record if meaning(key).part == "image"]
    sides = [key for key in record if meaning(key).part in ("width", "height")]
    rest = {key: "x" for key in record if [key] not in (image, answer)}
    is_plain = len(image) == len(answer) == 1 and named == image and said_outside(rest) == Fields()
    return (image[0], answer[0], sides) if is_plain and names_first(image[0]) else None


def is_name(image: str) -> bool:
    """Whether a text is the name of an image as it is written."""
    return "://" not in image and image[:5] != "data:" and image != "" and not image.isspace()


def names_first(key: str) -> bool:
    """Whether what stands under a key is the image, whatever file names stand elsewhere in a record."""
    return bool(image_of({"prompt": "another.jpg", key: "image"}) == "image")


class _Nested:
    """Records of one structure, in which the answer stands deeper inside."""

    def __init__(self, record: dict[Any, Any], name: Any, said: Any) -> None:
        """Learn from a record.

        Args:
            record: the record.
            name: what it calls the image.
            said: its answer.

        Raises:
            UnfitError: if the places cannot be told, or other values than these may matter.
        """
        places = list(_places(record, said, ()))
        keys = [key for key, value in record.items() if value is name]
        if type(said) is not str or type(name) is not str or len(places) != 1 or len(keys) != 1:
            raise UnfitError
        self._path, self._key = places[0], keys[0]
        frame = list(record)
        self._is_named = names_first(self._key)
        if not self._is_named and frame.index(self._key) > frame.index(self._path[0]):
            raise UnfitError
        self._holds_data = holds_data(said)
        outer = {key: value for key, value in record.items() if key not in (self._key, self._path[0])}
        outer = {key: value for key, value in outer.items() if meaning(key).part != "image"}
        as_any = {key: "x" if isinstance(value, str) else value for key, value in outer.items()}
        sized = any(meaning(key).part in ("width", "height") for key in record)
        if sized or not all(said_outside(beside) == Fields() for beside in (outer, as_any)):
            raise UnfitError
        self._type = self._type_of(record, ())
        if self.open(record) != ((name,), said):
            raise UnfitError

    def open(self, record: dict[Any, Any]) -> tuple[Named, str] | None:
        """The image and the answer of a record; None if it is not of this structure."""
        try:
            msgspec.convert(record, self._type)
        except msgspec.ValidationError:
            return None
        answer: Any = record
        for key in self._path:
            answer = answer[key]
        image = record[self._key]
        named = is_name(image) if self._is_named else image_of({"": image}) == image
        return ((image,), answer) if named and holds_data(answer) == self._holds_data else None

    def _type_of(self, value: Any, path: tuple[Any, ...]) -> Any:
        key = next((key for key in reversed(path) if isinstance(key, str)), "")
        if path in (self._path, (self._key,)):
            return str
        if len(path) > _DEEPEST or box_of(value, key) is not None:
            raise UnfitError
        if isinstance(value, dict) and 0 < len(value) <= _MOST_KEYS and all(isinstance(inner, str) for inner in value):
            names = {f"f{i}": key for i, key in enumerate(value)}
            kinds = [(name, self._type_of(value[key], (*path, key))) for name, key in names.items()]
            try:
                return msgspec.defstruct("Record", kinds, rename=names, forbid_unknown_fields=True, gc=False)
            except ValueError:  # a key with quotes or control characters
                raise UnfitError from None
        if isinstance(value, list) and value and all(isinstance(part, dict | list | str) for part in value):
            return tuple[*(self._type_of(part, (*path, i)) for i, part in enumerate(value))]  # type: ignore[misc]
        if value in ([], {}):
            return Annotated[type(value), _EMPTY]
        if isinstance(value, str):
            return _type_of_text(value, key)
        if value is None:
            return None
        if type(value) is bool and not (is_end(key) or key == "thought"):
            return bool
        if type(value) in (int, float) and not is_error(key):
            return float
        raise UnfitError


def _type_of_text(value: str, key: str) -> Any:
    """The texts that say as much as another one under a key: any identifier for an identifier, else the same."""
    if is_end(key) or key in SPEAKERS:
        return Literal[value]
    pattern = _NAMELIKE if is_beside(key) else _NUMBERED
    return Annotated[str, msgspec.Meta(pattern=pattern)] if re.search(pattern, value) else Literal[value]


def _places(value: Any, said: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where a text stands in a record."""
    if value is said:
        yield path
    elif len(path) <= _DEEPEST:
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in inner:
            yield from _places(part, said, (*path, key))
