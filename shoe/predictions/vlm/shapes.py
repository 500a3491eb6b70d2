"""Items of a reply that have the shape of items read before: where those had what was read from them.

A shape is learned from an item and the pair that was read from it: where its boxes, its score and its words stood. An
item of the same keys and types, whose other texts are the same, is then read from those places, once that has given
what the general reader gives for a few items.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from functools import lru_cache
from math import nan
from operator import attrgetter
from typing import Any, Literal

import msgspec

from shoe.predictions.vlm.boxes import Box
from shoe.predictions.vlm.fields import numberless
from shoe.predictions.vlm.items import Pair
from shoe.predictions.vlm.persons import can_be_verb, is_person
from shoe.predictions.vlm.words import Words, words_of

Numbers = tuple[float, float, float, float]

_CHECKS = 3
_MOST_WORDS = 1 << 16
_MOST_KEYS = 20
_DEEPEST = 6
_NO_BOX = (0.0, 0.0, 0.0, 0.0)
# Texts that hold no box, number, list or name of another thing: all of one kind are treated alike.
_WORD = re.compile(r"[^\W\d](?:[^\W\d]|[ '-](?=[^\W\d])){0,99}")
_SENTENCE = re.compile(r"[^\W\d][^\d\[\](){}<>\"\\]{0,98}[^\W\d][.!]?")
_LETTERS = re.compile(r"[\W\d_]+")


class UnfitError(Exception):
    """An item that cannot be read from known places."""


class Said:
    """What known words say; the columns of a file keep its rows here.

    Attributes:
        words: as the general reader understands them.
        convention: of the boxes, where their keys tell it.
        counts: whether they make a triplet.
        is_noted: whether the report counts anything of them.
        rows: indices of verbs and objects in the columns.
        convention_index: index of the convention in the columns.
    """

    __slots__ = ("convention", "convention_index", "counts", "is_noted", "rows", "words")

    def __init__(self, words: Words, convention: Any) -> None:
        self.words = words
        self.convention = convention
        self.counts = bool(words.interactions or words.unparsed)
        self.is_noted = bool(words.denied or words.turned or words.doubtful or words.unparsed)
        self.rows: tuple[tuple[int, int], ...] = ()
        self.convention_index = -1


Hit = tuple[Said, Numbers, Numbers, float]
"""What a known place gave: the words of the pair, its boxes, and its score, NaN if it has none."""


class _Both(msgspec.Struct, gc=False):
    """An item, and one of the items of the list inside it."""

    outer: Any
    inner: Any


class Shape:
    """Where items of one shape have their boxes, score and words."""

    def __init__(self, item: dict[str, Any], nested: str | None, pair: Pair) -> None:
        """Learn from an item.

        Args:
            item: the item.
            nested: the key of a list of items inside it, the first of which gave the pair.
            pair: what was read.

        Raises:
            UnfitError: if the places cannot be told.
        """
        if pair.wrong or any(verb.score is not None for verb in pair.verbs) or isinstance(pair.score, list):
            raise UnfitError
        places = _Places(item, nested, pair)
        self._type, self._nested = places.type, places.nested
        self._boxes = attrgetter(*(places.of_box(entity.box) for entity in (pair.human, pair.object)))
        self._score = attrgetter(places.score) if places.score else None
        self._texts = attrgetter(*places.texts)
        self._is_single = len(places.texts) == 1
        sentences = {pair.phrase, *(verb.text for verb in pair.verbs)}
        self._is_sentence = [text in sentences for text in places.texts.values()]
        self._template: Pair = _written(_blank(pair), {text: f"\0{i}" for i, text in enumerate(places.texts.values())})
        self._convention = pair.human.box.convention or pair.object.box.convention
        self._checks: dict[tuple[int, ...], int] = {}
        self._said: dict[Any, Said | None] = {}

    def hits(self, item: dict[str, Any]) -> list[Hit] | None:
        """What an item holds; None if the general reader has to tell.

        Raises:
            UnfitError: if it is not of this shape.
        """
        found = []
        for part in self._parts(item):
            texts = self._texts(part)
            said = self._said[texts] if texts in self._said else self._say(texts)
            if said is None:
                return None
            human, thing = self._boxes(part)
            score = nan if self._score is None else self._score(part)
            if abs(score) >= 1e300:
                return None
            found.append((said, human, thing, score))
        return found

    def check(self, item: dict[str, Any], pairs: list[Pair]) -> bool:
        """Compare with what the general reader says, and trust these kinds of words after a few times.

        Raises:
            UnfitError: if the item is not of this shape.
        """
        parts = self._parts(item)
        for part, pair in zip(parts, pairs, strict=True):
            texts = self._texts(part)
            kinds = self._kinds(texts)
            if kinds is None:
                continue
            if self._pair(part, texts) != pair:
                return False
            self._checks[kinds] = self._checks.get(kinds, 0) + 1
            if self._checks[kinds] == _CHECKS:
                self._said.clear()
        return True

    def _parts(self, item: dict[str, Any]) -> list[Any]:
        try:
            typed = msgspec.convert(item, self._type)
        except msgspec.ValidationError:
            raise UnfitError from None
        return [typed] if self._nested is None else [_Both(typed, inner) for inner in getattr(typed, self._nested)]

    def _tuple(self, texts: Any) -> tuple[str, ...]:
        return (texts,) if self._is_single else texts

    def _kinds(self, texts: Any) -> tuple[int, ...] | None:
        """The kind of each text; None if one may hold more than words."""
        kinds = tuple(map(_kind, self._tuple(texts), self._is_sentence))
        return None if None in kinds else kinds  # type: ignore[return-value]

    def _say(self, texts: Any) -> Said | None:
        kinds = self._kinds(texts)
        said = None
        if kinds is not None and self._checks.get(kinds, 0) >= _CHECKS:
            words = _words(self._template, self._tuple(texts))
            said = None if words is None or words.no_person else Said(words, self._convention)
        self._said[texts] = said
        return said

    def _pair(self, part: Any, texts: Any) -> Pair:
        human, thing = self._boxes(part)
        pair = _filled(self._template, self._tuple(texts))
        return replace(
            pair,
            human=pair.human._replace(box=pair.human.box._replace(numbers=human)),
            object=pair.object._replace(box=pair.object.box._replace(numbers=thing)),
            score=None if self._score is None else self._score(part),
        )


class _Places:
    """The places of an item: a type that only items of its shape have, and the paths in it."""

    def __init__(self, item: dict[str, Any], nested: str | None, pair: Pair) -> None:
        self.nested: str | None = None
        self.score = ""
        self.texts: dict[str, str] = {}
        self._boxes: list[tuple[str, Numbers]] = []
        self._score, self._read, self._within = pair.score, set(_strings(pair)), nested
        if not _is_shallow(item, _DEEPEST):
            raise UnfitError
        inside = item if nested is None else {**item, nested: item[nested][:1]}
        self._counts = Counter(_strings(inside))
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
            return msgspec.defstruct("Item", kinds, rename=names, forbid_unknown_fields=True, gc=False)
        place = path.removesuffix(".")
        if isinstance(value, list) and len(value) == 4 and all(type(x) in (int, float) for x in value):
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


def _is_shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(part, depth - 1) for part in inner)


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    """The texts in a value, a pair's or an item's."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, Pair):
        value = [getattr(value, field.name) for field in fields(value)]
    elif not isinstance(value, list | tuple):
        return []
    return [text for inner in value for text in _strings(inner)]


def _letters(text: str) -> str:
    return _LETTERS.sub("", text).lower()


def _blank(pair: Pair) -> Pair:
    """A pair without what differs from item to item of the same words."""
    human, thing = (entity._replace(box=entity.box._replace(numbers=_NO_BOX)) for entity in (pair.human, pair.object))
    return replace(pair, human=human, object=thing, score=None)


def _written(value: Any, words: dict[str, str]) -> Any:
    """A pair, or a part of it, with other words."""
    if isinstance(value, str):
        return words.get(value, value)
    if isinstance(value, Pair):
        return replace(value, **{field.name: _written(getattr(value, field.name), words) for field in fields(value)})
    if isinstance(value, tuple):
        inner = [_written(part, words) for part in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value


def _filled(template: Pair, texts: tuple[str, ...]) -> Pair:
    pair: Pair = _written(template, {f"\0{i}": text for i, text in enumerate(texts)})
    return pair


@lru_cache(256)
def _known_words(template: Pair) -> dict[tuple[str, ...], Words | None]:
    """What was understood of each choice of words in a template."""
    return {}


def _words(template: Pair, texts: tuple[str, ...]) -> Words | None:
    known = _known_words(template)
    if texts not in known:
        if len(known) >= _MOST_WORDS:
            known.clear()
        known[texts] = words_of(_filled(template, texts))
    return known[texts]


@lru_cache(_MOST_WORDS)
def _kind(text: str, is_sentence: bool) -> int | None:
    """A number that texts have in common that are treated alike; None for what may hold more than words."""
    if is_sentence:
        return 0 if _SENTENCE.fullmatch(text) else None
    if not _WORD.fullmatch(text):
        return None
    return 1 + is_person(text) + 2 * can_be_verb(text) + 4 * (numberless(text) == text)
