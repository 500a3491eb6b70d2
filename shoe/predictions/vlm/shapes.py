"""Items of a reply that have the shape of items read before: where those had what was read from them.

A shape is learned from an item and the pair that was read from it: where its boxes, its score and its words stood. An
item of the same keys and types, whose other texts are the same, is then read from those places, once that has given
what the general reader gives for a few items.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from math import nan
from operator import attrgetter
from typing import Any, Literal

import msgspec

from shoe.predictions.vlm.boxes import Box, number_of
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.persons import can_be_verb, is_person
from shoe.predictions.vlm.things import numberless
from shoe.predictions.vlm.wordings import Hit, Numbers, UnfitError, Wording, strings

_MOST_WORDS = 1 << 16
_TOO_MUCH = 1e300
_MOST_KEYS = 20
_DEEPEST = 6
# Texts that hold no box, number, list or name of another thing: all of one kind are treated alike.
_WORD = re.compile(r"[^\W\d](?:[^\W\d]|[ '-](?=[^\W\d])){0,99}")
_SENTENCE = re.compile(r"[^\W\d][^\d\[\](){}<>\"\\]{0,98}[^\W\d][.!]?")
_LETTERS = re.compile(r"[\W\d_]+")


class _Both(msgspec.Struct, gc=False):
    """An item, and one of the items of the list inside it."""

    outer: Any
    inner: Any


class Shape:
    """Where items of one shape have their boxes, score and words.

    Attributes:
        in_any_order: whether items say the same whatever the order of their keys.
    """

    def __init__(self, item: dict[str, Any], nested: str | None, pair: Pair) -> None:
        """Learn from an item.

        Args:
            item: the item.
            nested: the key of a list of items inside it, the first of which gave the pair.
            pair: what was read.

        Raises:
            UnfitError: if the places cannot be told.
        """
        places = _Places(item, nested, pair)
        self._type, self._nested = list[places.type], places.nested  # type: ignore[name-defined]
        self._decoders: dict[str | None, msgspec.json.Decoder[Any]] = {}
        texts = list(places.texts.values())
        boxes = (places.of_box(entity.box) for entity in (pair.human, pair.object))
        self._read = attrgetter(*places.texts, *boxes, *([places.score] if places.score else []))
        self.in_any_order = False
        self._count, self._has_score = len(texts), bool(places.score)
        sentences = {pair.phrase, *(verb.text for verb in pair.verbs)}
        self._wording = Wording(pair, texts, [_sentence_kind if text in sentences else _word_kind for text in texts])

    def add(self, items: list[dict[str, Any]], hits: list[Hit]) -> bool:
        """Add what items hold; tell whether it could be told without the general reader.

        Raises:
            UnfitError: if one is not of this shape.
        """
        return self._add(self._typed(items), hits)

    def add_text(self, text: str, key: str | None, hits: list[Hit]) -> bool:
        """Add what a text holds that is a list of items, or an object with the list under one key; as :meth:`add`."""
        try:
            decoder = self._decoders.get(key) or self._decoder(key)
            value = decoder.decode(text)
        except ValueError:  # no such JSON, or a key with quotes or control characters
            raise UnfitError from None
        return self._add(value if key is None else value.f0, hits)

    def _decoder(self, key: str | None) -> msgspec.json.Decoder[Any]:
        kind = self._type if key is None else _struct("Reply", {"f0": key}, [("f0", self._type)])
        decoder = self._decoders[key] = msgspec.json.Decoder(kind)
        return decoder

    def _add(self, items: list[Any], hits: list[Hit]) -> bool:
        count, score, known = self._count, nan, self._wording.said
        for part in self._parts(items):
            read = self._read(part)
            said = known(read[:count])
            if said is None or (self._has_score and not abs(score := read[-1]) < _TOO_MUCH):
                return False
            hits.append((said, read[count], read[count + 1], score))
        return True

    def check(self, item: dict[str, Any], pairs: list[Pair]) -> bool:
        """Compare with what the general reader says.

        Raises:
            UnfitError: if the item is not of this shape.
        """
        parts = self._parts(self._typed([item]))
        return all(self._is_right(part, pair) for part, pair in zip(parts, pairs, strict=True))

    def _is_right(self, part: Any, pair: Pair) -> bool:
        read, count = self._read(part), self._count
        score = read[-1] if self._has_score else None
        return self._wording.confirm(read[:count], read[count], read[count + 1], score, pair)

    def _typed(self, items: list[dict[str, Any]]) -> list[Any]:
        try:
            typed: list[Any] = msgspec.convert(items, self._type)
        except msgspec.ValidationError:
            raise UnfitError from None
        return typed

    def _parts(self, typed: list[Any]) -> list[Any]:
        nested = self._nested
        return typed if nested is None else [_Both(outer, inner) for outer in typed for inner in getattr(outer, nested)]


class _Places:
    """The places of an item: a type that only items of its shape have, and the paths in it."""

    def __init__(self, item: dict[str, Any], nested: str | None, pair: Pair) -> None:
        self.nested: str | None = None
        self.score = ""
        self.texts: dict[str, str] = {}
        self._boxes: list[tuple[str, Numbers]] = []
        self._score, self._read, self._within = pair.score, set(strings(pair)), nested
        if not _is_shallow(item, _DEEPEST):
            raise UnfitError
        inside = item if nested is None else {**item, nested: item[nested][:1]}
        self._counts = Counter(strings(inside))
        self._names = {_letters(key) for key in _keys(inside)}
        self.type = self._type(inside, "" if nested is None else "outer.", 0)
        if not self.texts or (pair.score is not None and not self.score):
            raise UnfitError

    def of_box(self, box: Box) -> str:
        """The path of the one list that is a box."""
        found = [path for path, numbers in self._boxes if numbers == box.numbers]
        if len(found) != 1 or box.score is not None:
            raise UnfitError
        return found[0]

    def _type(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, dict) and 0 < len(value) <= _MOST_KEYS:
            names = {f"f{i}": key for i, key in enumerate(value)}
            kinds = []
            for name, key in names.items():
                if depth == 0 and key == self._within:
                    self.nested = name
                    kinds.append((name, list[self._type(value[key][0], "inner.", 1)]))  # type: ignore[misc]
                else:
                    kinds.append((name, self._type(value[key], f"{path}{name}.", depth + 1)))
            try:
                return _struct("Item", names, kinds)
            except ValueError:  # a key with quotes or control characters
                raise UnfitError from None
        place = path.removesuffix(".")
        if isinstance(value, list) and len(value) == 4 and None not in map(number_of, value):
            if str in map(type, value):
                raise UnfitError
            x1, y1, x2, y2 = map(float, value)
            self._boxes.append((place, (x1, y1, x2, y2)))
            return Numbers
        if isinstance(value, str):
            return self._type_of_text(value, place)
        if value is None:
            return None
        if type(value) in (int, float) and value == self._score and not self.score:
            self.score = place
            return float
        raise UnfitError

    def _type_of_text(self, value: str, place: str) -> Any:
        is_own = self._counts[value] == 1 and _letters(value) not in self._names
        if value in self._read and is_own and _SENTENCE.fullmatch(value):
            self.texts[place] = value
            return str
        if any(letter.isdigit() for letter in value):
            raise UnfitError
        return Literal[value]


def _struct(name: str, keys: dict[str, str], kinds: list[tuple[str, Any]]) -> Any:
    """The type of objects with the keys that stand for the names of fields, and no others."""
    return msgspec.defstruct(name, kinds, rename=keys, forbid_unknown_fields=True, gc=False)


def _is_shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(part, depth - 1) for part in inner)


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []


def _letters(text: str) -> str:
    return _LETTERS.sub("", text).lower()


def _sentence_kind(text: str) -> int | None:
    return 0 if _SENTENCE.fullmatch(text) else None


@lru_cache(_MOST_WORDS)
def _word_kind(text: str) -> int | None:
    if not _WORD.fullmatch(text):
        return None
    return is_person(text) + 2 * can_be_verb(text) + 4 * (numberless(text) == text)
