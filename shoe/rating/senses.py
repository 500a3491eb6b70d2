"""Senses in words: what raters are told about a synset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.rating.questions import Sense


def describe(names: Sequence[str]) -> list[Sense]:
    """Return the words and definitions of synsets, by name.

    Raises:
        MissingExtraError: if WordNet's files are not there.
    """
    store, definitions = lexicon(), glosses(sorted(set(names)), "asking about synsets")
    lemmas = {
        name: tuple(lemma.replace("_", " ") for lemma in store.lemmas(store.synset(name))) for name in definitions
    }
    sense = {name: Sense(name, lemmas[name], gloss) for name, gloss in definitions.items()}
    return [sense[name] for name in names]


def describe_synsets(synsets: Iterable[int]) -> dict[int, Sense]:
    """Return the words and definitions of synsets, by number; as :func:`describe`."""
    numbers = sorted(set(synsets))
    return dict(zip(numbers, describe([lexicon().name(number) for number in numbers]), strict=True))
