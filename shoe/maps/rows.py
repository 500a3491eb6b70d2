"""What the rows of a map's tables say: names, values, and the map with fewer raters."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoe.core.arrays import Floats
from shoe.lexicon.expressions import Part
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import MISSING, ensemble_values
from shoe.similarity.ratings import RatingTable

ENSEMBLE = "mean"
"""How raters are combined wherever maps are compared: as protocol ``shoe`` does, whatever the map's own default is."""


def names_of(table: RatingTable) -> list[tuple[str, str]]:
    """The (class synset, synset) of each row."""
    text = table.text.decode("ascii")
    return [(text[start:tab], text[tab + 1 : end]) for start, tab, end in table.bounds.tolist()]


def pairs_of(table: RatingTable) -> dict[tuple[str, str], list[int | None]]:
    """The table as what it is written from: {(class synset, synset): R ratings or None}."""
    ratings = ([None if r == MISSING else r for r in row] for row in table.ratings.tolist())
    return dict(zip(names_of(table), ratings, strict=True))


def values_of(similarity: SimilarityMap, part: Part) -> Floats:
    """(n,) value 0..1 of each row of a table; NaN where nobody rated the pair."""
    return ensemble_values(similarity.tables[part].ratings, similarity.ensemble)


def with_raters(similarity: SimilarityMap, columns: Sequence[int]) -> SimilarityMap:
    """The map as if only some of its raters had rated: the same rows, fewer columns.

    Args:
        similarity: a map.
        columns: numbers of the raters, in the order that they are to have.
    """
    raters = tuple(similarity.raters[column] for column in columns)
    kept = "\n".join(rater.name for rater in raters)
    tables = {
        part: replace(
            table,
            ratings=np.ascontiguousarray(table.ratings[:, list(columns)]),
            digest=hashlib.sha256(f"{table.digest}\n{kept}".encode()).hexdigest(),
        )
        for part, table in similarity.tables.items()
    }
    return replace(similarity, raters=raters, tables=tables)
