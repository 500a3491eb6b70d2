"""Senses near others in WordNet's graph of hypernyms: what an object's class is compared with.

One step goes from a sense to a hypernym or to a hyponym; two steps reach siblings. The four steps that are the default
give HICO-DET's 80 objects 40,040 pairs; the paper says 40K of its "hypernym and hyponym neighbourhood" and not how far
it reaches. Of the pairs that the shipped map rates 2 or more, four steps find 77 %, of those that it rates 3 or more
91 %, of all above 0 56 %: slight likeness across the tree (bottle and backpack both hold things) is what they miss.

Left out are the lexicographer files of what cannot be seen and pointed at: acts, attributes, thoughts, events,
feelings, motives, phenomena, processes, quantities, relations, states, times. Named individuals stay, below the class
that they are instances of (santa_claus.n.01 is a person): who predicts one has seen that class.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.ragged import distinct, expand
from shoe.lexicon.store import lexicon
from shoe.rating.pairs import Synsets

STEPS = 4

INVISIBLE = frozenset(
    f"noun.{file}"
    for file in (
        *("act", "attribute", "cognition", "event", "feeling", "motive"),
        *("phenomenon", "process", "quantity", "relation", "state", "time"),
    )
)
"""Lexicographer files without things that a picture can show; communication has signs, possession has money."""


def object_neighbours(classes: Synsets, steps: int = STEPS) -> tuple[Indices, Synsets]:
    """Find what each object class is compared with: what is near it and visible, and all other classes.

    Args:
        classes: (C,) senses of the classes.
        steps: see the module.

    Returns:
        (n,) row of ``classes``, ascending, and (n,) a sense to compare it with; a class's own sense is among them.
    """
    owner, near = within(classes, steps)
    words = lexicon()
    visible = np.array([words.lexname(synset) not in INVISIBLE for synset in near.tolist()], bool)
    everyone = np.repeat(np.arange(len(classes)), len(classes))
    owner = np.concatenate([owner[visible], everyone])
    near = np.concatenate([near[visible], np.tile(classes, len(classes))])
    return _split(distinct(_joined(owner, near)))


def within(synsets: Synsets, steps: int) -> tuple[Indices, Synsets]:
    """Find all senses that are at most some steps up or down from others, each way in any order.

    Args:
        synsets: (S,) where to begin.
        steps: how far to go.

    Returns:
        (n,) row of ``synsets``, ascending, and (n,) a sense near it; the sense itself is among them.
    """
    first, neighbour = _links()
    found = frontier = distinct(_joined(np.arange(len(synsets)), synsets))
    for _ in range(steps):
        owner, synset = _split(frontier)
        step, place = expand(first[synset], first[synset + 1] - first[synset])
        reached = distinct(_joined(owner[step], neighbour[place]))
        frontier = reached[~np.isin(reached, found, assume_unique=True)]
        found = np.sort(np.concatenate([found, frontier]))
    return _split(found)


@cache
def _links() -> tuple[Indices, Synsets]:
    """Neighbours of every sense, hypernyms and hyponyms: those of sense s stand from first[s] to first[s + 1]."""
    words = lexicon()
    above = [words.hypernyms(synset) for synset in range(len(words))]
    lower = np.repeat(np.arange(len(words), dtype=np.int32), [len(hypernyms) for hypernyms in above])
    upper = np.concatenate(above).astype(np.int32)
    start, end = np.concatenate([lower, upper]), np.concatenate([upper, lower])
    order = np.argsort(start, kind="stable")
    return np.searchsorted(start[order], np.arange(len(words) + 1)), end[order]


def _joined(owner: Indices, synset: Synsets) -> Indices:
    """One number for a row and a sense."""
    return owner.astype(np.int64) * len(lexicon()) + synset


def _split(joined: Indices) -> tuple[Indices, Synsets]:
    owner, synset = np.divmod(joined, len(lexicon()))
    return owner, synset.astype(np.int32)
