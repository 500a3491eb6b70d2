"""How far a score hangs on who rated: SHOE-mAP under each rater of a map alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import stdev

import numpy as np

from shoe.matching.task import Task
from shoe.protocols.options import SemanticOptions
from shoe.scoring.meaning import Meaning
from shoe.scoring.score import build_meaning
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import map_of
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import MISSING


@dataclass(frozen=True, slots=True)
class Spread:
    """SHOE-mAP by rater, fractions 0..1: at least two of a map's raters, in its order."""

    raters: dict[str, float]

    @property
    def low(self) -> float:
        """The lowest of them."""
        return min(self.raters.values())

    @property
    def high(self) -> float:
        """The highest of them."""
        return max(self.raters.values())

    @property
    def deviation(self) -> float:
        """Their standard deviation (n - 1)."""
        return stdev(self.raters.values())


def spread_of(task: Task, meaning: Meaning, options: SemanticOptions) -> Spread | None:
    """Score under each rater alone; None for what is no map of several raters, or cannot be measured.

    A rater who rated nothing that another one rated is left out: that figure would be the ensemble's.

    Args:
        task: what is scored.
        meaning: similarities under all raters.
        options: the protocol.
    """
    source = meaning.source
    if not isinstance(source, SimilarityMap):
        return None
    together = [table.ratings[(table.ratings != MISSING).sum(axis=1) > 1] for table in source.tables.values()]
    columns = np.flatnonzero(np.any([(ratings != MISSING).any(axis=0) for ratings in together], axis=0))
    if len(columns) < 2:
        return None
    scorer = Scorer(task, meaning, options)
    found = {}
    for column in columns.tolist():
        alone = build_meaning(task, rated_by(source, column), options)
        found[source.raters[column].name] = map_of(Scorer(task, alone, options, near=scorer.near))
    known = {name: value for name, value in found.items() if value is not None}
    return Spread(known) if known else None


def rated_by(similarity: SimilarityMap, column: int) -> SimilarityMap:
    """A map as one rater sees it; a pair that the rater has not rated keeps the value of all.

    So every rater's figure rests on the same pairs, and their spread is disagreement, not coverage.

    Args:
        similarity: a map.
        column: number of the rater.
    """
    tables = {}
    for part, table in similarity.tables.items():
        others = np.arange(table.ratings.shape[1]) != column
        ratings = table.ratings.copy()
        ratings[np.ix_(table.ratings[:, column] != MISSING, others)] = MISSING
        tables[part] = replace(table, ratings=ratings)
    return replace(similarity, tables=tables)
