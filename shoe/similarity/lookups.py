"""The pairs of senses behind the cells of a similarity table: which a word needs, and which of them nobody rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import expand
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.similarity.base import Similarity

Synsets = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Lookups:
    """C class senses against W words, whose senses are S in all.

    Attributes:
        part: "verb" or "object".
        class_synsets: C names; "" for no_interaction, which no pair is about.
        synsets: (S,) ids of the senses, ascending.
        senses: places among ``synsets`` of each word's senses, word after word, in the order of preference.
        first, count: (W,) where a word's senses begin in ``senses``, and how many there are.
        unrated: (C, S) pairs that nobody rated.
    """

    part: Part
    class_synsets: tuple[str, ...]
    synsets: Synsets
    senses: Indices
    first: Indices
    count: Indices
    unrated: Mask

    @classmethod
    def of(
        cls,
        similarity: Similarity,
        part: Part,
        class_synsets: Sequence[str],
        words: Sequence[str],
        *,
        object_words: str = "phrase-first",
        sense: str = "max",
    ) -> Lookups:
        """List what a table looks up; the options are those of :func:`shoe.similarity.similarity_table`."""
        most = 1 if sense == "first" else None
        resolved = [
            [c.synset for c in resolve(word, part, cast(ObjectWords, object_words)).candidates[:most]] for word in words
        ]
        synsets = np.array(sorted({s for senses in resolved for s in senses}), np.int32)
        count = np.array([len(senses) for senses in resolved], np.int64)
        unrated = np.isnan(similarity.values(part, class_synsets, synsets))
        unrated[[name == "" for name in class_synsets]] = False
        return cls(
            part=part,
            class_synsets=tuple(class_synsets),
            synsets=synsets,
            senses=np.searchsorted(synsets, np.array([s for senses in resolved for s in senses], np.int32)),
            first=np.cumsum(count) - count,
            count=count,
            unrated=unrated,
        )

    def pairs(self, row: Indices, word: Indices) -> tuple[Indices, Indices, Indices]:
        """The unrated pairs of some cells.

        Args:
            row: (n,) class sense of each cell.
            word: (n,) its word.

        Returns:
            (m,) cell of each pair, 0 to n - 1, (m,) its class sense and (m,) its other sense, among ``synsets``.
        """
        cell, place = expand(self.first[word], self.count[word])
        sense = self.senses[place]
        unrated = self.unrated[row[cell], sense]
        return cell[unrated], row[cell[unrated]], sense[unrated]

    def highest(self, values: Floats) -> Floats:
        """(C, W) highest of (C, S) values among each word's senses; 0 for a word without a sense."""
        found = np.zeros((len(self.class_synsets), len(self.count)))
        words = np.flatnonzero(self.count)
        if len(words):
            found[:, words] = np.maximum.reduceat(values[:, self.senses], self.first[words], axis=1)
        return found
