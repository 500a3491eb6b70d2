"""Unrated pairs of senses of a map, and maps with imputed values for these pairs.

Unrated pairs at 0 and at 1 give the lowest and the highest scores that further ratings could produce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, Mask, expand
from shoe.lexicon.senses import Part
from shoe.lexicon.store import per_lexicon
from shoe.similarity.table import Similarity, word_senses
from shoe.similarity.whole_interactions import WholeRatings
from shoe.similarity.wordnet import wordnet_values

BINS = 10
_SCEPTICS = 5  # prior ratings per bin, equal to WordNet's value, added to the real ratings


@dataclass(frozen=True, slots=True, eq=False)
class SenseLookups:
    """Pairs of C class senses and the S senses of W predicted words, and which of the pairs are unrated."""

    part: Part
    class_senses: Ints  # (C,) IDs of the class senses; -1 for no_interaction, which has no pairs
    synsets: Ints  # (S,) IDs of the senses, ascending
    senses: Indices  # (N,) indices into ``synsets``: of the first word, best first, then those of the next word
    weights: Floats  # (N,) weight 0..1 of each sense in ``senses``
    first: Indices  # (W,) position in ``senses`` at which the senses of each word start
    count: Indices  # (W,) number of senses of each word
    unrated: Mask  # (C, S) mask of unrated pairs

    @classmethod
    def from_vocabulary(
        cls,
        similarity: Similarity,
        part: Part,
        class_senses: Ints,
        words: Sequence[str],
        options: SemanticOptions,
        labels: Sequence[str],
    ) -> SenseLookups:
        """Return the pairs that :func:`shoe.similarity.similarity_table` looks up for the same arguments."""
        most = 1 if options.sense == "first" else None
        synsets, senses, weights, first, count = word_senses(part, words, options, labels, most)
        unrated = np.isnan(similarity.values(part, class_senses, synsets)) & (class_senses >= 0)[:, None]
        return cls(part, class_senses, synsets, senses, weights, first, count, unrated)

    def pairs(self, row: Indices, word: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the m unrated pairs of senses that n comparisons of a class sense with a word look up.

        ``row`` and ``word`` are the (n,) indices of class sense and word in each comparison. Each pair is given as (m,)
        index of the comparison, (m,) index in ``class_senses`` and (m,) index in ``synsets``.
        """
        cell, index = expand(self.first[word], self.count[word])
        sense, unrated = self.senses[index], self.unrated[row[cell], self.senses[index]]
        return cell[unrated], row[cell[unrated]], sense[unrated]

    def highest(self, values: Floats) -> Floats:
        """Return the (C, W) highest weighted value over each word's senses; 0 for a word without senses.

        ``values`` are (C, S) values of class senses and ``synsets``; they are multiplied by ``weights``.
        """
        found = np.zeros((len(self.class_senses), len(self.count)))
        words = np.flatnonzero(self.count)
        if len(words):
            found[:, words] = np.maximum.reduceat(values[:, self.senses] * self.weights, self.first[words], axis=1)
        return found


class ImputedBase(Similarity):
    """Base class of similarities that add values for the unrated pairs of a ``source`` map."""

    source: Similarity

    @property
    def digest(self) -> str:
        """Digest of the similarity map ``source``; it does not depend on imputed values."""
        return self.source.digest

    @property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Rated pairs of whole interactions in ``source``, and their (m,) values 0..1; None without such pairs."""
        return self.source.whole


@dataclass(frozen=True, slots=True)
class ImputedSimilarity(ImputedBase):
    """Similarity map with imputed values for unrated pairs.

    The imputed value is either a constant or a cautious value, which few unrated pairs are expected to exceed. For
    cautious values, pairs are grouped into ten bins by Wu-Palmer similarity. The cautious value is the 95 % quantile of
    the rated values in the bin of the pair, or the quantile of a lower bin if that is higher.
    """

    source: Similarity  # map whose unrated pairs get values
    classes: frozenset[int]  # IDs of the class senses whose unrated pairs get values
    value: float | None  # constant value 0..1; None for cautious values
    name: str = "imputed"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return (C, S) rated or imputed values 0..1; NaN for unrated pairs of a class that is not in ``classes``."""
        found = self.source.values(part, class_senses, senses)
        unrated = np.isnan(found) & np.isin(class_senses, list(self.classes))[:, None]
        if self.value is not None:
            found[unrated] = self.value
        elif unrated.any():
            bins = bins_of(part, class_senses, senses)
            rated = ~np.isnan(found) & (bins >= 0)
            found[unrated] = _cautious(found[rated], bins[rated])[bins[unrated]]
        return found


def bins_of(part: Part, class_senses: Ints, senses: Ints) -> Indices:
    """Return (C, S) bins 0..9 of Wu-Palmer similarity, each 0.1 wide; -1 for a sense with itself, or no_interaction."""
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
    # 95 % quantile of the ratings 0..1 in each bin, with prior ratings at the centre of the bin.
    of_bin = (np.append(ratings[bins == b], np.full(_SCEPTICS, (b + 0.5) / BINS)) for b in range(BINS))
    return np.maximum.accumulate([np.quantile(values, 0.95) for values in of_bin])
