"""HICO-DET as fredzzhang/hicodet writes it: ``instances_test2015.json``, ``instances_train2015.json``.

One object of parallel lists. It carries its own class lists, which its class indices point into; boxes are the official
ones, pixel indices counted from 1, in both splits.
"""

from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_range, joined_boxes, list_lengths, triplet_name
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.json import read_typed
from shoe.io.typed import Box, Whole

_Boxes = Annotated[list[Box], Meta(extra={"item": "triplet"})]
_Numbers = Annotated[list[Whole], Meta(extra={"item": "triplet"})]


class _Image(Struct, gc=False):
    boxes_h: _Boxes
    boxes_o: _Boxes
    hoi: _Numbers
    object: _Numbers
    verb: _Numbers


class _Document(Struct, gc=False):
    filenames: list[str]
    verbs: list[str]
    objects: list[str]
    annotation: Annotated[list[_Image], Meta(extra={"item": "image"})]
    correspondence: list[Annotated[tuple[Whole, Whole, Whole], Meta(extra={"expected": "[hoi, object, verb]"})]]
    size: list[Annotated[tuple[Whole, Whole], Meta(extra={"expected": "[width, height]"})]] | UnsetType = UNSET


def read_instances(path: str | Path, data: bytes, _benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file; :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    document = read_typed(
        path, data, _Document, lambda document, number, _: f"image {quote(document['filenames'][number])}"
    )
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
    # A triplet says its class twice: by hoi, and by object and verb.
    classes = np.array(document.correspondence, np.int64).reshape(-1, 3)
    order = np.full(len(classes), -1)
    inside = (classes[:, 0] >= 0) & (classes[:, 0] < len(classes))
    order[classes[inside, 0]] = np.flatnonzero(inside)
    wrong = (order[hoi] < 0) | (classes[order[hoi], 1:] != np.stack([object_, verb], axis=1)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        record, expected = triplet_name((images, image), row), "the object and verb that correspondence gives this hoi"
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


FORMAT = TruthFormat(
    name="hicodet instances JSON",
    example="instances_test2015.json (hicodet)",
    fits=lambda data: data.lstrip()[:1] == b"{" and b'"annotation"' in data and b'"filenames"' in data,
    read=read_instances,
)
