"""What a reply says beside a phrase: its object in a field of its own, or the things that it has boxes of."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrases.noun_phrases import Noun, names
from shoe.lexicon.phrases.words import word_of


class Given(NamedTuple):
    """What a reply gives beside the phrase: the object, or nouns of its boxes.

    Attributes:
        object: the object, "" where it is not given.
        heads: forms of the heads of these nouns.
        only: the only noun of a thing, "" where there are several.
    """

    object: str = ""
    heads: frozenset[str] = frozenset()
    only: str = ""


@lru_cache(maxsize=20_000)
def given_of(object_: str | None, known: tuple[str, ...]) -> Given:
    """Put together what a reply gives; persons among the known count only where nothing else is known."""
    words = [object_] if object_ else list(dict.fromkeys(known))
    heads = {word: tokens[-1] for word in words if (tokens := text.tokens(text.plain(word)))}
    things = [word for word, head in heads.items() if not word_of(head).person] or list(heads)
    forms = (form for word in things for form in (heads[word], *bases(heads[word], "object")))
    return Given(object_ or "", frozenset(forms), things[0] if len(things) == 1 else "")


def is_given(noun: Noun, given: Given) -> bool:
    """Whether a noun, a part of it or one that "and" joins to it is given."""
    parts = [noun, noun.of, noun.owner, *noun.also]
    return any(is_named(part, given) for part in parts if part is not None)


def is_named(noun: Noun, given: Given) -> bool:
    """Whether the head of a noun is given."""
    head = noun.head.rpartition("-")[2]
    return not given.heads.isdisjoint((head, *bases(head, "object")))


def names_known(noun: Noun, given: Given) -> list[str]:
    """Names of a thing, first the part of it that the reply knows ("wing of an aircraft")."""
    known = [part for part in (noun.of, noun.owner) if part is not None and is_named(part, given)]
    whole = is_named(noun, given) or noun.head in text.WORD_CLASSES["measures"]
    return [*([] if whole else [" ".join(part.words) for part in known]), *names(noun)]
