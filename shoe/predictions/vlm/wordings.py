"""Pairs that differ only in their words and boxes: what known words of them say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from shoe.predictions.vlm import roles
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.words import Interaction, Words, words_of

Numbers = tuple[float, float, float, float]
Kind = Callable[[str], int | None]
"""A number that texts have in common that are treated alike; None for what may hold more than words."""
Kinds = tuple[int | None, ...]

_CHECKS = 3
_MOST = 1 << 16
_OF_WORDS = ("subject", "target", "verbs", "phrase", "texts")  # what words are found by
_NO_BOX = (0.0, 0.0, 0.0, 0.0)
_UNPARSED = (Interaction("", "", None),)


class UnfitError(Exception):
    """What cannot be read from known places."""


class Said:
    """What words say, the same in every file.

    Attributes:
        words: as the general reader understands them.
        convention: of the boxes, where their form tells it.
        rows: the interactions that make a triplet.
        is_noted: whether the report counts anything of them.
    """

    __slots__ = ("convention", "is_noted", "rows", "words")

    def __init__(self, words: Words, convention: str | None) -> None:
        self.words = words
        self.convention = convention
        self.rows = _UNPARSED if words.unparsed else words.interactions
        self.is_noted = bool(words.denied or words.turned or words.doubtful or words.unparsed)


Hit = tuple[Said, Numbers, Numbers, float]
"""What a known place gave: the words of the pair, its boxes, and its score, NaN if it has none."""


def holds_any(hits: list[Hit]) -> bool:
    """Whether any of them makes a triplet."""
    return bool(hits) and (bool(hits[0][0].rows) or any(hit[0].rows for hit in hits))


class Wording:
    """A pair whose words stand at known places; kinds of words are trusted once they were read right a few times."""

    def __init__(self, pair: Pair, texts: Sequence[str], kinds: Sequence[Kind], *, joined: bool = False) -> None:
        """Learn from a pair.

        Args:
            pair: what was read.
            texts: those of its words that others may have in their place.
            kinds: for each, what it must have in common with those in its place.
            joined: whether the pair's words are made of several of them.

        Raises:
            UnfitError: if its scores are of single verbs, or the whole file tells what its texts are.
        """
        if (
            pair.wrong
            or roles.are_open(pair)
            or any(verb.score is not None for verb in pair.verbs)
            or isinstance(pair.score, list)
        ):
            raise UnfitError
        self._template = _blank(_written(pair, [(text, f"\0{i}\0") for i, text in enumerate(texts)], joined=joined))
        self._places = tuple(
            name for name in Pair._fields if any("\0" in text for text in strings(getattr(self._template, name)))
        )
        self._open = tuple(name for name in self._places if name in _OF_WORDS)
        named = pair.human.box.convention or pair.object.box.convention
        self._convention = None if named is None else str(named)
        self._everywhere = _known_words(self._template, tuple(kinds))
        self._kind_of = kinds
        self._checks: dict[Kinds, int] = {}

    def said(self, texts: tuple[str, ...]) -> Said | None:
        """What words say; None if the general reader has to tell."""
        kinds, said = self._everywhere.get(texts) or self._understood(texts)
        return said if self._checks.get(kinds, 0) >= _CHECKS else None

    def confirm(self, texts: tuple[str, ...], human: Numbers, thing: Numbers, score: Any, pair: Pair) -> bool:
        """Compare with what the general reader found: whether it is the same, or of words that are not read."""
        kinds, _ = self._everywhere.get(texts) or self._understood(texts)
        if None in kinds:
            return True
        known = _filled(self._template, texts, self._places)
        boxed = (e._replace(box=e.box._replace(numbers=n)) for e, n in ((known.human, human), (known.object, thing)))
        if known._replace(human=next(boxed), object=next(boxed), score=score) != pair:
            return False
        self._checks[kinds] = self._checks.get(kinds, 0) + 1
        return True

    def _understood(self, texts: tuple[str, ...]) -> tuple[Kinds, Said | None]:
        """The kinds of words that are met for the first time, and what they say in their place."""
        kinds = tuple(kind(text) for kind, text in zip(self._kind_of, texts, strict=True))
        words = None if None in kinds else words_of(_filled(self._template, texts, self._open))
        if len(self._everywhere) >= _MOST:
            self._everywhere.clear()
        is_told = words and not words.no_person and (words.interactions or words.unparsed or words.denied)
        known = self._everywhere[texts] = kinds, Said(words, self._convention) if words and is_told else None
        return known


def strings(value: Any) -> list[str]:
    """The texts in a value, a pair's or an item's."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return []
    return [text for inner in value for text in strings(inner)]


def _blank(pair: Pair) -> Pair:
    """A pair without what differs between pairs of the same words."""
    human, thing = (entity._replace(box=entity.box._replace(numbers=_NO_BOX)) for entity in (pair.human, pair.object))
    return pair._replace(human=human, object=thing, score=None)


def _written(value: Any, words: list[tuple[str, str]], *, joined: bool = True) -> Any:
    """A pair, or a part of it, with other words: in place of whole texts, or also of parts of joined ones."""
    if isinstance(value, str):
        for old, new in words:
            if old == value:
                return new
        if joined:
            for old, new in words:
                value = value.replace(old, new)
        return value
    if isinstance(value, tuple):
        inner = [_written(part, words, joined=joined) for part in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value


def _filled(template: Pair, texts: tuple[str, ...], names: tuple[str, ...]) -> Pair:
    """A template with words in the places of some of its fields."""
    words = [(f"\0{i}\0", text) for i, text in enumerate(texts)]
    return template._replace(**{name: _written(getattr(template, name), words) for name in names})


@lru_cache(256)
def _known_words(template: Pair, kinds: tuple[Kind, ...]) -> dict[tuple[str, ...], tuple[Kinds, Said | None]]:
    """What was understood of each choice of words in a template."""
    return {}
