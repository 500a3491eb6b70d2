"""Agreement of measures with people in ranking units (predictions, or models on an image), and in ranking models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Annotated, NamedTuple, Self, TypeVar

import numpy as np
from msgspec import Meta, structs

from shoe.comparison.ranked import Counts
from shoe.comparison.significance import LEVEL
from shoe.core import statistics
from shoe.core.arrays import Floats, Indices, Mask, index_in_group, random_numbers
from shoe.core.documents import Count, Document, Fraction
from shoe.core.statistics import differences, kendall_of_differences
from shoe.scoring.entries import minus
from shoe.similarity.ensemble import Ratings
from shoe.study.agreement import Ends, Figure, Jackknife, Scale, groups_of, mean_ratings

_SAME = 1e-9
MOST_PAIRED = 50
"""Maximum number of units per image whose pairs are compared; the units are drawn at random."""

CORRELATIONS = {"spearman": statistics.spearman, "pearson": statistics.pearson, "kendall": statistics.kendall}


class UnitPairs(NamedTuple):
    """P pairs of predictions, or of models, on the same image: (P,) indices of the first, the second and the image."""

    first: Indices
    second: Indices
    image: Indices


def pairs_within(image: Indices) -> UnitPairs:
    """Return all pairs of units on the same image, for at most 50 random units per image."""
    place = index_in_group(np.bincount(image))
    order = np.lexsort((random_numbers(11 << 28, image.shape), image))[place < MOST_PAIRED]
    place = place[place < MOST_PAIRED]
    # Each unit is the second unit of a pair with every earlier unit of its image.
    second, before = np.repeat(order, place), index_in_group(place)
    first = order[np.repeat(np.arange(len(order)) - place, place) + before]
    return UnitPairs(first, second, image[second])


def pair_order(values: Floats, pairs: UnitPairs, least: float = 0) -> Indices:
    """Return (P,) 1 if the first unit has a higher value, -1 if a lower one, 0 if they differ by at most ``least``."""
    apart = values[pairs.first] - values[pairs.second]
    return np.asarray(np.sign(apart) * (np.abs(apart) > least + _SAME))


def tie_width(values: Floats, pairs: UnitPairs, people: Indices, known: Mask) -> float:
    """Return the smallest difference up to which values should count as equal, to order the most pairs as people do.

    This is tie calibration (Deutsch, Foster and Freitag 2023). ``values`` are the (n,) values of a measure, ``people``
    the (P,) order of each pair by people, and ``known`` (P,) whether people judged both units.
    """
    apart = (values[pairs.first] - values[pairs.second])[known]
    order = np.argsort(np.abs(apart), kind="stable")
    size, agrees = np.abs(apart)[order], (np.sign(apart) == people[known])[order]
    # Gain of agreeing pairs if the differences up to each position count as ties.
    gained = np.concatenate([[0], np.cumsum((people[known] == 0)[order].astype(np.int64) - agrees)])
    ends = np.flatnonzero(np.append(np.diff(size) > _SAME, True)) + 1 if len(size) else np.zeros(0, np.int64)
    ends = np.concatenate([[int((size <= _SAME).sum())], ends])
    best = ends[int(np.argmax(gained[ends]))]
    return float(size[best - 1]) if best else 0.0


FIGURES = (*CORRELATIONS, "accuracy")

Values = dict[tuple[str, int], float | None]
"""Statistics by (name, index of the measure)."""


@dataclass(frozen=True, eq=False)
class Units:
    """n units to be ranked (predictions, or models on an image), scored by people and by K measures.

    Attributes:
        image: (n,) image of each unit.
        people: (n,) mean rating of each unit by people; NaN if not judged.
        credit: (n, K) score of each unit by each measure.
    """

    image: Indices
    people: Floats
    credit: Floats

    @cached_property
    def pairs(self) -> UnitPairs:
        """Pairs of units on the same image, for at most 50 random units per image."""
        return pairs_within(self.image)

    @cached_property
    def _by_people(self) -> tuple[Indices, Mask]:
        """(P,) order of each pair by people, and (P,) whether people judged both units."""
        known = ~np.isnan(self.people)
        return pair_order(np.nan_to_num(self.people), self.pairs), known[self.pairs.first] & known[self.pairs.second]

    @cached_property
    def widths(self) -> Floats:
        """(K,) :func:`tie_width` of each measure."""
        return np.array([tie_width(values, self.pairs, *self._by_people) for values in self.credit.T])

    def agreeing(self, widths: Floats) -> Mask:
        """Return (K, P) whether each measure, with ties within its (K,) width, orders each pair as people do."""
        columns = zip(self.credit.T, widths, strict=True)
        return np.array([pair_order(values, self.pairs, width) == self._by_people[0] for values, width in columns])

    def figures(self, keep: Mask, agreeing: Mask) -> Values:
        """Return {(statistic, measure index): value}: correlations with people, fraction of pairs in people's order.

        ``keep`` is the (images,) mask of images to use; ``agreeing`` is the (K, P) result of :meth:`agreeing`.
        """
        known = keep[self.image] & ~np.isnan(self.people)
        people, judged = self._by_people[0], self._by_people[1] & keep[self.pairs.image]
        ordered = people[judged].any()
        found: Values = {}
        for k, values in enumerate(self.credit.T):
            for name, correlation in CORRELATIONS.items():
                found[name, k] = correlation(values[known], self.people[known])
            varies = ordered and np.ptp(values[known]) > 0
            found["accuracy", k] = float(agreeing[k, judged].mean()) if varies else None
        return found


class Judged(NamedTuple):
    """n judged predictions of models, with ratings of N items by R raters.

    Attributes:
        item: (n,) index of each prediction among the N rated items; models may share items.
        image, model: (n,) index of each prediction's image among the judged images, and index of its model.
        credit: (n, K) credit of each prediction by each measure.
    """

    item: Indices
    image: Indices
    model: Indices
    credit: Floats
    ratings: Ratings

    def predictions(self, raters: Mask) -> Units:
        """Return one unit per prediction, with its mean rating by the ``raters`` in an (R,) mask."""
        return Units(self.image, mean_ratings(self.ratings[:, raters])[self.item], self.credit)

    def cells(self, raters: Mask) -> tuple[Units, Indices]:
        """Return one unit per model and image (mean over its predictions rated by ``raters``), and the unit's model."""
        of, images = self.predictions(raters), int(self.image.max(initial=-1)) + 1
        key, cell = np.unique(self.model * images + self.image, return_inverse=True)
        known = ~np.isnan(of.people)
        number = np.bincount(cell[known], minlength=len(key))
        columns = np.column_stack([of.people, self.credit])[known]
        sums = np.column_stack([np.bincount(cell[known], weights=each, minlength=len(key)) for each in columns.T])
        means = np.where(number[:, None] > 0, sums / np.maximum(number, 1)[:, None], np.nan)
        return Units(key % images, means[:, 0], means[:, 1:]), key // images


def figures_of_units(judged: Judged) -> dict[str, tuple[int, dict[tuple[str, int], Jackknife]]]:
    """Return {level: (number of units, statistics)}; units: predictions ("prediction") or models on an image ("image").

    Each statistic is also computed without each group of raters, and of images, which are left out whole, because
    judgements of predictions on one image are correlated.
    """
    images, raters = int(judged.image.max()) + 1, judged.ratings.shape[1]
    everyone, everything = np.ones(raters, bool), np.ones(images, bool)
    group, rater_group = groups_of(images), groups_of(raters)
    found = {}
    for level in ("prediction", "image"):

        def units(chosen: Mask, level: str = level) -> Units:
            return judged.predictions(chosen) if level == "prediction" else judged.cells(chosen)[0]

        whole = units(everyone)
        agreeing = whole.agreeing(whole.widths)
        values = whole.figures(everything, agreeing)
        of_images = [whole.figures(group != g, agreeing) for g in range(group.max() + 1)] if images > 1 else []
        others = [units(rater_group != g) for g in range(rater_group.max() + 1)]
        of_raters = [each.figures(everything, each.agreeing(whole.widths)) for each in others] if raters > 1 else []
        without = {key: ([of[key] for of in of_images], [of[key] for of in of_raters]) for key in values}
        found[level] = len(whole.image), {key: Jackknife(value, *without[key]) for key, value in values.items()}
    return found


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
            corrected = iter(statistics.holm([p for each in apart.values() if (p := each.p) is not None]))
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


class Scores(NamedTuple):
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
    """Score differences of C pairs of models, (C,) on all images, and (B, C) in bootstrap samples."""

    def __init__(self, scores: Scores, spread: Scores | None = None) -> None:
        """Compute differences; the draws in ``spread`` (or ``scores``) give the standard error of confidences."""
        self.whole, self.drawn = differences(scores.values, _SAME), differences(scores.drawn, _SAME)
        self.error = np.nanstd(differences((spread or scores).drawn, 0), axis=0)

    def confidence(self, apart: Floats) -> Floats:
        """Return the probability that the first model of each pair is better, given differences."""
        from scipy.stats import norm

        return np.asarray(norm.cdf(apart / np.maximum(self.error, _SAME**2)))


def pearson_of_differences(x: Floats, y: Floats) -> Floats:
    """Return Pearson's correlation of two scores from their (..., C) differences of model pairs; NaN for two models."""
    if x.shape[-1] < 3:  # any two models lie on a line
        return np.full(x.shape[:-1], np.nan)
    return statistics.correlation((x * y).sum(axis=-1), (x * x).sum(axis=-1), (y * y).sum(axis=-1))


def accuracy(x: Floats, y: Floats) -> Floats:
    """Return the fraction of model pairs where x and y have equal signs (Kocmi et al. 2021); NaN if x or y is all 0."""
    x, y = np.sign(x), np.sign(y)
    return np.where(x.any(axis=-1) & y.any(axis=-1), (x == y).mean(axis=-1), np.nan)


def soft_accuracy(a: ScoreDifferences, b: ScoreDifferences, x: Floats, y: Floats) -> Floats:
    """Return soft pairwise accuracy (Thompson et al. 2024), 1 - mean difference of confidences; NaN as for accuracy."""
    return np.where(np.isnan(accuracy(x, y)), np.nan, 1 - np.abs(a.confidence(x) - b.confidence(y)).mean(axis=-1))


_OF_DIFFERENCES = {"kendall": kendall_of_differences, "pearson": pearson_of_differences, "accuracy": accuracy}


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
        return Figure(self.value, statistics.interval_around(self.value, statistics.deviations(known)))

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
