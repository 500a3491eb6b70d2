"""Similarity of a class and a predicted word: from maps rated by LLMs, from WordNet measures, or from both."""

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.similarity.ensemble import check_ensemble, combine
from shoe.similarity.map_files import Rater, SimilarityMap, is_map, no_map_error, shipped_maps, write_map
from shoe.similarity.neighbourhood import NAME as NEIGHBOURHOOD, Neighbourhood
from shoe.similarity.pairs import RatedPairs
from shoe.similarity.table import Basis, Similarity, SimilarityTable, similarity_table
from shoe.similarity.wordnet import MEASURES, wordnet_values

__all__ = [
    "COMPUTED",
    "Basis",
    "RatedPairs",
    "Rater",
    "Similarity",
    "SimilarityMap",
    "SimilarityTable",
    "WordNetSimilarity",
    "combine",
    "load_similarity",
    "similarity_for",
    "similarity_table",
    "write_map",
]

COMPUTED = (*MEASURES, NEIGHBOURHOOD)
"""Names of the similarities that are computed from WordNet and have no map folder."""
OF_DATASET = "dataset"
"""Name that selects the benchmark's own map."""


@dataclass(frozen=True, slots=True)
class WordNetSimilarity(Similarity):
    """Similarity computed from WordNet's graph; see :func:`shoe.similarity.wordnet.wordnet_values`.

    Attributes:
        name: "identity", "path" or "wup".
    """

    name: str

    @property
    def digest(self) -> str:
        """8 hex digits of a hash of the measure's name and the lexicon."""
        graph = lexicon().concepts
        whole = graph.title if graph.is_wordnet else f"{graph.title} {graph.digest}"
        return hashlib.sha256(f"{self.name} of {whole}".encode()).hexdigest()[:8]

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return (C, S) similarities 0..1 of class senses and other senses; NaN only for a class without a sense."""
        return wordnet_values(self.name, part, class_senses, senses)


def load_similarity(name_or_folder: str | Path, ensemble: str = "mean") -> Similarity:
    """Load a similarity map, or create a similarity that is computed from WordNet; shipped maps are cached.

    Args:
        name_or_folder: name of a shipped map ("hico-det"), folder of a map, or a similarity that is computed from
            WordNet: "identity", "path", "wup" or "neighbourhood".
        ensemble: how a map's raters are combined: "mean", "median", "majority" or "majority-mean".

    Raises:
        OptionError: for an unknown name or ensemble.
        InputError: for an invalid map.
    """
    if name_or_folder in MEASURES:
        check_ensemble(ensemble)
        return WordNetSimilarity(name_or_folder)
    if name_or_folder == NEIGHBOURHOOD:
        return Neighbourhood(_load_once("hico-det", ensemble))
    if name_or_folder == "none":
        strict = "strict scores only: -p hico-det (Python: protocols=['hico-det'])"
        raise OptionError(f"similarity: found 'none', expected the name of a similarity map or measure ({strict})")
    if not is_map(name_or_folder):
        raise no_map_error(name_or_folder, "similarity", [*COMPUTED, *shipped_maps()])
    return (_load_once if name_or_folder in shipped_maps() else SimilarityMap.load)(name_or_folder, ensemble)


def similarity_for(benchmark: Benchmark, name_or_folder: str | Path | Similarity, ensemble: str) -> Similarity:
    """Return the similarity to use for a benchmark.

    Args:
        name_or_folder: "dataset" for the benchmark's own map, a name or folder as for :func:`load_similarity`, or a
            loaded similarity. A loaded map is returned with the given ensemble, any other similarity unchanged.
        ensemble: how a map's raters are combined; see :func:`load_similarity`.
    """
    if isinstance(name_or_folder, SimilarityMap) and name_or_folder.ensemble != ensemble:
        return replace(name_or_folder, ensemble=check_ensemble(ensemble))
    if isinstance(name_or_folder, Similarity):
        return name_or_folder
    return load_similarity(benchmark.similarity if name_or_folder == OF_DATASET else name_or_folder, ensemble)


_load_once = cache(SimilarityMap.load)
