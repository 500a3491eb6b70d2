"""Figures of runs under resampled images: drawn with replacement, or swapped between two models.

All runs that are compared see the same draws, which depend on the seed and the number of images alone: no order of
models, and no other model beside them, changes what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.class_splits import SEEN, UNSEEN
from shoe.comparison.by_class import ByClass
from shoe.comparison.ranked import Counts, Ranked
from shoe.core.arrays import Floats, Mask
from shoe.core.seeded import random_numbers
from shoe.runs.run import HARMONIC_MEAN, PART, PARTS, SEMANTIC, Run
from shoe.scoring.f1_entries import F1Entries, F1Rule

_DRAWS, _COINS = 1 << 30, 1 << 31
"""First streams of random numbers; those below are of tied orders."""
MOST_RESAMPLES, MOST_SEEDS = 1 << 16, 1 << 14


def drawn_images(images: int, resamples: int, seed: int) -> Counts:
    """(M, R) how often each image is drawn, as many with replacement as there are; seeds are below MOST_SEEDS."""
    weights = np.empty((resamples, images), np.int32)
    for number in range(resamples):
        drawn = random_numbers(_DRAWS + seed * MOST_RESAMPLES + number, (images,)) % np.uint64(max(images, 1))
        weights[number] = np.bincount(drawn.astype(np.int64), minlength=images)
    return np.ascontiguousarray(weights.T)


def coins(images: int, resamples: int, seed: int) -> Counts:
    """(M, R) 1 where an image keeps its model, and 0 where two models swap it."""
    numbers = random_numbers(_COINS + seed, (images, resamples))
    return (numbers >> np.uint64(63)).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What SHOE-mF1 and the miss rates are made of, by class or in all, and column of weights; all sums.

    Attributes:
        true, false, found, truths: (K, columns) sparse: similarity of matches, what they lack and false positives,
            matched ground truths, ground truths.
        unmatched, predictions: (1, columns) sparse: predictions without a match, and all of them.
        counted: (K,) classes that take part.
        rule: how counts become figures.
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


class Resampler:
    """A run, or several runs' images put together, prepared for weights."""

    def __init__(self, *runs: Run) -> None:
        """Prepare one run, or several of the same ground truth and protocols."""
        images = len(runs[0].images)
        self._strict = {
            strict.options.protocol: Ranked.of(images, *(run.strict[number].entries for run in runs))
            for number, strict in enumerate(runs[0].strict)
        }
        self._by_person = {
            of.options.protocol: Ranked.of(images, *(run.by_person[number].entries for run in runs))
            for number, of in enumerate(runs[0].by_person)
        }
        semantic = [run.semantic for run in runs if run.semantic is not None]
        self._semantic: tuple[Ranked, Counted] | None = None
        if len(semantic) == len(runs):
            entries, f1 = (each.entries for each in semantic), (each.f1 for each in semantic)
            self._semantic = Ranked.of(images, *entries), Counted.of(images, *f1)

    def figures(self, weights: Counts) -> Resampled:
        """Every figure, by its key, under (M, R) weights of one run's images, or of each run's one after the other."""
        return self._figures(weights, ByClass.means)

    def resampled(self, weights: Counts) -> Resampled:
        """Every figure of one run under (M, R) draws, with the spread that new images would give."""
        return self._figures(weights, ByClass.resampled)

    def _figures(self, weights: Counts, means: Callable[[ByClass], Floats]) -> Resampled:
        found: Resampled = {}
        for protocol, ranked in self._strict.items():
            values = means(ranked.by_class(weights)).T
            found |= _named(f"strict:{protocol}", [*PARTS, *map(PART.format, ranked.parts)], values)
        for protocol, ranked in self._by_person.items():
            full, _, _, *parts = means(ranked.by_class(weights)).T
            found |= _named(f"roles:{protocol}", [PARTS[0], *map(PART.format, ranked.parts)], [full, *parts])
        if self._semantic is not None:
            ranked, counted = self._semantic
            f1, rates = counted.under(weights)
            full, _, _, *parts = means(ranked.by_class(weights)).T
            names = [*SEMANTIC, *map(PART.format, ranked.parts)]
            found |= _named("semantic", names, [full, means(f1)[:, 0], *rates.T, *parts])
        return found


def _named(of: str, names: Sequence[str], values: Iterable[Floats]) -> Resampled:
    """Figures by their keys; with those of seen and unseen classes, the harmonic mean of both."""
    found = dict(zip(names, values, strict=True))
    seen, unseen = (found.get(PART.format(part)) for part in (SEEN, UNSEEN))
    if seen is not None and unseen is not None:
        found[HARMONIC_MEAN] = 2 * seen * unseen / np.where(seen + unseen > 0, seen + unseen, 1)
    return {f"{of}:{name}": value for name, value in found.items()}


def differences_when_swapped(a: Run, b: Run, kept: Counts) -> Resampled:
    """Differences of two models' figures once they have swapped the images where (M, R) ``kept`` is 0."""
    both, swapped = Resampler(a, b), 1 - kept
    first, second = (both.figures(np.concatenate(each)) for each in ((kept, swapped), (swapped, kept)))
    return {figure: first[figure] - second[figure] for figure in first}
