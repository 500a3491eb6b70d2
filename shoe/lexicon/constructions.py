"""Constructions: meanings of a verb with its preposition or noun, as "stepping off" (leave) or "drying with" (use).

Each row of ``data/constructions.tsv`` defines a construction by its verbs, nouns and prepositions; a predicate must
match all three columns. A verb is a lemma, a verb sense (matches its hyponyms), or a noun sense (matches verbs of
motion derived from such nouns: "skateboard"). A noun is a sense and matches its hyponyms. A preposition is a word or a
spatial relation ("on" for "on top of"). "*" matches anything, also a missing word.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.lexicon import text
from shoe.lexicon.expressions import WEIGHTS, Sense, bases
from shoe.lexicon.store import lexicon, per_lexicon

# Spatial relations: agreement between the preposition of a verb and that of a class.


def preposition_weights(classes: Sequence[str], verbs: Sequence[str]) -> Floats:
    """Return the (C, W) agreement 0..1 of the spatial prepositions in C class verbs with those in W predicted verbs.

    For example, "standing near" agrees by 0.5 with stand_under. Agreement is 1 if a verb has no spatial preposition, or
    preposition_pairs.tsv does not list the pair. Of several alternatives in a predicted verb, the best one counts.
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
    """Return a (C,) mask of class verbs whose last word is "with" (cut_with); their object is taken to be a tool."""
    return np.array([text.tokens(label)[-1:] == ["with"] for label in classes], bool)


@lru_cache(maxsize=10_000)
def relation(verb: str) -> str:
    """Return the first spatial relation in a verb phrase, as a preposition: "on" for "sitting on top of"; else ""."""
    words, relations = text.tokens(text.plain(verb[: text.LONGEST_LABEL])), _relations()
    spans = ("_".join(words[start : start + size]) for start in range(1, len(words)) for size in (3, 2, 1))
    return next((relations[span] for span in spans if relations.get(span)), "")


SPATIAL = frozenset(["on", "in", "under", "at", "near"])
"""Spatial relations, each named by its most common preposition."""


@cache
def _relations() -> dict[str, str]:
    return {word: relation for relation, words in text.table_rows("prepositions.tsv") for word in words.split()}


@cache
def _weights() -> dict[frozenset[str], float]:
    return {frozenset(pair): float(weight) for *pair, weight, _ in text.table_rows("preposition_pairs.tsv")}


_NOUN_SENSES = 3  # only the first count: almost any noun could be a tool in a rare sense


def constructions(words: Sequence[str]) -> list[Sense]:
    """Return the senses that a table of constructions (verb, noun, preposition) gives for a predicate.

    ``words`` are the lower-case words of the predicate. If the first word is a preposition, the verb is "be".
    """
    if not words:
        return []
    if words[0] in text.PREPOSITIONS:
        words = ["be", *words]
    place = relation(" ".join(words))
    after = {place, *(word for word in words[1:] if word not in SPATIAL)}
    return [
        sense
        for verbs, nouns, prepositions, senses in _constructions()
        if prepositions == ["*"] or after.intersection(prepositions)
        if verbs == ["*"] or any(_is_verb(words[0], verb) for verb in verbs)
        if nouns == ["*"] or any(is_kind(word, noun) for word in words[1:] for noun in nouns)
        for sense in senses
    ]


def _is_verb(word: str, verb: str) -> bool:
    """Return whether a word matches a verb of a construction.

    ``verb`` is a lemma (the word is a form of it), a verb sense (the word's first sense is equal or a hyponym), or a
    noun sense (the word is a verb of motion with a lemma that is such a noun).
    """
    lemmas, store = bases(word, "verb"), lexicon()
    if "." not in verb:
        return verb in lemmas
    first = [store.senses(lemma, "v").tolist()[0] for lemma in lemmas]
    if ".v." in verb:
        return any(store.synset(verb) in with_ancestors(sense) for sense in first)
    moving = [sense for sense in first if store.lexname(sense) == "verb.motion"]
    return any(is_kind(lemma, verb) for sense in moving for lemma in store.lemmas(sense))


def is_kind(word: str, noun: str) -> bool:
    """Return whether one of the first three senses of the noun ``word`` is the sense ``noun`` or a hyponym of it."""
    store = lexicon()
    found = [store.senses(base, "n").tolist()[:_NOUN_SENSES] for base in bases(word, "object")]
    return any(store.synset(noun) in with_ancestors(sense) for senses in found for sense in senses)


def are_alike(thing: str, other: str) -> bool:
    """Return whether the noun ``thing`` may denote what ``other`` does: it is unknown, a synonym or more general."""
    store = lexicon()
    found = (bases(word.replace(" ", "_"), "object") or bases(word.split()[-1], "object") for word in (thing, other))
    a, b = ({sense for base in each for sense in store.senses(base, "n").tolist()} for each in found)
    wide = a.union(*(store.hypernyms(sense).tolist() for sense in a))
    return not a or any(not wide.isdisjoint(with_ancestors(sense)) for sense in b)


@per_lexicon(10_000)
def with_ancestors(sense: int) -> frozenset[int]:
    """Return a sense and all its direct and indirect hypernyms; no path in WordNet 3.0 has more than 19 steps."""
    return frozenset([sense]).union(*map(with_ancestors, lexicon().hypernyms(sense).tolist()))


@per_lexicon(None)
def _constructions() -> list[tuple[list[str], list[str], list[str], list[Sense]]]:
    """Return the verbs, nouns, prepositions and resulting senses of each construction in the table."""
    synset, found = lexicon().synset, []
    for verbs, nouns, prepositions, names, how, why in text.table_rows("constructions.tsv"):
        senses = [Sense(synset(name), name.partition(".")[0], why, WEIGHTS[how], own=False) for name in names.split()]
        known = [sense for sense in senses if sense.synset >= 0]
        found.append((verbs.split(), nouns.split(), prepositions.split(), known))
    return found
