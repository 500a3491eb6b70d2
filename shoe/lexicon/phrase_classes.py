"""Words whose part in a phrase is settled by themselves, and the letter of a word before its place is looked at."""

from __future__ import annotations

from functools import cache, lru_cache

from shoe.lexicon import text
from shoe.lexicon.phrase_words import is_expression, table, word_of

CONTRAST = frozenset(["but", "yet", "though"])
"""Words that join two adjectives as "and" does: "a small but fluffy dog"."""

FULL_STOP = "."
"""Stands between two sentences, as a word and as its letter."""

NOMINAL = frozenset("DNPJ")
"""Letters of words that a noun phrase may begin with."""

BEFORE_NOUNS = frozenset("DJO")
"""Letters of words that describe the noun after them: determiner, adjective, possessive."""

VERB_FORMS = frozenset("VGE")
"""Letters of verbs, -ing forms and participles."""


@cache
def closed_classes() -> dict[str, str]:
    """Words of closed classes to their letters; see :mod:`shoe.lexicon.phrase_tags`."""
    classes = text.WORD_CLASSES
    tags: dict[str, str] = {}
    for letter, words in (
        ("R", table("adverb").keys()),
        ("I", text.PREPOSITIONS | text.PARTICLES | table("preposition").keys()),
        ("D", text.DETERMINERS),
        ("S", (text.CONJUNCTIONS | table("subordinator").keys()) - {"then"}),
        ("W", {"who", "whom", "which", "that", "whose"}),
        ("C", {"and", "or"}),
        ("P", table("pronoun").keys()),
        ("H", classes["auxiliaries"] | {"'ve", "'ll", "'d"}),
        ("B", classes["be"] | {"'re", "'m", "'s"}),
        ("X", text.NEGATIONS | table("negation").keys()),
        ("T", {"to"}),
        ("K", {","}),
        (FULL_STOP, {FULL_STOP}),
    ):
        tags.update(dict.fromkeys(words, letter))
    return tags


@lru_cache(maxsize=20_000)
def is_adverb(word: str) -> bool:
    """Whether a word ends as adverbs do, and is neither a noun nor a verb form; "mid-swing" says when."""
    known = word_of(word)
    return word.startswith("mid-") or (len(word) > 3 and word.endswith("ly") and not known.forms and not known.noun)


def is_incorporated(words: list[str], i: int) -> bool:
    """Whether a word is a noun before an -ing form, and may be its object: "horse riding"."""
    following = word_of(words[i + 1]).forms if i + 1 < len(words) else ""
    known = word_of(words[i])
    return words[i] not in closed_classes() and known.noun and not known.person and "g" in following


def only_describes(word: str) -> bool:
    """Whether a word is an adjective, or unknown."""
    known = word_of(word) if word and word not in closed_classes() and not is_adverb(word) else None
    return known is not None and (known.adjective or not known.noun) and not known.forms


def coming(words: list[str], i: int) -> str:
    """Return the letter that a word has by itself, "" after the last; a noun's for what may be one."""
    return _coming(words[i], words[i + 1] if i + 1 < len(words) else "") if i < len(words) else ""


@lru_cache(maxsize=20_000)
def _coming(word: str, following: str) -> str:
    if word in CONTRAST and only_describes(following):
        return "C"
    tag = "D" if word == "her" else closed_classes().get(word)
    if tag or is_adverb(word):
        return tag or "R"
    known = word_of(word)
    if known.person:
        return "P"
    if "g" in known.forms:
        return "J" if following and is_expression((word, following), "object") else "G"
    if known.adjective:
        return "J"
    return "N" if known.noun or not known.forms else "V" if known.forms in ("b", "s", "bs") else "E"
