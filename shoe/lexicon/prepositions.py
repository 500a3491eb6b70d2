"""Where an interaction takes place: how far the preposition of a verb says what that of a class says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.lexicon import text


def preposition_weights(classes: Sequence[str], verbs: Sequence[str]) -> Floats:
    """Compare the spatial relations in verbs: "standing near" says half of what stand_under says.

    Args:
        classes: C labels of verbs.
        verbs: W predicted verbs; of alternatives the closest counts.

    Returns:
        (C, W) weights 0..1; 1 where either has no spatial preposition.
    """
    of_class = [relation(label) for label in classes]
    weights = np.ones((len(classes), len(verbs)))
    if any(of_class):
        said = [[relation(reading) for reading in text.alternatives(verb)] for verb in verbs]
        for w in (w for w, relations in enumerate(said) if all(relations)):
            for c in (c for c, own in enumerate(of_class) if own):
                weights[c, w] = max(_weights().get(frozenset((of_class[c], other)), 1) for other in said[w])
    return weights


def done_with(classes: Sequence[str]) -> Mask:
    """(C,) whether a class is to do something with its object, as cut_with is: to use it says most of that."""
    return np.array([text.tokens(label)[-1:] == ["with"] for label in classes], bool)


@lru_cache(maxsize=10_000)
def relation(verb: str) -> str:
    """The first spatial relation that the words after a verb name: "on" of "sitting on top of", "" for none."""
    words, relations = text.tokens(text.plain(verb[: text.LONGEST_LABEL])), _relations()
    for start in range(1, len(words)):
        for end in (start + 3, start + 2, start + 1):
            found = relations.get("_".join(words[start:end]))
            if found:
                return found
    return ""


SPATIAL = frozenset(["on", "in", "under", "at", "near"])
"""The spatial relations, by the word that says it most plainly."""


@cache
def _relations() -> dict[str, str]:
    return {word: relation for relation, words in text.table_rows("prepositions.tsv") for word in words.split()}


@cache
def _weights() -> dict[frozenset[str], float]:
    rows = text.table_rows("preposition_pairs.tsv")
    return {frozenset((one, other)): float(weight) for one, other, weight, _ in rows}
