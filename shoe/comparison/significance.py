"""Intervals of metrics, tests of differences between runs, and rankings; the sampled units are images.

- **Intervals.** For each resample, as many images as in the test set are drawn with replacement, and every metric is
  computed again (Efron and Tibshirani 1993, chapters 6 and 13). The mean over resamples differs from the metric,
  because mAP is higher with fewer distinct images. The 2.5 and 97.5 % percentiles of the deviations of the resamples
  from their mean are therefore added to the metric, for an interval of its mean over test sets of this size. Deviations
  of classes with few images are scaled up (:mod:`shoe.comparison.ranked`; docs/guides/compare.md has the coverage).
  Miss rates have bootstrap-t intervals, and every resample has its own threshold tau (:mod:`shoe.comparison.tau`).
- **Paired bootstrap test.** All models share the same draws. p is the fraction of resamples whose difference deviates
  from the mean difference of all resamples by at least the observed difference (the shift method: Noreen 1989; Riezler
  and Maxwell 2005).
- **Paired randomisation test.** If two models are equally good, their predictions for an image can be exchanged. In
  each resample, the models swap their predictions for each image with probability 1/2, and p is the fraction of
  resamples with a difference at least as large as the observed difference (Noreen 1989). Ranked lists of both models
  are merged as :mod:`shoe.comparison.ranked` says. Counts, as for SHOE-mF1, are sums over images and need no order.

Both tests are two-sided, with p = (1 + count) / (1 + resamples), so that no p is 0. Holm's procedure (1979) corrects p
for the number of pairs of models, separately for each metric (column of a table).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb, isnan
from typing import Any

import numpy as np

from shoe.comparison.ranked import BATCH, Counts
from shoe.comparison.resampling import (
    DEFAULT_RESAMPLES,
    MOST_RESAMPLES,
    Measured,
    Resampled,
    Resampler,
    differences_when_swapped,
    drawn_images,
    random_swaps,
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

# Resampling runs in batches of a fixed number of draws or swaps. The batches depend on the number of draws alone, so
# that every engine computes the same result to the last bit, in any order of the batches.

_CACHED_PIECES = 8
"""Number of batches whose random numbers are cached for the next model: enough for 1,000 draws and 1,000 swaps."""


Piece = tuple[tuple[int, ...], int]
"""Batch of bootstrap samples of one model, or of swaps between two models: (indices of models, first resample)."""


class Draws:
    """Prepared runs and random numbers of batches of resamples (:data:`Piece`), cached for the next batch."""

    def __init__(self, runs: Sequence[Run], resamples: int, seed: int) -> None:
        self._runs, self._resamples, self._seed = runs, resamples, seed
        self._prepared: tuple[tuple[int, ...], Resampler] | None = None
        self._random: dict[tuple[bool, int], Counts] = {}

    def evaluate(self, piece: Piece) -> Measured | Resampled:
        """Return the results of a batch: values of one model under draws, or differences of two models under swaps."""
        models, first = piece
        if self._prepared is None or self._prepared[0] != models:
            self._prepared = None  # frees the memory of the old one first
            self._prepared = models, Resampler(*(self._runs[i] for i in models))
        resampler, numbers = self._prepared[1], self._numbers(len(models) > 1, first)
        work = resampler.under if len(models) == 1 else partial(differences_when_swapped, resampler)
        return work(numbers, first // BATCH)

    def _numbers(self, swaps: bool, first: int) -> Counts:
        """Return the (M, R) random numbers of a batch, equal for all models: draws or, with ``swaps``, random swaps."""
        if (swaps, first) not in self._random:
            if len(self._random) == _CACHED_PIECES:
                del self._random[next(iter(self._random))]
            draws = range(first, min(first + BATCH, self._resamples))
            which = len(self._runs[0].images), draws, self._seed
            self._random[swaps, first] = random_swaps(*which, self._resamples) if swaps else drawn_images(*which)
        return self._random[swaps, first]


def resampled(
    runs: Sequence[Run], resamples: int, seed: int, engine: Engine, progress: Callable[[str], None]
) -> tuple[list[Resampled], dict[tuple[int, int], Resampled]]:
    """Return the (R,) values of each metric under R draws of images, and its (R,) differences under R swaps.

    Values, one dict per model, are rescaled to the spread expected over new test images. Differences are those of
    each pair of model indices. The runs have the same images, ground truth and protocols.
    """
    singles, pairs = [(i,) for i in range(len(runs))], [*combinations(range(len(runs)), 2)]
    pieces: list[Piece] = [(models, i) for models in (*singles, *pairs) for i in range(0, resamples, BATCH)]
    waiting = Counter(models for models, _ in pieces)
    parts: dict[tuple[int, ...], dict[int, Any]] = {models: {} for models in waiting}
    found: dict[tuple[int, ...], Resampled] = {}
    draws = Draws(runs, resamples, seed)
    for number, ((models, first), part) in enumerate(engine.map(Draws.evaluate, pieces, draws), 1):
        progress(f"resampling images: {number:,} of {len(pieces):,} pieces")
        parts[models][first] = part
        if len(parts[models]) == waiting[models]:  # joined at once: parts are a hundred times larger than metrics
            batches = [part for _, part in sorted(parts.pop(models).items())]
            found[models] = (
                Measured.joined(batches).resampled()
                if len(models) == 1
                else {figure: np.concatenate([part[figure] for part in batches]) for figure in batches[0]}
            )
    return [found[model] for model in singles], {pair: found[pair] for pair in pairs}


# Rank intervals. All pairs of models are tested simultaneously, with the largest of their studentized differences in
# each resample (Westfall and Young 1993, single-step max-T). With a probability of 95 %, all intervals contain the true
# rank (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for ranks).


def rank_intervals(figure: str, values: Sequence[float], resamples: Floats) -> list[tuple[int, int]]:
    """Return the (best, worst) possible rank of each of n models, from 1; with 95 % confidence, all hold at once.

    A model is ranked below all significantly better models and above all significantly worse models. ``values`` are
    the n values of the metric ``figure``, and ``resamples`` its (n, R) values under the same R draws of images, or NaN.
    """
    n = len(values)
    centred = resamples - np.nanmean(resamples, axis=1, keepdims=True) if n else resamples
    largest, apart = np.zeros(resamples.shape[1]), np.zeros((n, n))
    for i in range(n - 1):
        deviations = np.nan_to_num(centred[i] - centred[i + 1 :])
        spread = deviations.std(axis=1)
        known = spread > ROUNDING  # models whose difference no draw changes are the same
        studentized = np.abs(deviations[known]) / spread[known, None]
        largest = np.maximum(largest, studentized.max(axis=0, initial=0))
        apart[i, i + 1 :][known] = np.abs(np.asarray(values[i + 1 :]) - values[i])[known] / spread[known]
    apart += apart.T
    as_large = len(largest) - np.searchsorted(np.sort(largest), apart - ROUNDING)
    p = (1 + as_large) / (1 + len(largest))
    found = []
    for i in range(n):
        sure = np.flatnonzero(p[i] < LEVEL).tolist()
        above = sum(better(figure, values[j], values[i]) for j in sure)
        found.append((1 + above, n - (len(sure) - above)))
    return found


LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate", "no_overlap_rate")
"""Metrics whose lowest value is the best, by the last part of their keys."""


def better(figure: str, a: float, b: float) -> bool:
    """Return whether ``a`` is a better value of the metric ``figure`` than ``b``, by more than rounding errors."""
    return (b - a if figure.endswith(LOWER_IS_BETTER) else a - b) > ROUNDING


def ranks(figure: str, values: Sequence[float | None]) -> list[int | None]:
    """Return the rank of each value of a metric, 1 for the best (equal values share it), and None for None."""
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(better(figure, other, value) for other in known) for value in values]


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same models; None if one ranking has only ties."""
    tau = float(kendall_of_differences(differences(a), differences(b)))
    return None if isnan(tau) else tau


COVERAGE = 0.95
LEVEL = 0.05
"""Adjusted p below which a difference is called significant."""
FEWEST_FOR_INTERVALS = 100
"""Minimum number of resamples for intervals: with fewer resamples, percentiles are too inaccurate."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Value of a metric, or of a difference of two metrics, and its 95 % interval over images, as fractions."""

    value: float
    low: float
    high: float

    @classmethod
    def from_resamples(cls, value: float, resamples: Floats) -> Estimate:
        """Return the value with its 95 % interval: value + percentiles of (resamples - mean), widened to contain it."""
        apart = deviations(resamples)
        return cls(value, *(interval_around(value, apart, COVERAGE) if len(apart) else (value, value)))

    def within(self, lowest: float) -> Estimate:
        """Return the estimate with its interval clipped to the range from ``lowest`` to 1."""
        low, high = max(self.low, lowest), min(self.high, 1.0)
        return Estimate(self.value, min(low, self.value), max(high, self.value))  # a mean may round to above 1

    @property
    def varies(self) -> bool:
        """Whether the interval has a width above 0, that is, whether resamples differ."""
        return self.high - self.low > ROUNDING


class Test(Document, frozen=True):
    """p-value of a test, and p-value after Holm's correction for all pairs of models (adjusted)."""

    p: Fraction
    adjusted: Fraction


class Difference(Document, frozen=True, kw_only=True):
    """Difference of a metric between two models.

    Attributes:
        models: names of the models; the second is subtracted from the first.
        figure: key of the metric.
        value: difference of the metric.
        interval: 95 % interval of the difference over images; None if resamples are too few, or give equal values.
        bootstrap, randomisation: p-values of the paired bootstrap test and of the paired randomisation test.
        significant: whether both tests are significant after Holm's correction.
    """

    models: Pair
    figure: str
    value: Correlation
    interval: GainSpan | None = None
    bootstrap: Test
    randomisation: Test
    significant: bool

    @property
    def winner(self) -> str:
        """Name of the model with the better value; the second model if the values are equal."""
        return self.models[0 if better(self.figure, self.value, 0) else 1]


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Confidence intervals and tests for several runs.

    Attributes:
        estimates: estimates by run name and key of the metric. Metrics without a value, and metrics that are equal in
            all resamples, are left out; empty with fewer than FEWEST_FOR_INTERVALS resamples.
        differences: one difference per metric and pair of runs that both have a value.
    """

    images: int
    resamples: int
    seed: int
    estimates: dict[str, dict[str, Estimate]]
    differences: tuple[Difference, ...]

    def between(self, first: str, second: str, figure: str) -> Difference | None:
        """Return the stored difference of a metric for two models, given in any order; None if a model has no value."""
        return next((d for d in self.differences if {*d.models} == {first, second} and d.figure == figure), None)

    @property
    def too_few(self) -> str | None:
        """Reason why no difference can be significant: "images" or "resamples" if there are too few, else None."""
        pairs = max(1, comb(len(self.estimates), 2))
        if pairs * lowest_randomisation(self.images) >= LEVEL:
            return "images"
        return "resamples" if pairs / (1 + self.resamples) >= LEVEL else None

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough resamples for intervals."""
        return self.resamples >= FEWEST_FOR_INTERVALS


def lowest_randomisation(images: int) -> float:
    """Return the lowest p-value of the randomisation test: swaps of no image and of all images always count."""
    return min(1.0, 2.0 ** (1 - images))


def fewest_resamples(models: int) -> int:
    """Return the minimum number of resamples with which a difference can be significant after Holm's correction."""
    return round(comb(models, 2) / LEVEL)


def usual_resamples(models: int) -> int:
    """Return the default number of resamples: the lowest multiple of 1,000 that allows significance, at most 65,535."""
    return min(MOST_RESAMPLES - 1, DEFAULT_RESAMPLES * max(1, -(-fewest_resamples(models) // DEFAULT_RESAMPLES)))


def statistics(
    runs: Sequence[Run],
    resamples: int,
    seed: int,
    engine: Engine = SERIAL,
    progress: Callable[[str], None] = lambda _: None,
) -> Statistics:
    """Return confidence intervals and tests for runs of the same images, ground truth and protocols, by distinct names.

    ``resamples`` is the number of bootstrap samples of the images, and of random swaps of each pair of runs.
    """
    images, figures = len(runs[0].images), [run.figures() for run in runs]
    drawn, swapped = resampled(runs, resamples, seed, engine, progress)
    enough = resamples >= FEWEST_FOR_INTERVALS
    estimates = {
        run.name: {
            key: estimate
            for key, value in values.items()
            if value is not None
            and enough
            and (estimate := Estimate.from_resamples(value, draws[key]).within(0.0)).varies
        }
        for run, values, draws in zip(runs, figures, drawn, strict=True)
    }
    differences = []
    for key in dict.fromkeys(key for each in figures for key in each):
        pairs = [
            (i, j, a - b, drawn[i][key] - drawn[j][key], swapped[i, j][key])
            for i, j in combinations(range(len(runs)), 2)
            if (a := figures[i].get(key)) is not None and (b := figures[j].get(key)) is not None
        ]
        bootstrap = [p_value(value, deviations(apart)) for _, _, value, apart, _ in pairs]
        randomisation = [max(lowest_randomisation(images), p_value(value, apart)) for _, _, value, _, apart in pairs]
        tests = zip(bootstrap, randomisation, holm(bootstrap), holm(randomisation), strict=True)
        for (i, j, value, apart, _), (p, q, adjusted_p, adjusted_q) in zip(pairs, tests, strict=True):
            estimate = Estimate.from_resamples(value, apart).within(-1.0)
            found = Difference(
                models=(runs[i].name, runs[j].name),
                figure=key,
                value=value,
                interval=(estimate.low, estimate.high) if enough and estimate.varies else None,
                bootstrap=Test(p, adjusted_p),
                randomisation=Test(q, adjusted_q),
                significant=max(adjusted_p, adjusted_q) < LEVEL,
            )
            differences.append(found)
    return Statistics(images, resamples, seed, estimates, tuple(differences))
