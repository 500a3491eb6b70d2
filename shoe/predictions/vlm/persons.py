"""Which words are words for a person, and which for a verb."""

from __future__ import annotations

from functools import lru_cache

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.store import by_wordnet, lexicon

_PERSONS = text.WORD_CLASSES["persons"] - {"it", "one", "they", "group", "couple", "crowd"}
_THINGS = frozenset(f"noun.{kind}" for kind in ("animal", "artifact", "food", "object", "plant"))
_ENDS = text.PREPOSITIONS | {"wearing", "who", "that", "holding", "sitting", "standing", ","}


@lru_cache(8192)
def is_person(label: str) -> bool:
    """Tell whether a label is a word for a person, by its head noun.

    >>> is_person("man in a red shirt"), is_person("Surfer"), is_person("bench")
    (True, True, False)
    """
    words = [word for word in text.tokens(text.plain(label[:200])) if not word.isdigit()]
    if len(words) > 1 and len(words[-1]) == 1:  # "person A", "player #7"
        words = words[:-1]
    head = next((i for i, word in enumerate(words) if i and word in _ENDS), len(words))
    return bool(words) and _names_person(words[head - 1])


@lru_cache(8192)
@by_wordnet
def _names_person(word: str) -> bool:
    if word in _PERSONS:
        return True
    store = lexicon()
    for base in store.base_forms(word, "n"):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) == "noun.person"
    return False


@lru_cache(8192)
@by_wordnet
def is_thing(label: str) -> bool:
    """Tell whether a label is first of all a word for something that can be held or seen: "wine glass"; not "data"."""
    words = text.tokens(text.plain(label[:200]))
    store = lexicon()
    names = ["_".join(words), words[-1]] if words else []
    for base in (base for name in names for base in store.base_forms(name, "n")):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) in _THINGS
    return False


@lru_cache(8192)
@by_wordnet
def can_be_verb(phrase: str) -> bool:
    """Tell whether a phrase begins like a verb: "riding", "sit on"; not "bench"."""
    words = text.tokens(text.plain(phrase[:200]))
    return bool(words) and (words[0].endswith("ing") or bool(bases(words[0], "verb")))


@lru_cache(8192)
def verb_likeness(phrase: str) -> float:
    """How much words look like a verb, and not like a noun: from -1 to 1."""
    words = text.tokens(text.plain(phrase[:200]))
    if text.says_no_interaction(words):
        return 1.0
    if not words or not can_be_verb(phrase):
        return -1.0
    if words[0].endswith("ing") or (len(words) > 1 and words[-1] in text.PREPOSITIONS):
        return 1.0
    return -0.5 if len(words) > 1 else 0.0 if _is_noun(words[0]) else 1.0


@by_wordnet
def _is_noun(word: str) -> bool:
    store = lexicon()
    return any(len(store.senses(base, "n")) for base in store.base_forms(word, "n"))
