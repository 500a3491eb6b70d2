"""Do measures rank models as people do? The results, and models' scores under drawn images and other raters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Protocol, Self

import numpy as np
from msgspec import Meta

from shoe.comparison.ranked import Counts
from shoe.comparison.significance import LEVEL
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.statistics import correlation, deviations, differences, holm, interval_around, kendall_of_differences
from shoe.study.agreement import Ends, Figure, Scale, groups_of
from shoe.study.metric.units import Judged

# What is found when measures are held against people, and which of them differ.

_SHARES = ("accuracy", "soft")


class Ranking(Protocol):
    """A figure that knows how it varies."""

    def figure(self, scale: Scale = ...) -> Figure:
        """The figure with its interval."""

    def minus(self, other: Self) -> Self:
        """The difference from another one, which varies together with it."""

    @property
    def p(self) -> float | None:
        """Of the figure being 0."""


class Difference(Document, frozen=True, kw_only=True):
    """Difference of two measures' figures, with its interval.

    Attributes:
        figure: name of the figure.
        first, second: the measures.
        p: p value of no difference; None if nothing varies.
        adjusted: p by Holm's correction over all pairs of measures.
        significant: whether the adjusted p is below 0.05.
    """

    figure: str
    first: str
    second: str
    value: float | None = None
    interval: Ends | None = None
    p: Fraction | None = None
    adjusted: Fraction | None = None
    significant: bool


class Nearest(Document, frozen=True):
    """Measure that is nearest to people, and the measures that the judgements cannot tell from it."""

    measure: str
    not_told_apart: list[str]


class Level(Document, frozen=True):
    """Ranking of predictions, of models on an image, or of models by each measure.

    Attributes:
        number: number of predictions, models on an image, or models.
        figures: figures of each measure, by name.
        differences: differences of every two measures.
        nearest: nearest measure by each figure that any measure has.
    """

    number: Count
    figures: dict[str, dict[str, Figure]]
    differences: list[Difference]
    nearest: dict[str, Nearest]

    @classmethod
    def of(cls, number: int, rows: Mapping[str, Mapping[str, Ranking]]) -> Level:
        """Take all differences of the figures of some measures, and correct for their number."""

        def shown(ranking: Ranking, figure: str) -> Figure:
            share = figure in _SHARES  # the interval leaves out what the figure cannot be
            made = ranking.figure("as it is" if share else "correlation")
            if made.interval is None:
                return made
            low, high = made.interval
            return Figure(made.value, (max(low, 0 if share else -1), min(high, 1)))

        figures = {
            name: {figure: shown(ranking, figure) for figure, ranking in of.items()} for name, of in rows.items()
        }
        differences, nearest = [], {}
        for figure in next(iter(rows.values()), {}):
            apart = {(a, b): rows[a][figure].minus(rows[b][figure]) for a, b in combinations(rows, 2)}
            corrected = iter(holm([p for each in apart.values() if (p := each.p) is not None]))
            alike = {name: {name} for name in rows}
            for (first, second), each in apart.items():
                value, adjusted = each.figure("as it is"), None if each.p is None else next(corrected)
                significant = adjusted is not None and adjusted < LEVEL
                differences.append(
                    Difference(
                        figure=figure,
                        first=first,
                        second=second,
                        value=value.value,
                        interval=value.interval,
                        p=each.p,
                        adjusted=adjusted,
                        significant=significant,
                    )
                )
                if not significant:
                    alike[first].add(second)
                    alike[second].add(first)
            known = {name: high for name, of in figures.items() if (high := of[figure].value) is not None}
            if known:
                best = max(known, key=lambda name: known[name])
                nearest[figure] = Nearest(best, [name for name in known if name != best and name in alike[best]])
        return cls(number, figures, differences, nearest)


class Against(Document, frozen=True):
    """What ``shoe study metric`` says.

    Attributes:
        images, raters, ratings, holes: how much there is.
        people: each rater against the mean of the others, over the judged predictions.
        models: mean rating of each judged model's predictions, over its images.
        measures: signature of each measure.
        scores: what each row of level model says of each model.
        levels: prediction, image, and model where there are two or more.
        opposite: of each row of level model, pairs of models in the order opposite to people's, their better one first.
    """

    images: Count
    raters: Count
    ratings: Count
    holes: Count
    people: Figure
    models: dict[str, float]
    measures: Annotated[dict[str, str], Meta(description="signature of each")]
    scores: dict[str, dict[str, float]]
    levels: dict[str, Level]
    opposite: dict[str, list[list[str]]]


_SAME = 1e-9
_SEED = 20_240_411


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of M models by people or by a measure.

    Attributes:
        values: (M,) what they are.
        drawn: (B, M) under drawn images, centred on the values; NaN where nothing was drawn.
    """

    values: Floats
    drawn: Floats

    @classmethod
    def of(cls, values: Floats, drawn: Floats) -> Scores:
        """Lay the deviations of draws from their mean around the values."""
        known = np.where(np.isnan(drawn), 0, drawn)
        centre = known.sum(axis=0) / np.maximum((~np.isnan(drawn)).sum(axis=0), 1)
        return cls(values, values + drawn - centre)

    def of_models(self, chosen: Indices) -> Scores:
        """Those of some models."""
        return Scores(self.values[chosen], self.drawn[:, chosen])


def scores_of(judged: Judged, models: int, weights: Counts) -> tuple[Scores, Scores, list[Scores]]:
    """Mean over judged images of what people, and K measures, say of a model's judged predictions on each.

    Args:
        weights: (images, B) how often each judged image is drawn.

    Returns:
        People's scores under drawn images; the same under other raters, too; and each measure's.
    """
    raters = judged.ratings.shape[1]

    def table(chosen: Mask) -> Floats:
        """(1 + K, M, images) of people and measures; NaN where nothing was judged."""
        cells, model = judged.cells(chosen)
        found = np.full((1 + cells.credit.shape[1], models, len(weights)), np.nan)
        found[:, model, cells.image] = np.column_stack([cells.people, cells.credit]).T
        return found

    def mean(of: Floats, under: Counts) -> Floats:
        """(columns, M) weighted means over images."""
        given = ~np.isnan(of)
        number = (given @ under).T
        total = (np.where(given, of, 0) @ under).T
        means: Floats = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        return means

    once = np.ones((len(weights), 1), np.int32)
    people, *measures = [Scores.of(mean(of, once)[0], mean(of, weights)) for of in table(np.ones(raters, bool))]
    group = groups_of(raters)
    without = np.array([mean(table(group != g)[0], once)[0] for g in range(group.max() + 1)])
    return people, _with_raters(people, without), measures


def _with_raters(people: Scores, without: Floats) -> Scores:
    """Add what other raters would say: normal deviations by the jackknife, with Student's tails for few raters."""
    groups = len(without)
    if groups < 2 or np.isnan(without).any():
        return people
    rng = np.random.default_rng(_SEED)
    normal = rng.standard_normal((len(people.drawn), groups))
    tails = np.sqrt((groups - 1) / rng.chisquare(groups - 1, len(normal)))
    away = np.sqrt((groups - 1) / groups) * (without - without.mean(axis=0))
    return Scores(people.values, people.drawn + tails[:, None] * (normal @ away))


class ScoreDifferences:
    """Differences of the scores of every two of M models, C pairs.

    Attributes:
        whole: (C,) of the scores.
        drawn: (B, C) of the drawn ones.
    """

    def __init__(self, scores: Scores, spread: Scores | None = None) -> None:
        """Take differences; ``spread`` says what is drawn where images alone are drawn, if ``scores`` are not."""
        self.whole, self.drawn = differences(scores.values, _SAME), differences(scores.drawn, _SAME)
        self.error = np.nanstd(differences((spread or scores).drawn, 0), axis=0)

    def sure(self, apart: Floats) -> Floats:
        """Probability that the first of each pair is the better one, by one-sided tests."""
        from scipy.stats import norm

        found: Floats = norm.cdf(apart / np.maximum(self.error, _SAME**2))
        return found


def pearson(x: Floats, y: Floats) -> Floats:
    """Pearson's correlation of the scores, which is that of all their differences, each taken both ways."""
    if x.shape[-1] < 3:  # any two models lie on a line
        return np.full(x.shape[:-1], np.nan)
    return correlation((x * y).sum(axis=-1), (x * x).sum(axis=-1), (y * y).sum(axis=-1))


def accuracy(x: Floats, y: Floats) -> Floats:
    """Share of pairs that both put in one order (Kocmi et al. 2021)."""
    x, y = np.sign(x), np.sign(y)
    return np.where(x.any(axis=-1) & y.any(axis=-1), (x == y).mean(axis=-1), np.nan)


def soft_accuracy(a: ScoreDifferences, b: ScoreDifferences, x: Floats, y: Floats) -> Floats:
    """Soft pairwise accuracy: 1 - mean difference of how sure both are of an order (Thompson et al. 2024)."""
    found: Floats = np.where(np.isnan(accuracy(x, y)), np.nan, 1 - np.abs(a.sure(x) - b.sure(y)).mean(axis=-1))
    return found


_OF_DIFFERENCES = {"kendall": kendall_of_differences, "pearson": pearson, "accuracy": accuracy}
FIGURES = (*_OF_DIFFERENCES, "soft")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnStatistic:
    """A figure, and what it is under (B,) draws; NaN where it is undefined.

    Attributes:
        value: None where it is undefined.
        draws: (B,), or None where there is one rater: nothing says what others would rate.
    """

    value: float | None
    draws: Floats | None

    def figure(self, scale: Scale = "as it is", level: float = 0.95) -> Figure:
        """The figure, with the percentiles of its draws' deviations from their mean around it, on whatever scale."""
        known = self._known()
        if self.value is None or known is None:
            return Figure(self.value, None)
        return Figure(self.value, interval_around(self.value, deviations(known), level))

    def minus(self, other: DrawnStatistic) -> DrawnStatistic:
        """The difference of two under the same draws."""
        value = None if self.value is None or other.value is None else self.value - other.value
        return DrawnStatistic(value, None if self.draws is None or other.draws is None else self.draws - other.draws)

    @property
    def p(self) -> float | None:
        """Two-sided p of the figure being 0, by the standard deviation of its draws; None where it does not vary."""
        from scipy.stats import norm

        known = self._known()
        if self.value is None or known is None or np.ptp(known) < _SAME:
            return None
        return float(2 * norm.sf(abs(self.value) / known.std()))

    def _known(self) -> Floats | None:
        if self.draws is None:
            return None
        known = self.draws[~np.isnan(self.draws)]
        return known if len(known) > len(self.draws) / 2 else None


def statistics_of(people: Scores, by_images: Scores, measure: Scores, raters: int) -> dict[str, DrawnStatistic]:
    """All figures of one measure's scores of models against people's.

    Args:
        people: their scores under drawn images and other raters.
        by_images: the same under drawn images alone, which say how sure people are of an order.
    """
    a, b = ScoreDifferences(people, by_images), ScoreDifferences(measure)
    found = {name: (of(a.whole, b.whole), of(a.drawn, b.drawn)) for name, of in _OF_DIFFERENCES.items()}
    found["soft"] = soft_accuracy(a, b, a.whole, b.whole), soft_accuracy(a, b, a.drawn, b.drawn)
    return {
        name: DrawnStatistic(None if np.isnan(value) else float(value), draws if raters > 1 else None)
        for name, (value, draws) in found.items()
    }


def opposite_pairs(people: Scores, measure: Scores) -> list[tuple[int, int]]:
    """Pairs of models that a measure ranks in the order opposite to people's, the better one by people first."""
    found: list[tuple[int, int]] = []
    indices: Indices = np.argsort(-people.values, kind="stable")
    for better, worse in combinations(indices.tolist(), 2):
        if (
            people.values[better] - people.values[worse] > _SAME
            and measure.values[worse] - measure.values[better] > _SAME
        ):
            found.append((better, worse))
    return found
