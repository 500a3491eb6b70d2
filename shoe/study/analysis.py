"""Analysis of a rating study: ratings, agreement of raters, and agreement of another measure with the raters."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shoe.core import statistics
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study import agreement
from shoe.study.agreement import LEVELS, Ends, Figure, Scale, figure_of, mean_ratings
from shoe.study.raters_and_people import PeopleAndRaters
from shoe.study.ratings import StudyRatings

GOLD_SHARE, GOLD_REACH, ONE_LEVEL_SHARE, FEWEST, MEDIAN_SECONDS = 0.75, 1, 0.95, 20, 1.5
RULES = (
    f"fewer than {GOLD_SHARE:.0%} of the gold items within {GOLD_REACH} of the expected rating",
    f"one and the same rating for {ONE_LEVEL_SHARE:.0%} of {FEWEST} or more items",
    f"a median time below {MEDIAN_SECONDS} seconds per item",
)
"""Rules, fixed before the study, that exclude raters who seem not to have read the items."""


def excluded(study: StudyRatings) -> dict[str, list[str]]:
    """Return {rater: broken rules} for raters who broke an exclusion rule; one without data is not broken."""
    found: dict[str, list[str]] = {}
    for j, rater in enumerate(study.raters):
        given = study.first[:, j] != MISSING
        gold = given & ~study.measured
        levels = statistics.counts_of_levels(study.first[given & study.measured, j : j + 1], LEVELS).sum(axis=0)
        took = study.seconds[given & ~np.isnan(study.seconds[:, j]), j]
        broken = (
            gold.any() and (np.abs(study.first[gold, j] - study.gold[gold]) <= GOLD_REACH).mean() < GOLD_SHARE,
            levels.sum() >= FEWEST and levels.max() >= ONE_LEVEL_SHARE * levels.sum(),
            len(took) > 0 and np.median(took) < MEDIAN_SECONDS,
        )
        if any(broken):
            found[rater] = [rule for rule, holds in zip(RULES, broken, strict=True) if holds]
    return found


AtMostOne = Annotated[float, Meta(le=1)]
Positive = Annotated[float, Meta(gt=0)]
Levels = Annotated[list[Count], Meta(min_length=5, max_length=5, description="number of ratings 0, 1, 2, 3 and 4")]

ALPHAS: tuple[statistics.MeasurementLevel, ...] = ("ordinal", "interval", "nominal")


class Reference(Document, frozen=True, kw_only=True):
    """Comparison of the items' mean ratings with another measure of the items, the reference.

    Attributes:
        items: number of items with both a mean rating and a reference value.
        spearman: Spearman's correlation, with a 95 % interval over items and raters.
        fisher, bonett_wright, bootstrap: 95 % intervals of the correlation over items only, by three methods.
        p: p-value of a permutation test of ``spearman``.
        agreement: 1 - mean absolute difference between mean rating / 4 and reference (docs/protocols.md A29).
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
        answers: number of second ratings of items with a first rating.
        exact: fraction of second ratings that equal the first rating.
        kappa: quadratic weighted kappa between first and second ratings, pooled over raters.
    """

    answers: Count
    exact: Fraction
    kappa: AtMostOne | None = None


class PictureEffect(Document, frozen=True, kw_only=True):
    """Change of ratings after the image was shown.

    Attributes:
        answers: number of ratings given with an image, after a rating without it.
        changed: fraction of changed ratings, with its 95 % interval over items and raters.
        size: mean absolute change of the changed ratings, in points of the scale.
    """

    answers: Count
    changed: Figure
    size: Figure


class Agreement(Document, frozen=True, kw_only=True):
    """Agreement of a set of raters over a set of items.

    Attributes:
        alpha: Krippendorff's alpha by level of measurement.
        kappa: quadratic weighted kappa, averaged over all pairs of raters.
        ceiling: Spearman correlation of a rater with the mean of all other raters, averaged over raters.
        spread: standard deviation of the ratings of one item, averaged over items with two or more ratings.
        standard_error: standard error of an item's mean rating, spread / sqrt(mean number of ratings of such items).
        reference: agreement with another measure, if the table has one.
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


class StudyRater(Document, frozen=True, kw_only=True):
    """Ratings of one rater, the kappas with the other raters, and the reasons for exclusion.

    Attributes:
        kappas: quadratic weighted kappa with each other rater for which it is defined.
        ceiling: Spearman correlation with the mean of the other raters; absent if undefined.
        excluded: exclusion rules that the rater broke.
    """

    levels: Levels
    kappas: dict[str, AtMostOne]
    ceiling: AtMostOne | None = None
    excluded: list[str] | None = None


class StudyPopulation(Document, frozen=True):
    """Estimated number of pairs of interactions in the population, and the effective sample size (Kish 1965)."""

    pairs: Positive
    effective: Positive


class StudyReport(Document, frozen=True, kw_only=True):
    """Agreement of a study's raters, results per rater, and comparison of people with the raters of a similarity map.

    Attributes:
        holes: number of missing ratings.
        all: agreement of all raters over all items except gold items (attention checks with a known rating).
        without_excluded: agreement without the excluded raters; absent if nobody is excluded or nobody remains.
        parts: agreement per part in which the interactions differ ("verb", "object" or "both"), if there are several.
        by_majority: for k = 0 to 4, numbers of ratings 0 to 4 of all items whose most frequent rating is k.
        retest, picture: results for items shown twice, or with an image; absent without such answers.
        rules: exclusion rules; only ``without_excluded`` leaves out the raters that broke a rule.
        beside: comparison of people with the raters of a map; absent if not requested.
    """

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
    beside: PeopleAndRaters | None = None


def analyse(study: StudyRatings) -> tuple[StudyRatings, StudyReport]:
    """Return a study without its gold items (attention checks), and its results, without a comparison with a map.

    If items have weights, the results are estimates for the population. Undefined values are left out.
    """
    out, study_of_items = excluded(study), study.of_items(study.measured)
    keep = np.array([rater not in out for rater in study.raters])
    part, parts = np.array(study_of_items.part), sorted(set(study_of_items.part))
    ratings, weights, weight = study_of_items.first, study_of_items.weights, _weight(study_of_items)
    counts = statistics.counts_of_levels(ratings.T, LEVELS).astype(np.int64)
    kappas_of, ceilings = statistics.PairSums.from_ratings(ratings, weight).kappas, agreement.ceiling(ratings, weight)
    columns = (table.tolist() for table in (counts, kappas_of, ceilings))
    raters = {}
    for rater, levels, of_rater, ceiling in zip(study.raters, *columns, strict=True):
        kappas = {other: k for other, k in zip(study.raters, of_rater, strict=True) if not np.isnan(k)}
        known = None if np.isnan(ceiling) else ceiling
        raters[rater] = StudyRater(levels=levels, kappas=kappas, ceiling=known, excluded=out.get(rater))
    most = agreement.majority(ratings)
    by_majority = [statistics.counts_of_levels(ratings[most == level], LEVELS).sum(axis=0) for level in range(LEVELS)]
    return study_of_items, StudyReport(
        holes=study.holes,
        population=StudyPopulation(weights.population, weights.effective) if weights else None,
        all=agreement_of(study_of_items),
        without_excluded=agreement_of(study_of_items.of_raters(keep)) if out and keep.any() else None,
        parts={name: agreement_of(study_of_items.of_items(part == name)) for name in parts if len(parts) > 1},
        raters=raters,
        by_majority=np.array(by_majority, np.int64).tolist(),
        retest=_retest(study),
        picture=_picture(study_of_items),
        rules=list(RULES),
    )


def agreement_of(study: StudyRatings, *, items_alone: bool = True) -> Agreement:
    """Return the agreement of all raters; if ``items_alone``, ``reference`` has p-value and intervals over items."""
    ratings, weight = study.first, _weight(study)
    spread = agreement.within_item_spread(ratings, weight)
    number = (ratings != MISSING).sum(axis=1)
    shared = number > 1
    per_item = np.average(number[shared], weights=None if weight is None else weight[shared]) if shared.any() else 1
    pairs = statistics.PairSums.from_ratings(ratings, weight)
    kappas = pairs.kappas

    def figure(of: Callable[..., float | None], scale: Scale) -> Figure:
        def statistic(items: Indices, raters: Indices) -> float | None:
            return of(ratings[np.ix_(items, raters)], weight=_weight(study, items))

        return figure_of(statistic, ratings.shape, scale)

    def kappa(items: Indices, raters: Indices) -> float | None:
        if len(items) == len(ratings):  # leaving out raters does not change the kappas of the others
            return agreement.mean_of_pairs(kappas[np.ix_(raters, raters)])
        if weight is None:
            left_out = np.ones(len(ratings), bool)
            left_out[items] = False
            return agreement.mean_of_pairs(pairs.minus(statistics.PairSums.from_ratings(ratings[left_out])).kappas)
        return agreement.mean_kappa(ratings[items], _weight(study, items))

    return Agreement(
        items=len(study.items),
        raters=len(study.raters),
        ratings=int(number.sum()),
        alpha={level: figure(partial(statistics.alpha, level=level), "agreement") for level in ALPHAS},
        kappa=figure_of(kappa, ratings.shape, "agreement"),
        spread=spread,
        standard_error=None if spread is None else float(spread / np.sqrt(per_item)),
        ceiling=figure(agreement.mean_ceiling, "correlation"),
        reference=_reference(study, items_alone=items_alone),
    )


def _weight(study: StudyRatings, items: Indices | None = None) -> Floats | None:
    if study.weights is None:
        return None
    return study.weights.select(np.arange(len(study.items)) if items is None else items)


def _reference(study: StudyRatings, *, items_alone: bool) -> Reference | None:
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
        return 1 - float(np.average(np.abs(values - means / HIGHEST), weights=weight)) if len(values) else None

    rank_correlation = figure_of(lambda i, r: statistics.spearman(*paired(i, r)), table.first.shape, "correlation")
    rho, weight = rank_correlation.value if items_alone else None, _weight(table)
    number = len(ours) if table.weights is None else table.weights.effective
    return Reference(
        items=len(ours),
        spearman=rank_correlation,
        fisher=None if rho is None else statistics.fisher_interval(rho, number),
        bonett_wright=None if rho is None else statistics.fisher_interval(rho, number, ranks=True),
        bootstrap=None if rho is None else statistics.spearman_bootstrap(ours, theirs, weight),
        p=None if rho is None else statistics.spearman_permutation_p(ours, theirs, weight),
        agreement=figure_of(likeness, table.first.shape, "share"),
    )


def _retest(study: StudyRatings) -> Retest | None:
    both = (study.first != MISSING) & (study.again != MISSING)
    if not both.any():
        return None
    first, again = study.first[both], study.again[both]
    weight = None if (of_items := _weight(study)) is None else of_items[np.nonzero(both)[0]]
    kappa = statistics.quadratic_weighted_kappa(first, again, weight)
    return Retest(answers=len(first), exact=float(np.average(first == again, weights=weight)), kappa=kappa)


def _picture(study: StudyRatings) -> PictureEffect | None:
    both = (study.first != MISSING) & (study.picture != MISSING)
    if not both.any():
        return None
    moved = np.where(both, np.abs(study.picture - study.first), 0)

    def mean(what: NDArray[Any], of: Mask, items: Indices, raters: Indices) -> float | None:
        at, weight = np.ix_(items, raters), _weight(study, items)
        each = None if weight is None else np.broadcast_to(weight[:, None], of[at].shape)[of[at]]
        return float(np.average(what[at][of[at]], weights=each)) if of[at].any() else None

    changed = figure_of(partial(mean, moved > 0, both), both.shape, "share")
    size = figure_of(partial(mean, moved, moved > 0), both.shape)
    return PictureEffect(answers=int(both.sum()), changed=changed, size=size)
