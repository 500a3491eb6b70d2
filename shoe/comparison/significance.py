"""How sure the figures of runs are, and whether their differences are real, as far as the choice of images goes.

- **Intervals.** Images are drawn with replacement, as many as there are, and every figure is computed anew (Efron and
  Tibshirani 1993, chapters 6 and 13). Mean average precision depends on how many images there are, and on images that
  stand twice: with fewer different ones it is higher. So resamples are not centred on the figure itself; the 2.5 and
  97.5 % percentiles of their deviations from their own mean are laid around the figure. It is an interval for the mean
  of the figure over test sets of this size. Classes that few images show deviate by too little in resamples, and are
  stretched (:mod:`shoe.comparison.by_class`; docs/guides/compare.md has what ``scripts/bootstrap-coverage`` found).
- **Paired bootstrap test.** All models are resampled by the same draws. p is the share of resamples whose difference
  deviates from the mean of all by as much as the difference that is there (the shift method: Noreen 1989; Riezler and
  Maxwell 2005).
- **Paired randomisation test.** If two models were exchangeable, each image's predictions might as well be the other's:
  coins swap them, and p is the share of such tables whose difference is as large (Noreen 1989). A list of average
  precision then holds entries of both, whose confidences mean nothing on each other's scale; average precision asks for
  their order alone, so an entry enters by its rank among all of its own model, and a stretched scale changes nothing.
  Counts, as of SHOE-mF1, are sums over images, and need no scale.

Both are two-sided, with p = (1 + count) / (1 + resamples), so that no p is 0. Holm's procedure (1979) corrects them for
the number of pairs of models in each figure: the family is what is compared in one column of a table.
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

# Resampling in pieces that anybody may do: a fixed number of draws from one model, or of swaps between two.
#
# Where pieces begin and end follows from the number of draws alone. So what is put together from them is the same to
# the
# last bit, whoever did them and in whatever order.

_KEPT = 8
"""Pieces whose random numbers are kept for the next model: of 1,000 draws and as many swaps, all."""


class Piece(NamedTuple):
    """Some draws.

    Attributes:
        models: number of the model whose images are drawn, or of the two that swap images.
        first: number of the first draw.
    """

    models: tuple[int, ...]
    first: int


class Draws:
    """What all pieces share: the runs, how many draws there are, and their seed.

    It keeps what was prepared last, which several pieces of the same models need.
    """

    def __init__(self, runs: Sequence[Run], resamples: int, seed: int) -> None:
        """Take runs of the same images, ground truth and protocols."""
        self._runs, self._resamples, self._seed = runs, resamples, seed
        self._prepared: tuple[tuple[int, ...], Resampler] | None = None
        self._random: dict[tuple[bool, int], Counts] = {}

    def pieces(self) -> list[Piece]:
        """All there are, those of the same models one after the other."""
        models = range(len(self._runs))
        of = [*combinations(models, 1), *combinations(models, 2)]
        return [Piece(each, first) for each in of for first in range(0, self._resamples, BATCH)]

    def resampler(self, models: tuple[int, ...]) -> Resampler:
        """Return the resampler of one model or of two."""
        if self._prepared is None or self._prepared[0] != models:
            self._prepared = None  # there is never room for two
            self._prepared = models, Resampler(*(self._runs[i] for i in models))
        return self._prepared[1]

    def numbers(self, piece: Piece) -> Counts:
        """Return (M, R) how often images are drawn, or whether they are swapped: the same for all models."""
        key = swaps, first = len(piece.models) > 1, piece.first
        if key not in self._random:
            if len(self._random) == _KEPT:
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
        Of each model (R,) values of its figures under draws, with the spread that new images would give; and of each
        two models, by their numbers, the differences of their figures under swaps.
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
        if len(parts[models]) == waiting[models]:  # at once: parts take a hundred times the room of figures
            found[models] = _joined([part for _, part in sorted(parts.pop(models).items())])
    of_one = [found[i,] for i in range(len(runs))]
    return of_one, {(i, j): found[i, j] for i, j in combinations(range(len(runs)), 2)}


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


# How sure ranks are: for each of some models, the places that it may have, as far as the choice of images goes.
#
# A model stands surely below those that are significantly better than it, and surely above those than which it is
# significantly better; what is left between is its interval. All pairs of models are tested at once, by the largest of
# their studentized differences in each resample (Westfall and Young 1993, single-step max-T), so that with 95 % all
# intervals hold together, however many models there are (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for
# ranks).


def rank_intervals(figure: str, values: Sequence[float], resamples: Floats) -> list[tuple[int, int]]:
    """The lowest and the highest rank, from 1, that each of n models may have.

    Args:
        figure: key of the figure, which says whether the highest or the lowest is the best.
        values: (n,) of the figure.
        resamples: (n, R) of the figure under the same R draws of images; NaN where there was nothing to measure.

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
        known = spread > ROUNDING  # two models that no draw sets further apart are the same
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


# Rankings of models, and whether two of them agree.

LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate")
"""Figures, by the end of their key, of which the lowest is the best."""


def better(figure: str, a: float, b: float) -> bool:
    """Whether one value of a figure is better than another."""
    return (b - a if figure.endswith(LOWER_IS_BETTER) else a - b) > ROUNDING


def ranks(figure: str, values: Sequence[float | None]) -> list[int | None]:
    """Rank of each value, 1 for the best; equal ones share the first of their ranks, what is None has none.

    >>> ranks("semantic:map", [0.3, 0.5, None, 0.5])
    [3, 1, None, 1]
    """
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(better(figure, other, value) for other in known) for value in values]


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same models; None if one of them has all models equal.

    >>> round(kendall([1, 2, 3], [1, 3, 2]), 12)
    0.333333333333
    """
    tau = float(kendall_of_differences(differences(a), differences(b)))
    return None if isnan(tau) else tau


def changes_places(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two rankings have any two models in opposite orders."""
    return bool((np.sign(differences(a)) * np.sign(differences(b)) < 0).any())


COVERAGE = 0.95
LEVEL = 0.05
"""Adjusted p below which a difference is called significant."""
FEWEST_FOR_INTERVALS = 100
"""Resamples below which percentiles at the ends are too few to lay an interval by."""
USUAL = 1000
"""Resamples of a few models."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, or a difference of two, and its 95 % interval over images; fractions."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, resamples: Floats) -> Estimate:
        """Lay the deviations of (R,) resamples from their mean around a value; NaN ones are left out."""
        apart = deviations(resamples)
        return cls(value, *(interval_around(value, apart, COVERAGE) if len(apart) else (value, value)))

    def within(self, lowest: float) -> Estimate:
        """The same, with an interval that ends at the lowest value that there can be, and at 1."""
        low, high = max(self.low, lowest), min(self.high, 1.0)
        return Estimate(self.value, min(low, self.value), max(high, self.value))  # a mean may round to above 1

    @property
    def varies(self) -> bool:
        """Whether resamples differ at all; if not, there is no interval."""
        return self.high - self.low > ROUNDING


class Test(Document, frozen=True):
    """A probability, and the same corrected by Holm's procedure for all pairs of models."""

    p: Fraction
    adjusted: Fraction


class Difference(Document, frozen=True, kw_only=True):
    """A figure of one model less that of another.

    Attributes:
        models: their names.
        figure: key of the figure.
        value: the difference.
        interval: its 95 % interval over images; None where resamples are too few, or do not differ.
        bootstrap, randomisation: p of the two tests.
        significant: whether both tests say so after correction.
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
        estimates: of each run, by its name and a figure's key; without figures that have no value or that no
            draw changes, and empty for fewer than FEWEST_FOR_INTERVALS resamples.
        differences: of each pair of runs, in their order, and figure that both have.
    """

    images: int
    resamples: int
    seed: int
    estimates: dict[str, dict[str, Estimate]]
    differences: tuple[Difference, ...]

    def between(self, first: str, second: str, figure: str) -> Difference | None:
        """The difference of two models, in whichever order they were compared; None where one has no such figure."""
        pair = {first, second}
        return next((d for d in self.differences if {*d.models} == pair and d.figure == figure), None)

    @property
    def too_few(self) -> str | None:
        """What is too few for a p below LEVEL after correction, "images" or "resamples"; None if neither is."""
        pairs = max(1, pairs_of(len(self.estimates)))
        if pairs * lowest_randomisation(self.images) >= LEVEL:
            return "images"
        return "resamples" if pairs / (1 + self.resamples) >= LEVEL else None

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough resamples for intervals."""
        return self.resamples >= FEWEST_FOR_INTERVALS


def pairs_of(models: int) -> int:
    """How many pairs some models make."""
    return models * (models - 1) // 2


def lowest_randomisation(images: int) -> float:
    """The lowest p of a randomisation test: of all ways to swap some images, swapping none and all are as large."""
    return min(1.0, 2.0 ** (1 - images))


def fewest_resamples(models: int) -> int:
    """With how many resamples a p can be below LEVEL after correction for all pairs of some models."""
    return round(pairs_of(models) / LEVEL)


def usual_resamples(models: int) -> int:
    """1,000, or as many thousands as it takes for a p below LEVEL; never more than can be drawn."""
    return min(MOST_RESAMPLES - 1, USUAL * max(1, -(-fewest_resamples(models) // USUAL)))


def statistics(
    runs: Sequence[Run],
    resamples: int,
    seed: int,
    engine: Engine = SERIAL,
    tell: Callable[[str], None] = lambda _: None,
) -> Statistics:
    """Resample runs of the same images, ground truth and protocols, whose names differ.

    There are as many draws, and as many swaps of each two models, as ``resamples``; ``engine`` changes nothing, and
    ``tell`` is called with the progress.
    """
    images = len(runs[0].images)
    figures = [run.figures() for run in runs]
    drawn, swapped = resampled(runs, resamples, seed, engine, tell)
    enough = resamples >= FEWEST_FOR_INTERVALS
    estimates = {
        run.name: {
            key: estimate
            for key, value in of.items()
            if value is not None and enough and (estimate := Estimate.of(value, found[key]).within(0.0)).varies
        }
        for run, of, found in zip(runs, figures, drawn, strict=True)
    }
    compared: dict[str, list[tuple[int, int, float, Floats, Floats]]] = {key: [] for of in figures for key in of}
    for i, j in combinations(range(len(runs)), 2):
        for key, of in compared.items():
            a, b = figures[i].get(key), figures[j].get(key)
            if a is not None and b is not None:
                of.append((i, j, a - b, drawn[i][key] - drawn[j][key], swapped[i, j][key]))
    differences = []
    for key, of in compared.items():
        bootstrap = [p_value(value, deviations(apart)) for _, _, value, apart, _ in of]
        lowest = lowest_randomisation(images)
        randomisation = [max(lowest, p_value(value, apart)) for _, _, value, _, apart in of]
        tests = zip(bootstrap, randomisation, holm(bootstrap), holm(randomisation), strict=True)
        for (i, j, value, apart, _), (p, q, adjusted_p, adjusted_q) in zip(of, tests, strict=True):
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
