"""Constructions: meanings of a verb with its preposition or noun, as "stepping off" (leave) or "drying with" (use).

Each row of ``data/constructions.tsv`` is one; all of its parts must be present. Verbs are lemmas, senses of which the
verb is a kind, or senses of nouns that verbs of motion are named for ("skateboard"). Nouns are senses of which one of
the words is a kind. Prepositions are words, or spatial relations ("on" of "on top of"). "*" stands for any or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.lexicon import text
from shoe.lexicon.expressions import WEIGHTS, Sense, bases
from shoe.lexicon.store import lexicon, per_lexicon

# Where an interaction takes place: how far the preposition of a verb says what that of a class says.


def preposition_weights(classes: Sequence[str], verbs: Sequence[str]) -> Floats:
    """Compare the spatial relations of classes and verbs: "standing near" has half the meaning of stand_under.

    Args:
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
    """Return (C,) whether a class uses its object as a tool, as cut_with does."""
    return np.array([text.tokens(label)[-1:] == ["with"] for label in classes], bool)


@lru_cache(maxsize=10_000)
def relation(verb: str) -> str:
    """Return the first spatial relation after a verb: "on" for "sitting on top of", "" for none."""
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


# Of a noun only the first senses tell what it is: every other word could be a tool in one of them.
_NOUN_SENSES = 3


class _Construction(NamedTuple):
    verbs: list[str]
    nouns: list[str]
    prepositions: list[str]
    senses: list[Sense]


def constructions(words: Sequence[str]) -> list[Sense]:
    """Find the constructions of a predicate in lower case; one that begins with a preposition has the verb "be"."""
    if not words:
        return []
    if words[0] in text.PREPOSITIONS:
        words = ["be", *words]
    place = relation(" ".join(words))
    after = {place, *(word for word in words[1:] if word not in SPATIAL)}
    return [
        sense
        for one in _constructions()
        if one.prepositions == ["*"] or after.intersection(one.prepositions)
        if one.verbs == ["*"] or any(_is_verb(words[0], verb) for verb in one.verbs)
        if one.nouns == ["*"] or any(is_kind(word, noun) for word in words[1:] for noun in one.nouns)
        for sense in one.senses
    ]


def _is_verb(word: str, verb: str) -> bool:
    """Return whether a word is a form of a verb, a kind of it in its first sense, or named for a noun's sense."""
    lemmas, store = bases(word, "verb"), lexicon()
    if "." not in verb:
        return verb in lemmas
    first = [store.senses(lemma, "v").tolist()[0] for lemma in lemmas]
    if ".v." in verb:
        return any(store.synset(verb) in _above(sense) for sense in first)
    moving = [sense for sense in first if store.lexname(sense) == "verb.motion"]
    return any(is_kind(lemma, verb) for sense in moving for lemma in store.lemmas(sense))


def is_kind(word: str, noun: str) -> bool:
    """Return whether one of a noun's first senses is a kind of a sense."""
    store = lexicon()
    found = [store.senses(base, "n").tolist()[:_NOUN_SENSES] for base in bases(word, "object")]
    return any(store.synset(noun) in _above(sense) for senses in found for sense in senses)


@per_lexicon(10_000)
def _above(sense: int) -> frozenset[int]:
    return frozenset([sense]).union(*map(_above, lexicon().hypernyms(sense).tolist()))


@per_lexicon(None)
def _constructions() -> list[_Construction]:
    synset, found = lexicon().synset, []
    for verbs, nouns, prepositions, names, how, why in text.table_rows("constructions.tsv"):
        senses = [Sense(synset(name), name.partition(".")[0], why, WEIGHTS[how]) for name in names.split()]
        known = [sense for sense in senses if sense.synset >= 0]
        found.append(_Construction(verbs.split(), nouns.split(), prepositions.split(), known))
    return found
