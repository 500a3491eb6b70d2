"""HICO-DET as PPDM and QPIC write it: ``test_hico.json``, ``trainval_hico.json``, and the HICO-DET-SG files.

A list of images, each with its boxes and with triplets that point to them. Objects have COCO category ids (1 to 90),
verbs count from 1 in alphabetical order. The numbers of test images are the official ones, counted from 1; those of
training images count from 0. Files mix both kinds of image, so the coordinates are each image's own.

Some triplets of training images point beyond their box list. QPIC leaves such images out of training, and so does this
reader, which names them; in a test image it is an error.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import fields
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import check_boxes, check_range, objects_of, triplet_name
from shoe.benchmarks.classes import HoiClasses
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.json import parse_json

NAME = "PPDM/QPIC JSON"
_TEST = "test2015"


def is_ppdm(data: bytes) -> bool:
    """Tell whether a file holds a JSON list of objects."""
    return re.match(rb"\s*\[\s*\{", data) is not None


def read_ppdm(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file, whose verb and HOI ids follow the order of the benchmark's own class table.

    Raises:
        InputError: naming the image and field that break the format.
    """
    records = parse_json(path, data)
    numbering = benchmark.classes
    try:
        images = [record["file_name"] for record in records]
        box_lists = [record["annotations"] for record in records]
        hoi_lists = [record["hoi_annotation"] for record in records]
        boxes, hois = fields.flat(box_lists), fields.flat(hoi_lists)
        corners = fields.rows([box["bbox"] for box in boxes], 4, text=True)
        category = fields.whole_numbers([box["category_id"] for box in boxes], text=True)
        human = fields.whole_numbers([hoi["subject_id"] for hoi in hois], text=True)
        target = fields.whole_numbers([hoi["object_id"] for hoi in hois], text=True)
        verb = fields.whole_numbers([hoi["category_id"] for hoi in hois], text=True)
        hoi = fields.whole_numbers([hoi.get("hoi_category_id", 0) for hoi in hois], text=True)
        is_test = np.array([_TEST in name for name in images], bool)
    except (TypeError, KeyError, ValueError, AttributeError):
        _explain(records, path)
    counts = np.array([len(boxes_of_image) for boxes_of_image in box_lists], np.int64)
    image = np.repeat(np.arange(len(images)), [len(hois_of_image) for hois_of_image in hoi_lists])

    usable = _usable_images(path, images, image, is_test, counts, human, target)
    kept = usable[image]
    image, human, target, verb, hoi = (column[kept] for column in (image, human, target, verb, hoi))
    first = (np.cumsum(counts) - counts)[image]
    known = "one of COCO's 80 category ids, between 1 and 90"
    object_ = objects_of(path, images, counts, category, benchmark.object_of_id, known)[first + target]
    check_range(path, (images, image), "category_id", verb, len(numbering.verbs), first=1)
    verb -= 1
    _check_hoi(path, images, image, hoi, numbering, verb, object_)
    return Rows(
        images=[name for name, good in zip(images, usable, strict=True) if good],
        image=(np.cumsum(usable) - 1)[image],
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        verbs=numbering.verbs,
        objects=numbering.objects,
        verb=verb,
        object=object_,
        coordinates=np.where(is_test, Coordinates.PIXELS_1, Coordinates.PIXELS_0).astype(np.uint8)[usable],
        left_out=tuple(name for name, good in zip(images, usable, strict=True) if not good),
    )


def _usable_images(
    path: str | Path,
    images: Sequence[str],
    image: NDArray[np.int64],
    is_test: NDArray[np.bool_],
    counts: NDArray[np.int64],
    human: NDArray[np.int64],
    target: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """(m,) images whose triplets all point to boxes that exist."""
    usable = np.ones(len(images), bool)
    for field, index in (("subject_id", human), ("object_id", target)):
        outside = index >= counts[image]
        wrong = (index < 0) | (outside & is_test[image])
        check_boxes(path, (images, image), field, index, counts, wrong)
        usable[image[outside]] = False
    return usable


def _check_hoi(
    path: str | Path,
    images: Sequence[str],
    image: NDArray[np.int64],
    hoi: NDArray[np.int64],
    numbering: HoiClasses,
    verb: NDArray[np.int64],
    object_: NDArray[np.int64],
) -> None:
    """Training triplets name their class a second time; both have to agree. 0 stands for a triplet that does not."""
    stated = numbering.of[verb, object_] + 1
    wrong = (hoi != 0) & (hoi != stated)
    if wrong.any():
        row = int(np.argmax(wrong))
        words = f"{quote(numbering.verbs[verb[row]])} with {quote(numbering.objects[object_[row]])}"
        raise InputError(
            path,
            record=triplet_name((images, image), row),
            field="hoi_category_id",
            found=str(hoi[row]),
            expected=f"{stated[row]}, which is {words}" if stated[row] else f"a class; {words} is none",
        )


def _explain(records: list[Any], path: str | Path) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    for number, record in enumerate(records):
        name = fields.take(path, f"image {number}", record, "file_name", str)
        where = f"image {quote(name)}"
        for i, box in enumerate(fields.take(path, where, record, "annotations", list)):
            place = f"{where}: box {i}"
            fields.take_row(path, place, fields.take(path, place, box, "bbox", list), "bbox", fields.BOX, text=True)
            category = fields.take(path, place, box, "category_id", object)
            fields.take_whole_number(path, place, category, "category_id", text=True)
        for i, hoi in enumerate(fields.take(path, where, record, "hoi_annotation", list)):
            place = f"{where}: triplet {i}"
            for field in ("subject_id", "object_id", "category_id"):
                value = fields.take(path, place, hoi, field, object)
                fields.take_whole_number(path, place, value, field, text=True)
            fields.take_whole_number(path, place, hoi.get("hoi_category_id", 0), "hoi_category_id", text=True)
    fields.unexplained(path, f"the format {NAME}")
