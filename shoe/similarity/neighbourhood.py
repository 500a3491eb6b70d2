"""Similarity for senses that nobody rated as classes: a map's ratings where it has them, else those of like neighbours.

How many steps up and how many down WordNet's hypernyms lead from a class's sense to another is the pair's relation: a
hyponym is (0, 1), a sibling (1, 1). ``neighbourhood.tsv`` has the mean rating that the pairs of each relation, up to
four steps, have in the shipped map ``hico-det``; a pair of such a relation is predicted to be as similar, any other to
be nothing alike. ``scripts/fit-neighbourhood`` writes the table, and says how well it predicts (docs/swig.md).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import per_lexicon
from shoe.similarity.table import Similarity
from shoe.similarity.wordnet import steps_up

NAME = "neighbourhood"
STEPS = 4
_FILE = Path(__file__).with_name("neighbourhood.tsv")


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood(Similarity):
    """A map, and predictions by relation for what it does not rate.

    Attributes:
        source: the map. What it rates of a pair holds the other way round where nothing else is rated.
    """

    source: Similarity
    name: str = NAME

    @property
    def digest(self) -> str:
        """8 hex digits that stand for the map and the table of relations."""
        return hashlib.sha256(f"{self.source.digest} {NAME}\n".encode() + _FILE.read_bytes()).hexdigest()[:8]

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        found = self.source.values(part, class_senses, senses)
        known = np.flatnonzero(class_senses >= 0)
        back = self.source.values(part, senses, class_senses[known]).T
        found[known] = np.where(np.isnan(found[known]), back, found[known])
        return found

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Predict C class senses against S senses by their relation; NaN only where the class has no sense."""
        found = np.where(class_senses >= 0, 0.0, np.nan)[:, None].repeat(len(senses), axis=1)
        by_relation = _table()[part]
        up, down = relations(class_senses, senses)
        near = up >= 0
        found[near] = by_relation[up[near], down[near]]
        return found


def relations(class_senses: Ints, senses: Ints) -> tuple[Ints, Ints]:
    """Steps up from C class senses, and (C, S) down from there to S senses, of the shortest way; of equals, least up.

    Returns:
        (C, S) steps up and (C, S) steps down; -1 where the way is longer than ``STEPS``, or there is none.
    """
    up = np.full((len(class_senses), len(senses)), -1, np.int32)
    down, total = up.copy(), np.full(up.shape, STEPS + 1, np.int32)
    below: dict[int, list[tuple[int, int]]] = {}
    for column, sense in enumerate(senses.tolist()):
        for above, steps in _near_above(sense):
            below.setdefault(above, []).append((column, steps))
    reached = {above: np.array(of, np.int32).T for above, of in below.items()}
    for row, sense in enumerate(class_senses.tolist()):
        for above, steps in _near_above(sense) if sense >= 0 else ():
            if above in reached:
                column, further = reached[above]
                shorter = steps + further < total[row, column]
                column, further = column[shorter], further[shorter]
                up[row, column], down[row, column], total[row, column] = steps, further, steps + further
    return up, down


@per_lexicon(None)
def _near_above(sense: int) -> tuple[tuple[int, int], ...]:
    """The hypernyms of a sense within ``STEPS``, and it itself, with their steps; the nearest first."""
    near = ((above, steps) for above, steps in steps_up(sense).items() if steps <= STEPS)
    return tuple(sorted(near, key=lambda of: of[1]))


@cache
def _table() -> dict[Part, Floats]:
    """Per part of speech, the similarity of each relation, by steps up and down; 1 for none of either."""
    found: dict[Part, Floats] = {part: np.zeros((STEPS + 1, STEPS + 1)) for part in POS}
    for line in _FILE.read_text("utf-8").splitlines()[1:]:
        part, up, down, _, similarity = line.split("\t")
        found["verb" if part == "verb" else "object"][int(up), int(down)] = float(similarity)
    for table in found.values():
        table[0, 0] = 1
    return found
