"""Which pairs of interactions a study asks about: drawn evenly over strata, or by their influence on a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import OptionError
from shoe.core.seeded import random_numbers
from shoe.lexicon.expressions import Part
from shoe.protocols.options import SemanticOptions
from shoe.similarity import Similarity, combine
from shoe.similarity.ensemble import HIGHEST

DIFFERS = ("verb", "object", "both")
Strata = dict[tuple[str, int], tuple[int, int]]
"""By what differs and the level of similarity under the map: how many pairs there are, and were drawn."""
_STREAM, _INFLUENCE_STREAM = 7 << 28, (7 << 28) + (4 << 20)
_EVEN = 0.2
"""Share of the draws that goes by no influence, so that no pair stands for very many."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Pairs of classes.

    Attributes:
        a, b: (n,) classes, ``a`` the one that stands for the ground truth.
        differs: (n,) index into ``DIFFERS``.
        level: (n,) similarity under the map, 0..4, rounded.
        strata: where they were drawn from.
    """

    a: Indices
    b: Indices
    differs: Indices
    level: Indices
    strata: Strata

    @property
    def weight(self) -> Floats:
        """(n,) how many pairs of classes each stands for."""
        cells = zip(self.differs.tolist(), self.level.tolist(), strict=True)
        return np.array([there / drawn for there, drawn in (self.strata[DIFFERS[d], level] for d, level in cells)])


def similarities_of(classes: HoiClasses, similarity: Similarity) -> Floats:
    """(K, K) similarity of the senses of any two classes; NaN where nothing is known, or a class has no sense."""
    values = []
    senses_of: dict[Part, tuple[str, ...]] = {"verb": classes.verb_synsets, "object": classes.object_synsets}
    for part, senses in senses_of.items():
        names = sorted(set(senses) - {""})
        table = np.full((len(names) + 1, len(names) + 1), np.nan)
        table[:-1, :-1] = similarity.between(part, names, names)
        at = [names.index(name) if name else -1 for name in senses]
        values.append(table[np.ix_(at, at)])
    options = SemanticOptions()
    return combine(values[0], values[1], options.combine, options.weight)


def draw(classes: HoiClasses, similarity: Similarity, items: int, seed: int) -> Sample:
    """Draw pairs of different classes, as many of each stratum as of the others, as far as it has them.

    A stratum has pairs that differ in verb, object or both, and one level of similarity (SHOE supplement, sections 5
    and 6.1). The draw follows from the seed alone.

    Raises:
        OptionError: if there are fewer pairs than items.
    """
    values = similarities_of(classes, similarity)
    same_verb = classes.verb[:, None] == classes.verb
    same_object = classes.object[:, None] == classes.object
    a, b = np.nonzero(~np.isnan(values) & ~(same_verb & same_object) & ~np.eye(len(classes), dtype=bool))
    differs = np.where(same_object[a, b], 0, np.where(same_verb[a, b], 1, 2))
    level = np.rint(values[a, b] * HIGHEST).astype(np.int64)
    if len(a) < items:
        raise OptionError(f"items: found {items}, expected at most {len(a)}, the pairs of classes that there are")
    stratum = differs * (HIGHEST + 1) + level
    order = np.lexsort((random_numbers(_STREAM + seed, (len(a),)), stratum))
    sizes = np.bincount(stratum, minlength=len(DIFFERS) * (HIGHEST + 1))
    taken = _spread(sizes, items)
    starts = np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([order[start : start + n] for start, n in zip(starts, taken, strict=True)]))
    strata = {
        (DIFFERS[s // (HIGHEST + 1)], s % (HIGHEST + 1)): (int(sizes[s]), int(taken[s]))
        for s in np.flatnonzero(sizes).tolist()
    }
    return Sample(a[rows], b[rows], differs[rows], level[rows], strata)


def probabilities(influence: Floats, items: int) -> Floats:
    """(N,) probability with which each pair is drawn: a fifth of the draws evenly, the rest in proportion to influence.

    A pair whose share would be above 1 is drawn for certain, and the others share what is left.

    Raises:
        OptionError: if there are fewer pairs than items.
    """
    number = len(influence)
    if number < items:
        raise OptionError(f"items: found {items}, expected at most {number}, the pairs that the score depends on")
    size = _EVEN / number + (1 - _EVEN) * influence / (influence.sum() or 1)
    found, certain = np.ones(number), np.zeros(number, bool)
    while not certain.all():
        found[~certain] = size[~certain] * ((items - certain.sum()) / size[~certain].sum())
        if not (above := ~certain & (found > 1 - 1e-12)).any():
            break
        certain |= above
        found[certain] = 1
    return found


def draw_by(probability: Floats, seed: int) -> Indices:
    """Draw so many pairs as probabilities add up to, each with its own: every so far on a line of pairs put at random.

    Systematic sampling (Madow 1949) of a shuffled population; rows ascend.
    """
    number = len(probability)
    *places, start = random_numbers(_INFLUENCE_STREAM + seed, (number + 1,))
    order = np.argsort(places, kind="stable")
    line = np.cumsum(probability[order])
    line *= round(line[-1]) / line[-1]  # what rounding left
    marks = np.floor(line - float(start) / 2**64)
    return np.sort(order[np.diff(marks, prepend=-1) > 0])


def _spread(sizes: Indices, items: int) -> Indices:
    """How many of each stratum: as even as their sizes allow, what is left over to the larger ones."""
    taken = np.zeros_like(sizes)
    while (left := items - int(taken.sum())) > 0:
        free = np.flatnonzero(sizes > taken)
        each = max(1, left // len(free))
        largest = free[np.argsort(-(sizes - taken)[free], kind="stable")][: max(1, left if each == 1 else len(free))]
        taken[largest] += np.minimum(sizes[largest] - taken[largest], each)
    return taken
