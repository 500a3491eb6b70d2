"""Intervals of metrics, tests of differences between runs, and rankings; the sampled units are images.

- **Intervals.** Images are drawn with replacement, as many as there are, and every metric is computed again (Efron and
  Tibshirani 1993, chapters 6 and 13). Mean average precision depends on the number of images and on images drawn
  twice: it is higher with fewer distinct images. Resamples are therefore not centred on the metric itself. The 2.5 and
  97.5 % percentiles of their deviations from their own mean are added to the metric. The result is an interval for the
  mean of the metric over test sets of this size. Deviations of classes with few images are too small in resamples, and
  are scaled up (:mod:`shoe.comparison.by_class`; docs/guides/compare.md has results of ``scripts/bootstrap-coverage``).
- **Paired bootstrap test.** All models share the same draws. p is the fraction of resamples whose difference deviates
  from the mean of all by at least the observed difference (the shift method: Noreen 1989; Riezler and Maxwell 2005).
- **Paired randomisation test.** If two models were exchangeable, so were their predictions for each image. Predictions
  are swapped at random per image, and p is the fraction of such tables with a difference as large (Noreen 1989). A
  ranked list then holds entries of both models, whose confidences have different scales. Average precision needs only
  their order, so an entry enters by its rank among all entries of its model. Counts, as for SHOE-mF1, are sums over
  images and need no scale.

Both tests are two-sided, with p = (1 + count) / (1 + resamples), so that no p is 0. Holm's procedure (1979) corrects p
for the number of pairs of models, per metric: the family is one column of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import NamedTuple

import numpy as np

from shoe.comparison.by_class import ByClass
from shoe.comparison.ranked import BATCH, Counts
from shoe.comparison.resampling import (
    MOST_RESAMPLES,
    Measured,
    Resampled,
    Resampler,
    coins,
    differences_when_swapped,
    drawn_images,
)
from shoe.comparison.run import Run
from shoe.core.arrays import Floats
from shoe.core.documents import Correlation, Document, Fraction, GainSpan, Pair
from shoe.core.statistics import (
    ROUNDING,
    deviations,
    differences,
    holm,
    interval_around,
    kendall_of_differences,
    p_value,
)
from shoe.engines.base import SERIAL, Engine

# Resampling runs in pieces of a fixed number of draws or swaps. The pieces depend on the number of draws alone, so that
# the result is the same to the last bit, whatever executes them and in whatever order.

_CACHED_PIECES = 8
"""Pieces whose random numbers are cached for the next model: all for 1,000 draws and as many swaps."""


class Piece(NamedTuple):
    """A batch of draws.

    Attributes:
        models: index of the model whose images are drawn, or indices of the two models that swap images.
        first: index of the first draw.
    """

    models: tuple[int, ...]
    first: int


class Draws:
    """Runs, number of draws and seed of all pieces, with a cache of what consecutive pieces share."""

    def __init__(self, runs: Sequence[Run], resamples: int, seed: int) -> None:
        """Prepare draws for runs of the same images, ground truth and protocols."""
        self._runs, self._resamples, self._seed = runs, resamples, seed
        self._prepared: tuple[tuple[int, ...], Resampler] | None = None
        self._random: dict[tuple[bool, int], Counts] = {}

    def pieces(self) -> list[Piece]:
        """Return all pieces, those of the same models one after the other."""
        models = range(len(self._runs))
        groups = [*combinations(models, 1), *combinations(models, 2)]
        return [Piece(group, first) for group in groups for first in range(0, self._resamples, BATCH)]

    def resampler(self, models: tuple[int, ...]) -> Resampler:
        """Return the resampler of one model or of two."""
        if self._prepared is None or self._prepared[0] != models:
            self._prepared = None  # frees the memory of the old one first
            self._prepared = models, Resampler(*(self._runs[i] for i in models))
        return self._prepared[1]

    def numbers(self, piece: Piece) -> Counts:
        """Return the (M, R) number of times each image is drawn, or whether it is swapped; the same for all models."""
        key = swaps, first = len(piece.models) > 1, piece.first
        if key not in self._random:
            if len(self._random) == _CACHED_PIECES:
                del self._random[next(iter(self._random))]
            images, draws = len(self._runs[0].images), range(first, min(first + BATCH, self._resamples))
            self._random[key] = (
                coins(images, draws, self._seed, self._resamples) if swaps else drawn_images(images, draws, self._seed)
            )
        return self._random[key]


def resampled(
    runs: Sequence[Run], resamples: int, seed: int, engine: Engine, tell: Callable[[str], None]
) -> tuple[list[Resampled], dict[tuple[int, int], Resampled]]:
    """Resample runs of the same images, ground truth and protocols.

    Returns:
        For each model (R,) values of its metrics under draws, with the deviations expected of new images; and for each
        pair of model indices, the (R,) differences of their metrics under swaps.
    """
    draws = Draws(runs, resamples, seed)
    pieces = draws.pieces()
    waiting = Counter(piece.models for piece in pieces)
    parts: dict[tuple[int, ...], dict[int, Measured | Resampled]] = {models: {} for models in waiting}
    found: dict[tuple[int, ...], Resampled] = {}
    for number, (piece, part) in enumerate(engine.map(_evaluate, pieces, draws), 1):
        tell(f"resampling images: {number:,} of {len(pieces):,} pieces")
        models = piece.models
        parts[models][piece.first] = part
        if len(parts[models]) == waiting[models]:  # joined at once: parts are a hundred times larger than metrics
            found[models] = _joined([part for _, part in sorted(parts.pop(models).items())])
    return (
        [found[i,] for i in range(len(runs))],
        {(i, j): found[i, j] for i, j in combinations(range(len(runs)), 2)},
    )


def _evaluate(draws: Draws, piece: Piece) -> Measured | Resampled:
    """Return one model's values under draws of images, or the differences of two models under swaps of images."""
    resampler, batch = draws.resampler(piece.models), piece.first // BATCH
    if len(piece.models) == 1:
        return resampler.under(draws.numbers(piece), batch)
    return differences_when_swapped(resampler, draws.numbers(piece), batch)


def _joined(parts: Sequence[Measured | Resampled]) -> Resampled:
    measured = [part for part in parts if isinstance(part, Measured)]
    if measured:
        return Measured.joined(measured).figures(ByClass.resampled)
    differences = [part for part in parts if not isinstance(part, Measured)]
    return {figure: np.concatenate([part[figure] for part in differences]) for figure in differences[0]}


# Rank intervals. All pairs of models are tested at once, by the largest of their studentized differences in each
# resample (Westfall and Young 1993, single-step max-T). With 95 % probability all intervals hold together (Mogstad,
# Romano, Shaikh and Wilhelm 2024, Inference for ranks).


def rank_intervals(figure: str, values: Sequence[float], resamples: Floats) -> list[tuple[int, int]]:
    """Return the best and the worst rank, from 1, that each of n models may have.

    Models are ranked below those that are significantly better, and above those that are significantly worse.

    Args:
        figure: key of the metric, which decides whether high or low values are better.
        values: (n,) values of the metric.
        resamples: (n, R) values under the same R draws of images; NaN if there was nothing to measure.

    >>> draws = np.array([[0.5, 0.6, 0.7], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    >>> rank_intervals("semantic:map", [0.6, 0.2, 0.2], np.tile(draws + 0.01 * np.eye(3), 20))
    [(1, 1), (2, 3), (2, 3)]
    """
    n = len(values)
    centred = resamples - np.nanmean(resamples, axis=1, keepdims=True) if n else resamples
    largest = np.zeros(resamples.shape[1])
    apart = np.zeros((n, n))
    for i in range(n - 1):
        deviations = np.nan_to_num(centred[i] - centred[i + 1 :])
        spread = deviations.std(axis=1)
        known = spread > ROUNDING  # models whose difference no draw changes are the same
        studentized = np.abs(deviations[known]) / spread[known, None]
        largest = np.maximum(largest, studentized.max(axis=0, initial=0))
        differences = np.abs(np.asarray(values[i + 1 :]) - values[i])
        apart[i, i + 1 :][known] = differences[known] / spread[known]
    apart += apart.T
    p = (1 + (largest >= apart[..., None] - ROUNDING).sum(axis=-1)) / (1 + len(largest))
    found = []
    for i in range(n):
        sure = [j for j in range(n) if p[i, j] < LEVEL]
        above = sum(better(figure, values[j], values[i]) for j in sure)
        found.append((1 + above, n - (len(sure) - above)))
    return found


LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate")
"""Metrics whose lowest value is the best, by the end of their key."""


def better(figure: str, a: float, b: float) -> bool:
    """Return whether value ``a`` of a metric is better than ``b``."""
    return (b - a if figure.endswith(LOWER_IS_BETTER) else a - b) > ROUNDING


def ranks(figure: str, values: Sequence[float | None]) -> list[int | None]:
    """Return the rank of each value, 1 for the best; equal values share their first rank, None has no rank.

    >>> ranks("semantic:map", [0.3, 0.5, None, 0.5])
    [3, 1, None, 1]
    """
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(better(figure, other, value) for other in known) for value in values]


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same models; None if all models are equal in one of them.

    >>> round(kendall([1, 2, 3], [1, 3, 2]), 12)
    0.333333333333
    """
    tau = float(kendall_of_differences(differences(a), differences(b)))
    return None if isnan(tau) else tau


def changes_places(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two rankings order any two models in opposite ways."""
    return bool((np.sign(differences(a)) * np.sign(differences(b)) < 0).any())


COVERAGE = 0.95
LEVEL = 0.05
"""Adjusted p below which a difference is called significant."""
FEWEST_FOR_INTERVALS = 100
"""Fewest resamples for intervals: with fewer, too few are beyond the percentiles."""
USUAL = 1000
"""Default number of resamples for a few models."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric, or a difference of two metrics, and its 95 % interval over images; fractions."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, resamples: Floats) -> Estimate:
        """Return the estimate of a value whose interval has the deviations of (R,) resamples from their mean."""
        apart = deviations(resamples)
        return cls(value, *(interval_around(value, apart, COVERAGE) if len(apart) else (value, value)))

    def within(self, lowest: float) -> Estimate:
        """Return the estimate with its interval clipped to ``lowest`` and 1."""
        low, high = max(self.low, lowest), min(self.high, 1.0)
        return Estimate(self.value, min(low, self.value), max(high, self.value))  # a mean may round to above 1

    @property
    def varies(self) -> bool:
        """Whether resamples differ; if not, there is no interval."""
        return self.high - self.low > ROUNDING


class Test(Document, frozen=True):
    """p of a test, and p after Holm's correction for all pairs of models."""

    p: Fraction
    adjusted: Fraction


class Difference(Document, frozen=True, kw_only=True):
    """Difference of a metric between two models.

    Attributes:
        models: names of the models; the second is subtracted from the first.
        figure: key of the metric.
        value: difference of the metric.
        interval: 95 % interval of the difference over images; None with too few resamples, or if they do not differ.
        bootstrap, randomisation: p of the two tests.
        significant: whether both tests are significant after correction.
    """

    models: Pair
    figure: str
    value: Correlation
    interval: GainSpan | None = None
    bootstrap: Test
    randomisation: Test
    significant: bool


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Intervals and tests of some runs.

    Attributes:
        estimates: estimates by run name and key of the metric. Metrics without a value, or that no draw changes, are
            left out; empty for fewer than FEWEST_FOR_INTERVALS resamples.
        differences: one per pair of runs, in their order, and metric that both have.
    """

    images: int
    resamples: int
    seed: int
    estimates: dict[str, dict[str, Estimate]]
    differences: tuple[Difference, ...]

    def between(self, first: str, second: str, figure: str) -> Difference | None:
        """Return the difference of two models, in either order; None if one of them has no such metric."""
        pair = {first, second}
        return next((d for d in self.differences if {*d.models} == pair and d.figure == figure), None)

    @property
    def too_few(self) -> str | None:
        """Reason why no p can be below LEVEL after correction: "images" or "resamples" are too few; else None."""
        pairs = max(1, pairs_of(len(self.estimates)))
        if pairs * lowest_randomisation(self.images) >= LEVEL:
            return "images"
        return "resamples" if pairs / (1 + self.resamples) >= LEVEL else None

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough resamples for intervals."""
        return self.resamples >= FEWEST_FOR_INTERVALS


def pairs_of(models: int) -> int:
    """Return the number of pairs of models."""
    return models * (models - 1) // 2


def lowest_randomisation(images: int) -> float:
    """Return the lowest p of a randomisation test: swapping no image and all images give differences as large."""
    return min(1.0, 2.0 ** (1 - images))


def fewest_resamples(models: int) -> int:
    """Return the number of resamples from which p can be below LEVEL after correction for all pairs of models."""
    return round(pairs_of(models) / LEVEL)


def usual_resamples(models: int) -> int:
    """Return 1,000, or the thousands needed for p below LEVEL, up to the largest possible number."""
    return min(MOST_RESAMPLES - 1, USUAL * max(1, -(-fewest_resamples(models) // USUAL)))


def statistics(
    runs: Sequence[Run],
    resamples: int,
    seed: int,
    engine: Engine = SERIAL,
    tell: Callable[[str], None] = lambda _: None,
) -> Statistics:
    """Return intervals and tests for runs of the same images, ground truth and protocols, with distinct names.

    ``resamples`` is the number of draws of images, and of swaps of each pair of models. ``engine`` executes them
    without changing results, and ``tell`` is a progress callback.
    """
    images = len(runs[0].images)
    figures = [run.figures() for run in runs]
    drawn, swapped = resampled(runs, resamples, seed, engine, tell)
    enough = resamples >= FEWEST_FOR_INTERVALS
    estimates = {
        run.name: {
            key: estimate
            for key, value in values.items()
            if value is not None and enough and (estimate := Estimate.of(value, draws[key]).within(0.0)).varies
        }
        for run, values, draws in zip(runs, figures, drawn, strict=True)
    }
    compared: dict[str, list[tuple[int, int, float, Floats, Floats]]] = {
        key: [] for values in figures for key in values
    }
    for i, j in combinations(range(len(runs)), 2):
        for key, pairs in compared.items():
            a, b = figures[i].get(key), figures[j].get(key)
            if a is not None and b is not None:
                pairs.append((i, j, a - b, drawn[i][key] - drawn[j][key], swapped[i, j][key]))
    differences = []
    for key, pairs in compared.items():
        bootstrap = [p_value(value, deviations(apart)) for _, _, value, apart, _ in pairs]
        lowest = lowest_randomisation(images)
        randomisation = [max(lowest, p_value(value, apart)) for _, _, value, _, apart in pairs]
        tests = zip(bootstrap, randomisation, holm(bootstrap), holm(randomisation), strict=True)
        for (i, j, value, apart, _), (p, q, adjusted_p, adjusted_q) in zip(pairs, tests, strict=True):
            estimate = Estimate.of(value, apart).within(-1.0)
            differences.append(
                Difference(
                    models=(runs[i].name, runs[j].name),
                    figure=key,
                    value=value,
                    interval=(estimate.low, estimate.high) if enough and estimate.varies else None,
                    bootstrap=Test(p, adjusted_p),
                    randomisation=Test(q, adjusted_q),
                    significant=max(adjusted_p, adjusted_q) < LEVEL,
                )
            )
    return Statistics(images, resamples, seed, estimates, tuple(differences))
