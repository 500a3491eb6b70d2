"""How sure a model was, from the probabilities that are kept of its answer: policies by name, no model needed."""

from __future__ import annotations


def spells(text: str, word: str) -> bool:
    """Whether a token is a word, with whatever blanks; case counts for single letters alone."""
    bare = text.strip()
    return bare == word or (len(word) > 1 and bare.lower() == word.lower())
