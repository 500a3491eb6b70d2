"""The box doctor: would the boxes fit the ground truth far better under another convention?

It reads the numbers of a sample of images under every likely convention and compares them with the annotated boxes of
the same images, people with people and objects with objects. It names the convention and the figures of both; whether
to follow is for the user to say, as nothing here changes a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.arrays import Floats, Indices
from shoe.frames import BoxSpace, shifted
from shoe.interactions import Interactions
from shoe.predictions.boxes import parse_convention

AS_READ = "as read"
_SQUARES = (224, 336, 384, 448, 512, 640, 1024)
_LONGER_SIDES = (448, 1024, 1333)
CANDIDATES = tuple(
    parse_convention(name)
    for name in (
        *("xywh", "cxcywh", "yxyx", "unit", "thousand"),
        *("unit,xywh", "unit,cxcywh", "unit,yxyx", "thousand,xywh", "thousand,cxcywh", "thousand,yxyx"),
        *(f"resized:{n}x{n}" for n in _SQUARES),
        *(f"resized:max={n}" for n in _LONGER_SIDES),
    )
)
"""The conventions that boxes are tried in."""
_IMAGES = 200
_BEST_OF_IMAGE = 6
_HIT = 0.5
# Another convention is "far better" if it hits this share of all boxes more than the one used and than chance, and
# this times as many.
_MARGIN = 0.15
_FACTOR = 1.5
_WORTH_SAYING = 0.05


@dataclass(frozen=True, slots=True)
class Fit:
    """How well boxes fit the ground truth under one convention.

    Attributes:
        convention: its name, or "as read".
        hits: share of the boxes that overlap an annotated box of their image and kind with IoU >= 0.5.
        mean_iou: mean of the best IoU of each box.
    """

    convention: str
    hits: float
    mean_iou: float


@dataclass(frozen=True, slots=True)
class BoxReport:
    """What the boxes look like, on a sample of images.

    Attributes:
        images: how many images were looked at.
        tiny_share: share of triplets with a box less than a pixel wide or high.
        fits: one per convention tried, the one used first; empty if no image has both predictions and ground truth.
        chance: hits of the best of these if each image had the ground truth of another one: boxes that are the same in
            every image hit about as often there.
    """

    images: int
    tiny_share: float
    fits: tuple[Fit, ...]
    chance: float

    @property
    def better(self) -> Fit | None:
        """The convention that fits best, if it does so far better than the one used."""
        if not self.fits:
            return None
        best = max(self.fits, key=lambda fit: fit.mean_iou)
        bar = max(self.fits[0].hits, self.chance)
        return best if best.hits >= max(bar + _MARGIN, bar * _FACTOR) else None

    @property
    def verdict(self) -> str | None:
        """The figures of both conventions; None if no other fits far better."""
        if self.better is None:
            return None
        used, better = (f"{fit.hits:.0%}" for fit in (self.fits[0], self.better))
        return (
            f"boxes: {used} overlap an annotated box of their image with IoU >= 0.5 as read, {better} would as "
            f"{self.better.convention}; if that is what they are, name it: --boxes {self.better.convention}"
        )

    def lines(self) -> list[str]:
        """Say what is wrong with the boxes, one line each; none if nothing is."""
        lines = [self.verdict] if self.verdict else []
        if self.tiny_share >= _WORTH_SAYING:
            lines.append(
                f"boxes: {self.tiny_share:.0%} of the triplets have boxes that are less than a pixel wide or high"
            )
        return lines


def examine_boxes(predictions: Interactions, truth: Interactions) -> BoxReport:
    """Look at the boxes of a sample of images.

    Takes at most 200 images, drawn with a fixed seed; overlaps are measured on the six best-scored triplets of each, as
    those are what a model means.

    Args:
        predictions: boxes as they were read.
        truth: annotated boxes, and the sizes of images where the predictions have none.
    """
    place = {name: i for i, name in enumerate(truth.images)}
    truth_image = np.array([place.get(name, -1) for name in predictions.images], np.int64)
    has_truth = np.append(np.diff(truth.offsets), 0)[truth_image] > 0
    both = np.flatnonzero(has_truth & (np.diff(predictions.offsets) > 0))
    chosen = np.sort(np.random.default_rng(0).permutation(both)[:_IMAGES])
    sample, partner = predictions.select_images(chosen), truth_image[chosen]
    sizes = np.where((sample.sizes > 0).all(axis=1, keepdims=True), sample.sizes, truth.sizes[partner])
    fits, chance = _fits(sample, truth, partner, sizes) if len(sample) else ((), 0.0)
    return BoxReport(images=len(chosen), tiny_share=_tiny_share(sample), fits=fits, chance=chance)


def _tiny_share(sample: Interactions) -> float:
    tiny = np.zeros(len(sample), bool)
    for boxes in (sample.human_boxes, sample.object_boxes):
        edges = shifted(boxes, sample.triplet_frames, BoxSpace.EDGES)
        tiny |= (edges[:, 2:] - edges[:, :2] < 1).any(axis=1)
    return float(tiny.mean()) if len(tiny) else 0.0


def _fits(
    sample: Interactions, truth: Interactions, truth_image: Indices, sizes: NDArray[np.integer]
) -> tuple[tuple[Fit, ...], float]:
    """The fit of each convention, and how often the best one would hit by chance.

    Conventions that need sizes are left out unless all sizes are known.
    """
    best = _best_rows(sample)
    image = sample.image[best]
    per_row = sizes[image].astype(np.float64)
    all_known = bool((per_row > 0).all())
    read = [boxes[best] for boxes in (sample.human_boxes, sample.object_boxes)]
    boxes = {AS_READ: [shifted(numbers, sample.frames[image], BoxSpace.EDGES) for numbers in read]}
    for convention in CANDIDATES:
        if all_known or not convention.needs_sizes:
            boxes[str(convention)] = [convention.converted(numbers, per_row) for numbers in read]
    annotated = _Annotated(truth, truth_image[image])
    fits = tuple(annotated.fit(name, both) for name, both in boxes.items())

    if len(truth_image) == 1:
        return fits, 0.0
    other = np.roll(np.arange(len(truth_image)), 1)[image]
    stretch = np.tile(sizes[other] / per_row, 2) if all_known else np.ones(4)
    name = max(fits, key=lambda fit: fit.mean_iou).convention
    elsewhere = _Annotated(truth, truth_image[other]).fit(name, [numbers * stretch for numbers in boxes[name]])
    return fits, elsewhere.hits


class _Annotated:
    """The annotated boxes of the image of each row."""

    def __init__(self, truth: Interactions, image: Indices) -> None:
        counts = np.diff(truth.offsets)[image]
        self._row = np.repeat(np.arange(len(image)), counts)
        self._starts = np.cumsum(counts) - counts
        within = np.arange(len(self._row)) - np.repeat(self._starts, counts)
        annotation = within + np.repeat(truth.offsets[:-1][image], counts)
        self._boxes = [
            shifted(boxes, truth.triplet_frames, BoxSpace.EDGES)[annotation]
            for boxes in (truth.human_boxes, truth.object_boxes)
        ]

    def fit(self, name: str, boxes: list[Floats]) -> Fit:
        """How well human and object boxes, (n, 4) each, fit."""
        best = [
            np.maximum.reduceat(_iou(both[self._row], annotated), self._starts)
            for both, annotated in zip(boxes, self._boxes, strict=True)
        ]
        overlap = np.concatenate(best)
        return Fit(name, hits=float((overlap >= _HIT).mean()), mean_iou=float(overlap.mean()))


def _best_rows(sample: Interactions) -> Indices:
    """Rows of the best-scored triplets of each image."""
    order = np.lexsort((-sample.score, sample.image))
    rank = np.arange(len(order)) - sample.offsets[:-1][sample.image]
    return np.sort(order[rank < _BEST_OF_IMAGE])


def _iou(a: Floats, b: Floats) -> Floats:
    """(n,) overlap of two (n, 4) boxes; 0 for a box without area."""
    extent = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    extent = np.maximum(extent, 0)
    shared = extent[:, 0] * extent[:, 1]
    areas = [np.abs((box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])) for box in (a, b)]
    union = np.maximum(areas[0] + areas[1] - shared, np.finfo(np.float64).tiny)
    overlap: Floats = shared / union
    return overlap
