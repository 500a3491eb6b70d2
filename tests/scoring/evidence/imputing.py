"""Maps with gaps, and their completions."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.senses import Part
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.similarity import Similarity

SOME = np.array([0, 0, 0, 0.25, 0.5, 0.75, 1])
DRAWS = (
    np.array([0, 0.25, 0.5, 0.75, 1]),
    np.array([0.0, 1.0]),
    np.array([0, 0, 0, 0, 0, 0, 0.5, 1]),
    np.linspace(0, 1, 101),
)


@dataclass(frozen=True)
class Gappy(Similarity):
    """A similarity whose values follow from a seed; a share of its pairs is rated, the rest is not."""

    seed: int
    share: float

    name = "gappy"
    digest = "00000000"

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.float64]:
        mixed = _mixed(self.seed, class_senses, senses)
        found = np.where((mixed >> 40) % 1000 < 1000 * self.share, SOME[mixed % len(SOME)], np.nan)
        found[class_senses < 0] = np.nan
        return np.where(class_senses[:, None] == senses, 1.0, found)


@dataclass(frozen=True)
class Completed(Similarity):
    """A completion of a similarity: the unrated pairs of some classes have values that follow from a seed."""

    source: Similarity
    classes: frozenset[int]
    seed: int

    name = "completed"
    digest = "00000000"

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.float64]:
        found = self.source.values(part, class_senses, senses)
        draws = DRAWS[self.seed % len(DRAWS)]
        of_class = np.isin(class_senses, list(self.classes))
        drawn = draws[_mixed(self.seed + 1, class_senses, senses) % len(draws)]
        return np.where(np.isnan(found) & of_class[:, None], drawn, found)


def completed(task: Task, current: HoiSimilarity, options: SemanticOptions, seed: int) -> HoiSimilarity:
    assert current.source is not None
    classes = frozenset({*current.verb_senses.tolist(), *current.object_senses.tolist()} - {-1})
    return HoiSimilarity.from_task(task, Completed(current.source, classes, seed), replace(options, unrated="zero"))


def _mixed(seed: int, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.int64]:
    """Numbers without a pattern, one for each pair."""
    classes = class_senses.astype(np.int64).astype(np.uint64)[:, None]
    mixed = (classes * np.uint64(0x9E3779B97F4A7C15)) ^ ((senses.astype(np.uint64) + np.uint64(seed)) << np.uint64(20))
    for multiplier in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(multiplier)
    return (mixed >> np.uint64(2)).astype(np.int64)
