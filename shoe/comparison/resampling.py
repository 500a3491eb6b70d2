"""Metrics of runs under resampled images: drawn with replacement, or swapped between two models.

All compared runs share the same random draws, which depend only on the seed and the number of images. The result of a
model does not depend on the order of models or on the other models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import SEEN, UNSEEN
from shoe.comparison.ranked import BATCH, ByClass, Counts, Ranked, mean_over_each
from shoe.comparison.run import HARMONIC_MEAN, PART, SEMANTIC, Run
from shoe.comparison.tau import TauLevels, Versions
from shoe.core.arrays import Floats, Mask, numbers_at, random_numbers
from shoe.core.statistics import ROUNDING
from shoe.scoring.f1 import F1Entries, F1Rule

_DRAWS, _COINS = 1 << 30, 1 << 31
"""First streams of random numbers; lower streams belong to tied orders."""
DEFAULT_RESAMPLES = 1000
"""Default number of resamples for a few models."""
MOST_RESAMPLES, MOST_SEEDS = 1 << 16, 1 << 14
"""Limits of the number of resamples and of the seed, within which all streams are different."""


def drawn_images(images: int, draws: range, seed: int) -> Counts:
    """Return the (M, R) number of times that each of M images is drawn, in R resamples of M images with replacement.

    ``images`` is M, ``draws`` are the indices of the R resamples, and ``seed`` is less than MOST_SEEDS.
    """
    weights = np.empty((len(draws), images), np.int32)
    for row, number in enumerate(draws):
        drawn = random_numbers(_DRAWS + seed * MOST_RESAMPLES + number, (images,)) % np.uint64(max(images, 1))
        weights[row] = np.bincount(drawn.astype(np.int64), minlength=images)
    return np.ascontiguousarray(weights.T)


def random_swaps(images: int, draws: range, seed: int, resamples: int) -> Counts:
    """Return (M, R) random swaps: 0 if two models swap their predictions for an image, else 1, with equal probability.

    ``images`` is M, ``draws`` are the indices of the R resamples, and ``resamples`` is the total number of resamples.
    """
    index = np.arange(images)[:, None] * resamples + np.arange(draws.start, draws.stop)
    return (numbers_at(np.array(_COINS + seed), index) >> np.uint64(63)).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Sums per class for SHOE-mF1 and miss rates; a column (version) is a model's image at a range of thresholds tau.

    Attributes:
        versions: matches of each image at different thresholds tau (:mod:`shoe.comparison.tau`).
        own: (columns,) whether each version has the matches at the threshold of the run.
        true, false: (K, columns) sparse sums of the similarities of matches; of 1 - similarity and false positives.
        found, truths: (K, columns) sparse numbers of matched ground truths, and of all ground truths.
        unmatched, apart, predictions: (1, columns) sparse numbers of predictions without a match, of predictions whose
            boxes overlap no ground truth, and of all predictions.
        counted: (K,) mask of the evaluated classes.
    """

    versions: Versions
    own: Mask
    true: Any
    false: Any
    found: Any
    truths: Any
    unmatched: Any
    apart: Any
    predictions: Any
    counted: Mask
    rule: F1Rule

    @classmethod
    def from_entries(cls, images: int, *models: F1Entries, tau: Sequence[TauLevels | None] = (None,)) -> Counted:
        """Return the sums of the matches of one or more models, whose F1 entries are given, on M ``images``.

        ``tau`` has the matches of each model at other thresholds; if a model has None, those of all models are ignored.
        """
        from scipy.sparse import hstack

        known = tuple(each for each in tau if each is not None)
        versions = Versions(known if len(known) == len(models) else (), images)  # a model may lack other thresholds
        numbers = [images + len(each.image) for each in versions.levels] or [images] * len(models)
        own = np.concatenate([np.arange(number) < images for number in numbers])
        parts = [_sums(number, versions.entries(i, models[i])) for i, number in enumerate(numbers)]
        joined = {name: hstack([part[name] for part in parts], format="csr") for name in parts[0]}
        return cls(versions, own, **joined, counted=models[0].counted, rule=models[0].rule)

    def f1(self, weights: Counts) -> ByClass:
        """Return the F1 of each class under (models x M, R) weights of images."""
        shown = self.truths > 0
        inside = self.false.multiply(shown).tocsr()
        outside = (self.false - inside) @ self.own
        sums = self._weighted((self.true, self.false, inside, self.found, self.truths, shown), weights)
        true, false, false_inside, found, truths, drawn = (each.T for each in sums)
        truths, drawn = (np.where(self.counted, each, 0) for each in (truths, drawn))
        f1, in_mean = self.rule.f1(true, false, found, truths, self.counted)
        own, _ = self.rule.f1(true, false_inside + outside, found, truths, self.counted)
        return ByClass(f1, (in_mean,), drawn.astype(np.int64), shown @ self.own.astype(np.int64), own)

    def _weighted(self, matrices: Sequence[Any], weights: Counts) -> list[Floats]:
        """Return the product of each (n, columns) matrix and the weights of versions, (n, R)."""
        sums = [np.empty((matrix.shape[0], weights.shape[1])) for matrix in matrices]
        for resamples, versions in self.versions.thresholds(weights):
            some = weights[:, resamples].astype(np.float64, order="C")  # products of whole numbers are slow
            for matrix, result in zip(matrices, sums, strict=True):
                result[:, resamples] = matrix[:, versions] @ some
        return sums

    def miss_rates(self, weights: Counts) -> tuple[Floats, Floats]:
        """Return the (R, 3) ``rates`` and ``errors`` of :class:`Measured` under (models x M, R) weights of images."""
        all_truths, all_found = (self.counted @ matrix for matrix in (self.truths, self.found))
        unmatched, apart, predictions = (each.toarray()[0] for each in (self.unmatched, self.apart, self.predictions))
        shares = (all_truths - all_found, all_truths), (unmatched, predictions), (apart, predictions)
        terms = np.concatenate([_terms(*share) for share in shares])
        sums = np.column_stack([*self._weighted([terms], weights), terms @ self.own])
        rates, errors = zip(*map(_rate_and_error, np.split(sums, len(shares))), strict=True)
        return np.stack(rates, axis=1), np.stack(errors, axis=1)


def _sums(images: int, matching: F1Entries) -> dict[str, Any]:
    from scipy.sparse import csr_matrix

    classes, charged = len(matching.counted), matching.unmatched_category >= 0

    def summed(category: NDArray[np.integer], image: NDArray[np.integer], amounts: Floats, rows: int = classes) -> Any:
        return csr_matrix((amounts, (category, image)), shape=(rows, images))

    def of_all(image: NDArray[np.integer]) -> Any:
        return summed(np.zeros(len(image), np.int64), image, np.ones(len(image)), 1)

    lacking = summed(matching.category, matching.image, 1 - matching.sigma)
    unmatched = matching.unmatched_category[charged], matching.unmatched_image[charged]
    return {
        "true": summed(matching.category, matching.image, matching.sigma),
        "false": lacking + summed(*unmatched, np.ones(int(charged.sum()))),
        "found": summed(matching.category, matching.image, np.ones(len(matching.category))),
        "truths": summed(matching.truth_category, matching.truth_image, np.ones(len(matching.truth_category))),
        "unmatched": of_all(unmatched[1] if matching.rule.misses == "charged" else matching.unmatched_image),
        "apart": of_all(matching.unmatched_image[~matching.unmatched_overlaps]),
        "predictions": of_all(np.concatenate([matching.image, matching.unmatched_image])),
    }


def _terms(part: Floats, whole: Floats) -> Floats:
    return np.stack([part, whole, part**2, part * whole, whole**2])


def _rate_and_error(sums: Floats) -> tuple[Floats, Floats]:
    """Return the (R,) ratio of the weighted sums of (columns,) ``part`` and ``whole``, and its relative standard error.

    ``sums`` are the (5, R + 1) weighted sums of their :func:`_terms`, of the run itself in the last column. The error
    of a ratio of sums over images (Cochran 1977, 6.4) is divided by that of the run itself; else it is 1.
    """
    rate = np.where(sums[1] > 0, sums[0] / np.maximum(sums[1], 1), np.nan)
    error = np.sqrt(np.maximum(sums[2] - 2 * rate * sums[3] + rate**2 * sums[4], 0)) / np.maximum(sums[1], 1)
    relative = error[:-1] / error[-1] if error[-1] > 0 else np.ones(len(rate) - 1)
    return rate[:-1], np.where(relative > ROUNDING, relative, 1)


Resampled = dict[str, Floats]
"""(R,) values of each metric by its key; NaN if there is nothing to measure."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Values per class and miss rates under R resamples; metrics are the means of the values over classes.

    Attributes:
        lists: tuples (prefix of the metric keys, such as "strict:qpic"; names of the means over classes; values of the
            classes). Means with the name "" are not metrics.
        rates: (R, 3) fractions of ground truths and of predictions without a match, and of predictions without overlap;
            (R, 0) without SHOE metrics.
        errors: (R, 3) standard errors of these rates, relative to the standard errors without resampling; or (R, 0).
    """

    lists: list[tuple[str, tuple[str, ...], ByClass]]
    rates: Floats
    errors: Floats

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        """Concatenate the values of the same models under consecutive batches of resamples."""
        lists = [
            (key, names, ByClass.joined([part.lists[number][2] for part in parts]))
            for number, (key, names, _) in enumerate(parts[0].lists)
        ]
        return cls(lists, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("rates", "errors")))

    def resampled(self) -> Resampled:
        """Return the (R,) values of every metric by its key, with the spread that is expected over new test images.

        Miss rates depend on the few images with many ground truths or predictions. Their intervals contain the true
        rate more often if deviations are divided by their standard errors (bootstrap-t: Efron and Tibshirani 1993,
        12.5). These deviations have the opposite sign here, because the bootstrap-t interval subtracts them.
        """
        centre = mean_over_each(self.rates.T, ~np.isnan(self.rates.T))
        studentised = replace(self, rates=centre - (self.rates - centre) / self.errors)
        return studentised.figures(ByClass.resampled)

    def figures(self, means: Callable[[ByClass], Floats] = ByClass.means) -> Resampled:
        """Return the (R,) values of every metric by its key; ``means`` is a function that computes class means."""
        metrics = {f"semantic:{name}": rate for name, rate in zip(SEMANTIC[3:], self.rates.T, strict=False)}
        for key, names, by_class in self.lists:
            named = {name: value for name, value in zip(names, means(by_class).T, strict=True) if name}
            seen, unseen = (named.get(PART.format(part)) for part in (SEEN, UNSEEN))
            if seen is not None and unseen is not None:
                named[HARMONIC_MEAN] = 2 * seen * unseen / np.where(seen + unseen > 0, seen + unseen, 1)
            metrics |= {f"{key}:{name}": value for name, value in named.items()}
        return metrics


class Resampler:
    """Prepared data of runs with the same ground truth and protocols, for metrics under any weights of the images."""

    def __init__(self, *runs: Run) -> None:
        images, ranked = len(runs[0].images), [run.ranked for run in runs]
        self._lists: list[tuple[str, tuple[str, ...], Ranked]] = []
        for key, (names, entries) in ranked[0].items():
            if all(key in each for each in ranked):
                parts = [PART.format(part) for part in entries.parts]
                prepared = Ranked.from_entries(images, *(each[key][1] for each in ranked))
                self._lists.append((key, (*names, *parts), prepared))
        self._counted: dict[str, Counted] = {}
        semantic = [run.semantic for run in runs if run.semantic is not None]
        if len(semantic) == len(runs):
            tau = [each.tau for each in semantic]
            self._counted["mf1"] = Counted.from_entries(images, *(each.f1 for each in semantic), tau=tau)
            self._counted["mf1_best_tau"] = Counted.from_entries(images, *(each.best for each in semantic))

    def under(self, weights: Counts, batch: int = 0) -> Measured:
        """Return the metrics in R resamples, given as weights of M images: (M, R), or (n M, R) for n runs in sequence.

        ``batch``, the number of previous batches of BATCH resamples, seeds the random orders of ties.
        """
        if weights.shape[1] > BATCH:
            batches = enumerate(range(0, weights.shape[1], BATCH), batch)
            parts = [self.under(np.ascontiguousarray(weights[:, i : i + BATCH]), number) for number, i in batches]
            return Measured.joined(parts)
        lists = [(key, names, ranked.by_class(weights, batch)) for key, names, ranked in self._lists]
        rates = errors = np.empty((weights.shape[1], 0))
        for name, counted in self._counted.items():
            lists.append(("semantic", (name,), counted.f1(weights)))
            if name == "mf1":
                rates, errors = counted.miss_rates(weights)
        return Measured(lists, rates, errors)


def differences_when_swapped(both: Resampler, unswapped: Counts, batch: int = 0) -> Resampled:
    """Return the (R,) differences of every metric, first minus second model, after swaps of their predictions.

    ``unswapped`` is (M, R), as from :func:`random_swaps`; ``batch`` is the number of previous batches.
    """
    swapped = 1 - unswapped
    orders = (unswapped, swapped), (swapped, unswapped)
    first, second = (both.under(np.concatenate(each), batch).figures() for each in orders)
    return {figure: first[figure] - second[figure] for figure in first}
