"""Box arithmetic of the oracles, one pair of boxes at a time."""

from typing import Literal

from shoe.core.boxes import Coordinates

Box = tuple[float, float, float, float]
Compared = Literal["raw", "indices", "edges"]


def moved(box: Box, kind: Coordinates, coordinates: Compared) -> Box:
    """Bring the numbers of a file into the coordinates in which a protocol compares."""
    x1, y1, x2, y2 = box
    if coordinates == "indices" and kind != Coordinates.PIXELS_1:
        return x1 + 1, y1 + 1, x2 + 1, y2 + 1
    if coordinates == "edges" and kind == Coordinates.PIXELS_0:
        return x1, y1, x2 + 1, y2 + 1
    if coordinates == "edges" and kind == Coordinates.PIXELS_1:
        return x1 - 1, y1 - 1, x2, y2
    return box


def iou_continuous(a: Box, b: Box) -> float:
    """IoU of edges; boxes that only touch, and boxes without area, have 0."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def iou_pixels(a: Box, b: Box) -> float:
    """IoU of inclusive pixel indices, as the official script has it: extents are x2 - x1 + 1."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    area_a = (a[2] - a[0] + 1) * (a[3] - a[1] + 1)
    area_b = (b[2] - b[0] + 1) * (b[3] - b[1] + 1)
    return shared / (area_a + area_b - shared)


def iou_pixels_strict(a: Box, b: Box) -> float:
    """IoU of PPDM's descendants: as ``iou_pixels``, but 0 unless the indices overlap strictly."""
    if min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1]):
        return 0.0
    return iou_pixels(a, b)
