"""Ablation of a map's raters: scores and human agreement for each subset of them (SHOE supplement, section 1)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
from msgspec import structs

from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.errors import OptionError
from shoe.core.statistics import nearest_measures
from shoe.maps.diff import rescore, semantic_of
from shoe.maps.human_ratings import HumanAgreement, HumanKind, HumanRatings, compare_people, map_values
from shoe.maps.info import rater_agreements
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap

MOST_RATERS, LEAST_SHARE = 10, 0.5
"""Most raters; and fraction of human-rated pairs that a subset must cover to be compared with the best subset."""


class Subset(Document, frozen=True):
    """Scores of a similarity map with a subset of its raters, and agreement of the subset with human ratings.

    Attributes:
        raters: names of the raters in the subset, in the map's order.
        rated: number of verb pairs ("verbs") and object pairs ("objects") with a rating by a rater of the subset.
        map, mf1: SHOE-mAP and SHOE-mF1 with this subset; absent if no predictions are scored, or if undefined.
        human: agreement with human ratings by kind ("verbs", "objects", "interactions"); absent without human ratings.
    """

    raters: list[str]
    rated: dict[str, Count]
    map: Fraction | None = None
    mf1: Fraction | None = None
    human: dict[HumanKind, HumanAgreement] | None = None


class SubsetSpread(Document, frozen=True, kw_only=True):
    """Mean, standard deviation and range of a metric over subsets of raters.

    Attributes:
        subsets: number of subsets for which the metric is defined.
        standard_deviation: sample standard deviation (ddof=1); None for a single subset.
    """

    subsets: Count
    mean: float
    standard_deviation: float | None = None
    lowest: float
    highest: float


class Spreads(Document, frozen=True):
    """Mean and range of SHOE-mAP, SHOE-mF1 and human agreement over all subsets; a metric without values is absent."""

    map: SubsetSpread | None = None
    mf1: SubsetSpread | None = None
    human_agreement: dict[HumanKind, SubsetSpread] | None = None


class SizeSpreads(Document, frozen=True):
    """Mean and range of SHOE-mAP, SHOE-mF1 and human agreement over the subsets that consist of ``size`` raters."""

    size: Count
    subsets: Count
    map: SubsetSpread | None = None
    mf1: SubsetSpread | None = None
    human_agreement: dict[HumanKind, SubsetSpread] | None = None


class RaterCorrelation(Document, frozen=True):
    """Pearson correlation of the ratings of two raters, on the pairs of senses that both rated."""

    raters: list[str]
    pairs: Count
    pearson: Correlation | None = None


class NumberOfRatings(Document, frozen=True):
    """Number of pairs that people rated, and number of their ratings; several people may rate the same pair."""

    pairs: Count
    ratings: Count


class MapAblate(Document, frozen=True):
    """Scores and human agreement of a similarity map for each subset of its raters.

    Attributes:
        correlations: per part of speech ("verbs", "objects"), correlation of every two raters.
        subsets: results per subset, by number of raters and then by the map's order of raters; the last subset contains
            all raters.
        sizes: mean and range of the metrics over all subsets with the same number of raters, per number of raters.
        all_subsets: mean and range of the metrics over all subsets.
        signature: signature of the scores; absent if no predictions were scored.
        human: number of human-rated pairs and of ratings by people, by kind ("verbs", "objects" or "interactions").
    """

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


def spread_of(values: Iterable[float | None]) -> SubsetSpread | None:
    """Return the spread of the values that are not None, or None if all are."""
    defined = np.array([value for value in values if value is not None], np.float64)
    if not len(defined):
        return None
    deviation = float(defined.std(ddof=1)) if len(defined) > 1 else None
    figures = {"mean": float(defined.mean()), "lowest": float(defined.min()), "highest": float(defined.max())}
    return SubsetSpread(subsets=len(defined), standard_deviation=deviation, **figures)


def subsets_of(raters: int) -> list[tuple[int, ...]]:
    """Return all non-empty subsets of ``raters`` columns, by size; OptionError for more than 10 raters."""
    if raters > MOST_RATERS:
        found = f"{raters} raters with {2**raters - 1:,} subsets"
        raise OptionError(f"map ablate: found {found}, expected at most {MOST_RATERS} raters")
    return [chosen for size in range(1, raters + 1) for chosen in combinations(range(raters), size)]


def ablate(
    similarity: SimilarityMap,
    report: Report | None = None,
    human: Sequence[HumanRatings] = (),
    track: Callable[[list[tuple[int, ...]]], Iterable[tuple[int, ...]]] = iter,
) -> MapAblate:
    """Compute scores and human agreement of a similarity map for every non-empty subset of its raters (at most 10).

    Args:
        report: report on predictions, which are scored again with each subset; if None, no scores are computed.
        human: human ratings, at most one entry per kind ("verbs", "objects" or "interactions").
        track: function that wraps the list of subsets in an iterator that shows the progress.
    """
    subsets, names = [], [rater.name for rater in similarity.raters]
    chosen_sets = subsets_of(len(similarity.raters))
    beside = {ratings.kind: _beside(ratings, similarity, chosen_sets) for ratings in human}
    for number, chosen in enumerate(track(chosen_sets)):
        fewer = similarity.with_raters(chosen)
        semantic = semantic_of(rescore(report, fewer)) if report else None
        rated = {f"{part}s": int(table.rated.sum()) for part, table in fewer.tables.items()}
        scores = (semantic.map, semantic.mf1) if semantic else (None, None)
        people = {kind: found[number] for kind, found in beside.items()} or None
        subsets.append(Subset([names[column] for column in chosen], rated, *scores, people))

    def spreads(size: int | None = None) -> Spreads:
        some = [subset for subset in subsets if size in (None, len(subset.raters))]
        of_kind = {kind: spread_of(subset.human[kind].agreement for subset in some if subset.human) for kind in beside}
        people = {kind: spread for kind, spread in of_kind.items() if spread}
        mean_ap, mf1 = (spread_of(getattr(subset, name) for subset in some) for name in ("map", "mf1"))
        return Spreads(mean_ap, mf1, people or None)

    correlations = {}
    for part, table in similarity.tables.items():
        found = rater_agreements(table.ratings, names)
        correlations[f"{part}s"] = [RaterCorrelation(each.raters, each.pairs, each.pearson) for each in found]
    sizes = Counter(len(subset.raters) for subset in subsets)
    return MapAblate(
        name=similarity.name,
        digest=similarity.digest,
        ensemble=similarity.ensemble,
        raters=names,
        correlations=correlations,
        subsets=subsets,
        sizes=[SizeSpreads(size, number, *structs.astuple(spreads(size))) for size, number in sizes.items()],
        all_subsets=spreads(),
        signature=str(report.signature) if report else None,
        human={of.kind: NumberOfRatings(len(of.values), of.lines) for of in human} or None,
    )


def _beside(human: HumanRatings, similarity: SimilarityMap, subsets: Sequence[tuple[int, ...]]) -> list[HumanAgreement]:
    """Return the agreement of each subset with human ratings.

    ``among_best`` is set for the subsets that cover at least ``LEAST_SHARE`` of the rated pairs. They are compared on
    the pairs that all of them cover.
    """
    values = np.stack([map_values(human, similarity, chosen) for chosen in subsets], axis=1)
    found = [compare_people(human, column) for column in values.T]
    wide = np.flatnonzero((~np.isnan(values)).mean(axis=0) >= LEAST_SHARE)
    near = 1 - np.abs(values[:, wide] - human.values[:, None])
    near = near[~np.isnan(near).any(axis=1)]
    if len(near) > 1 and len(wide) > 1:
        for place, among in zip(wide.tolist(), nearest_measures(near)[1].tolist(), strict=True):
            found[place] = structs.replace(found[place], among_best=among)
    return found
