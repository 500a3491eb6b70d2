"""Similarity for classes that are not in a map: the rating if the pair is rated, else a prediction by WordNet relation.

The relation of a pair is (steps up, steps down) on the path from the class sense to the other sense along WordNet's
hypernyms: (0, 1) for a hyponym, (1, 1) for a sibling. ``neighbourhood.tsv`` contains, for each relation of up to
four steps, the mean rating in the shipped map ``hico-det``, which is the predicted similarity of such pairs. All other
pairs have predicted similarity 0. ``scripts/fit-neighbourhood`` writes the table and measures its accuracy
(docs/swig.md).
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import per_lexicon
from shoe.similarity.table import Similarity
from shoe.similarity.wordnet import steps_up

NAME = "neighbourhood"
STEPS = 4
_FILE = Path(__file__).with_name("neighbourhood.tsv")


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood(Similarity):
    """Similarity map in which unrated pairs have values predicted from the WordNet relation of the two senses.

    Attributes:
        source: similarity map with ratings. The value of an unrated pair is that of the reversed pair if it is rated.
    """

    source: Similarity
    name: str = NAME

    @property
    def digest(self) -> str:
        """8 hex digits of a hash of the similarity map's digest and the table of predicted similarities."""
        return hashlib.sha256(f"{self.source.digest} {NAME}\n".encode() + _FILE.read_bytes()).hexdigest()[:8]

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) values of the pairs in the map, or else of the reversed pairs; NaN if both are unrated."""
        found = self.source.values(part, class_senses, senses)
        known = np.flatnonzero(class_senses >= 0)
        back = self.source.values(part, senses, class_senses[known]).T
        found[known] = np.where(np.isnan(found[known]), back, found[known])
        return found

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return (C, S) predicted similarities: 0 for a relation that is not in the table, NaN for no_interaction."""
        found = np.where(class_senses >= 0, 0.0, np.nan)[:, None].repeat(len(senses), axis=1)
        up, down = relations(class_senses, senses)
        near = up >= 0
        found[near] = _table()[part][up[near], down[near]]
        return found


def relations(class_senses: Ints, senses: Ints) -> tuple[Ints, Ints]:
    """Return the (C, S) steps up, and the (C, S) steps down, on the shortest path from each class sense to each sense.

    Both are -1 if there is no path of at most ``STEPS``. Of equally short paths, the one with fewest steps up counts.
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
    """Return (synset, number of steps) of a sense and its hypernyms within ``STEPS`` steps, the nearest first."""
    near = ((above, steps) for above, steps in steps_up(sense).items() if steps <= STEPS)
    return tuple(sorted(near, key=lambda of: of[1]))


@cache
def _table() -> dict[Part, Floats]:
    found: dict[Part, Floats] = {part: np.zeros((STEPS + 1, STEPS + 1)) for part in POS}
    for line in _FILE.read_text("utf-8").splitlines()[1:]:
        part, up, down, _, similarity = line.split("\t")
        found["verb" if part == "verb" else "object"][int(up), int(down)] = float(similarity)
    for table in found.values():
        table[0, 0] = 1
    return found
