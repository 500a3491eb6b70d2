"""Figures of runs under resampled images: drawn with replacement, or swapped between two models.

All runs that are compared see the same draws, which depend on the seed and the number of images alone: no order of
models, and no other model beside them, changes what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN
from shoe.comparison.by_class import ByClass
from shoe.comparison.ranked import Counts, Ranked
from shoe.comparison.run import HARMONIC_MEAN, PART, PARTS, SEMANTIC, Run
from shoe.core.arrays import Floats, Mask, numbers_at, random_numbers
from shoe.scoring.entries import F1Entries, F1Rule

_DRAWS, _COINS = 1 << 30, 1 << 31
"""First streams of random numbers; those below are of tied orders."""
MOST_RESAMPLES, MOST_SEEDS = 1 << 16, 1 << 14


def drawn_images(images: int, draws: range, seed: int) -> Counts:
    """(M, R) how often each image is drawn, as many with replacement as there are; seeds are below MOST_SEEDS."""
    weights = np.empty((len(draws), images), np.int32)
    for row, number in enumerate(draws):
        drawn = random_numbers(_DRAWS + seed * MOST_RESAMPLES + number, (images,)) % np.uint64(max(images, 1))
        weights[row] = np.bincount(drawn.astype(np.int64), minlength=images)
    return np.ascontiguousarray(weights.T)


def coins(images: int, draws: range, seed: int, resamples: int) -> Counts:
    """(M, R) 1 where an image keeps its model, and 0 where two models swap it, in some of so many resamples."""
    index = np.arange(images)[:, None] * resamples + np.arange(draws.start, draws.stop)
    return (numbers_at(np.array(_COINS + seed), index) >> np.uint64(63)).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What SHOE-mF1 and the miss rates are made of, by class or in all, and column of weights; all sums.

    Attributes:
        true, false, found, truths: (K, columns) sparse: similarity of matches, what they lack and false positives,
            matched ground truths, ground truths.
        unmatched, predictions: (1, columns) sparse: predictions without a match, and all of them.
        counted: (K,) classes that take part.
    """

    true: Any
    false: Any
    found: Any
    truths: Any
    unmatched: Any
    predictions: Any
    counted: Mask
    rule: F1Rule

    @classmethod
    def of(cls, images: int, *models: F1Entries) -> Counted:
        """Prepare the counts of some models; image i of model j of M images has column j M + i of weights."""
        from scipy.sparse import hstack

        parts = [_sums(images, each) for each in models]
        joined = {name: hstack([part[name] for part in parts], format="csr") for name in parts[0]}
        return cls(**joined, counted=models[0].counted, rule=models[0].rule)

    def under(self, weights: Counts) -> tuple[ByClass, Floats]:
        """F1 of classes and the (R, 2) miss rates under (columns, R) weights; NaN where there is nothing to measure."""
        shown = self.truths > 0
        inside = self.false.multiply(shown).tocsr()
        outside = np.asarray((self.false - inside).sum(axis=1)).T
        true, false, false_inside, found, truths, unmatched, predictions = (
            np.asarray((matrix @ weights).T, np.float64)
            for matrix in (self.true, self.false, inside, self.found, self.truths, self.unmatched, self.predictions)
        )
        truths, drawn = (np.where(self.counted, each, 0) for each in (truths, (shown @ weights).T))
        f1, in_mean = self.rule.f1(true, false, found, truths, self.counted)
        own, _ = self.rule.f1(true, false_inside + outside, found, truths, self.counted)
        of_truths, of_predictions = truths.sum(axis=1), predictions[:, 0]
        rates = _share(of_truths - found.sum(axis=1), of_truths), _share(unmatched[:, 0], of_predictions)
        return ByClass(f1, (in_mean,), drawn, self.truths.getnnz(axis=1), own), np.stack(rates, axis=1)


def _sums(images: int, of: F1Entries) -> dict[str, Any]:
    from scipy.sparse import csr_matrix

    classes, charged = len(of.counted), of.unmatched_category >= 0

    def summed(category: NDArray[np.integer], image: NDArray[np.integer], amounts: Floats, rows: int = classes) -> Any:
        return csr_matrix((amounts, (category, image)), shape=(rows, images))

    def of_all(image: NDArray[np.integer]) -> Any:
        return summed(np.zeros(len(image), np.int64), image, np.ones(len(image)), 1)

    lacking = summed(of.category, of.image, 1 - of.sigma)
    unmatched = of.unmatched_category[charged], of.unmatched_image[charged]
    return {
        "true": summed(of.category, of.image, of.sigma),
        "false": lacking + summed(*unmatched, np.ones(int(charged.sum()))),
        "found": summed(of.category, of.image, np.ones(len(of.category))),
        "truths": summed(of.truth_category, of.truth_image, np.ones(len(of.truth_category))),
        "unmatched": of_all(unmatched[1] if of.rule.misses == "charged" else of.unmatched_image),
        "predictions": of_all(np.concatenate([of.image, of.unmatched_image])),
    }


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


Resampled = dict[str, Floats]
"""(R,) values of each figure by its key; NaN where there is nothing to measure."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What figures under R weights are made of: values of classes, of which they are means.

    Attributes:
        lists: average precision by the first part of figures' keys ("strict:qpic"), and names of its means; a mean
            without a name is no figure.
        f1: of SHOE; None without SHOE figures.
        rates: (R, 2) miss rates.
    """

    lists: dict[str, tuple[tuple[str, ...], ByClass]]
    f1: ByClass | None
    rates: Floats

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        """Put together what was measured of the same models under some weights after the other."""
        lists = {
            of: (names, ByClass.joined([part.lists[of][1] for part in parts]))
            for of, (names, _) in parts[0].lists.items()
        }
        f1 = [part.f1 for part in parts if part.f1 is not None]
        return cls(lists, ByClass.joined(f1) if f1 else None, np.concatenate([part.rates for part in parts]))

    def figures(self, means: Callable[[ByClass], Floats]) -> Resampled:
        """Every figure, by its key; ``means`` has (R, means) of a figure of classes."""
        found: Resampled = {}
        for of, (names, by_class) in self.lists.items():
            named = zip(names, means(by_class).T, strict=True)
            found |= _named(of, {name: value for name, value in named if name})
        if self.f1 is not None:
            rest = means(self.f1)[:, 0], *self.rates.T
            found |= {f"semantic:{name}": value for name, value in zip(SEMANTIC[1:], rest, strict=True)}
        return found


class Resampler:
    """A run, or several runs' images put together, prepared for weights."""

    def __init__(self, *runs: Run) -> None:
        """Prepare one run, or several of the same ground truth and protocols."""
        images = len(runs[0].images)
        self._lists: dict[str, tuple[tuple[str, ...], Ranked]] = {}
        for number, strict in enumerate(runs[0].strict):
            entries = [run.strict[number].entries for run in runs]
            self._add(f"strict:{strict.options.protocol}", PARTS, Ranked.of(images, *entries))
        for number, of in enumerate(runs[0].by_person):
            entries = [run.by_person[number].entries for run in runs]
            self._add(f"roles:{of.options.protocol}", (PARTS[0], "", ""), Ranked.of(images, *entries))
        semantic = [run.semantic for run in runs if run.semantic is not None]
        self._counted: Counted | None = None
        if len(semantic) == len(runs):
            self._add("semantic", (SEMANTIC[0], "", ""), Ranked.of(images, *(each.entries for each in semantic)))
            self._counted = Counted.of(images, *(each.f1 for each in semantic))

    def _add(self, of: str, names: tuple[str, ...], ranked: Ranked) -> None:
        self._lists[of] = (*names, *map(PART.format, ranked.parts)), ranked

    def under(self, weights: Counts, batch: int = 0) -> Measured:
        """What figures are made of under (M, R) weights of one run's images, or of each run's one after the other.

        ``batch`` is how many times BATCH weights come before these.
        """
        lists = {of: (names, ranked.by_class(weights, batch)) for of, (names, ranked) in self._lists.items()}
        f1, rates = self._counted.under(weights) if self._counted else (None, np.empty((weights.shape[1], 0)))
        return Measured(lists, f1, rates)

    def figures(self, weights: Counts) -> Resampled:
        """Every figure, by its key, under (M, R) weights of one run's images, or of each run's one after the other."""
        return self.under(weights).figures(ByClass.means)

    def resampled(self, weights: Counts) -> Resampled:
        """Every figure of one run under (M, R) draws, with the spread that new images would give."""
        return self.under(weights).figures(ByClass.resampled)


def _named(of: str, found: Resampled) -> Resampled:
    """Figures by their keys; with those of seen and unseen classes, the harmonic mean of both."""
    seen, unseen = (found.get(PART.format(part)) for part in (SEEN, UNSEEN))
    if seen is not None and unseen is not None:
        found |= {HARMONIC_MEAN: 2 * seen * unseen / np.where(seen + unseen > 0, seen + unseen, 1)}
    return {f"{of}:{name}": value for name, value in found.items()}


def differences_when_swapped(both: Resampler, kept: Counts, batch: int = 0) -> Resampled:
    """Differences of two models' figures once they have swapped the images where (M, R) ``kept`` is 0."""
    swapped = 1 - kept
    first, second = (
        both.under(np.concatenate(each), batch).figures(ByClass.means) for each in ((kept, swapped), (swapped, kept))
    )
    return {figure: first[figure] - second[figure] for figure in first}
