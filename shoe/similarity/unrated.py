"""What a map would say if the pairs that it leaves unrated were rated: one value for all, or a cautious guess.

A completion of a map gives every unrated pair of a class's sense some value 0..1. Ratings that exist stay, a sense is
always 1 to itself, and a word without a sense has no pairs. ``Filled`` at 0 and at 1 are the lowest and the highest
completion; every other one lies between them, pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Mask
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.similarity.base import Similarity
from shoe.similarity.wordnet import WordNetSimilarity

BINS = 10
_CAUTION = 0.95
_SCEPTICS = 5
"""Made-up ratings a bin, equal to WordNet's value: what is believed before there are real ones."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A similarity whose unrated pairs have one value; a :class:`~shoe.similarity.base.Similarity`.

    Attributes:
        source: a map.
        classes: ids of the class senses whose pairs a completion would rate.
        value: 0..1.
    """

    source: Similarity
    classes: frozenset[int]
    value: float

    @property
    def name(self) -> str:
        """The map's name."""
        return self.source.name

    @property
    def digest(self) -> str:
        """The map's digest: no signature is made of a completion."""
        return self.source.digest

    def values(self, part: Part, class_synsets: Sequence[str], synsets: NDArray[np.int32]) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.base.Similarity`."""
        found = self.source.values(part, class_synsets, synsets)
        found[_unrated(found, class_synsets, self.classes)] = self.value
        return found


@dataclass(frozen=True, slots=True)
class Guessed:
    """A similarity whose unrated pairs have a value that few of them will exceed.

    Of the pairs that are looked up together, those that WordNet's Wu-Palmer measure finds about as similar (by tenths)
    are a bin. The guess is what 95 % of a bin's ratings do not exceed, and no less than the guess of a bin below. It is
    as good as the ratings that it is drawn from: a measured expectation, not a bound.

    Attributes:
        source: a map.
        classes: as in :class:`Filled`.
    """

    source: Similarity
    classes: frozenset[int]

    @property
    def name(self) -> str:
        """The map's name."""
        return self.source.name

    @property
    def digest(self) -> str:
        """The map's digest: no signature is made of a guess."""
        return self.source.digest

    def values(self, part: Part, class_synsets: Sequence[str], synsets: NDArray[np.int32]) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.base.Similarity`."""
        found = self.source.values(part, class_synsets, synsets)
        unrated = _unrated(found, class_synsets, self.classes)
        if unrated.any():
            bins = bins_of(part, class_synsets, synsets)
            rated = ~np.isnan(found) & (bins >= 0)
            found[unrated] = _cautious(found[rated], bins[rated])[bins[unrated]]
        return found


def bins_of(part: Part, class_synsets: Sequence[str], synsets: NDArray[np.int32]) -> NDArray[np.int64]:
    """(C, S) tenth of Wu and Palmer's measure that each pair falls in; -1 for a sense with itself, or with none."""
    alike = WordNetSimilarity("wup").values(part, class_synsets, synsets)
    own = lexicon().ids_of(class_synsets)[:, None] == synsets
    bins: NDArray[np.int64] = np.minimum(np.nan_to_num(alike) * BINS, BINS - 1).astype(np.int64)
    bins[own | np.isnan(alike)] = -1
    return bins


def _unrated(found: Floats, class_synsets: Sequence[str], classes: frozenset[int]) -> Mask:
    of_class = np.array([lexicon().synset(name) in classes for name in class_synsets], bool)
    unrated: Mask = np.isnan(found) & of_class[:, None]
    return unrated


def _cautious(ratings: Floats, bins: NDArray[np.int64]) -> Floats:
    """(bins,) what most ratings of a bin do not exceed; never less for what is more alike."""
    believed = (np.arange(BINS) + 0.5) / BINS
    values = [
        np.quantile(np.concatenate([ratings[bins == b], np.full(_SCEPTICS, believed[b])]), _CAUTION)
        for b in range(BINS)
    ]
    return np.maximum.accumulate(np.array(values))
