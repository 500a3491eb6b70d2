"""V-COCO as fredzzhang/vcoco writes it: ``instances_vcoco_test.json`` and the like.

One object of lists. It carries its own lists of actions with a role ("hold obj") and of objects; boxes are x1, y1,
x1 + width, y1 + height. Persons without an object in their action are not in it, nor is pointing: of the annotations,
these are the pairs.
"""

from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_range, joined_boxes, list_lengths, named_images, named_record
from shoe.core.arrays import Indices
from shoe.core.rows import Rows
from shoe.io.json import read_typed
from shoe.io.typed import Box, Whole

_Boxes = Annotated[list[Box], Meta(extra={"item": "pair"})]
_Numbers = Annotated[list[Whole], Meta(extra={"item": "pair"})]


class _Image(Struct, gc=False):
    boxes_h: _Boxes
    boxes_o: _Boxes
    actions: _Numbers
    objects: _Numbers
    file_name: str


class _Document(Struct, gc=False):
    annotations: Annotated[list[_Image], Meta(extra={"item": "image"})]
    classes: list[str]
    objects: list[str]


def read_pairs_json(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file; :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    document = read_typed(path, data, _Document, named_record())
    entries = document.annotations
    names = [entry.file_name for entry in entries]
    image = np.repeat(
        np.arange(len(entries)), list_lengths(path, names, entries, "actions", "boxes_h", "boxes_o", "objects")
    )
    action, object_ = (
        np.fromiter(chain.from_iterable([getattr(entry, field) for entry in entries]), np.int64, len(image))
        for field in ("actions", "objects")
    )
    check_range(path, (names, image), "actions", action, len(document.classes))
    check_range(path, (names, image), "objects", object_, len(document.objects))
    verbs, verb = _words([name.rpartition(" ")[0] for name in document.classes], action)
    objects, target = _words([name.replace(" ", "_") for name in document.objects], object_)
    return Rows(
        images=named_images(path, benchmark.image_name, names),
        image=image,
        human_boxes=joined_boxes([entry.boxes_h for entry in entries], len(image)),
        object_boxes=joined_boxes([entry.boxes_o for entry in entries], len(image)),
        verbs=verbs,
        objects=objects,
        verb=verb,
        object=target,
    )


def _words(names: list[str], index: Indices) -> tuple[list[str], Indices]:
    """Distinct names, and (n,) indices into them."""
    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return list(distinct), np.array([distinct[name] for name in names], np.int64)[index]


FORMAT = TruthFormat(
    name="V-COCO pairs JSON",
    example="instances_vcoco_test.json (fredzzhang/vcoco)",
    fits=lambda data: data.lstrip()[:1] == b"{" and b'"action_to_object"' in data,
    read=read_pairs_json,
)
