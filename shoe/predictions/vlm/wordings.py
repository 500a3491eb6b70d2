"""Pairs that differ only in their words and boxes: what known words of them say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from shoe.predictions.vlm import roles
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.words import Words, words_of

Numbers = tuple[float, float, float, float]
Kind = Callable[[str], int | None]
"""A number that texts have in common that are treated alike; None for what may hold more than words."""

_CHECKS = 3
_MOST = 1 << 16
_OF_WORDS = ("subject", "target", "verbs", "phrase", "texts")  # what words are found by
_NO_BOX = (0.0, 0.0, 0.0, 0.0)


class UnfitError(Exception):
    """What cannot be read from known places."""


class Said:
    """What known words say; the columns of a file keep its rows here.

    Attributes:
        words: as the general reader understands them.
        convention: of the boxes, where their form tells it.
        counts: whether they make a triplet.
        is_noted: whether the report counts anything of them.
        rows: indices of the verb, the object and the convention in the columns, for each row; None before the first.
    """

    __slots__ = ("convention", "counts", "is_noted", "rows", "words")

    def __init__(self, words: Words, convention: str | None) -> None:
        self.words = words
        self.convention = convention
        self.counts = bool(words.interactions or words.unparsed)
        self.is_noted = bool(words.denied or words.turned or words.doubtful or words.unparsed)
        self.rows: tuple[tuple[int, int, int], ...] | None = None


Hit = tuple[Said, Numbers, Numbers, float]
"""What a known place gave: the words of the pair, its boxes, and its score, NaN if it has none."""


def holds_any(hits: list[Hit]) -> bool:
    """Whether any of them makes a triplet."""
    return bool(hits) and (hits[0][0].counts or any(hit[0].counts for hit in hits))


class Wording:
    """A pair whose words stand at known places; kinds of words are trusted once they were read right a few times.

    Attributes:
        known: what was said before, by the words.
    """

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
        self._open = tuple(
            name for name in _OF_WORDS if any("\0" in text for text in strings(getattr(self._template, name)))
        )
        named = pair.human.box.convention or pair.object.box.convention
        self._convention = None if named is None else str(named)
        self._everywhere = _known_words(self._template, tuple(kinds))
        self._kind_of = kinds
        self._checks: dict[tuple[int | None, ...], int] = {}
        self.known: dict[tuple[str, ...], Said] = {}

    def said(self, texts: tuple[str, ...]) -> Said | None:
        """What words say that are not known yet; None if the general reader has to tell."""
        kinds, words = self._understood(texts)
        if not words or self._checks.get(kinds, 0) < _CHECKS:
            return None
        said = self.known[texts] = Said(words, self._convention)
        return said

    def confirm(self, texts: tuple[str, ...], human: Numbers, thing: Numbers, score: Any, pair: Pair) -> bool:
        """Compare with what the general reader found: whether it is the same, or of words that are not read."""
        kinds, _ = self._understood(texts)
        if None in kinds:
            return True
        known = _filled(self._template, texts, Pair._fields)
        boxed = (e._replace(box=e.box._replace(numbers=n)) for e, n in ((known.human, human), (known.object, thing)))
        if known._replace(human=next(boxed), object=next(boxed), score=score) != pair:
            return False
        self._checks[kinds] = self._checks.get(kinds, 0) + 1
        return True

    def _understood(self, texts: tuple[str, ...]) -> tuple[tuple[int | None, ...], Words | None]:
        """The kinds of words, and what they say in their place: the same in every file."""
        known = self._everywhere.get(texts)
        if known is None:
            kinds = tuple(kind(text) for kind, text in zip(self._kind_of, texts, strict=True))
            words = None if None in kinds else words_of(_filled(self._template, texts, self._open))
            if len(self._everywhere) >= _MOST:
                self._everywhere.clear()
            if words and (words.no_person or not (words.interactions or words.unparsed or words.denied)):
                words = None
            known = self._everywhere[texts] = kinds, words
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
def _known_words(
    template: Pair, kinds: tuple[Kind, ...]
) -> dict[tuple[str, ...], tuple[tuple[int | None, ...], Words | None]]:
    """What was understood of each choice of words in a template."""
    return {}
