"""Small copies of the pictures that raters see: of an item's first class, and of the crops of Bongard problems."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import random_numbers
from shoe.core.errors import InputError, quote
from shoe.report.figures.pictures import read_picture
from shoe.report.page.rendering import cut_out, small
from shoe.scoring.bongard.problems import Problems
from shoe.study.plan import Box, Item, Picture, Study

CROP = 256
"""Pixels of the longer side of a crop: fourteen of them are a problem."""
_STREAM = (7 << 28) + (5 << 20)

Pictured = tuple[Study, dict[str, bytes]]


def with_pictures(study: Study, truth: GroundTruth, images: Path) -> Pictured:
    """Give each item but gold ones a picture that shows its first class, drawn by the seed among those that are there.

    Args:
        study: of pairs.
        truth: annotations, with boxes.
        images: folder of the dataset's images.

    Returns:
        The study, and its pictures as JPEG by file name. An item of whose class there is no picture has none.

    Raises:
        InputError: if no item has one.
    """
    drawn = _Drawn(truth, images, study.seed)
    pictures: dict[str, bytes] = {}
    items = []
    for number, item in enumerate(study.items):
        found = drawn.next_of(item, f"{number}.jpg") if item.gold is None else None
        if found:
            item, pictures[f"{number}.jpg"] = msgspec.structs.replace(item, picture=found[0]), found[1]
        items.append(item)
    if not pictures:
        looked = (
            f"pictures of the classes, as {quote(truth.interactions.images[0])}" if truth.interactions.images else ""
        )
        raise InputError(images, found="no picture of any class that is rated", expected=looked)
    return msgspec.structs.replace(study, items=items), pictures


class _Drawn:
    """Rows of the ground truth by class, in a drawn order; each class goes round through its own."""

    def __init__(self, truth: GroundTruth, images: Path, seed: int) -> None:
        self.table, self.images = truth.interactions, images
        classes = truth.classes
        self.number = {
            (classes.verbs[v].replace("_", " "), classes.objects[o].replace("_", " ")): k
            for k, (v, o) in enumerate(zip(classes.verb.tolist(), classes.object.tolist(), strict=True))
        }
        self.hoi = truth.hoi
        self.order = np.argsort(random_numbers(_STREAM + (seed << 8), (len(self.hoi),)), kind="stable")
        self.left: dict[int, list[int]] = {}

    def next_of(self, item: Item, file: str) -> tuple[Picture, bytes] | None:
        hoi = self.number.get(item.words_a, -1)
        rows = self.left.setdefault(hoi, self.order[self.hoi[self.order] == hoi].tolist())
        for _ in range(len(rows)):
            row = rows.pop(0)
            name = self.table.images[self.table.image[row]]
            found, _ = read_picture(name, self.images)
            if found is None:  # for good
                continue
            rows.append(row)
            width = found.width
            jpeg = small(found)
            scale = found.width / width
            human, thing = (_scaled(boxes[row], scale) for boxes in (self.table.human_boxes, self.table.object_boxes))
            return Picture(file, Path(name).name, found.size, human, thing), jpeg
        return None


def _scaled(box: np.ndarray, scale: float) -> Box:
    x1, y1, x2, y2 = (round(float(edge) * scale, 1) for edge in box)
    return x1, y1, x2, y2


def problem_pictures(problems: Problems, images: Path, first: int = 0) -> dict[str, bytes]:
    """The crops of problems as JPEG, by the file names that a study of them has.

    Args:
        problems: the problems.
        images: folder of their images.
        first: number of the first picture.

    Raises:
        InputError: for an image that cannot be read, or that ends before the crop begins.
    """
    regions, rows = problems.regions, np.unique(problems.rows)
    pictures = {}
    for image in np.unique(regions.image[rows]).tolist():
        name = regions.images[image]
        path = images / Path(name).name
        found, why = read_picture(name, images)
        if found is None:
            raise InputError(path, found=why, expected=f"the picture {quote(name)} of the problems")
        for row in rows[regions.image[rows] == image].tolist():
            cut = cut_out(found, tuple(regions.crops[row].tolist()))
            if cut is None:
                expected = f"a picture with {quote(regions.crops[row].tolist())} in it"
                raise InputError(path, found=f"{found.width} x {found.height} pixels", expected=expected)
            pictures[f"{first + row}.jpg"] = small(cut[0], CROP)
    return pictures
