"""Threshold tau of SHOE-mF1 under resampled images, for ``tau-by=dataset``.

SHOE-mF1 counts only predictions with a score of at least tau, and tau is chosen such that a given fraction of all
predictions counts. In a resample, the predictions of some images have a higher weight, so that tau is different: it is
the first of 13 thresholds around the tau of the run above which at least this fraction of the weighted predictions
lies. For a comparison of two models, whose scores are not comparable, thresholds are fractions of kept predictions.

The matches of an image depend only on which of its predictions are kept. The matches of one image within a range of
thresholds are called a version of the image. A resample gives each version the weight of its image if tau is in this
range, else 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, distinct, scatter
from shoe.scoring.entries import rows_of_images
from shoe.scoring.f1 import F1Entries
from shoe.scoring.scorer import Scorer

_REACH, _STEPS = 3.0, 6
"""Standard deviations that thresholds reach to either side of the run's own, and number of thresholds per side."""
_ROUNDING = 1e-9
OWN = _STEPS
"""Index of the run's own threshold."""
LEVELS = 2 * _STEPS + 1
"""Number of thresholds, L below."""


@dataclass(frozen=True, slots=True, eq=False)
class TauLevels:
    """Matches of M images at L = 13 thresholds tau, stored as v versions.

    Attributes:
        fraction: (L,) fraction of the predictions that each threshold keeps, ascending. The threshold of the run itself
            has index ``OWN``; its matches are not stored here.
        kept, total: (L, M) number of predictions of each image that each threshold keeps, and (M,) of all predictions,
            of those that count for tau.
        image, first, stop: (v,) image of each version, and its range of thresholds: indices ``first`` to ``stop`` - 1.
        f1: matches of all versions; its image indices are indices of versions, and it has no ground truths.
    """

    fraction: Floats
    kept: NDArray[np.integer]
    total: NDArray[np.integer]
    image: NDArray[np.integer]
    first: NDArray[np.integer]
    stop: NDArray[np.integer]
    f1: F1Entries

    @classmethod
    def from_scorer(cls, scorer: Scorer) -> TauLevels | None:
        """Return the matches at thresholds near the tau of the scorer; None if resamples do not change the tau."""
        rows, options = scorer.rows, scorer.options
        if options.tau_by != "dataset":
            return None
        images, score = len(scorer.task.truth.interactions.images), scorer.task.predictions.score[rows]
        image = scorer.task.image[rows]
        counted = scorer.counts_for_tau[rows]
        falling, of_counted = -np.sort(-score[counted]), image[counted]
        if not len(falling):
            return None
        total = np.bincount(of_counted, minlength=images)

        def lowest(fraction: Floats) -> Floats:
            return falling[np.clip(np.ceil(fraction * len(falling) - _ROUNDING), 1, len(falling)).astype(np.int64) - 1]

        own = score[counted] >= lowest(np.array([1 - options.tau]))
        deviation = np.bincount(of_counted[own], minlength=images) - own.mean() * total
        step = _REACH / _STEPS * np.sqrt((deviation**2).sum()) / len(falling)
        fraction = np.clip(1 - options.tau + step * np.arange(-_STEPS, _STEPS + 1), 0, 1)
        least = lowest(fraction)
        kept = np.stack([np.bincount(of_counted[score[counted] >= each], minlength=images) for each in least])
        # Each threshold is compared with the next one on the way to the run's own.
        level = (score[:, None] < least).sum(axis=1)  # first threshold that keeps the prediction
        found: list[tuple[int, Indices, F1Entries]] = []
        for here in (*range(OWN), *range(OWN + 1, LEVELS)):
            side = 1 if here < OWN else 0
            changed = np.zeros(images, bool)
            changed[image[level == here + side]] = True
            if changed.any():
                matches = scorer.match(rows[changed[image] & (level <= here)])
                found.append((here, np.flatnonzero(changed), scorer.f1_entries(matches)))
        return cls(fraction, kept, total, *_versions(found, images)) if found else None

    def ranges(self, images: int) -> tuple[Indices, Indices]:
        """Return (M + v,) first and stop thresholds: of the matches of M images in the run, then of v versions."""
        first, stop = np.zeros(images, np.int64), np.full(images, LEVELS)
        above = self.first > OWN
        np.maximum.at(first, self.image[~above], self.stop[~above])
        np.minimum.at(stop, self.image[above], self.first[above])
        return np.concatenate([first, self.first]), np.concatenate([stop, self.stop])


def _versions(
    found: Sequence[tuple[int, Indices, F1Entries]], images: int
) -> tuple[Indices, Indices, Indices, F1Entries]:
    """Return image, first, stop and f1 of TauLevels from (threshold, changed images, their matches), ascending."""
    image = np.concatenate([changed for _, changed, _ in found])
    here = np.repeat([threshold for threshold, _, _ in found], [len(changed) for _, changed, _ in found])
    below = here < OWN
    first, stop = np.where(below, 0, here), np.where(below, here + 1, LEVELS)
    # On either side of the run's own threshold, the range of a version ends where the next one of its image begins.
    order = np.lexsort((here, image))
    lower, upper = order[:-1], order[1:]
    next_ = (image[lower] == image[upper]) & (below[lower] == below[upper])
    lower, upper = lower[next_], upper[next_]
    first[upper] = stop[lower] = np.where(below[lower], stop[lower], first[upper])
    parts, start = [], 0
    for _, changed, f1 in found:
        version = np.zeros(images, np.int64)
        version[changed] = start + np.arange(len(changed))
        start += len(changed)
        parts.append((f1, version[f1.image], version[f1.unmatched_image]))
    return image, first, stop, _concatenated(*parts)


def _concatenated(*parts: tuple[F1Entries, NDArray[np.integer], NDArray[np.integer]]) -> F1Entries:
    """Return one table of matches without ground truths; parts are (matches, their images, images of the unmatched)."""
    names = ("category", "sigma", "unmatched_category", "unmatched_overlaps")
    joined: dict[str, Any] = {name: np.concatenate([getattr(f1, name) for f1, _, _ in parts]) for name in names}
    joined |= dict.fromkeys(("truth_category", "truth_image"), np.zeros(0, np.int64))
    image, unmatched_image = (np.concatenate([part[which] for part in parts]) for which in (1, 2))
    return replace(parts[0][0], **joined, image=image, unmatched_image=unmatched_image)


@dataclass(frozen=True, slots=True, eq=False)
class Versions:
    """Matches of one or more models at several thresholds tau; each resample uses one threshold per model.

    Attributes:
        levels: matches of each model at other thresholds than that of the run; empty if tau is equal in all resamples.
        images: number of images, M; image i of model j has column j M + i in weights of images.
    """

    levels: tuple[TauLevels, ...]
    images: int

    def entries(self, model: int, f1: F1Entries) -> F1Entries:
        """Return the matches of a model at all thresholds: ``f1`` (threshold of the run), then those in ``levels``."""
        if not self.levels:
            return f1
        level = self.levels[model]
        of = np.concatenate([np.arange(self.images), level.image])
        truth, truth_version = rows_of_images(f1.truth_image, of)
        image, unmatched_image = (each + self.images for each in (level.f1.image, level.f1.unmatched_image))
        joined = _concatenated((f1, f1.image, f1.unmatched_image), (level.f1, image, unmatched_image))
        return replace(joined, truth_category=f1.truth_category[truth], truth_image=truth_version)

    def thresholds(self, weights: NDArray[np.int32]) -> Iterator[tuple[Indices, Indices]]:
        """Yield each tau that resamples use: the resamples, and the (models x M,) index of the version of each image.

        ``weights`` are (models x M, R) weights of images in R resamples. Without ``levels``, there is one tau.
        """
        if not self.levels:
            yield np.arange(weights.shape[1]), np.arange(len(weights))
            return
        amounts = weights.reshape(len(self.levels), self.images, -1).astype(np.float64)
        fraction = np.unique(np.concatenate([each.fraction for each in self.levels]))
        index = [np.minimum(np.searchsorted(each.fraction, fraction), LEVELS - 1) for each in self.levels]
        kept = sum((each.kept.astype(float) @ own)[i] for each, own, i in zip(self.levels, amounts, index, strict=True))
        total = sum(each.total.astype(float) @ own for each, own in zip(self.levels, amounts, strict=True))
        wanted = self.levels[0].fraction[OWN] * total
        enough = kept >= wanted - _ROUNDING
        enough[-1] = True
        chosen = enough.argmax(axis=0)
        ranges = [each.ranges(self.images) for each in self.levels]
        for tau in distinct(chosen).tolist():
            start, versions = 0, []
            for each, i, (first, stop) in zip(self.levels, index, ranges, strict=True):
                used = np.flatnonzero((first <= i[tau]) & (i[tau] < stop))
                of = np.concatenate([np.arange(self.images), each.image])[used]
                versions.append(start + scatter(used, of, self.images))
                start += len(first)
            yield np.flatnonzero(chosen == tau), np.concatenate(versions)
