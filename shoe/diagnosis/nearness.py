"""How near a wrong word is to the right one: the same meaning, a broader one, a sister, the opposite, or none of these.

The relations are WordNet's between two senses; the similarity has its say where it calls two words alike, or finds
near what WordNet does not connect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import lexicon
from shoe.similarity.table import Basis, SimilarityTable

Senses = NDArray[np.int32]

NEAR_FROM = 0.5
"""Similarity from which a word without a relation counts as near: half of the scale, "partly similar" to raters."""

_OPPOSITES = Path(__file__).parent / "data" / "antonyms.tsv"
_PLACES = 1 << 32


class Nearness(IntEnum):
    """What a predicted word is to a class's word; of several that hold, the first."""

    SAME = 0
    """The same word or sense, or a similarity of 1."""
    MORE_GENERAL = 1
    """Its sense is a hypernym of the class's, any number of steps up: "vehicle", and "thing", for car."""
    MORE_SPECIFIC = 2
    """Its sense is a hyponym of the class's, any number of steps down: "taxi" for car."""
    OPPOSITE = 3
    """WordNet calls the two senses antonyms: "close" for open."""
    SIBLING = 4
    """Both senses have a direct hypernym in common: "truck" for car."""
    NEAR = 5
    """None of these, but the similarity is at least 0.5."""
    UNRELATED = 6
    """None of these. Also no_interaction and any other verb: they are unlike by rule."""
    UNRESOLVED = 7
    """WordNet does not have the word."""

    @property
    def label(self) -> str:
        """The name in figures and files, as "more_general"."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, eq=False)
class WordNearness:
    """C classes against W words.

    Attributes:
        code: (C, W) int8 ``Nearness``.
        sense: (C, W) int32 the word's sense that it holds for; -1 where no sense was looked at.
    """

    code: NDArray[np.int8]
    sense: Senses


def word_nearness(
    table: SimilarityTable,
    part: Part,
    class_synsets: Sequence[str],
    words: Sequence[str],
    object_words: str = "phrase-first",
) -> WordNearness:
    """Say how near each word is to each class.

    A word means what its similarity rests on: the sense of the highest value for a class, be it 0. Only a word without
    any such sense, for which nobody rated one, gets the best relation that any of its senses has.

    Args:
        table: similarities of the same classes and words.
        part: "verb" or "object".
        class_synsets: C names of the classes' senses; "" for no_interaction, which has none.
        words: W predicted words.
        object_words: as for the table (:func:`shoe.lexicon.resolve.resolve`).
    """
    candidates = [resolve(word, part, cast(ObjectWords, object_words)).candidates for word in words]
    counts = np.array([len(senses) for senses in candidates], np.int64)
    of_word = np.array([c.synset for senses in candidates for c in senses], np.int32)
    synsets = np.array(sorted(set(of_word.tolist())), np.int32)
    classes = lexicon().ids_of(class_synsets)
    related = relations(classes, synsets)

    code = np.full(table.values.shape, Nearness.UNRELATED, np.int8)
    sense = np.full(code.shape, -1, np.int32)
    known = np.flatnonzero(counts)
    if len(known):
        # The place among all senses goes along with the relation, so that of equal relations the first sense wins.
        keyed = related[:, np.searchsorted(synsets, of_word)] * np.int64(_PLACES) + np.arange(len(of_word))
        best = np.minimum.reduceat(keyed, (np.cumsum(counts) - counts)[known], axis=1)
        code[:, known], sense[:, known] = best // _PLACES, of_word[best % _PLACES]
        row, word = np.nonzero(table.sense >= 0)
        sense[row, word] = table.sense[row, word]
        code[row, word] = related[row, np.searchsorted(synsets, sense[row, word])]
    code[table.values == 1] = Nearness.SAME
    code[(code == Nearness.UNRELATED) & (table.values >= NEAR_FROM)] = Nearness.NEAR
    code[table.basis == Basis.UNRESOLVED] = Nearness.UNRESOLVED
    return WordNearness(code, sense)


def relations(classes: Senses, synsets: Senses) -> NDArray[np.int8]:
    """Relate senses by WordNet alone.

    Args:
        classes: (C,) senses of classes; -1 for one without.
        synsets: (S,) predicted senses.

    Returns:
        (C, S) ``Nearness`` of each predicted sense to each class's; UNRELATED where WordNet does not connect them.
    """
    found = np.full((len(classes), len(synsets)), Nearness.UNRELATED, np.int8)
    parents, parent = _listed(_direct(s) for s in synsets.tolist())
    ancestors, ancestor = _listed(_above(s) for s in synsets.tolist())
    for row, sense in zip(found, classes.tolist(), strict=True):
        if sense < 0:
            continue
        row[parents[_one_of(parent, _direct(sense))]] = Nearness.SIBLING
        row[_one_of(synsets, _opposites().get(sense, frozenset()))] = Nearness.OPPOSITE
        row[ancestors[ancestor == sense]] = Nearness.MORE_SPECIFIC
        row[_one_of(synsets, _above(sense))] = Nearness.MORE_GENERAL
        row[synsets == sense] = Nearness.SAME
    return found


def _listed(sets: Iterable[frozenset[int]]) -> tuple[NDArray[np.int64], Senses]:
    """All members of some sets: which set each is in, and the member."""
    members = list(sets)
    owner = np.repeat(np.arange(len(members)), [len(each) for each in members])
    return owner, np.array([sense for each in members for sense in each], np.int32)


def _one_of(senses: Senses, wanted: frozenset[int]) -> Mask:
    return np.isin(senses, np.array(list(wanted), np.int32))


@cache
def _direct(sense: int) -> frozenset[int]:
    return frozenset(lexicon().hypernyms(sense).tolist())


@cache
def _above(sense: int) -> frozenset[int]:
    """All hypernyms, however far; no way up in WordNet 3.0 has more than 19 steps."""
    direct = _direct(sense)
    return direct.union(*(_above(parent) for parent in direct))


@cache
def _opposites() -> dict[int, frozenset[int]]:
    """WordNet's antonyms, both ways; ``scripts/build-antonyms`` writes the file."""
    found: dict[int, set[int]] = {}
    for line in _OPPOSITES.read_text("utf-8").splitlines()[1:]:
        one, other = (lexicon().synset(name) for name in line.split("\t"))
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {sense: frozenset(others) for sense, others in found.items()}
