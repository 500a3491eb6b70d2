"""Definitions and sense keys of WordNet 3.0's noun and verb synsets; ``scripts/build-lexicon`` writes their file."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import OptionError, quote
from shoe.lexicon.store import lexicon, wordnet

FILE = Path(__file__).parent / "data" / "wordnet_texts.npz"


def glosses(names: list[str]) -> dict[str, str]:
    """Return {name: definition} of synsets of the active lexicon, without examples.

    If the active lexicon is not WordNet and has no definition for a synset, the value is "".

    Args:
        names: names of noun and verb synsets, such as "ride.v.01"; an unknown name raises OptionError.
    """
    store = lexicon()
    for name in names:
        if store.synset(name) < 0:
            raise OptionError(f"{quote(name)} is not a sense of {store.title}, such as {store.example()}")
    if not store.is_wordnet:
        return {name: store.gloss(store.synset(name)) or "" for name in names}
    return {name: _definitions()[store.synset(name)] for name in names}


@cache
def sense_keys() -> dict[str, int]:
    """Return {sense key: synset ID} of WordNet ("ride%2:38:00::": lemma, part of speech, file number, lexical ID)."""
    base, lexical = wordnet(), _array("lexical_id").tolist()
    files = base.arrays["lexname"].tolist()
    members = ((lemma, synset) for synset in range(len(base)) for lemma in base.lemmas(synset))
    return {
        f"{lemma}%{1 if synset < base.nouns else 2}:{files[synset]:02}:{number:02}::": synset
        for (lemma, synset), number in zip(members, lexical, strict=True)
    }


@cache
def _definitions() -> list[str]:
    return _array("gloss").tobytes().decode().split("\n")


def _array(name: str) -> NDArray[Any]:
    with np.load(FILE) as file:
        return np.asarray(file[name])
