"""JSON formats of HICO-DET's ground truth: fredzzhang/hicodet, PPDM and QPIC, and HAKE.

The files of fredzzhang/hicodet, ``instances_test2015.json`` and ``instances_train2015.json``, are an object of parallel
lists. Class indices refer to class lists in the same file. Boxes are the official pixel indices, counted from 1.
"""

import io
import re
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import (
    check_boxes,
    check_range,
    joined_boxes,
    list_lengths,
    named_record,
    objects_of,
    triplet_name,
)
from shoe.benchmarks.image_lists import ListedImage, ListedTriplet, columns_of_lists, write_image_lists
from shoe.core.arrays import first_true
from shoe.core.boxes import CommonCoordinates, Coordinates, convert_boxes
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.json import Box, Whole, WholeOrText, explain_error, parse_json, read_typed

_Boxes = Annotated[list[Box], Meta(extra={"item": "triplet"})]
_Numbers = Annotated[list[Whole], Meta(extra={"item": "triplet"})]


class _InstancesImage(Struct, gc=False):
    boxes_h: _Boxes
    boxes_o: _Boxes
    hoi: _Numbers
    object: _Numbers
    verb: _Numbers


class _Document(Struct, gc=False):
    filenames: list[str]
    verbs: list[str]
    objects: list[str]
    annotation: Annotated[list[_InstancesImage], Meta(extra={"item": "image"})]
    correspondence: list[Annotated[tuple[Whole, Whole, Whole], Meta(extra={"expected": "[hoi, object, verb]"})]]
    size: list[Annotated[tuple[Whole, Whole], Meta(extra={"expected": "[width, height]"})]] | UnsetType = UNSET


def read_instances(path: str | Path, data: bytes, _benchmark: Benchmark, _split: str | None) -> Rows:
    """Return the triplets in a file of fredzzhang/hicodet; vocabularies and image sizes (if any) are in the file."""
    place = lambda document, number, _: f"image {quote(document['filenames'][number])}"  # noqa: E731
    document = read_typed(path, data, _Document, place)
    images, annotation = document.filenames, document.annotation
    if len(annotation) != len(images):
        expected = f"{len(images)}, one per file name"
        raise InputError(path, field="annotation", found=f"{len(annotation)} images", expected=expected)
    counts = list_lengths(path, images, annotation, "hoi", "boxes_h", "boxes_o", "object", "verb")
    image = np.repeat(np.arange(len(images)), counts)
    hoi, object_, verb = (
        np.fromiter(chain.from_iterable([getattr(entry, field) for entry in annotation]), np.int64, len(image))
        for field in ("hoi", "object", "verb")
    )
    check_range(path, (images, image), "object", object_, len(document.objects))
    check_range(path, (images, image), "verb", verb, len(document.verbs))
    check_range(path, (images, image), "hoi", hoi, len(document.correspondence))
    # A triplet names its class twice: by hoi, and by object and verb.
    classes = np.array(document.correspondence, np.int64).reshape(-1, 3)
    order = np.full(len(classes), -1)
    inside = (classes[:, 0] >= 0) & (classes[:, 0] < len(classes))
    order[classes[inside, 0]] = np.flatnonzero(inside)
    wrong = (order[hoi] < 0) | (classes[order[hoi], 1:] != np.stack([object_, verb], axis=1)).any(axis=1)
    if (row := first_true(wrong)) is not None:
        record, expected = triplet_name((images, image), row), "the object and verb of this hoi in correspondence"
        found = f"{hoi[row]} with object {object_[row]} and verb {verb[row]}"
        raise InputError(path, record=record, field="hoi", found=found, expected=expected)
    return Rows(
        images=images,
        image=image,
        human_boxes=joined_boxes([entry.boxes_h for entry in annotation], len(image)),
        object_boxes=joined_boxes([entry.boxes_o for entry in annotation], len(image)),
        verbs=document.verbs,
        objects=document.objects,
        verb=verb,
        object=object_,
        coordinates=np.full(len(images), Coordinates.PIXELS_1, np.uint8),
        sizes=None if document.size is UNSET else np.array(document.size, np.float64).reshape(-1, 2),
    )


INSTANCES_FORMAT = TruthFormat(
    name="hicodet instances JSON",
    example="instances_test2015.json (hicodet)",
    fits=lambda data: data.lstrip()[:1] == b"{" and b'"annotation"' in data and b'"filenames"' in data,
    read=read_instances,
)


# Format of PPDM and QPIC: ``test_hico.json``, ``trainval_hico.json``, and the files of HICO-DET-SG.
#
# A list of images, each with boxes and with triplets that refer to boxes by index. Objects have COCO category IDs (1 to
# 90), verbs count from 1 in alphabetical order. Box coordinates are pixel indices, counted from 1 in test images and
# from 0 in training images. Some triplets of training images refer to boxes that do not exist. Like QPIC, this reader
# leaves such images out, and reports their names. In a test image, it is an error.
_TEST = "test2015"


class _Hoi(ListedTriplet, gc=False):
    hoi_category_id: WholeOrText = 0


class _PpdmImage(ListedImage, gc=False):
    hoi_annotation: Annotated[list[_Hoi], Meta(extra={"item": "triplet"})]  # type: ignore[assignment]  # a list is read


def read_ppdm(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return the triplets in a file of PPDM or QPIC; verb and HOI IDs count from 1 in the order of the class table."""
    numbering = benchmark.classes
    records = read_typed(path, data, list[_PpdmImage], named_record())
    images = [record.file_name for record in records]
    is_test = np.array([_TEST in name for name in images], bool)
    boxes, hois = [record.annotations for record in records], [record.hoi_annotation for record in records]
    fields = ("subject_id", "object_id", "category_id", "hoi_category_id")
    counts, corners, category, image, (human, target, verb, hoi) = columns_of_lists(boxes, hois, *fields)
    usable = np.ones(len(images), bool)
    for field, index in (("subject_id", human), ("object_id", target)):
        outside = index >= counts[image]
        check_boxes(path, (images, image), field, index, counts, (index < 0) | (outside & is_test[image]))
        usable[image[outside]] = False
    is_usable = usable[image]
    image, human, target, verb, hoi = (column[is_usable] for column in (image, human, target, verb, hoi))
    first = (np.cumsum(counts) - counts)[image]
    object_ = objects_of(path, images, counts, category, benchmark)[first + target]
    check_range(path, (images, image), "category_id", verb, len(numbering.verbs), first=1)
    verb -= 1
    # Training triplets name their class a second time, by hoi_category_id; 0 means that it is absent.
    stated = numbering.of[verb, object_] + 1
    if (row := first_true((hoi != 0) & (hoi != stated))) is not None:
        words = f"{quote(numbering.verbs[verb[row]])} with {quote(numbering.objects[object_[row]])}"
        record, found = triplet_name((images, image), row), str(hoi[row])
        expected = f"{stated[row]}, which is {words}" if stated[row] else f"the ID of a class; {words} is not a class"
        raise InputError(path, record=record, field="hoi_category_id", found=found, expected=expected)
    return Rows(
        images=[images[i] for i in np.flatnonzero(usable)],
        image=(np.cumsum(usable) - 1)[image],
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        verbs=numbering.verbs,
        objects=numbering.objects,
        verb=verb,
        object=object_,
        coordinates=_coordinates(images)[usable],
        left_out=tuple(images[i] for i in np.flatnonzero(~usable)),
    )


def write_ppdm(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write ground truth in the format of :func:`read_ppdm`; boxes are converted to the format's pixel indices."""
    shift = convert_boxes(np.zeros((len(table), 4)), _coordinates(table.images)[table.image], CommonCoordinates.EDGES)
    human_boxes, object_boxes = (
        convert_boxes(boxes, table.triplet_coordinates, CommonCoordinates.EDGES) - shift
        for boxes in (table.human_boxes, table.object_boxes)
    )
    moved = replace(table, human_boxes=human_boxes, object_boxes=object_boxes)
    verb, hoi = np.argsort(benchmark.verb_order)[table.verb], benchmark.classes.of[table.verb, table.object]
    write_image_lists(moved, path, benchmark, {"category_id": verb + 1, "hoi_category_id": hoi + 1})


def _coordinates(images: Sequence[str]) -> NDArray[np.uint8]:
    return np.array([Coordinates.PIXELS_1 if _TEST in name else Coordinates.PIXELS_0 for name in images], np.uint8)


PPDM_FORMAT = TruthFormat(
    name="PPDM/QPIC JSON",
    example="test_hico.json (PPDM, QPIC, SG)",
    fits=lambda data: re.match(rb"\s*\[\s*\{", data) is not None,
    read=read_ppdm,
    write=write_ppdm,
)


# HAKE's file of the training set: ``hico-det-training-set-instance-level.json``, or the tar archive that contains it.
#
# One object with an entry per image, by file name: triplets with HOI ID from 1, two boxes, image size, and states of
# body parts, which are not read. Boxes are the official pixel indices, counted from 1; those of PPDM and HICO-DET-SG
# are smaller by 1. Images without triplets have an empty list.
class _Triplet(Struct, gc=False):
    hoi_id: Whole
    human_bbox: Box
    object_bbox: Box
    width: Whole
    height: Whole


class _HakeImage(Struct, gc=False):
    labels: Annotated[list[_Triplet], Meta(extra={"item": "triplet"})]


def is_hake(data: bytes) -> bool:
    """Return whether a file is HAKE's JSON, or a tar archive that contains this JSON."""
    data = _unpacked(data)
    return re.match(rb'\s*\{\s*"[^"]+"\s*:\s*\{', data) is not None and b'"labels"' in data and b'"human_bbox"' in data


def read_hake(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return the triplets and image sizes in a file of HAKE; images without triplets have the size (0, 0), unknown."""
    document = parse_json(path, _unpacked(data))
    images: list[str] = []
    entries: list[_HakeImage] = []
    for name, entry in document.items():
        record = f"image {quote(name)}"
        try:
            images.append(benchmark.image_name(name))
            entries.append(msgspec.convert(entry, _HakeImage))
        except msgspec.ValidationError as error:
            raise explain_error(path, error, entry, _HakeImage, record=record) from None
        except ValueError:
            raise InputError(path, record=record, found=quote(name), expected="the name of an image") from None
    image = np.repeat(np.arange(len(images)), [len(entry.labels) for entry in entries])
    triplets = [triplet for entry in entries for triplet in entry.labels]
    hoi = np.array([triplet.hoi_id for triplet in triplets], np.float64).astype(np.int64)
    check_range(path, (images, image), "hoi_id", hoi, len(benchmark.classes), first=1)
    sizes = [(entry.labels[0].width, entry.labels[0].height) if entry.labels else (0, 0) for entry in entries]
    return Rows(
        images=images,
        image=image,
        human_boxes=joined_boxes([[triplet.human_bbox for triplet in triplets]], len(triplets)),
        object_boxes=joined_boxes([[triplet.object_bbox for triplet in triplets]], len(triplets)),
        **benchmark.classes.columns_of(hoi - 1),
        coordinates=np.full(len(images), Coordinates.PIXELS_1, np.uint8),
        sizes=np.array(sizes, np.float64).reshape(-1, 2),
    )


def _unpacked(data: bytes) -> bytes:
    """Return the first JSON file of a tar archive, in which HAKE is published; other data are returned unchanged."""
    if data[257:262] != b"ustar":  # magic number in the header of a tar archive
        return data
    with suppress(tarfile.TarError, EOFError, OSError, ValueError), tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.name.endswith(".json") and (content := archive.extractfile(member)):
                return content.read()
    return data


HAKE_FORMAT = TruthFormat("HAKE instance-level JSON", "hico-det-instance-level.tar.gz (HAKE)", is_hake, read_hake)
