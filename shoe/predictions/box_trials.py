"""How well the boxes of one convention fit the ground truth, and how well they would under every other one."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.interactions import Interactions
from shoe.core.ragged import best_of_each
from shoe.predictions.box_fit import Annotated, Boxes
from shoe.predictions.boxes import LAYOUTS, Convention, corners_of
from shoe.predictions.resizing import resized

_RELATIVE = ("pixels", "thousand", "unit", "hundred")
_SQUARES = tuple(f"resized:{n}x{n}" for n in (448, 336, 224, 384, 512, 640, 672, 768, 1024, 1120))
# min_pixels and max_pixels of Qwen's processors, in tokens: the checkpoints' own first, then what model cards and
# scripts set. Of those that resize all images of a file alike, the first stands for all.
_FEWEST_TOKENS = {28: (4, 256, 512, 1024, 1280), 32: (64, 4, 256, 512, 1024, 1280)}
_MOST_TOKENS = (16384, 1280, 256, 512, 768, 1024, 2048, 4096)
_BUDGETS = tuple(
    f"resized:smart={factor}:{low * factor**2}:{high * factor**2}"
    for factor, lows in _FEWEST_TOKENS.items()
    for low in lows
    for high in _MOST_TOKENS
    if low < high
)
_RULES = (
    *(f"resized:max={n}" for n in (1024, 1333, 448, 336, 512, 640, 768, 1568)),
    *("resized:smart=28", "resized:smart=32"),
    *_BUDGETS,
)
_SCALES = tuple(
    (scale, picture)
    for scales, picture in (((*_RELATIVE, *_RULES, *_SQUARES), ""), ((*_RELATIVE, *_SQUARES), "padded"))
    for scale in scales
)
ORDERS = ("", "swapped")
_LAYOUTS = tuple(LAYOUTS)
_SCREENED_EVERY = 8
_FINALISTS = 6
_BEST_OF_IMAGE = 6
_HIT = 0.5
# Another convention is "far better" if it hits this share of all boxes more than the one applied and than chance, and
# this times as many. Its mean IoU must lead by the margin too: boxes of half the size hit nothing, yet a convention
# that stretches them from the corner lets a third of them hit. Of few boxes some convention fits many by luck: a share
# of n boxes is sure to half of 1 / sqrt(n).
_MARGIN = 0.2
_FACTOR = 1.5
_FEWEST = 10
_OF_IMAGE = 4
_DEVIATIONS = 3
# Of boxes that mean so much under the other convention, a smaller lead says enough: those of a padded picture read as
# of the whole one still hit more often than not.
_CLOSE, _CLOSE_MARGIN = 0.55, 0.1
# Mean IoUs that differ by less than this, divided by the root of the number of boxes, are a tie; the commoner wins it.
_TIE = 0.08
_SCREENED_TIE = 0.02
# Images whose boxes overlap annotated ones less than this on average may have another convention than the rest: so they
# do if nearly all their boxes hit under it.
_MISSED, _NEARLY_ALL = 0.3, 0.8


@dataclass(frozen=True, slots=True)
class Fit:
    """How well boxes fit the ground truth under one convention.

    Attributes:
        convention: its name.
        hits: share of the boxes that overlap an annotated box of their image and kind with IoU >= 0.5.
        mean_iou: mean of the best IoU of each box.
    """

    convention: str
    hits: float
    mean_iou: float


@dataclass(frozen=True, slots=True)
class GroupFits:
    """How well the boxes fit that were read under one convention.

    Attributes:
        boxes: how many distinct boxes were looked at, those of an image beyond four not counted: what fits some of an
            image's boxes by luck fits others of it, too.
        fits: the convention applied, then those that came out best of all that were tried, the commoner first; none
            of them where that applied fits so well that no other can be far better.
        chance: hits of the best of these if each image had the ground truth of another one: boxes that are the same in
            every image hit about as often there.
        images: how many images these are of.
        apart: where no other convention is far better for all, but one is for the images that do not fit, those.
    """

    boxes: int
    fits: tuple[Fit, ...]
    chance: float
    images: int = 0
    apart: GroupFits | None = None

    @property
    def best(self) -> Fit:
        """The convention that fits best; of ties the one applied, else the commoner."""
        highest = max(fit.mean_iou for fit in self.fits)
        return next(fit for fit in self.fits if fit.mean_iou >= highest - _TIE / np.sqrt(self.boxes))

    @property
    def better(self) -> Fit | None:
        """The convention that fits best, if it does so far better than the one applied."""
        applied, best = self.fits[0], self.best
        bar = max(applied.hits, self.chance)
        unsure = 0.5 / np.sqrt(self.boxes)
        lead = best.mean_iou - applied.mean_iou
        hits_more = best.hits >= max(min(bar + _MARGIN + _DEVIATIONS * unsure, 1), bar * _FACTOR)
        is_close = best.mean_iou >= _CLOSE and lead >= _CLOSE_MARGIN + unsure
        return best if self.boxes >= _FEWEST and (is_close or (hits_more and lead >= _MARGIN + unsure)) else None


class Group:
    """The boxes of a sample that were read under one convention."""

    def __init__(
        self, sample: Interactions, rows: Indices, sizes: Floats, applied: Convention, annotated: Annotated
    ) -> None:
        rows = rows[best_of_each(sample.image[rows], sample.score[rows], _BEST_OF_IMAGE)]
        image = sample.image[rows]
        self._annotated, self._applied, self._sizes = annotated, applied, np.maximum(sizes, 1)
        self._all_known = bool((sizes[image] > 0).all())
        coordinates = sample.coordinates[image]
        plain = replace(applied, order="")
        human, target = (plain.undone(b[rows], sizes[image]) for b in (sample.human_boxes, sample.object_boxes))
        self._numbers = Boxes.of(image, *((target, human) if applied.order else (human, target)))
        self._coordinates = coordinates[self._numbers.rows]
        self._scales = _scales(self._sizes) if self._all_known else _SCALES[:1]

    def fits(self) -> GroupFits:
        """How well the boxes fit; where no other convention is far better for all, whether one is for some images."""
        found = self._fits_of_all()
        if found.better is not None or len(found.fits) < 2:
            return found
        numbers = self._numbers
        overlap = self._overlaps(numbers, numbers.image, self._read(self._applied)[:, None], self._applied.order)[0]
        mean = np.bincount(numbers.image, overlap) / np.maximum(np.bincount(numbers.image), 1)
        missed = (mean < _MISSED)[numbers.image]
        if not missed.any():
            return found
        some = copy(self)
        some._numbers, some._coordinates = numbers.select(missed), self._coordinates[missed]
        apart = some._fits_of_all()
        is_sure = apart.better is not None and apart.best.hits >= _NEARLY_ALL
        return replace(found, apart=apart) if is_sure else found

    def _fits_of_all(self) -> GroupFits:
        """The convention applied and, unless no other can be far better, the best of all on a part of the images."""
        applied, numbers = self._applied, self._numbers
        alone = self._read(applied)[:, None]
        images = len(np.unique(numbers.image))
        fit = _fit(applied, self._overlaps(numbers, numbers.image, alone, applied.order))
        evidence = int(np.minimum(np.bincount(numbers.image), _OF_IMAGE).sum())
        if fit.mean_iou > 1 - _CLOSE_MARGIN:
            return GroupFits(evidence, (fit,), 0.0, images)
        part = numbers.image % _SCREENED_EVERY == numbers.image[0] % _SCREENED_EVERY
        tried = [applied, *(c for c in self._finalists(numbers.select(part)) if c != applied)]
        boxes = np.stack([alone[:, 0], *(self._read(convention) for convention in tried[1:])], axis=1)
        fits = [fit] + [
            _fit(convention, self._overlaps(numbers, numbers.image, boxes[:, i : i + 1], convention.order))
            for i, convention in enumerate(tried)
            if i
        ]
        found = GroupFits(evidence, tuple(fits), 0.0, images)
        best = fits.index(found.best)
        return replace(found, chance=self._chance(boxes[:, best : best + 1], tried[best].order))

    def _finalists(self, part: Boxes) -> list[Convention]:
        """Conventions that fit some boxes best, and the commonest of those that fit nearly as well."""
        boxes = self._screened(part)
        means = np.array([self._overlaps(part, part.image, boxes, order).mean(axis=1) for order in ORDERS])
        near = np.flatnonzero(means.ravel() >= means.max() - _SCREENED_TIE)
        best = np.argsort(-means.ravel(), kind="stable")[:_FINALISTS]
        order, candidate = np.divmod(np.union1d(near[:_FINALISTS], best), boxes.shape[1])
        scale, layout = np.divmod(candidate, len(_LAYOUTS))
        return [
            replace(Convention(_LAYOUTS[in_layout], *self._scales[in_scale]), order=ORDERS[in_order])
            for in_order, in_scale, in_layout in zip(order.tolist(), scale.tolist(), layout.tolist(), strict=True)
        ]

    def _screened(self, part: Boxes) -> Floats:
        """(4, c, n) corners in pixels of boxes under all candidates that can be tried."""
        corners = np.stack([corners_of(part.numbers, layout).T for layout in LAYOUTS], axis=1)
        read = np.empty((4, len(self._scales), *corners.shape[1:]))
        for i, scale in enumerate(self._scales):
            factor, margin = Convention("xyxy", *scale).fitting(self._sizes)
            read[:, i] = corners * _by_corner(factor, part.image) - _by_corner(margin, part.image)
        return read.reshape(4, -1, len(part.image))

    def _read(self, convention: Convention) -> Floats:
        """(4, n) corners in pixels of all boxes under one convention."""
        numbers = self._numbers
        read = convention.converted(numbers.numbers, self._sizes[numbers.image])
        if convention == self._applied:
            read = converted(read, self._coordinates, CommonCoordinates.EDGES)
        return read.T

    def _overlaps(self, part: Boxes, image: Indices, boxes: Floats, order: str) -> Floats:
        """(c, n) best IoU of each box with an annotated one of an image, of its own kind or of the other."""
        return self._annotated.best(image, 1 - part.kind if order else part.kind, boxes)

    def _chance(self, boxes: Floats, order: str) -> float:
        """Hits of boxes (4, 1, n) where each image has the ground truth of the next one of the sample."""
        images, image = len(self._sizes), self._numbers.image
        if images == 1:
            return 0.0
        elsewhere = (image + 1) % images
        if self._all_known:
            boxes = boxes * _by_corner(self._sizes[elsewhere] / self._sizes[image], slice(None))
        return _fit(self._applied, self._overlaps(self._numbers, elsewhere, boxes, order)).hits


def _scales(sizes: Floats) -> list[tuple[str, str]]:
    """Scales and pictures to try, in which images of these sizes are not resized as in one before."""
    known: dict[tuple[bytes, str], tuple[str, str]] = {}
    for scale, picture in _SCALES:
        rule = resized(scale, sizes).tobytes() if scale in _RULES else scale.encode()
        known.setdefault((rule, picture), (scale, picture))
    return list(known.values())


def _fit(convention: Convention, overlap: Floats) -> Fit:
    return Fit(str(convention), hits=float((overlap >= _HIT).mean()), mean_iou=float(overlap.mean()))


def _by_corner(of_images: Floats, image: Indices | slice) -> Floats:
    """(4, 1, n) a number for x and y of images, for each corner of the boxes of some."""
    return np.tile(of_images.T[:, image], (2, 1))[:, None]
