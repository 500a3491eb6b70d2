"""Agreement of measures with people in ranking models, with intervals over images and raters."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Self, TypeVar

import numpy as np
from msgspec import Meta, structs

from shoe.comparison.ranked import Counts
from shoe.comparison.significance import LEVEL
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.statistics import correlation, deviations, differences, holm, interval_around, kendall_of_differences
from shoe.scoring.entries import minus
from shoe.study.agreement import Ends, Figure, Jackknife, Scale, groups_of
from shoe.study.metric.units import Judged

Ranking = TypeVar("Ranking", Jackknife, "DrawnStatistic")
"""A statistic with its sampling variation."""


class Difference(Document, frozen=True, kw_only=True):
    """Difference of a statistic between two measures, first minus second, with its interval.

    Attributes:
        figure: name of the statistic.
        first, second: names of the measures.
        p: p-value of a test that the difference is 0; None if the bootstrap or jackknife values do not vary.
        adjusted: p-value after Holm's correction over all pairs of measures.
        significant: whether the adjusted p-value is below 0.05.
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
    """Measure that agrees best with people, and the measures without a significant difference from it."""

    measure: str
    not_told_apart: list[str]


class Level(Document, frozen=True):
    """Agreement of measures with people in one kind of ranking: of predictions, of models on one image, or of models.

    Attributes:
        number: number of ranked predictions or models.
        figures: statistics by measure, then by name.
        differences: differences between every two measures.
        nearest: measure that agrees best with people, by name of the statistic; without undefined statistics.
    """

    number: Count
    figures: dict[str, dict[str, Figure]]
    differences: list[Difference]
    nearest: dict[str, Nearest]

    @classmethod
    def from_rankings(cls, number: int, rows: Mapping[str, Mapping[str, Ranking]]) -> Self:
        """Return the agreement on ``number`` units, given statistics by measure, then by name ("accuracy")."""

        def summary(ranking: Ranking, figure: str) -> Figure:
            share = figure in ("accuracy", "soft")  # the interval is clipped to the possible values
            made = ranking.figure("as it is" if share else "correlation")
            if made.interval is None:
                return made
            low, high = made.interval
            return Figure(made.value, (max(low, 0 if share else -1), min(high, 1)))

        figures = {name: {key: summary(ranking, key) for key, ranking in of.items()} for name, of in rows.items()}
        differences, nearest = [], {}
        for figure in next(iter(rows.values()), {}):
            apart = {(a, b): rows[a][figure].minus(rows[b][figure]) for a, b in combinations(rows, 2)}
            corrected = iter(holm([p for each in apart.values() if (p := each.p) is not None]))
            alike = {name: {name} for name in rows}
            for (first, second), each in apart.items():
                adjusted = None if each.p is None else next(corrected)
                significant = adjusted is not None and adjusted < LEVEL
                about = {"figure": figure, "first": first, "second": second, **structs.asdict(each.figure("as it is"))}
                differences.append(Difference(**about, p=each.p, adjusted=adjusted, significant=significant))
                if not significant:
                    alike[first].add(second)
                    alike[second].add(first)
            known = {name: high for name, of in figures.items() if (high := of[figure].value) is not None}
            if known:
                best = max(known, key=lambda name: known[name])
                nearest[figure] = Nearest(best, [name for name in known if name != best and name in alike[best]])
        return cls(number, figures, differences, nearest)


class MeasureComparison(Document, frozen=True):
    """Results of ``shoe study metric``.

    Attributes:
        images, raters, ratings, holes: number of images, raters, ratings and missing ratings.
        people: mean correlation of a rater with the mean of the other raters, over the judged predictions.
        models: score of each judged model by people: mean over images of the mean rating of its predictions.
        scores: score of each model, by measure and metric, then by model.
        levels: agreement with people by ranking: "prediction", "image" (models on one image), "model" (if several).
        opposite: by measure and metric, pairs of models that people and the metric rank in opposite order; the model
            that people prefer comes first.
    """

    images: Count
    raters: Count
    ratings: Count
    holes: Count
    people: Figure
    models: dict[str, float]
    measures: Annotated[dict[str, str], Meta(description="signature of each measure")]
    scores: dict[str, dict[str, float]]
    levels: dict[str, Level]
    opposite: dict[str, list[list[str]]]


_SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of M models by people or by a measure.

    Attributes:
        values: (M,) scores.
        drawn: (B, M) scores in B bootstrap samples of images, centred on ``values``; NaN if a sample has no image with
            a judged prediction of the model.
    """

    values: Floats
    drawn: Floats

    @classmethod
    def from_draws(cls, values: Floats, drawn: Floats) -> Self:
        """Return scores, with bootstrap scores shifted so that their mean is ``values``."""
        known = np.where(np.isnan(drawn), 0, drawn)
        return cls(values, values + drawn - known.sum(axis=0) / np.maximum((~np.isnan(drawn)).sum(axis=0), 1))

    def of_models(self, chosen: Indices) -> "Scores":
        """Return the scores of the chosen models."""
        return Scores(self.values[chosen], self.drawn[:, chosen])


def scores_of(judged: Judged, models: int, weights: Counts) -> tuple[Scores, Scores, list[Scores]]:
    """Return scores of models by people, by people with variation between raters, and by each of K measures.

    The score of a model is the mean over images of its mean rating (or credit) on the judged predictions of the image.
    The bootstrap values vary with the sampled images, by their (images, B) ``weights``. In the second result, they also
    vary with the raters, by a jackknife over groups of raters; except with a single rater, or a model that one group
    judged alone.
    """

    def table(chosen: Mask) -> Floats:
        """Return (1 + K, M, images) means by people and measures; NaN without a judged prediction."""
        cells, model = judged.cells(chosen)
        found = np.full((1 + cells.credit.shape[1], models, len(weights)), np.nan)
        found[:, model, cells.image] = np.column_stack([cells.people, cells.credit]).T
        return found

    def mean(values: Floats, under: Counts) -> Floats:
        """Return (columns, M) means over images with weights ``under``."""
        given = ~np.isnan(values)
        number, total = (given @ under).T, (np.where(given, values, 0) @ under).T
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)

    once = np.ones((len(weights), 1), np.int32)
    people, *measures = [
        Scores.from_draws(mean(of, once)[0], mean(of, weights)) for of in table(np.ones(judged.ratings.shape[1], bool))
    ]
    group = groups_of(judged.ratings.shape[1])
    without = np.array([mean(table(group != g)[0], once)[0] for g in range(group.max() + 1)])
    groups = len(without)
    if groups < 2 or np.isnan(without).any():
        return people, people, measures
    # Add the variation between raters, estimated by a jackknife over groups of raters, to the draws.
    rng = np.random.default_rng(20_240_411)
    normal = rng.standard_normal((len(people.drawn), groups))
    tails = np.sqrt((groups - 1) / rng.chisquare(groups - 1, len(normal)))
    away = np.sqrt((groups - 1) / groups) * (without - without.mean(axis=0))
    return people, Scores(people.values, people.drawn + tails[:, None] * (normal @ away)), measures


class ScoreDifferences:
    """Score differences of C pairs of models: ``whole`` (C,) on all images, ``drawn`` (B, C) in bootstrap samples."""

    def __init__(self, scores: Scores, spread: Scores | None = None) -> None:
        """Compute differences; the draws in ``spread`` (or ``scores``) give the standard error of confidences."""
        self.whole, self.drawn = differences(scores.values, _SAME), differences(scores.drawn, _SAME)
        self.error = np.nanstd(differences((spread or scores).drawn, 0), axis=0)

    def confidence(self, apart: Floats) -> Floats:
        """Return the probability that the first model of each pair is better, given differences."""
        from scipy.stats import norm

        return np.asarray(norm.cdf(apart / np.maximum(self.error, _SAME**2)))


def pearson(x: Floats, y: Floats) -> Floats:
    """Return Pearson's correlation of two scores from their (..., C) differences of model pairs; NaN for two models."""
    if x.shape[-1] < 3:  # any two models lie on a line
        return np.full(x.shape[:-1], np.nan)
    return correlation((x * y).sum(axis=-1), (x * x).sum(axis=-1), (y * y).sum(axis=-1))


def accuracy(x: Floats, y: Floats) -> Floats:
    """Return the fraction of model pairs where x and y have equal signs (Kocmi et al. 2021); NaN if x or y is all 0."""
    x, y = np.sign(x), np.sign(y)
    return np.where(x.any(axis=-1) & y.any(axis=-1), (x == y).mean(axis=-1), np.nan)


def soft_accuracy(a: ScoreDifferences, b: ScoreDifferences, x: Floats, y: Floats) -> Floats:
    """Return soft pairwise accuracy (Thompson et al. 2024): 1 - mean difference of confidences; NaN if x or y is 0."""
    return np.where(np.isnan(accuracy(x, y)), np.nan, 1 - np.abs(a.confidence(x) - b.confidence(y)).mean(axis=-1))


_OF_DIFFERENCES = {"kendall": kendall_of_differences, "pearson": pearson, "accuracy": accuracy}


@dataclass(frozen=True, slots=True, eq=False)
class DrawnStatistic:
    """A statistic, or None, and its (B,) values in bootstrap samples, or NaN; no draws for a single rater."""

    value: float | None
    draws: Floats | None

    def figure(self, scale: Scale = "as it is") -> Figure:
        """Return the value, with its interval if more than half of the draws are defined; ``scale`` is ignored."""
        known = self._known()
        if self.value is None or known is None:
            return Figure(self.value, None)
        return Figure(self.value, interval_around(self.value, deviations(known)))

    def minus(self, other: "DrawnStatistic") -> "DrawnStatistic":
        """Return this statistic minus ``other``, which must use the same bootstrap samples."""
        draws = None if self.draws is None or other.draws is None else self.draws - other.draws
        return DrawnStatistic(minus(self.value, other.value), draws)

    @property
    def p(self) -> float | None:
        """Two-sided p-value of a z test that the statistic is 0; None if undefined, or if the draws do not vary."""
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
    """Return statistics of the agreement of a measure with people, by name: "kendall", "pearson", "accuracy", "soft".

    ``people`` are scores with draws of images and raters; ``by_images``, with draws of images only, give the confidence
    of people in the order of two models.
    """
    a, b = ScoreDifferences(people, by_images), ScoreDifferences(measure)
    found = {name: (of(a.whole, b.whole), of(a.drawn, b.drawn)) for name, of in _OF_DIFFERENCES.items()}
    found["soft"] = soft_accuracy(a, b, a.whole, b.whole), soft_accuracy(a, b, a.drawn, b.drawn)
    known = {name: (None if np.isnan(value) else float(value), draws) for name, (value, draws) in found.items()}
    return {name: DrawnStatistic(value, draws if raters > 1 else None) for name, (value, draws) in known.items()}


def opposite_pairs(people: Scores, measure: Scores) -> list[tuple[int, int]]:
    """Return the pairs of models (i, j) for which people rank i above j and the measure ranks j above i."""
    of_people, of_measure = people.values, measure.values
    pairs = combinations(np.argsort(-of_people, kind="stable").tolist(), 2)
    return [(i, j) for i, j in pairs if of_people[i] - of_people[j] > _SAME and of_measure[j] - of_measure[i] > _SAME]
