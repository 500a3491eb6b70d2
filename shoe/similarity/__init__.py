"""How alike a class and a predicted word are: maps rated by LLMs, WordNet measures, and their combination."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from shoe.core.errors import unknown_name
from shoe.similarity.base import Similarity
from shoe.similarity.combine import combine
from shoe.similarity.ensemble import check_ensemble
from shoe.similarity.maps import Rater, SimilarityMap, is_map, shipped_maps, write_map
from shoe.similarity.table import Basis, SimilarityTable, similarity_table
from shoe.similarity.wordnet import MEASURES, WordNetSimilarity

__all__ = [
    "Basis",
    "Rater",
    "Similarity",
    "SimilarityMap",
    "SimilarityTable",
    "WordNetSimilarity",
    "combine",
    "load_similarity",
    "similarity_table",
    "write_map",
]


def load_similarity(name_or_folder: str | Path, ensemble: str = "mean") -> Similarity:
    """Load a map or a WordNet measure.

    Args:
        name_or_folder: the name of a shipped map ("hico-det"), "identity", "path", "wup", or the folder of a map.
        ensemble: how a map's raters are combined: "mean", "median", "majority" or "majority-mean".

    Raises:
        OptionError: for a name that is none of these, or an unknown ensemble.
        InputError: for a map that is broken.
    """
    if name_or_folder in MEASURES:
        check_ensemble(ensemble)
        return WordNetSimilarity(name_or_folder)
    if not is_map(name_or_folder):
        raise unknown_name("similarity", str(name_or_folder), [*MEASURES, *shipped_maps()])
    if name_or_folder in shipped_maps():
        return _shipped_map(str(name_or_folder), ensemble)
    return SimilarityMap.load(name_or_folder, ensemble)


@cache
def _shipped_map(name: str, ensemble: str) -> SimilarityMap:
    return SimilarityMap.load(name, ensemble)
