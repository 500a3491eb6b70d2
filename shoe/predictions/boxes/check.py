"""Box check: do predicted boxes overlap annotated boxes better under another box convention?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from shoe.core.arrays import Floats, Indices, Ints, Mask, best_of_each, distinct, positions
from shoe.core.boxes import CommonCoordinates, convert_boxes
from shoe.core.errors import flag
from shoe.core.interactions import FAR, Interactions, image_index
from shoe.predictions.boxes.conventions import (
    LAYOUTS,
    TO_CORNERS,
    Convention,
    Conventions,
    is_resizing,
    parse_convention,
)
from shoe.predictions.boxes.overlap import OBJECT, PERSON, AnnotatedBoxes, Boxes, stretched_boxes

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
    *("resized:shorter=800:1333", "resized:smart=28", "resized:smart=32"),
    *_BUDGETS,
    *(f"resized:scale={2 ** (power / 3):.3g}" for power in range(-9, 10) if power),
)
# Sizes are fitted to the boxes, and then replaced by the roundest size that fits as well: of configurations that are in
# use, then multiples of these steps.
_USUAL_SIDES = np.array([224, 336, 384, 448, 480, 512, 600, 640, 768, 800, 1000, 1024, 1200, 1280, 1333, 1536, 2000])
_STEPS = (100, 50, 32, 10, 1)
_LONGEST = 0.03  # fraction of the boxes, those in the longest images, that shows a limit of the longer side
_CLIPPED = 0.985  # the limit exists if it makes the longer side shorter than this fraction of what it would be
_SCALES = tuple(
    (scale, picture)
    for scales, picture in (((*_RELATIVE, *_RULES, *_SQUARES), ""), ((*_RELATIVE, *_SQUARES), "padded"))
    for scale in scales
)
ORDERS = ("", "swapped")
_LAYOUTS = tuple(LAYOUTS)
_SCREENED_EVERY, _FINALISTS, _BEST_OF_IMAGE, _HIT = 8, 6, 6, 0.5
# Another convention is "far better" if its hit rate exceeds those of the applied convention and of chance by _MARGIN
# and by the factor _FACTOR. Its mean IoU must also lead by _MARGIN: boxes of half the size hit nothing, but under a
# convention that stretches them from the corner a third of them hits. With few boxes some convention fits many by
# chance; the standard deviation of a fraction of n boxes is at most 0.5 / sqrt(n).
_MARGIN, _FACTOR, _DEVIATIONS = 0.2, 1.5, 3
_FEWEST = 16  # with ten boxes, some convention fits by chance in 2 of 144 random scenes
_OF_IMAGE = 4
# If the mean IoU under the other convention is at least _CLOSE, a lead of _CLOSE_MARGIN suffices: boxes of a padded
# image that are read without padding still hit more often than not. Conventions with the same layout and order need
# only a lead of _SCALE_MARGIN: the same boxes are compared, so less is by chance.
_CLOSE, _CLOSE_MARGIN, _SCALE_MARGIN = 0.55, 0.1, 0.03
# Mean IoUs of n boxes tie if they differ by less than _TIE / sqrt(n); the more common convention wins a tie.
_TIE, _SCREENED_TIE = 0.08, 0.02
_FITTINGS = 3  # each fit finds more of the annotated boxes that the next fit needs
# Images with a mean IoU below _MISSED may have another convention than the rest: this is reported if at least
# _NEARLY_ALL of the hit rate of the other images is reached under that convention.
_MISSED, _NEARLY_ALL = 0.3, 0.5
# Of the boxes of right files with an IoU below _ELSEWHERE, the best of all conventions fits at most 0.05 by chance.
_ELSEWHERE, _BY_CHANCE = 0.1, 0.08
_LEAD = 0.15  # of the mean IoU of an image
_MANY = 0.1  # fraction of the images that may belong to other images
_mean_iou = attrgetter("mean_iou")
_UNEQUAL = 0.7  # human and object boxes are compared if the ratio of their mean IoUs is lower


@dataclass(frozen=True, slots=True)
class Fit:
    """Agreement of predicted boxes, read under one convention, with annotated boxes of the same image and kind.

    ``hits`` is the fraction of boxes with IoU >= 0.5, and ``mean_iou`` the mean of the best IoU of each box.
    """

    convention: str
    hits: float
    mean_iou: float


# Changes to boxes, given x1, y1, x2, y2 as fractions of the image, and an aspect ratio. Images whose EXIF orientation
# is applied by one program only are rotated; pixels of the rotated image are fractions of the other side.
_EXIF = ": was the EXIF orientation of the images ignored or applied twice?"
_MOVES: dict[str, Callable[..., Floats]] = {
    "if mirrored: replace x1 and x2 by width - x2 and width - x1": (
        lambda x1, y1, x2, y2, _: np.stack([1 - x2, y1, 1 - x1, y2])
    ),
    f"if rotated by 180 degrees{_EXIF}": lambda x1, y1, x2, y2, _: np.stack([1 - x2, 1 - y2, 1 - x1, 1 - y1]),
    f"if rotated clockwise{_EXIF}": lambda x1, y1, x2, y2, r: np.stack([1 - y2 / r, x1 * r, 1 - y1 / r, x2 * r]),
    f"if rotated counterclockwise{_EXIF}": lambda x1, y1, x2, y2, r: np.stack([y1 / r, 1 - x2 * r, y2 / r, 1 - x1 * r]),
    "if x is multiplied by height / width and y by width / height: were width and height exchanged?": (
        lambda x1, y1, x2, y2, r: np.stack([x1 / r, y1 * r, x2 / r, y2 * r])
    ),
    # DETR's post-processing expects (height, width) as the target size
    "if x is multiplied by width / height and y by height / width: were width and height exchanged?": (
        lambda x1, y1, x2, y2, r: np.stack([x1 * r, y1 / r, x2 * r, y2 / r])
    ),
}
_NEIGHBOUR = "with the annotations of the {} image of the file: are image names shifted by one?"


@dataclass(frozen=True, slots=True)
class GroupFits:
    """Agreement of predicted boxes with the ground truth, for boxes that were read under the same box convention.

    Attributes:
        boxes: number of distinct boxes, counting at most four per image, because boxes of an image are not independent.
        fits: the fit under the applied convention, then those under the best others, from common to rare, if any.
        chance: ``hits`` of the best convention if boxes are compared with the annotated boxes of the next image.
        of_part: fits of the images that fit badly, or of the boxes that overlap no annotated box, if another convention
            is far better for them but not for all boxes; else None.
        by_kind: best fits of the human boxes and of the object boxes, if each kind needs its own convention; else ().
        moved: sentence on how the boxes of many images seem to be mirrored, rotated or of another image; else "".
        truth: fit to ground truth read as x1, y1, width, height, if it is far better than all ``fits``; else None.
    """

    boxes: int
    fits: tuple[Fit, ...]
    chance: float
    images: int = 0
    of_part: GroupFits | None = None
    by_kind: tuple[Fit, ...] = ()
    moved: str = ""
    truth: Fit | None = None

    @property
    def best(self) -> Fit:
        """Fit with the highest mean IoU; of fits that are equal within the sampling error, the first in ``fits``."""
        highest = max(fit.mean_iou for fit in self.fits)
        return next(fit for fit in self.fits if fit.mean_iou >= highest - _TIE / np.sqrt(self.boxes))

    @property
    def better(self) -> Fit | None:
        """Best fit if it is far better than ``fits[0]``, the fit under the applied convention; else None."""
        return self.best if self.is_far_better(self.best) else None

    def is_far_better(self, best: Fit) -> bool:
        """Return whether ``best`` is far better than the fit under the applied convention; False for < 16 boxes."""
        applied = self.fits[0]
        bar = max(applied.hits, self.chance)
        unsure = 0.5 / np.sqrt(self.boxes)
        lead = best.mean_iou - applied.mean_iou
        hits_more = best.hits >= max(min(bar + _MARGIN + _DEVIATIONS * unsure, 1), bar * _FACTOR)
        is_close = best.mean_iou >= _CLOSE and lead >= _CLOSE_MARGIN + unsure
        other, own = map(parse_convention, (best.convention, applied.convention))
        # Boxes that are all moved a little fit another scale by IoU, but not by hits.
        hits_more_of_scale = best.hits >= applied.hits + _SCALE_MARGIN and lead >= _SCALE_MARGIN + unsure
        is_scale = (
            best.mean_iou >= _CLOSE and hits_more_of_scale and (other.layout, other.order) == (own.layout, own.order)
        )
        return self.boxes >= _FEWEST and (is_close or is_scale or (hits_more and lead >= _MARGIN + unsure))


class Group:
    """The predicted boxes in a sample of m images that were read under the same convention, ``applied``.

    ``rows`` are the triplets of the sample with these boxes, ``sizes`` the (m, 2) image sizes, ``annotated`` the
    annotated boxes. ``others`` are annotated boxes of other images, by offset in the file: 1 to 3 images later, -1 to
    -3 images earlier; and by 0, ``annotated`` read as x1, y1, width and height. The callback ``every`` returns the
    annotated boxes of all images, and the index in the sample of each image, or -1.
    """

    def __init__(
        self,
        sample: Interactions,
        rows: Indices,
        sizes: Floats,
        applied: Convention,
        annotated: AnnotatedBoxes,
        others: Mapping[int, AnnotatedBoxes],
        every: Callable[[], tuple[AnnotatedBoxes, Indices]],
    ) -> None:
        rows = rows[best_of_each(sample.image[rows], sample.score[rows], _BEST_OF_IMAGE)]
        image = sample.image[rows]
        self._annotated, self._others, self._every = annotated, others, every
        self._applied, self._sizes = applied, np.maximum(sizes, 1)
        self._all_known = bool((sizes[image] > 0).all())
        plain = replace(applied, order="")
        human, target = (plain.from_pixels(b[rows], sizes[image]) for b in (sample.human_boxes, sample.object_boxes))
        self._numbers = Boxes.distinct(image, *((target, human) if applied.order else (human, target)))
        self._coordinates = sample.coordinates[image][self._numbers.rows]
        scales: dict[bytes | tuple[str, str], tuple[tuple[str, str], tuple[Floats, Floats]]] = {}
        for word in _SCALES if self._all_known else _SCALES[:1]:  # of resizing rules with equal scales, the first
            affine = Convention("xyxy", *word).scale_and_offset(self._sizes)
            scales.setdefault(affine[0].tobytes() if word[0] in _RULES else word, (word, affine))
        self._scales = [word for word, _ in scales.values()]
        # (2, 4, scales, images) scale and offset of each corner coordinate
        self._affine = np.array([affine for _, affine in scales.values()])[..., [0, 1, 0, 1]].transpose(1, 3, 0, 2)

    def fits(self) -> GroupFits:
        """Return how well the boxes fit, with at most one of ``by_kind``, ``truth``, ``moved`` and ``of_part``."""
        fits = self._fits_of_all()
        if len(fits.fits) < 2:
            return fits
        image = self._numbers.image
        overlap = self._overlap_with(self._annotated, self._applied)
        if by_kind := self._fits_by_kind(overlap, is_wrong=fits.better is not None):
            return replace(fits, by_kind=by_kind)
        truth = _fit(self._applied, self._overlap_with(self._others[0], self._applied))
        if truth.mean_iou > fits.best.mean_iou + _TIE and fits.is_far_better(truth):
            return replace(fits, truth=truth)
        moved, after = self._moved(overlap, fits.best.mean_iou if fits.better else 0.0)
        if fits.better is not None:
            return replace(fits, moved=moved)
        missed = (self._mean_of_images(overlap) < _MISSED)[image]
        of_part = self._select(missed)._fits_of_all() if missed.any() else None
        if moved and (of_part is None or after >= of_part.best.hits):
            return replace(fits, moved=moved)
        if of_part is not None:
            usual = _NEARLY_ALL * float((overlap[~missed] >= _HIT).mean()) if not missed.all() else 0.0
            if of_part.better is not None and of_part.best.hits >= usual:
                return replace(fits, of_part=of_part)
            if moved:
                return replace(fits, moved=moved)
            if moved := self._of_other_images(np.unique(image[missed])):
                return replace(fits, moved=moved)
        if (elsewhere := overlap < _ELSEWHERE).any() and fits.fits[0].hits >= _MISSED:
            of_part = self._select(elsewhere)._fits_of_all()
            if of_part.best.hits >= max(_BY_CHANCE + 1 / np.sqrt(elsewhere.sum()), _DEVIATIONS * of_part.chance):
                return replace(fits, of_part=of_part)
        return fits

    def _moved(self, overlap: Floats, least: float) -> tuple[str, float]:
        """Return how the boxes of many images were mirrored, rotated or shifted, and the hit rate after moving back.

        Returns "" if the images are few, or the mean IoU is below ``least``.

        The number of images that fit better by chance is estimated from annotations two or three images away.
        ``overlap`` is the (n,) IoU of the boxes under the applied convention.
        """
        numbers, applied = self._numbers, self._applied
        own, image = self._mean_of_images(overlap), numbers.image
        others = {step: self._overlap_with(annotated, applied) for step, annotated in self._others.items() if step}
        moved = {_NEIGHBOUR.format(name): others.pop(step) for name, step in (("previous", -1), ("next", 1))}
        if self._all_known:
            size = self._sizes[image].T
            unit = self._read(applied) / np.tile(size, (2, 1))
            for name, move in _MOVES.items():
                is_relative = applied.needs_sizes and name.endswith(_EXIF)
                boxes = move(*unit, 1 if is_relative else size[0] / size[1]) * np.tile(size, (2, 1))
                moved[name] = self._overlaps(numbers, image, boxes[:, None], applied.order)[0]
        wins = {name: self._mean_of_images(each) > own + _LEAD for name, each in moved.items()}
        chance = max(int((self._mean_of_images(each) > own + _LEAD).sum()) for each in others.values())
        name = max(wins, key=lambda name: wins[name].sum())
        count, chosen = int(wins[name].sum()), wins[name][image]
        is_chance = count <= chance + _DEVIATIONS * (1 + np.sqrt(chance + 1))
        if is_chance or np.where(chosen, moved[name], overlap).mean() < least:
            return "", 0.0
        before, after = (float((each[chosen] >= _HIT).mean()) for each in (overlap, moved[name]))
        sampled = f"in {count:,} of {len(np.unique(image)):,} sampled images"
        return f"{sampled}, {before:.0%} overlap an annotated box with IoU >= 0.5, {after:.0%} {name}", after

    def _of_other_images(self, missed: Indices) -> str:
        """Return a sentence if boxes of ``missed`` images fit other images far better than mirrored boxes; else ""."""
        images = len(np.unique(self._numbers.image))
        if self._applied.needs_sizes or len(missed) < max(_FEWEST, _MANY * images):
            return ""
        every, at = self._every()
        found = []
        for image in missed[:_FEWEST]:
            own, others = self._numbers.image == image, np.flatnonzero(at != image)
            x1, y1, x2, y2 = self._read(self._applied)[:, own]
            edges = x1.min() + x2.max()
            both = np.array([[x1, edges - x2], [y1, y1], [x2, edges - x1], [y2, y2]])
            kind = np.abs(bool(self._applied.order) - self._numbers.kind[own])
            best = every.best(np.repeat(others, len(kind)), np.tile(kind, len(others)), np.tile(both, len(others)))
            found.append(best.reshape(2, len(others), -1).mean(axis=2).max(axis=1))
        fit, chance = np.mean(found, axis=0)
        few = f"in {len(missed):,} of {images:,} sampled images, hardly any overlap an annotated box"
        many = "but many fit annotations of other images: are image names exchanged?"
        return f"{few}, {many}" if fit >= chance + _LEAD else ""

    def _mean_of_images(self, overlap: Floats) -> Floats:
        image, count = self._numbers.image, len(self._sizes)
        return np.asarray(np.bincount(image, overlap, count) / np.bincount(image, minlength=count).clip(1))

    def _fits_by_kind(self, overlap: Floats, *, is_wrong: bool) -> tuple[Fit, ...]:
        """Return the best fits of human and object boxes if the best convention of each is far worse for the other.

        Returns () if both kinds have about equal ``overlap``, unless another convention fits all boxes (``is_wrong``).
        """
        kinds = [self._numbers.kind == kind for kind in (PERSON, OBJECT)]
        means = [overlap[mask].mean() for mask in kinds]
        if not is_wrong and min(means) >= _UNEQUAL * max(means):
            return ()
        parts = [self._select(mask) for mask in kinds]
        found = [part._fits_of_all() for part in parts]
        best = [each.better or each.fits[0] for each in found]
        for part, each, own, other in zip(parts, found, best, best[::-1], strict=True):
            convention = parse_convention(other.convention)
            if own.hits < _HIT or not replace(each, fits=(part._fit_of(convention),)).is_far_better(own):
                return ()
        return tuple(best)

    def _select(self, mask: Mask) -> Group:
        part = copy(self)
        part._numbers, part._coordinates = self._numbers.select(mask), self._coordinates[mask]
        return part

    def _overlap_with(self, annotated: AnnotatedBoxes, convention: Convention) -> Floats:
        """Return the (n,) best IoU of each box, read under a convention, with annotated boxes of its image."""
        kind = 1 - self._numbers.kind if convention.order else self._numbers.kind
        return np.asarray(annotated.best(self._numbers.image, kind, self._read(convention)[:, None])[0])

    def _fit_of(self, convention: Convention) -> Fit:
        return _fit(convention, self._overlap_with(self._annotated, convention))

    def _fits_of_all(self) -> GroupFits:
        """Return the fit of the applied convention and, unless it is nearly perfect, of the best other conventions."""
        applied, numbers = self._applied, self._numbers
        fit, of_image = self._fit_of(applied), np.bincount(numbers.image)
        found = GroupFits(int(of_image.clip(max=_OF_IMAGE).sum()), (fit,), 0.0, int((of_image > 0).sum()))
        if fit.mean_iou > 1 - _CLOSE_MARGIN:
            return found
        part = numbers.image % _SCREENED_EVERY == numbers.image[0] % _SCREENED_EVERY
        tried = [applied, *(c for c in self._finalists(numbers.select(part)) if c != applied)]
        fits = [fit, *map(self._fit_of, tried[1:])]
        found = replace(found, fits=tuple(fits))
        near, fitted = tried[fits.index(found.best)], list[Fit]()
        found = replace(found, chance=self._chance(near))
        is_other = found.best is not fit or fit.mean_iou < _CLOSE
        if not self._all_known or not (is_other or is_resizing(applied.scale)):
            return found
        for _ in range(_FITTINGS):
            # Sizes of earlier rounds are less exact. They are left out, because they would win ties by their order.
            fitted = [max(map(self._fit_of, group), key=_mean_iou) for group in self._fitted(near)] or fitted
            previous, near = near, parse_convention(max(fits + fitted, key=_mean_iou).convention)
            if near == previous:
                break
        return replace(found, fits=(*fits, *fitted))

    def _fitted(self, near: Convention) -> list[list[Convention]]:
        """Return resizing conventions that fit the boxes, in lists of equally round image sizes, the roundest first.

        The sizes are estimated by comparing each box, read under ``near``, with the nearest annotated box.
        """
        numbers, boxes = self._numbers, self._read(near)[:, None]
        kind = 1 - numbers.kind if near.order else numbers.kind
        truth = self._annotated.nearest(numbers.image, kind, boxes)
        plain = TO_CORNERS[near.layout](numbers.numbers)
        # Centres, because boxes of many models are somewhat larger or smaller than annotated boxes.
        centre, meant = (np.maximum(each[:, :2] + each[:, 2:], 0) for each in (plain, truth))
        hit = (self._annotated.best(numbers.image, kind, boxes)[0] >= _HIT) & ((centre > 0) & (meant > 0)).all(axis=1)
        if near.picture or hit.sum() < _FEWEST:
            return []
        factors = centre[hit] / meant[hit]
        sizes = self._sizes[numbers.image[hit]]
        factor = np.sqrt(factors.prod(axis=1))
        short, long = (factor * side for side in (sizes.min(axis=1), sizes.max(axis=1)))
        shorter = float(np.median(short))
        aspect = sizes.max(axis=1) / sizes.min(axis=1)
        longest = np.argsort(-aspect, kind="stable")[: max(_FEWEST, round(_LONGEST * len(aspect)))]
        limit = float(np.median(long[longest]))
        if has_limit := limit < _CLIPPED * shorter * float(np.median(aspect[longest])):
            below = aspect * shorter <= limit
            shorter = float(np.median(short[below])) if below.any() else shorter
        wide, high = np.median(factors * sizes, axis=0).tolist()
        scale = float(np.median(factor))
        scales = [(np.floor(scale * 10**digits), np.ceil(scale * 10**digits)) for digits in range(4)]
        rules = [tuple(f"scale={n / 10**digits:g}" for n in both) for digits, both in enumerate(scales)]
        rules += [(f"max={side}",) for side in _round_sides(float(np.median(long)))]
        limits = ["", *(f":{side}" for side in _round_sides(limit) if has_limit)]
        rules += [(f"shorter={side}{end}",) for side in _round_sides(shorter) for end in limits]
        rules += [(f"{w}x{h}",) for w, h in zip(_round_sides(wide), _round_sides(high), strict=True)]
        groups = [[f"resized:{rule}" for rule in group] for group in dict.fromkeys(rules)]
        known = [[replace(near, scale=name) for name in group if is_resizing(name)] for group in groups]
        return [group for group in known if group]

    def _finalists(self, part: Boxes) -> list[Convention]:
        """Return the conventions with the best mean IoU on ``part``, and the most common ones with nearly this IoU."""
        boxes = self._screened(part)
        means = np.array([self._overlaps(part, part.image, boxes, order).mean(axis=1) for order in ORDERS])
        near = np.flatnonzero(means.ravel() >= means.max() - _SCREENED_TIE)
        best = np.argsort(-means.ravel(), kind="stable")[:_FINALISTS]
        order, candidate = np.divmod(distinct(np.append(near[:_FINALISTS], best)), boxes.shape[1])
        scale, layout = np.divmod(candidate, len(_LAYOUTS))
        return [
            replace(Convention(_LAYOUTS[in_layout], *self._scales[in_scale]), order=ORDERS[in_order])
            for in_order, in_scale, in_layout in zip(order.tolist(), scale.tolist(), layout.tolist(), strict=True)
        ]

    def _screened(self, part: Boxes) -> Floats:
        """Return the (4, c, n) corners in pixels of the n boxes in ``part`` under all c candidate conventions."""
        corners = np.stack([TO_CORNERS[layout](part.numbers).T for layout in LAYOUTS], axis=1)
        factor, offset = (each.take(part.image, axis=2)[:, :, None] for each in self._affine)
        return np.asarray(corners[:, None] * factor - offset).reshape(4, -1, len(part.image))

    def _read(self, convention: Convention) -> Floats:
        numbers = self._numbers
        read = convention.to_pixels(numbers.numbers, self._sizes[numbers.image])
        if convention == self._applied:
            read = convert_boxes(read, self._coordinates, CommonCoordinates.EDGES)
        return read.T

    def _overlaps(self, part: Boxes, image: Indices, boxes: Floats, order: str) -> Floats:
        """Return the (c, n) best IoU of the (4, c, n) ``boxes``, read from ``part``, with annotated boxes of ``image``.

        A person box is compared with persons and an object box with objects, or the other way round if "swapped".
        """
        return self._annotated.best(image, 1 - part.kind if order else part.kind, boxes)

    def _chance(self, convention: Convention) -> float:
        """Return the hit rate of the boxes under a convention when compared with the ground truth of the next image."""
        images, image = len(self._sizes), self._numbers.image
        if images == 1:
            return 0.0
        elsewhere, boxes = (image + 1) % images, self._read(convention)[:, None]
        if self._all_known:
            boxes = boxes * np.tile((self._sizes[elsewhere] / self._sizes[image]).T, (2, 1))[:, None]
        return _fit(convention, self._overlaps(self._numbers, elsewhere, boxes, convention.order)).hits


def _round_sides(side: float) -> list[int]:
    """Return sizes near a fitted size in pixels, the most usual first."""
    usual = int(_USUAL_SIDES[np.argmin(np.abs(_USUAL_SIDES - side))])
    return [usual, *(max(round(side / step), 1) * step for step in _STEPS)]


def _fit(convention: Convention, overlap: Floats) -> Fit:
    return Fit(str(convention), hits=float((overlap >= _HIT).mean()), mean_iou=float(overlap.mean()))


# The check converts the boxes of a sample of images back to the numbers of their file, converts these under every known
# convention, and compares them with the annotated boxes of the same images. It reports but never changes a convention.
_IMAGES, _WORTH_SAYING, _NEXT_TO_NONE, _ENOUGH = 200, 0.05, 0.05, 10
# Boxes that belong to other images overlap annotated boxes only by chance. So do boxes that are equal in all images,
# but these have a high chance, and may be right.
_OF_CHANCE, _SAME_EVERYWHERE = 2, 0.15


@dataclass(frozen=True, slots=True)
class BoxReport:
    """Result of the box check on a sample of images.

    Attributes:
        images: number of images in the sample.
        tiny_share: fraction of triplets with a box that is less than one pixel wide or high.
        groups: fits, one item per applied convention; empty if no image has both predictions and ground truth.
        stated: whether the file or its format states a convention; to replace it, --boxes must name scale and layout.
        is_mixed: whether only a part of a file was checked, and the other boxes fit the applied convention best.
        stretched: report lines about boxes that are the union of two boxes, or the whole image.
    """

    images: int
    tiny_share: float
    groups: tuple[GroupFits, ...]
    stated: bool = False
    is_mixed: bool = False
    stretched: list[str] = field(default_factory=list)

    def flag(self, fit: Fit) -> str:
        """Return the option that applies the convention of a fit, for messages: --boxes xywh (Python: boxes="xywh")."""
        return flag("boxes", parse_convention(fit.convention).full_name if self.stated else fit.convention)

    @property
    def verdicts(self) -> list[str]:
        """Report lines on boxes that would fit far better after another conversion; at most one per group."""
        return [line for group in self.groups if (line := self._verdict(group))]

    def _verdict(self, group: GroupFits) -> str | None:
        applied, better = group.fits[0], group.better
        of_image = "overlap an annotated box of their image with IoU >= 0.5"
        if group.by_kind:
            human, target = group.by_kind
            return (
                f"boxes: {human.hits:.0%} of the human boxes overlap an annotated box with IoU >= 0.5 if read as "
                f"{human.convention}, and {target.hits:.0%} of the object boxes if read as {target.convention}: "
                "convert the boxes of the file to one convention"
            )
        if truth := group.truth:
            if_width = "if the boxes of the ground truth are x1, y1, width, height: convert them to x1, y1, x2, y2"
            return f"boxes: {applied.hits:.0%} {of_image}, {truth.hits:.0%} {if_width}"
        if group.moved:
            return f"boxes: {group.moved}"
        if better is None:
            return None if group.of_part is None else self._mixed_verdict(group, group.of_part)
        group_text = f" of the boxes read as {applied.convention}" if len(self.groups) > 1 else ""
        exchanged = " (human and object boxes exchanged)" if "swapped" in better.convention else ""
        all_agree = {(g.better or g.fits[0]).convention for g in self.groups} == {better.convention}
        alone_text = "" if all_agree else " for a separate file with only these boxes"
        advice = f"; if the latter is right, set it{alone_text}: {self.flag(better)}"
        if self.is_mixed:
            advice = ", unlike the other boxes of the file: write all boxes in one convention"
        fits = f"{applied.hits:.0%}{group_text} {of_image} if read as {applied.convention}"
        return f"boxes: {fits}, {better.hits:.0%} if read as {better.convention}{exchanged}{advice}"

    def _mixed_verdict(self, group: GroupFits, of_part: GroupFits) -> str:
        applied, best = of_part.fits[0], of_part.best
        if not applied.hits:
            return (
                f"boxes: the file seems to mix conventions: {best.hits:.0%} of the boxes that overlap no annotated box "
                f"overlap one with IoU >= 0.5 if read as {best.convention}: write all boxes in one convention"
            )
        fits = f"{applied.hits:.0%} overlap an annotated box with IoU >= 0.5 if read as {applied.convention}"
        return (
            f"boxes: the file seems to mix conventions: in {of_part.images:,} of {group.images:,} sampled images, "
            f"{fits}, and {best.hits:.0%} if read as {best.convention}; move these images to a separate file, and "
            f"score it with {self.flag(best)}"
        )

    def _no_fit_verdict(self, group: GroupFits) -> str | None:
        applied = group.fits[0]
        is_reported = any((group.better, group.of_part, group.by_kind, group.moved, group.truth))
        least = max(_NEXT_TO_NONE, min(_OF_CHANCE * group.chance, _SAME_EVERYWHERE))
        if is_reported or group.images < _ENOUGH or applied.hits >= least:
            return None
        return (
            f"boxes: {applied.hits:.0%} overlap an annotated box of their image with IoU >= 0.5 if read as "
            f"{applied.convention}, and no other known convention fits far better: the boxes may belong to other "
            f"images, or to images resized to a fixed size (set it with {flag('boxes', 'resized:WxH')})"
        )

    def lines(self) -> list[str]:
        """Return all report lines: ``stretched``, or else lines on conventions; then a line if many boxes are tiny."""
        # Other conventions fit boxes of the wrong area only by chance.
        lines = [*self.stretched] or self.verdicts + list(filter(None, map(self._no_fit_verdict, self.groups)))
        if self.tiny_share >= _WORTH_SAYING:
            lines.append(
                f"boxes: {self.tiny_share:.0%} of the triplets have boxes that are less than a pixel wide or high "
                f"(if coordinates are fractions from 0 to 1, set {flag('boxes', 'unit')})"
            )
        return lines


def check_box_convention(
    predictions: Interactions, truth: Interactions, boxes: str | Conventions = "xyxy"
) -> BoxReport:
    """Return a report on how well the boxes of at most 200 images, drawn with a fixed seed, fit the ground truth.

    The six highest-scored triplets per image are used. After a nearly perfect fit, no other convention is tried.
    ``boxes`` are the conventions under which the predictions were read: one name, or the conventions of all triplets.
    Image sizes that they need are in ``predictions`` or in ``truth``. Raises OptionError for an unknown convention.
    """
    conventions = Conventions((parse_convention(boxes),)) if isinstance(boxes, str) else boxes
    if predictions.bad.get("count"):
        real = predictions.human_boxes[:, 2] > FAR
        predictions, conventions = predictions.select(real), conventions.select(real)
    truth_image, both = shared_images(predictions, truth)
    chosen = np.sort(np.random.default_rng(0).permutation(both)[:_IMAGES])
    if conventions.index is not None:
        conventions = conventions.select(np.isin(predictions.image, chosen))
    sample, partner = predictions.select_images(chosen), truth_image[chosen]
    sizes = np.where((sample.sizes > 0).all(axis=1, keepdims=True), sample.sizes, truth.sizes[partner])
    at = np.searchsorted(both, chosen)
    others = {
        step: AnnotatedBoxes(truth, truth_image[both[(at + step) % max(len(both), 1)]], "xyxy" if step else "xywh")
        for step in range(-3, 4)
    }
    own = AnnotatedBoxes(truth, partner)

    def every() -> tuple[AnnotatedBoxes, Indices]:
        return AnnotatedBoxes(truth, truth_image[both]), positions(both.tolist(), chosen.tolist())

    kind = np.zeros(len(sample), np.int64) if conventions.index is None else conventions.index
    groups = [
        Group(sample, rows, sizes.astype(np.float64), applied, own, others, every)
        for i, applied in enumerate(conventions.kinds)
        if len(rows := np.flatnonzero(kind == i))
    ]
    tiny = np.zeros(len(sample), bool)
    for part in (sample.human_boxes, sample.object_boxes):
        edges = convert_boxes(part, sample.triplet_coordinates, CommonCoordinates.EDGES)
        sides = edges[:, 2:] - edges[:, :2]
        tiny |= ((sides < 1) & (sides > 0)).any(axis=1)  # only files of persons can have boxes without area
    tiny_share = float(tiny.mean()) if len(tiny) else 0.0
    lines = stretched_boxes(sample, truth, partner, sizes)
    return BoxReport(len(chosen), tiny_share, tuple(group.fits() for group in groups), conventions.stated, False, lines)


def shared_images(predictions: Interactions, truth: Interactions) -> tuple[Ints, Indices]:
    """Return the (m,) truth index (or -1) of each predicted image, and the images with predictions and annotations."""
    truth_image = image_index(predictions.images, truth.images)
    has_truth = np.append(np.diff(truth.offsets), 0)[truth_image] > 0
    return truth_image, np.flatnonzero(has_truth & (np.diff(predictions.offsets) > 0)).astype(np.int64)
