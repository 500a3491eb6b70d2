"""WordNet's definitions of verbs as ways of saying the verb: "look over carefully" is inspect.

A predicate is looked up whole, without articles and adverbs, and by each noun in it: what is done with the tongue is
what definitions that mention the tongue say.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shoe.lexicon import text
from shoe.lexicon.expressions import Sense, bases
from shoe.lexicon.store import lexicon

LONGEST_DEFINITION = 5
"""Words of the longest expression that is kept, articles and possessives not counted."""

EQUAL_PREPOSITIONS = dict(pair.split("=") for pair in text.WORD_CLASSES["equal_prepositions"])
"""Prepositions that say the same after a verb, to the one that WordNet's verbs have: "climb aboard", "climb on"."""

_SKIPPED = text.DETERMINERS | text.WORD_CLASSES["placeholders"]
_EMPTY = _SKIPPED | text.PREPOSITIONS | text.PARTICLES | text.CONJUNCTIONS | text.AUXILIARIES | text.NEGATIONS


def singular(word: str) -> str:
    """Take the plural's -s off a word, if it has one: alike for definitions and what is looked up in them."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def is_content(word: str) -> bool:
    """Whether a word in a definition may be a noun that tells which verb it defines."""
    return word not in _EMPTY and not word.endswith(("ing", "ly"))


def canonical(words: Sequence[str]) -> list[str]:
    """Leave out what differs between a definition and its use: "put one's lips onto" is put, on, lip."""
    kept = [EQUAL_PREPOSITIONS.get(word, word) for word in words[1:] if word not in _SKIPPED]
    kept = [singular(word) for word in kept if not word.endswith("ly")]
    # A preposition at the end waits for its object, which is not part of the expression.
    while len(kept) > 1 and kept[-1] in text.PREPOSITIONS:
        kept.pop()
    return [words[0], *kept]


def defined_by(words: Sequence[str]) -> list[Sense]:
    """Find the verb senses whose definition a predicate is, in any form of its verb; then those that share a noun."""
    phrases = [" ".join(canonical([base, *words[1:]])) for base in bases(words[0], "verb")]
    reasons = {phrase: f'definition "{phrase}"' for phrase in phrases if " " in phrase}
    store = lexicon()
    for word, after in pairwise([*words[1:], ""]):
        describes = after and after not in _EMPTY and store.adjective_first(word)  # "a good brushing"
        if is_content(word) and not describes:
            reasons[singular(word)] = f'"{word}" in its definition'
    return [Sense(s, store.lemmas(s)[0], why) for phrase, why in reasons.items() for s in store.defined(phrase)]
