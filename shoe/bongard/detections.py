"""What a detector sees in the pictures of problems.

Predictions are made for whole images, and found by the image's name; a picture is a crop. By default a prediction
counts in a crop if at least half of its human box and half of its object box lie in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shoe.bongard.problems import Problems, Regions
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions, image_index
from shoe.core.ragged import expand, falling_order, index_in_group

Region = Literal["crop", "image"]
REGIONS: tuple[Region, ...] = get_args(Region)
_INSIDE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Which predictions count in a picture.

    Attributes:
        region: "crop", those that lie in it; "image", all of the image's.
        top: the best so many of a picture, and all that tie with the last of them.
        min_score: and only those with at least this score.
    """

    region: Region = "crop"
    top: int = 10
    min_score: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.min_score):
            raise OptionError("min_score: found nan, expected a score")


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """The interactions detected in n regions; D of the paper.

    Attributes:
        region: (d,) region of each detection, ascending.
        interaction: (d,) index into the pairs of words.
        verb, object: (u,) words of each distinct pair, as indices into ``verbs`` and ``objects``.
        verbs, objects: words as predicted.
        named: (n,) whether the predictions name the region's image at all.
    """

    region: Indices
    interaction: Indices
    verb: Indices
    object: Indices
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    named: Mask

    def counts(self) -> Any:
        """(n, u) sparse: how often each interaction was detected in each region."""
        from scipy.sparse import csr_array

        shape = len(self.named), len(self.verb)
        return csr_array((np.ones(len(self.region), np.int32), (self.region, self.interaction)), shape=shape)


def detections(predictions: Interactions, problems: Problems, how: Counting) -> Detections:
    """Find what predictions say of the pictures of problems.

    Args:
        predictions: of any detector; images are found by name, as they stand or without folder and ending.
        problems: whose pictures are looked at.
        how: which predictions count.
    """
    regions = problems.regions
    at = image_index(regions.images, predictions.images)[regions.image]
    first = np.where(at >= 0, predictions.offsets[at], 0)
    region, row = expand(first, np.where(at >= 0, predictions.offsets[at + 1] - first, 0))
    good = predictions.score[row] >= how.min_score
    if how.region == "crop":
        good &= _inside(predictions, regions, region, row)
    region, row = region[good], row[good]
    best = _best(region, predictions.score[row], how.top)
    region, row = region[best], row[best]
    words = max(1, len(predictions.objects))
    pairs, interaction = np.unique(
        predictions.verb[row].astype(np.int64) * words + predictions.object[row], False, True
    )
    verb, object_ = np.divmod(pairs, words)
    return Detections(region, interaction, verb, object_, predictions.verbs, predictions.objects, at >= 0)


def _inside(predictions: Interactions, regions: Regions, region: Indices, row: Indices) -> Mask:
    coordinates = np.broadcast_to(predictions.triplet_coordinates, (len(predictions),))[row]
    crops = regions.crops[region]
    good = np.ones(len(row), bool)
    for boxes in (predictions.human_boxes, predictions.object_boxes):
        edges = converted(boxes[row], coordinates, CommonCoordinates.EDGES)
        low, high = np.maximum(edges[:, :2], crops[:, :2]), np.minimum(edges[:, 2:], crops[:, 2:])
        good &= _area(low, high) >= _INSIDE * _area(edges[:, :2], edges[:, 2:])
    return good


def _area(low: Floats, high: Floats) -> Floats:
    return np.asarray(np.maximum(high - low, 0).prod(axis=1))


def _best(region: Indices, score: Floats, top: int) -> Indices:
    """Rows of the best of each region, and of those that tie with the last of them; ascending."""
    if not len(region):
        return region
    order = falling_order(score)
    order = order[np.argsort(region[order], kind="stable")]
    sizes = np.bincount(region)
    sizes = sizes[sizes > 0]
    end = np.cumsum(sizes)
    last = score[order[np.minimum(end - sizes + top, end) - 1]]
    keep = (index_in_group(sizes) < top) | (score[order] == np.repeat(last, sizes))
    return np.sort(order[keep])
