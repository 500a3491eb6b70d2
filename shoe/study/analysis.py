"""All figures of a study: what raters gave, how far they agree, and how far another measure agrees with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints
from shoe.maps.agreement import quadratic_weighted_kappa, spearman
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.study import agreement
from shoe.study.agreement import Level, mean_ratings
from shoe.study.exclusions import excluded
from shoe.study.intervals import (
    Figure,
    Interval,
    Scale,
    bonett_wright_interval,
    bootstrap_interval,
    figure_of,
    fisher_interval,
    permutation_p,
)
from shoe.study.ratings import StudyRatings

ALPHAS: tuple[Level, ...] = ("ordinal", "interval", "nominal")


@dataclass(frozen=True, slots=True)
class Reference:
    """Another measure of the same items beside the mean ratings.

    Attributes:
        items: that have both.
        spearman: rank correlation, with the interval over items and raters.
        fisher, bonett_wright, bootstrap: its intervals over items alone.
        p: of the permutation test.
        agreement: 1 - mean absolute difference, of ratings divided by 4 (protocols, A29).
    """

    items: int
    spearman: Figure
    fisher: Interval | None
    bonett_wright: Interval | None
    bootstrap: Interval | None
    p: float | None
    agreement: Figure


@dataclass(frozen=True, slots=True)
class Retest:
    """What raters gave an item the second time.

    Attributes:
        answers: repeats.
        exact: share of equal ratings.
        kappa: quadratic weighted kappa of first and second ratings of all raters together.
    """

    answers: int
    exact: float
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Picture:
    """What became of ratings when the picture was shown.

    Attributes:
        answers: ratings that were looked at again.
        changed: share that changed; its interval knows that ratings of one item, or one rater, go together.
        size: mean change of those that changed, in points of the scale.
    """

    answers: int
    changed: Figure
    size: Figure


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far some raters agree over some items.

    Attributes:
        items, raters, ratings: how much there is.
        alpha: Krippendorff's, by level of measurement.
        kappa: mean of the quadratic weighted kappas of all pairs of raters.
        spread: within-item standard deviation.
        standard_error: of an item's mean rating: the spread divided by the root of the ratings an item has on average.
        ceiling: mean correlation of each rater with the mean of the others.
        reference: another measure, where there is one.
    """

    items: int
    raters: int
    ratings: int
    alpha: dict[Level, Figure]
    kappa: Figure
    spread: float | None
    standard_error: float | None
    ceiling: Figure
    reference: Reference | None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What ``shoe study report`` says.

    Attributes:
        study: the ratings.
        whole: agreement of all raters over all items but gold ones.
        parts: likewise by stratum, where the table has several.
        levels: (R, 5) how often each rater gave each rating.
        by_majority: (5, 5) ratings of the items whose most frequent rating is the row's.
        kappas: (R, R) of pairs of raters; NaN where undefined.
        ceilings: per rater.
        retest, picture: where there are repeats, or a second phase.
        excluded: raters that the rules exclude, and why.
        kept: agreement without them; None where nobody is excluded, or nobody is left.
    """

    study: StudyRatings
    whole: Agreement
    parts: dict[str, Agreement]
    levels: Ints
    by_majority: Ints
    kappas: Floats
    ceilings: list[float | None]
    retest: Retest | None
    picture: Picture | None
    excluded: dict[str, list[str]]
    kept: Agreement | None


def analyse(study: StudyRatings) -> Analysis:
    """Compute all figures of a study; a few seconds for 500 items and 5 raters."""
    out = excluded(study)
    retest = _retest(study)
    study_of_items = study.of_items(study.measured)
    keep = np.array([rater not in out for rater in study.raters])
    parts = sorted(set(study_of_items.part))
    of_parts = {name: study_of_items.of_items(np.array(study_of_items.part) == name) for name in parts}
    ratings = study_of_items.first
    most = agreement.majority(ratings)
    by_majority = [agreement.counts_of_levels(ratings[most == level]).sum(axis=0) for level in range(agreement.LEVELS)]
    return Analysis(
        study=study_of_items,
        whole=agreement_of(study_of_items),
        parts={name: agreement_of(part) for name, part in of_parts.items()} if len(parts) > 1 else {},
        levels=agreement.counts_of_levels(ratings.T).astype(np.int64),
        by_majority=np.array(by_majority, np.int64),
        kappas=agreement.pairwise_kappa(ratings),
        ceilings=agreement.ceiling(ratings),
        retest=retest,
        picture=_picture(study_of_items),
        excluded=out,
        kept=agreement_of(study_of_items.of_raters(keep)) if out and keep.any() else None,
    )


def agreement_of(study: StudyRatings) -> Agreement:
    """How far the raters of a table agree, and with its reference."""
    ratings = study.first
    spread = agreement.within_item_spread(ratings)
    number = (ratings != MISSING).sum(axis=1)
    shared = number[number > 1]
    alphas = {level: _figure(study, partial(agreement.alpha, level=level), "agreement") for level in ALPHAS}
    return Agreement(
        items=len(study.items),
        raters=len(study.raters),
        ratings=int(number.sum()),
        alpha=alphas,
        kappa=_figure(study, agreement.mean_kappa, "agreement"),
        spread=spread,
        standard_error=None if spread is None else float(spread / np.sqrt(shared.mean())),
        ceiling=_figure(study, agreement.mean_ceiling, "correlation"),
        reference=_reference(study),
    )


def _figure(study: StudyRatings, of: Callable[[Ratings], float | None], scale: Scale = "as it is") -> Figure:
    return figure_of(lambda items, raters: of(study.first[np.ix_(items, raters)]), study.first.shape, scale)


def _reference(study: StudyRatings) -> Reference | None:
    """Spearman's correlation and the share of agreement of a reference with mean ratings."""
    table = study.of_items(~np.isnan(study.reference) & ~np.isnan(mean_ratings(study.first)))
    theirs, ours = mean_ratings(table.first), table.reference
    if len(ours) < 2:
        return None

    def correlation(items: Indices, raters: Indices) -> float | None:
        means = mean_ratings(table.first[np.ix_(items, raters)])
        known = ~np.isnan(means)
        return spearman(ours[items][known], means[known])

    def likeness(items: Indices, raters: Indices) -> float | None:
        means = mean_ratings(table.first[np.ix_(items, raters)])
        known = ~np.isnan(means)
        return 1 - float(np.abs(ours[items][known] - means[known] / HIGHEST).mean()) if known.any() else None

    rank_correlation = figure_of(correlation, table.first.shape, "correlation")
    rho = rank_correlation.value
    return Reference(
        items=len(ours),
        spearman=rank_correlation,
        fisher=None if rho is None else fisher_interval(rho, len(ours)),
        bonett_wright=None if rho is None else bonett_wright_interval(rho, len(ours)),
        bootstrap=None if rho is None else bootstrap_interval(ours, theirs),
        p=None if rho is None else permutation_p(ours, theirs),
        agreement=figure_of(likeness, table.first.shape, "share"),
    )


def _retest(study: StudyRatings) -> Retest | None:
    both = (study.first != MISSING) & (study.again != MISSING)
    if not both.any():
        return None
    first, again = study.first[both], study.again[both]
    return Retest(len(first), float((first == again).mean()), quadratic_weighted_kappa(first, again))


def _picture(study: StudyRatings) -> Picture | None:
    both = (study.first != MISSING) & (study.picture != MISSING)
    if not both.any():
        return None
    moved = np.where(both, np.abs(study.picture - study.first), 0)

    def changed(items: Indices, raters: Indices) -> float | None:
        at = np.ix_(items, raters)
        return float((moved[at] > 0).sum() / both[at].sum()) if both[at].any() else None

    def size(items: Indices, raters: Indices) -> float | None:
        some = moved[np.ix_(items, raters)]
        return float(some[some > 0].mean()) if some.any() else None

    return Picture(int(both.sum()), figure_of(changed, both.shape), figure_of(size, both.shape))
