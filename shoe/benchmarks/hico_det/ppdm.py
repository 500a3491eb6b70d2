"""HICO-DET as PPDM and QPIC write it: ``test_hico.json``, ``trainval_hico.json``, and the HICO-DET-SG files.

A list of images, each with its boxes and with triplets that point to them. Objects have COCO category ids (1 to 90),
verbs count from 1 in alphabetical order. The numbers of test images are the official ones, counted from 1; those of
training images count from 0. Files mix both kinds of image, so the coordinates are each image's own.

Some triplets of training images point beyond their box list. QPIC leaves such images out of training, and so does this
reader, which names them; in a test image it is an error.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_boxes, check_range, named_record, objects_of, triplet_name
from shoe.benchmarks.image_lists import write_image_lists
from shoe.core.coordinates import CommonCoordinates, Coordinates, converted
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.json import read_typed
from shoe.io.typed import BoxOrText, WholeOrText

_TEST = "test2015"


class _Box(Struct, gc=False):
    bbox: BoxOrText
    category_id: WholeOrText


class _Hoi(Struct, gc=False):
    subject_id: WholeOrText
    object_id: WholeOrText
    category_id: WholeOrText
    hoi_category_id: WholeOrText = 0


class _Image(Struct, gc=False):
    file_name: str
    annotations: Annotated[list[_Box], Meta(extra={"item": "box"})]
    hoi_annotation: Annotated[list[_Hoi], Meta(extra={"item": "triplet"})]


def read_ppdm(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file, whose verb and HOI ids follow the order of the benchmark's own class table.

    :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    numbering = benchmark.classes
    records = read_typed(path, data, list[_Image], named_record())
    images = [record.file_name for record in records]
    is_test = np.array([_TEST in name for name in images], bool)
    counts = np.array([len(record.annotations) for record in records], np.int64)
    image = np.repeat(np.arange(len(images)), [len(record.hoi_annotation) for record in records])
    boxes = list(chain.from_iterable(record.annotations for record in records))
    hois = list(chain.from_iterable(record.hoi_annotation for record in records))
    corners = np.array([box.bbox for box in boxes], np.float64).reshape(-1, 4)
    category = np.array([box.category_id for box in boxes], np.float64).astype(np.int64)
    human, target, verb, hoi = (
        np.array([getattr(hoi, field) for hoi in hois], np.float64).astype(np.int64)
        for field in ("subject_id", "object_id", "category_id", "hoi_category_id")
    )
    usable = np.ones(len(images), bool)
    for field, index in (("subject_id", human), ("object_id", target)):
        outside = index >= counts[image]
        check_boxes(path, (images, image), field, index, counts, (index < 0) | (outside & is_test[image]))
        usable[image[outside]] = False
    kept = usable[image]
    image, human, target, verb, hoi = (column[kept] for column in (image, human, target, verb, hoi))
    first = (np.cumsum(counts) - counts)[image]
    known = "one of COCO's 80 category ids, between 1 and 90"
    object_ = objects_of(path, images, counts, category, benchmark.object_of_id, known)[first + target]
    check_range(path, (images, image), "category_id", verb, len(numbering.verbs), first=1)
    verb -= 1
    # Training triplets name their class a second time; 0 stands for one that does not.
    stated = numbering.of[verb, object_] + 1
    wrong = (hoi != 0) & (hoi != stated)
    if wrong.any():
        row = int(np.argmax(wrong))
        words = f"{quote(numbering.verbs[verb[row]])} with {quote(numbering.objects[object_[row]])}"
        record, found = triplet_name((images, image), row), str(hoi[row])
        expected = f"{stated[row]}, which is {words}" if stated[row] else f"a class; {words} is none"
        raise InputError(path, record=record, field="hoi_category_id", found=found, expected=expected)
    return Rows(
        images=[name for name, good in zip(images, usable, strict=True) if good],
        image=(np.cumsum(usable) - 1)[image],
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        verbs=numbering.verbs,
        objects=numbering.objects,
        verb=verb,
        object=object_,
        coordinates=_coordinates(images)[usable],
        left_out=tuple(name for name, good in zip(images, usable, strict=True) if not good),
    )


def write_ppdm(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write ground truth as :func:`read_ppdm` reads it: each image's distinct boxes, and its triplets.

    Boxes are written in the coordinates that images of their name have in this format, whatever those of the table.
    """
    shift = converted(np.zeros((len(table), 4)), _coordinates(table.images)[table.image], CommonCoordinates.EDGES)
    human_boxes, object_boxes = (
        converted(boxes, table.triplet_coordinates, CommonCoordinates.EDGES) - shift
        for boxes in (table.human_boxes, table.object_boxes)
    )
    moved = replace(table, human_boxes=human_boxes, object_boxes=object_boxes)
    verb, hoi = np.argsort(benchmark.verb_order)[table.verb], benchmark.classes.of[table.verb, table.object]
    write_image_lists(moved, path, benchmark, {"category_id": verb + 1, "hoi_category_id": hoi + 1})


def _coordinates(images: Sequence[str]) -> NDArray[np.uint8]:
    is_test = np.array([_TEST in name for name in images], bool)
    return np.where(is_test, Coordinates.PIXELS_1, Coordinates.PIXELS_0).astype(np.uint8)


FORMAT = TruthFormat(
    name="PPDM/QPIC JSON",
    example="test_hico.json (PPDM, QPIC, SG)",
    fits=lambda data: re.match(rb"\s*\[\s*\{", data) is not None,
    read=read_ppdm,
    write=write_ppdm,
)
