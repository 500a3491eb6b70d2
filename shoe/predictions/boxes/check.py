"""How well boxes overlap annotated ones under many readings at once, people with people and objects with objects."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask, as_bits, best_of_each, expand, first_equal
from shoe.core.boxes import CommonCoordinates, converted
from shoe.core.errors import flag
from shoe.core.interactions import Interactions, image_index
from shoe.predictions.boxes.conventions import LAYOUTS, Convention, Conventions, corners_of, parse_convention, resized

PERSON, OBJECT = 0, 1
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Distinct boxes of some images; n of them.

    Attributes:
        image: (n,) number of each box's image.
        kind: (n,) ``PERSON`` or ``OBJECT``, as the file says.
        numbers: (n, 4).
        rows: (n,) which of the triplets that they were made from is the first that has each.
    """

    image: Indices
    kind: Indices
    numbers: Floats
    rows: Indices

    @classmethod
    def of(cls, image: Indices | Ints, human: Floats, target: Floats) -> Boxes:
        """Gather the distinct boxes of triplets: (n,) numbers of images, and (n, 4) numbers twice."""
        kept = []
        for boxes in (human, target):
            first = first_equal([*as_bits(image), *as_bits(boxes)])
            kept.append(np.flatnonzero(first == np.arange(len(first))))
        return cls(
            image=np.concatenate([image[rows] for rows in kept]).astype(np.int64),
            kind=np.repeat([PERSON, OBJECT], [len(rows) for rows in kept]),
            numbers=np.concatenate([boxes[rows] for boxes, rows in zip((human, target), kept, strict=True)]),
            rows=np.concatenate(kept),
        )

    def select(self, keep: Mask) -> Boxes:
        """Those that a mask marks."""
        return Boxes(self.image[keep], self.kind[keep], self.numbers[keep], self.rows[keep])


class Annotated:
    """The annotated boxes of some images of a ground truth."""

    def __init__(self, truth: Interactions, images: Ints) -> None:
        count = np.diff(truth.offsets)[images]
        owner, row = expand(truth.offsets[images], count)
        coordinates = truth.coordinates[images][owner]
        human, target = (
            converted(boxes[row], coordinates, CommonCoordinates.EDGES)
            for boxes in (truth.human_boxes, truth.object_boxes)
        )
        found = Boxes.of(owner, human, target)
        group = 2 * found.image + found.kind
        self._corners = np.ascontiguousarray(found.numbers[np.argsort(group, kind="stable")].T)
        self._count = np.bincount(group, minlength=2 * len(images))
        self._first = np.cumsum(self._count) - self._count

    def best(self, image: Indices, kind: Indices, boxes: Floats) -> Floats:
        """Find the best IoU of each box with an annotated one of an image and kind.

        Args:
            image: (n,) number of the image among those annotated.
            kind: (n,) ``PERSON`` or ``OBJECT``.
            boxes: (4, c, n) x1, y1, x2, y2 of the boxes as each of c readings has them.

        Returns:
            (c, n).
        """
        group = 2 * image + kind
        count = self._count[group]
        owner, annotated = expand(self._first[group], count)
        overlap = _overlap(boxes, self._corners[:, annotated], owner)
        found: Floats = np.maximum.reduceat(overlap, np.cumsum(count) - count, axis=1)
        return found


def _overlap(boxes: Floats, truth: Floats, owner: Indices) -> Floats:
    """(c, p) IoU of boxes (4, c, n) with p annotated ones (4, p), each compared with one box; 0 without area."""
    areas = (boxes[2] - boxes[0]) * (boxes[3] - boxes[1])
    x1, y1, x2, y2 = (corner.take(owner, axis=1) for corner in boxes)
    width = np.minimum(x2, truth[2], out=x2)
    width -= np.maximum(x1, truth[0], out=x1)
    height = np.minimum(y2, truth[3], out=y2)
    height -= np.maximum(y1, truth[1], out=y1)
    shared = np.maximum(width, 0, out=width)
    shared *= np.maximum(height, 0, out=height)
    union = areas.take(owner, axis=1)
    union += (truth[2] - truth[0]) * (truth[3] - truth[1])
    union -= shared
    found: Floats = np.divide(shared, np.maximum(union, _TINY, out=union), out=shared)
    return found


# How well the boxes of one convention fit the ground truth, and how well they would under every other one.

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


# The box check: would the boxes fit the ground truth far better under another convention?
#
# It takes a sample of images, goes back from the boxes as they were read to the numbers of their file, reads those
# under
# every convention that it knows, and compares the boxes with the annotated ones of the same images, people with people
# and objects with objects, and crossed. It names both conventions and the figures of both; whether to follow is for the
# user to say, as nothing here changes a box.

_IMAGES = 200
_WORTH_SAYING = 0.05
_NEXT_TO_NONE, _ENOUGH = 0.05, 10


@dataclass(frozen=True, slots=True)
class BoxReport:
    """What the boxes look like, on a sample of images.

    Attributes:
        images: how many images were looked at.
        tiny_share: share of triplets with a box less than a pixel wide or high.
        groups: one per convention applied; none if no image has both predictions and ground truth.
        told: whether the file tells a convention by itself, which only a full name replaces.
    """

    images: int
    tiny_share: float
    groups: tuple[GroupFits, ...]
    told: bool = False

    def flag(self, fit: Fit) -> str:
        """What to name for a convention to be applied."""
        name = parse_convention(fit.convention).full_name if self.told else fit.convention
        return flag("boxes", name)

    @property
    def verdicts(self) -> list[str]:
        """The figures of both conventions, one line for each applied one that another fits far better."""
        return [line for group in self.groups if (line := self._verdict(group))]

    def _verdict(self, group: GroupFits) -> str | None:
        applied, better = group.fits[0], group.better
        if better is None:
            return None if group.apart is None else self._mixed(group, group.apart)
        of = f" of those read as {applied.convention}" if len(self.groups) > 1 else ""
        exchanged = " (human and object boxes exchanged)" if "swapped" in better.convention else ""
        all_agree = {(g.better or g.fits[0]).convention for g in self.groups} == {better.convention}
        alone = "" if all_agree else " for a file of them alone"
        return (
            f"boxes: {applied.hits:.0%}{of} overlap an annotated box of their image with IoU >= 0.5 as "
            f"{applied.convention}, {better.hits:.0%} would as {better.convention}{exchanged}; if that is what they "
            f"are, name it{alone}: {self.flag(better)}"
        )

    def _mixed(self, group: GroupFits, apart: GroupFits) -> str:
        applied, best = apart.fits[0], apart.best
        return (
            f"boxes: the file seems to mix conventions: in {apart.images:,} of {group.images:,} images looked at, "
            f"{applied.hits:.0%} overlap an annotated box with IoU >= 0.5 as {applied.convention} and {best.hits:.0%} "
            f"would as {best.convention}; score them as a file of their own, with {self.flag(best)}"
        )

    def _fitting_none(self, group: GroupFits) -> str | None:
        applied = group.fits[0]
        is_told = group.better is not None or group.apart is not None
        if is_told or group.images < _ENOUGH or applied.hits >= _NEXT_TO_NONE:
            return None
        return (
            f"boxes: {applied.hits:.0%} overlap an annotated box of their image with IoU >= 0.5 as "
            f"{applied.convention}, and no other convention that is known fits far better: they may be of other "
            f"images, or of images resized to one size, which can be named: {flag('boxes', 'resized:WxH')}"
        )

    def lines(self) -> list[str]:
        """Say what is wrong with the boxes, one line each; none if nothing is."""
        lines = self.verdicts + [line for group in self.groups if (line := self._fitting_none(group))]
        if self.tiny_share >= _WORTH_SAYING:
            lines.append(
                f"boxes: {self.tiny_share:.0%} of the triplets have boxes that are less than a pixel wide or high "
                f"(from 0 to 1? {flag('boxes', 'unit')})"
            )
        return lines


def examine_boxes(predictions: Interactions, truth: Interactions, boxes: str | Conventions = "xyxy") -> BoxReport:
    """Look at the boxes of a sample of images.

    Takes at most 200 images, drawn with a fixed seed; overlaps are measured on the six best-scored triplets of each, as
    those are what a model means.

    Args:
        predictions: boxes as they were read; with the sizes of images, if the convention applied needs them.
        truth: annotated boxes, and the sizes of images where the predictions have none.
        boxes: the convention applied when the predictions were read, or its name; or that of each triplet.

    Raises:
        OptionError: for an unknown convention.
    """
    conventions = Conventions((parse_convention(boxes),)) if isinstance(boxes, str) else boxes
    truth_image = image_index(predictions.images, truth.images)
    has_truth = np.append(np.diff(truth.offsets), 0)[truth_image] > 0
    both = np.flatnonzero(has_truth & (np.diff(predictions.offsets) > 0))
    chosen = np.sort(np.random.default_rng(0).permutation(both)[:_IMAGES])
    if conventions.of is not None:
        conventions = conventions.select(np.isin(predictions.image, chosen))
    sample, partner = predictions.select_images(chosen), truth_image[chosen]
    sizes = np.where((sample.sizes > 0).all(axis=1, keepdims=True), sample.sizes, truth.sizes[partner])
    annotated = Annotated(truth, partner)
    kind = np.zeros(len(sample), np.int64) if conventions.of is None else conventions.of
    groups = tuple(
        Group(sample, np.flatnonzero(kind == i), sizes.astype(np.float64), applied, annotated).fits()
        for i, applied in enumerate(conventions.kinds)
        if (kind == i).any()
    )
    return BoxReport(images=len(chosen), tiny_share=_tiny_share(sample), groups=groups, told=conventions.told)


def _tiny_share(sample: Interactions) -> float:
    tiny = np.zeros(len(sample), bool)
    for boxes in (sample.human_boxes, sample.object_boxes):
        edges = converted(boxes, sample.triplet_coordinates, CommonCoordinates.EDGES)
        tiny |= (edges[:, 2:] - edges[:, :2] < 1).any(axis=1)
    return float(tiny.mean()) if len(tiny) else 0.0
