"""How far a score depends on who rated: SHOE-mAP under each rater of a map alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import stdev

import numpy as np

from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
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


def spread(report: Report) -> Spread | None:
    """Score under each rater of the map alone; None for what is no map of several raters, or cannot be measured.

    A rater who rated nothing that another one rated is left out: that figure would be the ensemble's. Takes one to
    two times as long as scoring.
    """
    task, similarities = report.task, report.similarities
    if report.semantic is None or similarities is None or not isinstance(similarities.source, SimilarityMap):
        return None
    source, options = similarities.source, report.semantic.options
    together = [table.ratings[(table.ratings != MISSING).sum(axis=1) > 1] for table in source.tables.values()]
    columns = np.flatnonzero(np.any([(ratings != MISSING).any(axis=0) for ratings in together], axis=0))
    if len(columns) < 2:
        return None
    found = {}
    for column in columns.tolist():
        alone = HoiSimilarity.of(task, rated_by(source, column), options)
        found[source.raters[column].name] = Scorer(task, alone, options).map()
    known = {name: value for name, value in found.items() if value is not None}
    return Spread(known) if known else None


def rated_by(similarity: SimilarityMap, column: int) -> SimilarityMap:
    """A map as one rater sees it; a pair that the rater has not rated keeps the value of all.

    So every rater's figure rests on the same pairs, and their spread is disagreement, not coverage.
    """
    tables = {}
    for part, table in similarity.tables.items():
        others = np.arange(table.ratings.shape[1]) != column
        ratings = table.ratings.copy()
        ratings[np.ix_(table.ratings[:, column] != MISSING, others)] = MISSING
        tables[part] = replace(table, ratings=ratings)
    return replace(similarity, tables=tables)
