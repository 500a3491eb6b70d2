"""A map taken apart by its raters: what each subset of them would have made of it (SHOE supplement, section 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

import numpy as np
from msgspec import structs

from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.errors import OptionError
from shoe.core.statistics import nearest_measures
from shoe.lexicon.expressions import Part
from shoe.maps.diff import semantic_of, under
from shoe.maps.human_ratings import HumanAgreement, HumanKind, HumanRatings, compare_people, values_beside
from shoe.maps.info import RaterAgreement, rater_agreements
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap

MOST_RATERS, LEAST_SHARE = 10, 0.5
"""Raters at most, and the share of people's pairs that an ensemble has to have a value for to be the nearest of all."""


class Subset(Document, frozen=True):
    """Some raters of a map.

    Attributes:
        raters: their names, in the map's order.
        rated: number of verb pairs and of object pairs that at least one of them rated.
        map, mf1: SHOE-mAP and SHOE-mF1 under them; None if nothing was scored, or cannot be.
        human: per kind of human ratings, how far they agree with them.
    """

    raters: list[str]
    rated: dict[str, Count]
    map: Fraction | None = None
    mf1: Fraction | None = None
    human: dict[HumanKind, HumanAgreement] | None = None


class SubsetSpread(Document, frozen=True, kw_only=True):
    """How a figure varies over subsets; the standard deviation is of a sample (n - 1), None for one subset."""

    subsets: Count
    mean: float
    standard_deviation: float | None = None
    lowest: float
    highest: float


class Spreads(Document, frozen=True):
    """Figures over subsets."""

    map: SubsetSpread | None = None
    mf1: SubsetSpread | None = None
    human_agreement: dict[HumanKind, SubsetSpread] | None = None


class SizeSpreads(Document, frozen=True):
    """The subsets of one size."""

    size: Count
    subsets: Count
    map: SubsetSpread | None = None
    mf1: SubsetSpread | None = None
    human_agreement: dict[HumanKind, SubsetSpread] | None = None


class RaterCorrelation(Document, frozen=True):
    """Correlation of two raters on the pairs that both rated."""

    raters: list[str]
    pairs: Count
    pearson: Correlation | None = None


class NumberOfRatings(Document, frozen=True):
    """How many ratings of people there are."""

    pairs: Count
    ratings: Count


class MapAblate(Document, frozen=True):
    """What each subset of a map's raters would have made of it."""

    name: str
    digest: str
    ensemble: str
    raters: list[str]
    correlations: dict[str, list[RaterCorrelation]]
    subsets: list[Subset]
    sizes: list[SizeSpreads]
    all_subsets: Spreads
    signature: str | None = None
    human: dict[HumanKind, NumberOfRatings] | None = None

    @classmethod
    def from_ablation(cls, ablation: Ablation) -> MapAblate:
        """Collect the figures of an ablation."""

        def spreads(size: int | None = None) -> Spreads:
            people = {kind: found for kind in ablation.human if (found := ablation.spread(agreement_with(kind), size))}
            of_map, of_mf1 = (ablation.spread(attrgetter(name), size) for name in ("map", "mf1"))
            return Spreads(of_map, of_mf1, people or None)

        similarity, report = ablation.similarity, ablation.report
        return cls(
            name=similarity.name,
            digest=similarity.digest,
            ensemble=similarity.ensemble,
            raters=[rater.name for rater in similarity.raters],
            correlations={
                f"{part}s": [RaterCorrelation(each.raters, each.pairs, each.pearson) for each in found]
                for part, found in ablation.correlations.items()
            },
            subsets=ablation.subsets,
            sizes=[
                SizeSpreads(size, number, *structs.astuple(spreads(size))) for size, number in ablation.sizes.items()
            ],
            all_subsets=spreads(),
            signature=str(report.signature) if report else None,
            human={kind: NumberOfRatings(len(of.values), of.lines) for kind, of in ablation.human.items()} or None,
        )


def agreement_with(kind: HumanKind) -> Callable[[Subset], float | None]:
    """Return what gives a subset's agreement with one kind of human ratings."""
    return lambda subset: subset.human[kind].agreement if subset.human else None


@dataclass(frozen=True, slots=True, eq=False)
class Ablation:
    """All subsets of a map's raters.

    Attributes:
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
    return SubsetSpread(
        subsets=len(values),
        mean=float(values.mean()),
        standard_deviation=deviation,
        lowest=float(values.min()),
        highest=float(values.max()),
    )


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
        report: a score under the whole map, to be repeated under each subset.
        human: human ratings to compare each subset with.
        track: wraps the list of subsets to show progress.

    Raises:
        OptionError: for more than 10 raters.
    """
    subsets, names = [], [rater.name for rater in similarity.raters]
    chosen_sets = subsets_of(len(similarity.raters))
    beside = {ratings.kind: _beside(ratings, similarity, chosen_sets) for ratings in human}
    for number, chosen in enumerate(track(chosen_sets)):
        fewer = similarity.with_raters(chosen)
        semantic = semantic_of(under(report, fewer)) if report else None
        subsets.append(
            Subset(
                raters=[names[column] for column in chosen],
                rated={f"{part}s": int(table.rated.sum()) for part, table in fewer.tables.items()},
                map=semantic.map if semantic else None,
                mf1=semantic.mf1 if semantic else None,
                human={kind: found[number] for kind, found in beside.items()} or None,
            )
        )
    return Ablation(
        similarity=similarity,
        correlations={part: rater_agreements(table.ratings, names) for part, table in similarity.tables.items()},
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
            found[place] = structs.replace(found[place], among_best=among)
    return found
