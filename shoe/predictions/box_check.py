"""The box check: would the boxes fit the ground truth far better under another convention?

It takes a sample of images, goes back from the boxes as they were read to the numbers of their file, reads those under
every likely convention, and compares the boxes with the annotated ones of the same images, people with people and
objects with objects. It names both conventions and the figures of both; whether to follow is for the user to say, as
nothing here changes a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.interactions import Interactions, image_index
from shoe.core.iou import Overlap, iou
from shoe.core.ragged import best_of_each, expand
from shoe.predictions.boxes import Convention, parse_convention

_SQUARES = (224, 336, 384, 448, 512, 640, 1024)
_LONGER_SIDES = (448, 1024, 1333)
CANDIDATES = tuple(
    parse_convention(name)
    for name in (
        *("xyxy", "xywh", "cxcywh", "yxyx", "unit", "thousand"),
        *("unit,xywh", "unit,cxcywh", "unit,yxyx", "thousand,xywh", "thousand,cxcywh", "thousand,yxyx"),
        *(f"resized:{n}x{n}" for n in _SQUARES),
        *(f"resized:max={n}" for n in _LONGER_SIDES),
    )
)
"""The conventions that boxes are tried in."""
_IMAGES = 200
_BEST_OF_IMAGE = 6
_HIT = 0.5
# Another convention is "far better" if it hits this share of all boxes more than the one applied and than chance, and
# this times as many. Its mean IoU must lead by the margin too: boxes of half the size hit nothing, yet a convention
# that stretches them from the corner lets a third of them hit.
_MARGIN = 0.2
_FACTOR = 1.5
_WORTH_SAYING = 0.05


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
class BoxReport:
    """What the boxes look like, on a sample of images.

    Attributes:
        images: how many images were looked at.
        tiny_share: share of triplets with a box less than a pixel wide or high.
        fits: one per convention tried, the one applied first; empty if no image has both predictions and ground truth.
        chance: hits of the best of these if each image had the ground truth of another one: boxes that are the same in
            every image hit about as often there.
    """

    images: int
    tiny_share: float
    fits: tuple[Fit, ...]
    chance: float

    @property
    def better(self) -> Fit | None:
        """The convention that fits best, if it does so far better than the one applied."""
        if not self.fits:
            return None
        applied, best = self.fits[0], max(self.fits, key=lambda fit: fit.mean_iou)
        bar = max(applied.hits, self.chance)
        hits_more = best.hits >= max(bar + _MARGIN, bar * _FACTOR)
        return best if hits_more and best.mean_iou >= applied.mean_iou + _MARGIN else None

    @property
    def verdict(self) -> str | None:
        """The figures of both conventions; None if no other fits far better."""
        if self.better is None:
            return None
        applied, better = self.fits[0], self.better
        return (
            f"boxes: {applied.hits:.0%} overlap an annotated box of their image with IoU >= 0.5 as "
            f"{applied.convention}, {better.hits:.0%} would as {better.convention}; if that is what they are, name it: "
            f"--boxes {better.convention}"
        )

    def lines(self) -> list[str]:
        """Say what is wrong with the boxes, one line each; none if nothing is."""
        lines = [self.verdict] if self.verdict else []
        if self.tiny_share >= _WORTH_SAYING:
            lines.append(
                f"boxes: {self.tiny_share:.0%} of the triplets have boxes that are less than a pixel wide or high"
            )
        return lines


def examine_boxes(predictions: Interactions, truth: Interactions, boxes: str = "xyxy") -> BoxReport:
    """Look at the boxes of a sample of images.

    Takes at most 200 images, drawn with a fixed seed; overlaps are measured on the six best-scored triplets of each, as
    those are what a model means.

    Args:
        predictions: boxes as they were read; with the sizes of images, if the convention applied needs them.
        truth: annotated boxes, and the sizes of images where the predictions have none.
        boxes: name of the convention applied when the predictions were read.

    Raises:
        OptionError: for an unknown convention.
    """
    applied = parse_convention(boxes)
    truth_image = image_index(predictions.images, truth.images)
    has_truth = np.append(np.diff(truth.offsets), 0)[truth_image] > 0
    both = np.flatnonzero(has_truth & (np.diff(predictions.offsets) > 0))
    chosen = np.sort(np.random.default_rng(0).permutation(both)[:_IMAGES])
    sample, partner = predictions.select_images(chosen), truth_image[chosen]
    sizes = np.where((sample.sizes > 0).all(axis=1, keepdims=True), sample.sizes, truth.sizes[partner])
    fits, chance = _fits(sample, truth, partner, sizes, applied) if len(sample) else ((), 0.0)
    return BoxReport(images=len(chosen), tiny_share=_tiny_share(sample), fits=fits, chance=chance)


def _tiny_share(sample: Interactions) -> float:
    tiny = np.zeros(len(sample), bool)
    for boxes in (sample.human_boxes, sample.object_boxes):
        edges = converted(boxes, sample.triplet_coordinates, CommonCoordinates.EDGES)
        tiny |= (edges[:, 2:] - edges[:, :2] < 1).any(axis=1)
    return float(tiny.mean()) if len(tiny) else 0.0


def _fits(
    sample: Interactions, truth: Interactions, truth_image: Ints, sizes: Ints, applied: Convention
) -> tuple[tuple[Fit, ...], float]:
    """The fit of each convention, and how often the best one would hit by chance.

    Conventions that need sizes are left out unless all sizes are known.
    """
    best = best_of_each(sample.image, sample.score, _BEST_OF_IMAGE)
    image = sample.image[best]
    per_row = sizes[image].astype(np.float64)
    all_known = bool((per_row > 0).all())
    read = [boxes[best] for boxes in (sample.human_boxes, sample.object_boxes)]
    written = [applied.undone(boxes, per_row) for boxes in read]
    boxes = {applied: [converted(both, sample.coordinates[image], CommonCoordinates.EDGES) for both in read]}
    for other in CANDIDATES:
        if other != applied and (all_known or not other.needs_sizes):
            boxes[other] = [other.converted(numbers, per_row) for numbers in written]
    annotated = _Annotated(truth, truth_image[image])
    fits = {convention: annotated.fit(convention, both) for convention, both in boxes.items()}

    if len(truth_image) == 1:
        return tuple(fits.values()), 0.0
    elsewhere = np.roll(np.arange(len(truth_image)), 1)[image]
    stretch = np.tile(sizes[elsewhere] / per_row, 2) if all_known else np.ones(4)
    fittest = max(fits, key=lambda convention: fits[convention].mean_iou)
    moved = [both * stretch for both in boxes[fittest]]
    chance = _Annotated(truth, truth_image[elsewhere]).fit(fittest, moved).hits
    return tuple(fits.values()), chance


class _Annotated:
    """The annotated boxes of the image of each row."""

    def __init__(self, truth: Interactions, image: Indices | Ints) -> None:
        count = np.diff(truth.offsets)[image]
        self._row, annotation = expand(truth.offsets[image], count)
        self._starts = np.cumsum(count) - count
        coordinates = truth.coordinates[image][self._row]
        self._boxes = [
            converted(boxes[annotation], coordinates, CommonCoordinates.EDGES)
            for boxes in (truth.human_boxes, truth.object_boxes)
        ]

    def fit(self, convention: Convention, boxes: list[Floats]) -> Fit:
        """How well human and object boxes, (n, 4) each, fit."""
        best = [
            np.maximum.reduceat(iou(both[self._row], annotated, Overlap.CONTINUOUS), self._starts)
            for both, annotated in zip(boxes, self._boxes, strict=True)
        ]
        overlap = np.concatenate(best)
        return Fit(str(convention), hits=float((overlap >= _HIT).mean()), mean_iou=float(overlap.mean()))
