"""The box check: would the boxes fit the ground truth far better under another convention?

It takes a sample of images, goes back from the boxes as they were read to the numbers of their file, reads those under
every convention that it knows, and compares the boxes with the annotated ones of the same images, people with people
and objects with objects, and crossed. It names both conventions and the figures of both; whether to follow is for the
user to say, as nothing here changes a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.errors import flag
from shoe.core.interactions import Interactions, image_index
from shoe.predictions.box_fit import Annotated
from shoe.predictions.box_trials import Fit, Group, GroupFits
from shoe.predictions.boxes import parse_convention
from shoe.predictions.conventions import Conventions

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
