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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from shoe.comparison.pieces import resampled
from shoe.comparison.resampling import MOST_RESAMPLES
from shoe.core.arrays import Floats
from shoe.core.documents import Correlation, Document, Fraction, GainSpan, Pair
from shoe.core.statistics import ROUNDING, deviations, holm, interval_around, p_value
from shoe.engines.base import SERIAL, Engine
from shoe.runs.run import Run

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
