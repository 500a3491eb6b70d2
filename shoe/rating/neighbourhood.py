"""What a class's sense is compared with: for an object, senses near it; for a verb, what a person can be seen doing.

**Objects.** One step goes from a sense to a hypernym or a hyponym; two steps reach siblings. The default, four, gives
HICO-DET's 80 objects 40,040 pairs, as the paper has 40K. Left out are the lexicographer files of what cannot be seen
and pointed at (``INVISIBLE``). Named individuals stay, below the class that they are instances of.

**Verbs.** The paper does not list its about 7,150 "HOI-relevant" verb senses. Here they follow from WordNet 3.0 by a
rule of three clauses, which gives 7,172 of its 13,767 verb senses for HICO-DET:

1. All of the lexicographer files whose verbs are movements of a body, or of a thing by one: verb.body,
   verb.consumption, verb.contact, verb.motion.
2. Of the files that mix visible actions with others, the senses that WordNet's tagged texts use (tag count above 0):
   verb.change (cook and cut, but also evolve), verb.competition (play and fence, but also default), verb.creation
   (paint, but also formulate), verb.perception (watch, but also hallucinate), verb.possession (give, but also inherit).
3. Whatever its file, a sense at most two steps of hypernymy from a class's own sense: the class itself, what it is a
   manner of, its own manners, and its siblings. This brings in "sign", "read" and "teach" with what is like them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.ragged import distinct, expand
from shoe.lexicon.store import lexicon, per_lexicon

Synsets = NDArray[np.int32]
STEPS = 4
VERB_STEPS = 2

_INVISIBLE = "act attribute cognition event feeling motive phenomenon process quantity relation state time"
INVISIBLE = frozenset(f"noun.{file}" for file in _INVISIBLE.split())
"""Lexicographer files without things that a picture can show; communication has signs, possession has money."""

BODILY = frozenset({"verb.body", "verb.consumption", "verb.contact", "verb.motion"})
MIXED = frozenset({"verb.change", "verb.competition", "verb.creation", "verb.perception", "verb.possession"})


def object_neighbours(classes: Synsets, steps: int = STEPS) -> tuple[Indices, Synsets]:
    """Find what each of C object classes is compared with: what is near it and visible, and all other classes.

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


def verb_vocabulary(classes: Synsets) -> Synsets:
    """List the verb senses that a dataset's verb classes are compared with, the classes' own among them, ascending.

    All of a lexicon that is not WordNet, which has verbs for one domain.
    """
    words = lexicon()
    verbs = range(words.nouns, len(words))
    if not words.is_wordnet:
        return np.array(verbs, np.int32)

    def is_in_texts(verb: int) -> bool:
        """Whether WordNet's tagged texts use the sense, by any of its lemmas."""
        return any(words.tag_count(lemma, "v")[words.senses(lemma, "v") == verb].any() for lemma in words.lemmas(verb))

    chosen = [
        verb for verb in verbs if (file := words.lexname(verb)) in BODILY or (file in MIXED and is_in_texts(verb))
    ]
    _, near = within(classes, VERB_STEPS)
    return distinct(np.concatenate([np.array(chosen, np.int64), near])).astype(np.int32)


def within(synsets: Synsets, steps: int) -> tuple[Indices, Synsets]:
    """Find all senses that are at most some steps up or down from S others, each way in any order.

    Returns:
        (n,) row of ``synsets``, ascending, and (n,) a sense near it; the sense itself is among them.
    """
    first, neighbour = _links()
    found = frontier = distinct(_joined(np.arange(len(synsets)), synsets))
    for _ in range(steps):
        owner, synset = _split(frontier)
        step, index = expand(first[synset], first[synset + 1] - first[synset])
        reached = distinct(_joined(owner[step], neighbour[index]))
        frontier = reached[~np.isin(reached, found, assume_unique=True)]
        found = np.sort(np.concatenate([found, frontier]))
    return _split(found)


@per_lexicon(None)
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
