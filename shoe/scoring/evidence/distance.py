"""How near unseen classes are to seen ones, and how well they are known by that.

An unseen class with a near synonym among the seen ones asks for less generalisation than one without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoe.benchmarks.class_splits import SEEN, UNSEEN, ClassSplit
from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Indices
from shoe.core.documents import Count, Document, Fraction
from shoe.scoring.hoi_similarity import class_similarity
from shoe.scoring.score import Report
from shoe.similarity import Similarity

EDGES = (0.0, 0.6, 0.7, 0.8, 1.0)
"""Ends of the ranges of similarity, each without its upper end but the last. A class with the same object and another
verb has 0.5 at least, by the mean of both."""
_CELLS = 1 << 20
"""Similarities computed at once: 8 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The seen class most similar to each of u unseen ones.

    Attributes:
        unseen: (u,) unseen classes.
        seen: (u,) the seen class nearest to each, of equals the first.
        similarity: (u,) how similar the two are: what a prediction of one earns where the other is there, 0..1.
    """

    unseen: Indices
    seen: Indices
    similarity: Floats

    def by_similarity(self, ap: Mapping[str, Floats]) -> list[Range]:
        """Means of (K,) figures of classes over ranges of similarity; NaN stands for classes in no mean."""
        found = []
        for low, high in pairwise(EDGES):
            inside = (self.similarity >= low) & ((self.similarity < high) | (high == EDGES[-1]))
            classes = self.unseen[inside]
            means = {name: of[classes][~np.isnan(of[classes])] for name, of in ap.items()}
            figures = {name: float(values.mean()) for name, values in means.items() if len(values)}
            found.append(Range(low, high, max(map(len, means.values()), default=len(classes)), figures))
        return found


class Range(Document, frozen=True, rename={"low": "from", "high": "to"}):
    """Unseen classes whose nearest seen class is about as similar.

    Attributes:
        low, high: ends of the similarities, the upper one in the last range alone.
        classes: how many are in a mean.
        map: mean average precision by protocol.
    """

    low: Fraction
    high: Fraction
    classes: Count
    map: dict[str, Fraction]


def nearest_seen(
    split: ClassSplit, classes: HoiClasses, similarity: Similarity, options: SemanticOptions | None = None
) -> Nearest | None:
    """Find the seen class nearest to each unseen one, of those that are scored.

    Returns:
        None for a split that does not tell seen from unseen classes, or has none of either.
    """
    if not {SEEN, UNSEEN} <= split.parts.keys():
        return None
    unseen, seen = (np.flatnonzero(split.parts[part] & classes.scored) for part in (UNSEEN, SEEN))
    if not len(unseen) or not len(seen):
        return None
    similar = class_similarity(classes, similarity, options)
    nearest, most = np.empty(len(unseen), np.int64), np.empty(len(unseen))
    step = max(1, _CELLS // len(seen))
    for start in range(0, len(unseen), step):
        both = similar(unseen[start : start + step], seen)
        best = both.argmax(axis=1)
        nearest[start : start + step] = seen[best]
        most[start : start + step] = both[np.arange(len(both)), best]
    return Nearest(unseen, nearest, most)


def distance(report: Report) -> Nearest | None:
    """The nearest seen classes of a report's split, under its map; None without a split, or without a map."""
    split, semantic, tables = report.truth.class_split, report.semantic, report.similarities
    if split is None or semantic is None or tables is None or tables.source is None:
        return None
    return nearest_seen(split, report.truth.classes, tables.source, semantic.options)


def figures_by_distance(report: Report, nearest: Nearest) -> list[Range]:
    """Mean average precision of unseen classes by how near seen ones are: by the first strict protocol, and SHOE's."""
    ap = {report.strict.options.protocol: report.strict.ap} if report.strict else {}
    return nearest.by_similarity(
        ap | ({report.semantic.options.protocol: report.semantic.ap} if report.semantic else {})
    )
