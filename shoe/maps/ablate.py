"""A map taken apart by its raters: what each subset of them would have made of it (SHOE supplement, section 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from shoe.core.errors import OptionError
from shoe.core.statistics import nearest_measures
from shoe.lexicon.expressions import Part
from shoe.maps.agreement import RaterAgreement, rater_agreements
from shoe.maps.diff import semantic_of, under
from shoe.maps.human import HumanAgreement, HumanKind, HumanRatings, compare_people, values_beside
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap

MOST_RATERS, LEAST_SHARE = 10, 0.5
"""Raters at most, and the share of people's pairs that an ensemble has to have a value for to be the nearest of all."""


@dataclass(frozen=True, slots=True)
class Subset:
    """Some raters of a map.

    Attributes:
        raters: their columns, ascending.
        rated: per part of speech, the pairs that at least one of them rated.
        map, mf1: SHOE-mAP and SHOE-mF1 under them; None where nothing was scored, or cannot be.
        human: per kind of human ratings, how far they agree with them.
    """

    raters: tuple[int, ...]
    rated: dict[Part, int]
    map: float | None
    mf1: float | None
    human: dict[HumanKind, HumanAgreement]


@dataclass(frozen=True, slots=True)
class SubsetSpread:
    """Some subsets' figures: n of them, mean, standard deviation (n - 1; None for one), lowest and highest."""

    subsets: int
    mean: float
    standard_deviation: float | None
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True, eq=False)
class Ablation:
    """All subsets of a map's raters.

    Attributes:
        similarity: the map.
        correlations: of every two raters, per part of speech.
        subsets: by size, then by the map's order of raters; the last is the whole map.
        report: the score under the whole map; None where nothing was scored.
        human: how people rated, per kind.
    """

    similarity: SimilarityMap
    correlations: dict[Part, list[RaterAgreement]]
    subsets: list[Subset]
    report: Report | None
    human: dict[HumanKind, HumanRatings]

    @property
    def sizes(self) -> dict[int, int]:
        """The number of subsets of each size."""
        return dict(Counter(len(subset.raters) for subset in self.subsets))

    def spread(self, figure: Callable[[Subset], float | None], size: int | None = None) -> SubsetSpread | None:
        """How a figure varies over the subsets of one size, or over all; None where none of them has it."""
        return spread_of(figure(subset) for subset in self.subsets if size in (None, len(subset.raters)))


def spread_of(figures: Iterable[float | None]) -> SubsetSpread | None:
    """Mean, sample standard deviation (as in the paper's Table 1), lowest and highest of those that exist."""
    values = np.array([value for value in figures if value is not None], np.float64)
    if not len(values):
        return None
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return SubsetSpread(len(values), float(values.mean()), deviation, float(values.min()), float(values.max()))


def subsets_of(raters: int) -> list[tuple[int, ...]]:
    """All non-empty subsets of the columns of R raters, by size.

    Raises:
        OptionError: for more than 10 raters, whose subsets nobody would read.
    """
    if raters > MOST_RATERS:
        found = f"{raters} raters, whose subsets are {2**raters - 1:,}"
        raise OptionError(f"map ablate: found {found}, expected at most {MOST_RATERS} raters")
    return [chosen for size in range(1, raters + 1) for chosen in combinations(range(raters), size)]


def ablate(
    similarity: SimilarityMap,
    report: Report | None = None,
    human: Sequence[HumanRatings] = (),
    track: Callable[[list[tuple[int, ...]]], Iterable[tuple[int, ...]]] = iter,
) -> Ablation:
    """Measure every subset of a map's raters.

    Args:
        similarity: the map.
        report: a score under the whole map, to be repeated under each subset.
        human: human ratings to compare each subset with.
        track: wraps the list of subsets to show progress.

    Raises:
        OptionError: for more than 10 raters.
    """
    subsets = []
    chosen_sets = subsets_of(len(similarity.raters))
    beside = {ratings.kind: _beside(ratings, similarity, chosen_sets) for ratings in human}
    for number, chosen in enumerate(track(chosen_sets)):
        fewer = similarity.with_raters(chosen)
        semantic = semantic_of(under(report, fewer)) if report else None
        subsets.append(
            Subset(
                raters=chosen,
                rated={part: int(table.rated.sum()) for part, table in fewer.tables.items()},
                map=semantic.map if semantic else None,
                mf1=semantic.mf1 if semantic else None,
                human={kind: found[number] for kind, found in beside.items()},
            )
        )
    return Ablation(
        similarity=similarity,
        correlations={part: rater_agreements(table.ratings) for part, table in similarity.tables.items()},
        subsets=subsets,
        report=report,
        human={ratings.kind: ratings for ratings in human},
    )


def _beside(human: HumanRatings, similarity: SimilarityMap, subsets: Sequence[tuple[int, ...]]) -> list[HumanAgreement]:
    """Each subset beside people, and which could be the nearest on the pairs that all of wide enough ones have."""
    values = np.stack([values_beside(human, similarity, chosen) for chosen in subsets], axis=1)
    found = [compare_people(human, column) for column in values.T]
    wide = np.flatnonzero((~np.isnan(values)).mean(axis=0) >= LEAST_SHARE)
    near = 1 - np.abs(values[:, wide] - human.values[:, None])
    near = near[~np.isnan(near).any(axis=1)]
    if len(near) > 1 and len(wide) > 1:
        for place, among in zip(wide.tolist(), nearest_measures(near)[1].tolist(), strict=True):
            found[place] = replace(found[place], among_best=among)
    return found
