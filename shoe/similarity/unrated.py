"""The pairs of senses that a map leaves unrated, and the map with assumed ratings for them.

All unrated pairs at 0 and all at 1 give the lowest and the highest values that further ratings could bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, Mask, expand
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import per_lexicon
from shoe.similarity.table import Similarity, word_senses
from shoe.similarity.whole_interactions import WholeRatings
from shoe.similarity.wordnet import wordnet_values

BINS = 10
_CAUTION = 0.95
_SCEPTICS = 5
"""Made-up ratings a bin, equal to WordNet's value: what is believed before there are real ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookups:
    """C class senses against W words, whose senses are S in all.

    Attributes:
        part: "verb" or "object".
        class_senses: (C,) ids; -1 for no_interaction, which no pair is about.
        synsets: (S,) ids of the senses, ascending.
        senses: indices into ``synsets`` of each word's senses, word after word, in the order of preference.
        weights: how much each of these counts, 0..1.
        first, count: (W,) where a word's senses begin in ``senses``, and how many there are.
        unrated: (C, S) pairs that nobody rated.
    """

    part: Part
    class_senses: Ints
    synsets: Ints
    senses: Indices
    weights: Floats
    first: Indices
    count: Indices
    unrated: Mask

    @classmethod
    def of(
        cls, similarity: Similarity, part: Part, class_senses: Ints, words: Sequence[str], options: SemanticOptions
    ) -> Lookups:
        """List what a table looks up; the arguments are those of :func:`shoe.similarity.similarity_table`."""
        most = 1 if options.sense == "first" else None
        synsets, senses, weights, first, count = word_senses(part, words, options, most)
        unrated = np.isnan(similarity.values(part, class_senses, synsets)) & (class_senses >= 0)[:, None]
        return cls(part, class_senses, synsets, senses, weights, first, count, unrated)

    def pairs(self, row: Indices, word: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the unrated pairs of n cells, of the class senses of some rows and some words.

        Returns:
            (m,) cell of each pair, 0 to n - 1, and (m,) indices of its class sense and of its other sense.
        """
        cell, index = expand(self.first[word], self.count[word])
        sense = self.senses[index]
        unrated = self.unrated[row[cell], sense]
        return cell[unrated], row[cell[unrated]], sense[unrated]

    def highest(self, values: Floats) -> Floats:
        """Return (C, W) highest of (C, S) values among each word's senses; 0 for a word without a sense."""
        found = np.zeros((len(self.class_senses), len(self.count)))
        words = np.flatnonzero(self.count)
        if len(words):
            found[:, words] = np.maximum.reduceat(values[:, self.senses] * self.weights, self.first[words], axis=1)
        return found


class Filled(Similarity):
    """A map with a value for all unrated pairs; its digest is the map's."""

    source: Similarity

    @property
    def digest(self) -> str:
        """The map's digest; no signature is made with assumed values."""
        return self.source.digest

    @property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Whole interactions of the map."""
        return self.source.whole


@dataclass(frozen=True, slots=True)
class Imputed(Filled):
    """A map whose unrated pairs have an imputed value.

    The cautious value is one that few of them will exceed. Pairs with about the same Wu-Palmer similarity (by tenths)
    form a bin. The cautious value is the 95 % quantile of a bin's ratings, and at least that of the bin below: a
    measured expectation, not a bound.

    Attributes:
        classes: ids of the class senses whose pairs are imputed.
        value: 0..1, for all of them; None for the cautious value.
    """

    source: Similarity
    classes: frozenset[int]
    value: float | None
    name: str = "imputed"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        found = self.source.values(part, class_senses, senses)
        of_class = np.array([sense in self.classes for sense in class_senses.tolist()], bool)
        unrated = np.isnan(found) & of_class[:, None]
        if self.value is not None:
            found[unrated] = self.value
        elif unrated.any():
            bins = bins_of(part, class_senses, senses)
            rated = ~np.isnan(found) & (bins >= 0)
            found[unrated] = _cautious(found[rated], bins[rated])[bins[unrated]]
        return found


def bins_of(part: Part, class_senses: Ints, senses: Ints) -> Indices:
    """Return (C, S) tenth of the Wu-Palmer similarity of each pair; -1 for a sense with itself, or with none."""
    return _bins_of(part, class_senses.astype(np.int32).tobytes(), senses.astype(np.int32).tobytes())


@per_lexicon(8)  # verbs and objects are asked for again in every round of completing a map
def _bins_of(part: Part, class_senses: bytes, senses: bytes) -> Indices:
    classes, others = np.frombuffer(class_senses, np.int32), np.frombuffer(senses, np.int32)
    similar = wordnet_values("wup", part, classes, others)
    bins: Indices = np.minimum(np.nan_to_num(similar) * BINS, BINS - 1).astype(np.int64)
    bins[(classes[:, None] == others) | np.isnan(similar)] = -1
    bins.flags.writeable = False
    return bins


def _cautious(ratings: Floats, bins: Indices) -> Floats:
    """Return (bins,) the 95 % quantile of each bin's ratings, made non-decreasing over the bins."""
    believed = (np.arange(BINS) + 0.5) / BINS
    of_bin = (np.concatenate([ratings[bins == b], np.full(_SCEPTICS, believed[b])]) for b in range(BINS))
    return np.maximum.accumulate(np.array([np.quantile(values, _CAUTION) for values in of_bin]))
