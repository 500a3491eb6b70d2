"""All figures of a study: ratings, agreement of raters, and agreement of another measure with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.statistics import (
    MeasurementLevel,
    PairSums,
    alpha,
    bonett_wright_interval,
    counts_of_levels,
    fisher_interval,
    quadratic_weighted_kappa,
    spearman,
    spearman_bootstrap,
    spearman_permutation_p,
)
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study import agreement
from shoe.study.agreement import LEVELS, Ends, Figure, Scale, figure_of, mean_ratings
from shoe.study.raters_and_people import Beside
from shoe.study.ratings import StudyRatings

# Raters whose answers say that they did not look: by rules that are fixed before anybody rates.

GOLD_SHARE, GOLD_REACH = 0.75, 1
ONE_LEVEL_SHARE, FEWEST = 0.95, 20
MEDIAN_SECONDS = 1.5
RULES = (
    f"fewer than {GOLD_SHARE:.0%} of the gold items within {GOLD_REACH} of the expected rating",
    f"one and the same rating for {ONE_LEVEL_SHARE:.0%} of {FEWEST} or more items",
    f"a median time below {MEDIAN_SECONDS} seconds an item",
)
"""In words, for reports."""


def excluded(study: StudyRatings) -> dict[str, list[str]]:
    """Return excluded raters with the rules that exclude them; a rule without data excludes nobody."""
    found: dict[str, list[str]] = {}
    for j, rater in enumerate(study.raters):
        given = study.first[:, j] != MISSING
        gold = given & ~study.measured
        levels = counts_of_levels(study.first[given & study.measured, j : j + 1], LEVELS).sum(axis=0)
        took = study.seconds[given & ~np.isnan(study.seconds[:, j]), j]
        near = np.abs(study.first[gold, j] - study.gold[gold]) <= GOLD_REACH
        broken = (
            gold.any() and near.mean() < GOLD_SHARE,
            levels.sum() >= FEWEST and levels.max() >= ONE_LEVEL_SHARE * levels.sum(),
            len(took) > 0 and np.median(took) < MEDIAN_SECONDS,
        )
        if any(broken):
            found[rater] = [rule for rule, holds in zip(RULES, broken, strict=True) if holds]
    return found


AtMostOne = Annotated[float, Meta(le=1)]
Positive = Annotated[float, Meta(gt=0)]
Levels = Annotated[list[Count], Meta(min_length=5, max_length=5, description="how often 0, 1, 2, 3 and 4")]

ALPHAS: tuple[MeasurementLevel, ...] = ("ordinal", "interval", "nominal")


class Reference(Document, frozen=True, kw_only=True):
    """Another measure of the same items, compared with mean ratings.

    Attributes:
        items: number of items with both.
        spearman: rank correlation, with the interval over items and raters.
        fisher, bonett_wright, bootstrap: intervals over items alone.
        p: of the permutation test.
        agreement: 1 - mean absolute difference, of ratings divided by 4 (protocols, A29).
    """

    items: Count
    spearman: Figure
    fisher: Ends | None = None
    bonett_wright: Ends | None = None
    bootstrap: Ends | None = None
    p: Fraction | None = None
    agreement: Figure


class Retest(Document, frozen=True, kw_only=True):
    """Second ratings of items that were shown twice.

    Attributes:
        answers: number of repeats.
        exact: share of equal ratings.
        kappa: quadratic weighted kappa of first and second ratings of all raters together.
    """

    answers: Count
    exact: Fraction
    kappa: AtMostOne | None = None


class PictureEffect(Document, frozen=True, kw_only=True):
    """Change of ratings after the picture was shown.

    Attributes:
        answers: number of ratings with a picture.
        changed: share that changed; its interval allows for ratings of one item, or one rater, being dependent.
        size: mean change of those that changed, in points of the scale.
    """

    answers: Count
    changed: Figure
    size: Figure


class Agreement(Document, frozen=True, kw_only=True):
    """Agreement of some raters over some items.

    Attributes:
        items, raters, ratings: their numbers.
        alpha: Krippendorff's alpha by level of measurement.
        kappa: mean quadratic weighted kappa of all pairs of raters.
        ceiling: mean correlation of each rater with the mean of the others.
        spread: within-item standard deviation.
        standard_error: of an item's mean rating: the spread divided by the root of the mean number of ratings per item.
        reference: another measure, where there is one.
    """

    items: Count
    raters: Count
    ratings: Count
    alpha: dict[str, Figure]
    kappa: Figure
    ceiling: Figure
    spread: float | None = None
    standard_error: float | None = None
    reference: Reference | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Figures of ``shoe study report``.

    Attributes:
        whole: agreement of all raters over all items but gold ones.
        parts: the same by stratum, where the table has several.
        levels: (R, 5) number of each rating by rater.
        by_majority: (5, 5) ratings of the items whose most frequent rating is the row's.
        kappas: (R, R) of pairs of raters; NaN where undefined.
        retest, picture: where there are repeats, or a second phase.
        excluded: excluded raters with the reason.
        kept: agreement without them; None where nobody is excluded, or nobody remains.
    """

    study: StudyRatings
    whole: Agreement
    parts: dict[str, Agreement]
    levels: Ints
    by_majority: Ints
    kappas: Floats
    ceilings: list[float | None]
    retest: Retest | None
    picture: PictureEffect | None
    excluded: dict[str, list[str]]
    kept: Agreement | None


class StudyRater(Document, frozen=True, kw_only=True):
    """Ratings of one rater, kappas with each other rater, and the rules that exclude the rater.

    Attributes:
        ceiling: correlation with the mean of the other raters.
    """

    levels: Levels
    kappas: dict[str, AtMostOne]
    ceiling: AtMostOne | None = None
    excluded: list[str] | None = None


class StudyPopulation(Document, frozen=True):
    """Number of pairs that the items stand for, and the number of evenly drawn pairs that is as precise."""

    pairs: Positive
    effective: Positive


class StudyReport(Document, frozen=True, kw_only=True):
    """Agreement of a study's raters, each rater, and people beside the raters of a map."""

    holes: Count
    population: StudyPopulation | None = None
    all: Agreement
    without_excluded: Agreement | None = None
    parts: dict[str, Agreement] = msgspec.field(default_factory=dict)
    raters: dict[str, StudyRater]
    by_majority: list[Levels]
    retest: Retest | None = None
    picture: PictureEffect | None = None
    rules: list[str]
    beside: Beside | None = None

    @classmethod
    def from_analysis(cls, found: Analysis, beside: Beside | None) -> StudyReport:
        """Return the report of an analysis; undefined values are left out."""
        study = found.study
        raters = {}
        for j, rater in enumerate(study.raters):
            kappas = dict(zip(study.raters, found.kappas[j].tolist(), strict=True))
            raters[rater] = StudyRater(
                levels=found.levels[j].tolist(),
                kappas={other: value for other, value in kappas.items() if other != rater and not np.isnan(value)},
                ceiling=found.ceilings[j],
                excluded=found.excluded.get(rater),
            )
        return cls(
            holes=study.holes,
            population=StudyPopulation(study.weights.population, study.weights.effective) if study.weights else None,
            all=found.whole,
            without_excluded=found.kept,
            parts=found.parts,
            raters=raters,
            by_majority=found.by_majority.tolist(),
            retest=found.retest,
            picture=found.picture,
            rules=list(RULES),
            beside=beside,
        )


def analyse(study: StudyRatings) -> Analysis:
    """Compute all figures of a study, for the population of its items where they have weights."""
    out = excluded(study)
    retest = _retest(study)
    study_of_items = study.of_items(study.measured)
    keep = np.array([rater not in out for rater in study.raters])
    parts = sorted(set(study_of_items.part))
    of_parts = {name: study_of_items.of_items(np.array(study_of_items.part) == name) for name in parts}
    ratings, everywhere = study_of_items.first, _weight(study_of_items)
    most = agreement.majority(ratings)
    by_majority = [counts_of_levels(ratings[most == level], LEVELS).sum(axis=0) for level in range(LEVELS)]
    return Analysis(
        study=study_of_items,
        whole=agreement_of(study_of_items),
        parts={name: agreement_of(part) for name, part in of_parts.items()} if len(parts) > 1 else {},
        levels=counts_of_levels(ratings.T, LEVELS).astype(np.int64),
        by_majority=np.array(by_majority, np.int64),
        kappas=PairSums.from_ratings(ratings, everywhere).kappas,
        ceilings=[None if np.isnan(value) else value for value in agreement.ceiling(ratings, everywhere).tolist()],
        retest=retest,
        picture=_picture(study_of_items),
        excluded=out,
        kept=agreement_of(study_of_items.of_raters(keep)) if out and keep.any() else None,
    )


def agreement_of(study: StudyRatings, *, items_alone: bool = True) -> Agreement:
    """Compute the agreement of a table's raters and its reference; ``items_alone`` adds intervals over items alone."""
    ratings, weight = study.first, _weight(study)
    spread = agreement.within_item_spread(ratings, weight)
    number = (ratings != MISSING).sum(axis=1)
    shared = number > 1
    per_item = np.average(number[shared], weights=None if weight is None else weight[shared]) if shared.any() else 1
    pairs = PairSums.from_ratings(ratings, weight)
    kappas = pairs.kappas

    def figure(of: Callable[..., float | None], scale: Scale) -> Figure:
        def statistic(items: Indices, raters: Indices) -> float | None:
            return of(ratings[np.ix_(items, raters)], weight=_weight(study, items))

        return figure_of(statistic, ratings.shape, scale)

    def kappa(items: Indices, raters: Indices) -> float | None:
        if len(items) == len(ratings):  # without some raters, the others agree as they did
            return agreement.mean_of_pairs(kappas[np.ix_(raters, raters)])
        if weight is None:
            left_out = np.ones(len(ratings), bool)
            left_out[items] = False
            return agreement.mean_of_pairs(pairs.minus(PairSums.from_ratings(ratings[left_out])).kappas)
        return agreement.mean_kappa(ratings[items], _weight(study, items))

    return Agreement(
        items=len(study.items),
        raters=len(study.raters),
        ratings=int(number.sum()),
        alpha={level: figure(partial(alpha, level=level), "agreement") for level in ALPHAS},
        kappa=figure_of(kappa, ratings.shape, "agreement"),
        spread=spread,
        standard_error=None if spread is None else float(spread / np.sqrt(per_item)),
        ceiling=figure(agreement.mean_ceiling, "correlation"),
        reference=_reference(study, items_alone=items_alone),
    )


def _weight(study: StudyRatings, items: Indices | None = None) -> Floats | None:
    """Return weights of some items, or all; None where each counts once."""
    if study.weights is None:
        return None
    return study.weights.of(np.arange(len(study.items)) if items is None else items)


def _reference(study: StudyRatings, *, items_alone: bool) -> Reference | None:
    """Spearman's correlation and the share of agreement of a reference with mean ratings."""
    table = study.of_items(~np.isnan(study.reference) & ~np.isnan(mean_ratings(study.first)))
    theirs, ours = mean_ratings(table.first), table.reference
    if len(ours) < 2:
        return None

    def paired(items: Indices, raters: Indices) -> tuple[Floats, Floats, Floats | None]:
        means = mean_ratings(table.first[np.ix_(items, raters)])
        known = ~np.isnan(means)
        return ours[items][known], means[known], _weight(table, items[known])

    def likeness(items: Indices, raters: Indices) -> float | None:
        values, means, weight = paired(items, raters)
        return 1 - _mean(np.abs(values - means / HIGHEST), weight) if len(values) else None

    rank_correlation = figure_of(lambda i, r: spearman(*paired(i, r)), table.first.shape, "correlation")
    rho, weight = rank_correlation.value if items_alone else None, _weight(table)
    number = len(ours) if table.weights is None else table.weights.effective
    return Reference(
        items=len(ours),
        spearman=rank_correlation,
        fisher=None if rho is None else fisher_interval(rho, number),
        bonett_wright=None if rho is None else bonett_wright_interval(rho, number),
        bootstrap=None if rho is None else spearman_bootstrap(ours, theirs, weight),
        p=None if rho is None else spearman_permutation_p(ours, theirs, weight),
        agreement=figure_of(likeness, table.first.shape, "share"),
    )


def _retest(study: StudyRatings) -> Retest | None:
    both = (study.first != MISSING) & (study.again != MISSING)
    if not both.any():
        return None
    pair = np.stack([study.first[both], study.again[both]], axis=1)
    weight = None if (of_items := _weight(study)) is None else of_items[np.nonzero(both)[0]]
    return Retest(
        answers=len(pair),
        exact=_mean(pair[:, 0] == pair[:, 1], weight),
        kappa=quadratic_weighted_kappa(pair[:, 0], pair[:, 1], weight),
    )


def _picture(study: StudyRatings) -> PictureEffect | None:
    both = (study.first != MISSING) & (study.picture != MISSING)
    if not both.any():
        return None
    moved = np.where(both, np.abs(study.picture - study.first), 0)

    def mean(what: NDArray[Any], of: Mask, items: Indices, raters: Indices) -> float | None:
        at = np.ix_(items, raters)
        weight = _weight(study, items)
        each = None if weight is None else np.broadcast_to(weight[:, None], of[at].shape)[of[at]]
        return _mean(what[at][of[at]], each) if of[at].any() else None

    changed, size = partial(mean, moved > 0, both), partial(mean, moved, moved > 0)
    return PictureEffect(
        answers=int(both.sum()), changed=figure_of(changed, both.shape, "share"), size=figure_of(size, both.shape)
    )


def _mean(values: NDArray[Any], weight: Floats | None) -> float:
    return float(values.mean() if weight is None else np.average(values, weights=weight))
