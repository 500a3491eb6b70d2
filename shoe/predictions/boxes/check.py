"""Box check: how well predicted boxes overlap annotated boxes under the applied convention and under all others."""

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
    """Distinct boxes of some images; n boxes.

    Attributes:
        image: (n,) image index of each box.
        kind: (n,) ``PERSON`` or ``OBJECT``, as in the file.
        numbers: (n, 4) coordinates.
        rows: (n,) index of the first triplet with each box.
    """

    image: Indices
    kind: Indices
    numbers: Floats
    rows: Indices

    @classmethod
    def distinct(cls, image: Indices | Ints, human: Floats, target: Floats) -> Boxes:
        """Return the distinct boxes of triplets from (n,) image indices, (n, 4) human boxes and (n, 4) object boxes."""
        firsts = []
        for boxes in (human, target):
            first = first_equal([*as_bits(image), *as_bits(boxes)])
            firsts.append(np.flatnonzero(first == np.arange(len(first))))
        return cls(
            image=np.concatenate([image[rows] for rows in firsts]).astype(np.int64),
            kind=np.repeat([PERSON, OBJECT], [len(rows) for rows in firsts]),
            numbers=np.concatenate([boxes[rows] for boxes, rows in zip((human, target), firsts, strict=True)]),
            rows=np.concatenate(firsts),
        )

    def select(self, mask: Mask) -> Boxes:
        """Return the boxes marked in a mask."""
        return Boxes(self.image[mask], self.kind[mask], self.numbers[mask], self.rows[mask])


class AnnotatedBoxes:
    """Annotated boxes of some images of the ground truth."""

    def __init__(self, truth: Interactions, images: Ints) -> None:
        count = np.diff(truth.offsets)[images]
        owner, row = expand(truth.offsets[images], count)
        coordinates = truth.coordinates[images][owner]
        human, target = (
            converted(boxes[row], coordinates, CommonCoordinates.EDGES)
            for boxes in (truth.human_boxes, truth.object_boxes)
        )
        found = Boxes.distinct(owner, human, target)
        group = 2 * found.image + found.kind
        self._corners = np.ascontiguousarray(found.numbers[np.argsort(group, kind="stable")].T)
        self._count = np.bincount(group, minlength=2 * len(images))
        self._first = np.cumsum(self._count) - self._count

    def best(self, image: Indices, kind: Indices, boxes: Floats) -> Floats:
        """Return the (c, n) best IoU of each box with the annotated boxes of its image and kind, under c conventions.

        Args:
            image: (n,) index of the image.
            kind: (n,) ``PERSON`` or ``OBJECT``.
            boxes: (4, c, n) x1, y1, x2, y2 of each box under each convention.
        """
        group = 2 * image + kind
        count = self._count[group]
        owner, annotated = expand(self._first[group], count)
        overlap = _overlap(boxes, self._corners[:, annotated], owner)
        best: Floats = np.maximum.reduceat(overlap, np.cumsum(count) - count, axis=1)
        return best


def _overlap(boxes: Floats, truth: Floats, owner: Indices) -> Floats:
    """Return the (c, p) IoU of annotated boxes (4, p) with boxes[:, :, owner], boxes (4, c, n); 0 for empty boxes."""
    areas = (boxes[2] - boxes[0]) * (boxes[3] - boxes[1])
    x1, y1, x2, y2 = (corner.take(owner, axis=1) for corner in boxes)
    width = np.minimum(x2, truth[2], out=x2)
    width -= np.maximum(x1, truth[0], out=x1)
    height = np.minimum(y2, truth[3], out=y2)
    height -= np.maximum(y1, truth[1], out=y1)
    intersection = np.maximum(width, 0, out=width)
    intersection *= np.maximum(height, 0, out=height)
    union = areas.take(owner, axis=1)
    union += (truth[2] - truth[0]) * (truth[3] - truth[1])
    union -= intersection
    iou: Floats = np.divide(intersection, np.maximum(union, _TINY, out=union), out=intersection)
    return iou


_RELATIVE = ("pixels", "thousand", "unit", "hundred")
_SQUARES = tuple(f"resized:{n}x{n}" for n in (448, 336, 224, 384, 512, 640, 672, 768, 1024, 1120))
# min_pixels and max_pixels of Qwen's processors, in tokens: first those of the checkpoints, then those that model cards
# and scripts set. Of rules that resize all images of a file to the same sizes, only the first is tried.
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
# Another convention is "far better" if its hit rate exceeds those of the applied convention and of chance by _MARGIN
# and by the factor _FACTOR. Its mean IoU must also lead by _MARGIN: boxes of half the size hit nothing, but under a
# convention that stretches them from the corner a third of them hits. With few boxes some convention fits many by
# chance; the standard deviation of a fraction of n boxes is at most 0.5 / sqrt(n).
_MARGIN = 0.2
_FACTOR = 1.5
_FEWEST = 10
_OF_IMAGE = 4
_DEVIATIONS = 3
# If the mean IoU under the other convention is at least _CLOSE, a lead of _CLOSE_MARGIN suffices: boxes of a padded
# image that are read without padding still hit more often than not.
_CLOSE, _CLOSE_MARGIN = 0.55, 0.1
# Mean IoUs of n boxes tie if they differ by less than _TIE / sqrt(n); the more common convention wins a tie.
_TIE = 0.08
_SCREENED_TIE = 0.02
# Images with a mean IoU below _MISSED may have another convention than the rest: this is reported if at least
# _NEARLY_ALL of their boxes hit under that convention.
_MISSED, _NEARLY_ALL = 0.3, 0.8


@dataclass(frozen=True, slots=True)
class Fit:
    """Agreement of boxes with the ground truth under one convention.

    Attributes:
        convention: name of the convention.
        hits: fraction of the boxes that overlap an annotated box of their image and kind with IoU >= 0.5.
        mean_iou: mean of the best IoU of each box.
    """

    convention: str
    hits: float
    mean_iou: float


@dataclass(frozen=True, slots=True)
class GroupFits:
    """Agreement with the ground truth of the boxes that were read under one convention.

    Attributes:
        boxes: number of distinct boxes, at most four per image, because boxes of one image often fit by chance
            together.
        fits: the applied convention, then the best of all tried conventions, the more common first. Only the applied
            one if it fits so well that no other can be far better.
        chance: hit rate of the best convention if each image has the ground truth of another image. It is high for
            boxes that are the same in every image.
        images: number of images.
        apart: fits of the badly fitting images alone, if another convention is far better for these but for all images
            none is; else None.
    """

    boxes: int
    fits: tuple[Fit, ...]
    chance: float
    images: int = 0
    apart: GroupFits | None = None

    @property
    def best(self) -> Fit:
        """The best fit; ties go to the applied convention, then to the more common one."""
        highest = max(fit.mean_iou for fit in self.fits)
        return next(fit for fit in self.fits if fit.mean_iou >= highest - _TIE / np.sqrt(self.boxes))

    @property
    def better(self) -> Fit | None:
        """The best fit if it is far better than the applied convention, else None."""
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
        self, sample: Interactions, rows: Indices, sizes: Floats, applied: Convention, annotated: AnnotatedBoxes
    ) -> None:
        rows = rows[best_of_each(sample.image[rows], sample.score[rows], _BEST_OF_IMAGE)]
        image = sample.image[rows]
        self._annotated, self._applied, self._sizes = annotated, applied, np.maximum(sizes, 1)
        self._all_known = bool((sizes[image] > 0).all())
        coordinates = sample.coordinates[image]
        plain = replace(applied, order="")
        human, target = (plain.from_pixels(b[rows], sizes[image]) for b in (sample.human_boxes, sample.object_boxes))
        self._numbers = Boxes.distinct(image, *((target, human) if applied.order else (human, target)))
        self._coordinates = coordinates[self._numbers.rows]
        self._scales = _scales(self._sizes) if self._all_known else _SCALES[:1]

    def fits(self) -> GroupFits:
        """Return the fits of all images; add those of badly fitting images if only these need another convention."""
        fits = self._fits_of_all()
        if fits.better is not None or len(fits.fits) < 2:
            return fits
        numbers = self._numbers
        overlap = self._overlaps(numbers, numbers.image, self._read(self._applied)[:, None], self._applied.order)[0]
        mean = np.bincount(numbers.image, overlap) / np.maximum(np.bincount(numbers.image), 1)
        missed = (mean < _MISSED)[numbers.image]
        if not missed.any():
            return fits
        subset = copy(self)
        subset._numbers, subset._coordinates = numbers.select(missed), self._coordinates[missed]
        apart = subset._fits_of_all()
        is_sure = apart.better is not None and apart.best.hits >= _NEARLY_ALL
        return replace(fits, apart=apart) if is_sure else fits

    def _fits_of_all(self) -> GroupFits:
        """Return the fit of the applied convention and, if others can be far better, of the finalists."""
        applied, numbers = self._applied, self._numbers
        as_applied = self._read(applied)[:, None]
        images = len(np.unique(numbers.image))
        fit = _fit(applied, self._overlaps(numbers, numbers.image, as_applied, applied.order))
        evidence = int(np.minimum(np.bincount(numbers.image), _OF_IMAGE).sum())
        if fit.mean_iou > 1 - _CLOSE_MARGIN:
            return GroupFits(evidence, (fit,), 0.0, images)
        part = numbers.image % _SCREENED_EVERY == numbers.image[0] % _SCREENED_EVERY
        tried = [applied, *(c for c in self._finalists(numbers.select(part)) if c != applied)]
        boxes = np.stack([as_applied[:, 0], *(self._read(convention) for convention in tried[1:])], axis=1)
        fits = [fit] + [
            _fit(convention, self._overlaps(numbers, numbers.image, boxes[:, i : i + 1], convention.order))
            for i, convention in enumerate(tried)
            if i
        ]
        fits_of_group = GroupFits(evidence, tuple(fits), 0.0, images)
        best = fits.index(fits_of_group.best)
        return replace(fits_of_group, chance=self._chance(boxes[:, best : best + 1], tried[best].order))

    def _finalists(self, part: Boxes) -> list[Convention]:
        """Return the conventions with the best mean IoU, and the most common ones that are nearly as good."""
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
        """Return (4, c, n) corners of boxes in pixels under all c candidate conventions."""
        corners = np.stack([corners_of(part.numbers, layout).T for layout in LAYOUTS], axis=1)
        read = np.empty((4, len(self._scales), *corners.shape[1:]))
        for i, scale in enumerate(self._scales):
            factor, offset = Convention("xyxy", *scale).scale_and_offset(self._sizes)
            read[:, i] = corners * _by_corner(factor, part.image) - _by_corner(offset, part.image)
        return read.reshape(4, -1, len(part.image))

    def _read(self, convention: Convention) -> Floats:
        """Return (4, n) corners of all boxes in pixels under one convention."""
        numbers = self._numbers
        read = convention.to_pixels(numbers.numbers, self._sizes[numbers.image])
        if convention == self._applied:
            read = converted(read, self._coordinates, CommonCoordinates.EDGES)
        return read.T

    def _overlaps(self, part: Boxes, image: Indices, boxes: Floats, order: str) -> Floats:
        """Return the (c, n) best IoU with annotated boxes of the same kind; of the other kind if order is swapped."""
        return self._annotated.best(image, 1 - part.kind if order else part.kind, boxes)

    def _chance(self, boxes: Floats, order: str) -> float:
        """Return the hit rate of boxes (4, 1, n) if each image has the ground truth of the next image in the sample."""
        images, image = len(self._sizes), self._numbers.image
        if images == 1:
            return 0.0
        elsewhere = (image + 1) % images
        if self._all_known:
            boxes = boxes * _by_corner(self._sizes[elsewhere] / self._sizes[image], slice(None))
        return _fit(self._applied, self._overlaps(self._numbers, elsewhere, boxes, order)).hits


def _scales(sizes: Floats) -> list[tuple[str, str]]:
    """Return the (scale, picture) pairs to try; rules that resize images of these sizes alike are tried once."""
    known: dict[tuple[bytes, str], tuple[str, str]] = {}
    for scale, picture in _SCALES:
        rule = resized(scale, sizes).tobytes() if scale in _RULES else scale.encode()
        known.setdefault((rule, picture), (scale, picture))
    return list(known.values())


def _fit(convention: Convention, overlap: Floats) -> Fit:
    return Fit(str(convention), hits=float((overlap >= _HIT).mean()), mean_iou=float(overlap.mean()))


def _by_corner(of_images: Floats, image: Indices | slice) -> Floats:
    """Return (4, 1, n) values for the box corners from (m, 2) values per image for x and y."""
    return np.tile(of_images.T[:, image], (2, 1))[:, None]


# The check converts the boxes of a sample of images back to the numbers of their file, converts these under every known
# convention, and compares them with the annotated boxes of the same images. It reports but never changes a convention.

_IMAGES = 200
_WORTH_SAYING = 0.05
_NEXT_TO_NONE, _ENOUGH = 0.05, 10


@dataclass(frozen=True, slots=True)
class BoxReport:
    """Result of the box check on a sample of images.

    Attributes:
        images: number of images in the sample.
        tiny_share: fraction of triplets with a box less than one pixel wide or high.
        groups: fits per applied convention; empty if no image has both predictions and ground truth.
        stated: whether the file states a convention, which only a full name overrides.
    """

    images: int
    tiny_share: float
    groups: tuple[GroupFits, ...]
    stated: bool = False

    def flag(self, fit: Fit) -> str:
        """Return the ``--boxes`` option that applies the convention of a fit."""
        name = parse_convention(fit.convention).full_name if self.stated else fit.convention
        return flag("boxes", name)

    @property
    def verdicts(self) -> list[str]:
        """One line per applied convention that another convention fits far better, with both hit rates."""
        return [line for group in self.groups if (line := self._verdict(group))]

    def _verdict(self, group: GroupFits) -> str | None:
        applied, better = group.fits[0], group.better
        if better is None:
            return None if group.apart is None else self._mixed_verdict(group, group.apart)
        group_text = f" of those read as {applied.convention}" if len(self.groups) > 1 else ""
        exchanged = " (human and object boxes exchanged)" if "swapped" in better.convention else ""
        all_agree = {(g.better or g.fits[0]).convention for g in self.groups} == {better.convention}
        alone_text = "" if all_agree else " for a file of them alone"
        return (
            f"boxes: {applied.hits:.0%}{group_text} overlap an annotated box of their image with IoU >= 0.5 as "
            f"{applied.convention}, {better.hits:.0%} would as {better.convention}{exchanged}; if that is what they "
            f"are, name it{alone_text}: {self.flag(better)}"
        )

    def _mixed_verdict(self, group: GroupFits, apart: GroupFits) -> str:
        applied, best = apart.fits[0], apart.best
        return (
            f"boxes: the file seems to mix conventions: in {apart.images:,} of {group.images:,} images looked at, "
            f"{applied.hits:.0%} overlap an annotated box with IoU >= 0.5 as {applied.convention} and {best.hits:.0%} "
            f"would as {best.convention}; score them as a file of their own, with {self.flag(best)}"
        )

    def _no_fit_verdict(self, group: GroupFits) -> str | None:
        applied = group.fits[0]
        is_reported = group.better is not None or group.apart is not None
        if is_reported or group.images < _ENOUGH or applied.hits >= _NEXT_TO_NONE:
            return None
        return (
            f"boxes: {applied.hits:.0%} overlap an annotated box of their image with IoU >= 0.5 as "
            f"{applied.convention}, and no other convention that is known fits far better: they may be of other "
            f"images, or of images resized to one size, which can be named: {flag('boxes', 'resized:WxH')}"
        )

    def lines(self) -> list[str]:
        """Return the problems of the boxes, one line each."""
        lines = self.verdicts + [line for group in self.groups if (line := self._no_fit_verdict(group))]
        if self.tiny_share >= _WORTH_SAYING:
            lines.append(
                f"boxes: {self.tiny_share:.0%} of the triplets have boxes that are less than a pixel wide or high "
                f"(from 0 to 1? {flag('boxes', 'unit')})"
            )
        return lines


def examine_boxes(predictions: Interactions, truth: Interactions, boxes: str | Conventions = "xyxy") -> BoxReport:
    """Check the boxes of at most 200 images, drawn with a fixed seed, against the ground truth.

    Overlaps are measured on the six highest-scored triplets per image.

    Args:
        predictions: predictions with boxes in pixels, and with image sizes if the applied convention needs them.
        truth: annotated boxes, and image sizes for images whose size is missing in the predictions.
        boxes: name of the convention that was applied when the predictions were read, or conventions per triplet.

    Raises:
        OptionError: for an unknown convention.
    """
    conventions = Conventions((parse_convention(boxes),)) if isinstance(boxes, str) else boxes
    truth_image = image_index(predictions.images, truth.images)
    has_truth = np.append(np.diff(truth.offsets), 0)[truth_image] > 0
    both = np.flatnonzero(has_truth & (np.diff(predictions.offsets) > 0))
    chosen = np.sort(np.random.default_rng(0).permutation(both)[:_IMAGES])
    if conventions.index is not None:
        conventions = conventions.select(np.isin(predictions.image, chosen))
    sample, partner = predictions.select_images(chosen), truth_image[chosen]
    sizes = np.where((sample.sizes > 0).all(axis=1, keepdims=True), sample.sizes, truth.sizes[partner])
    annotated = AnnotatedBoxes(truth, partner)
    kind = np.zeros(len(sample), np.int64) if conventions.index is None else conventions.index
    groups = tuple(
        Group(sample, np.flatnonzero(kind == i), sizes.astype(np.float64), applied, annotated).fits()
        for i, applied in enumerate(conventions.kinds)
        if (kind == i).any()
    )
    return BoxReport(images=len(chosen), tiny_share=_tiny_share(sample), groups=groups, stated=conventions.stated)


def _tiny_share(sample: Interactions) -> float:
    tiny = np.zeros(len(sample), bool)
    for boxes in (sample.human_boxes, sample.object_boxes):
        edges = converted(boxes, sample.triplet_coordinates, CommonCoordinates.EDGES)
        tiny |= (edges[:, 2:] - edges[:, :2] < 1).any(axis=1)
    return float(tiny.mean()) if len(tiny) else 0.0
