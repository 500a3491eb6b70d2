"""V-COCO as QPIC's converter writes it, and the V-COCO-SG files: a list of images with boxes, and what persons do.

Objects have COCO category ids, verbs count from 0 to 28: actions in the official order, those with two roles twice. An
``object_id`` of -1 stands for no object, be it that the action needs none or that nobody drew it. Boxes are x1, y1,
x1 + width, y1 + height. A person is told to be annotated by doing something.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated as Typed

import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_boxes, check_range, named_images, named_record, objects_of, triplet_name
from shoe.benchmarks.image_lists import write_image_lists
from shoe.benchmarks.v_coco.annotated import Annotated
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.json import read_typed
from shoe.io.typed import BoxOrText, WholeOrText


class _Box(Struct, gc=False):
    bbox: BoxOrText
    category_id: WholeOrText


class _Deed(Struct, gc=False):
    subject_id: WholeOrText
    object_id: WholeOrText
    category_id: WholeOrText


class _Image(Struct, gc=False):
    file_name: str
    annotations: Typed[list[_Box], Meta(extra={"item": "box"})]
    hoi_annotation: Typed[list[_Deed], Meta(extra={"item": "triplet"})]


def read_qpic_json(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file; :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    records = read_typed(path, data, list[_Image], named_record())
    names = [record.file_name for record in records]
    counts = np.array([len(record.annotations) for record in records], np.int64)
    image = np.repeat(np.arange(len(names)), [len(record.hoi_annotation) for record in records])
    boxes = list(chain.from_iterable(record.annotations for record in records))
    deeds = list(chain.from_iterable(record.hoi_annotation for record in records))
    category = np.array([box.category_id for box in boxes], np.float64).astype(np.int64)
    person, target, verb = (
        np.array([getattr(deed, field) for deed in deeds], np.float64).astype(np.int64)
        for field in ("subject_id", "object_id", "category_id")
    )
    place = (names, image)
    numbered = np.array(benchmark.actions.numbered, np.int64)
    check_range(path, place, "category_id", verb, len(numbered))
    check_boxes(path, place, "subject_id", person, counts)
    check_boxes(path, place, "object_id", target, counts, (target < -1) | (target >= counts[image]))
    action, entry = numbered[verb].T
    first = (np.cumsum(counts) - counts)[image]
    known = "one of COCO's 80 category ids, between 1 and 90"
    objects = objects_of(path, names, counts, category, benchmark.object_of_id, known)
    unperson = objects[first + person] != benchmark.objects.index("person")
    if unperson.any():
        row = int(np.argmax(unperson))
        found = quote(benchmark.objects[objects[(first + person)[row]]])
        raise InputError(
            path, record=triplet_name(place, row), field="subject_id", found=found, expected="the box of a person"
        )
    return Annotated(
        images=named_images(path, benchmark.image_name, names),
        sizes=np.zeros((len(names), 2)),
        counts=counts,
        boxes=np.array([box.bbox for box in boxes], np.float64).reshape(-1, 4),
        object=objects,
        left_out=np.zeros(len(boxes), bool),
        listed=np.unique(first + person),
        person=first + person,
        action=action,
        entry=entry,
        target=np.where((target < 0) | (entry < 0), -1, first + target),
    ).rows(benchmark)


def write_qpic_json(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write triplets as :func:`read_qpic_json` reads them; what persons do without an object is in no table."""
    classes = benchmark.classes
    verb = benchmark.actions.numbers_of(classes.verbs, classes.objects, table.verb, table.object)
    write_image_lists(table, path, benchmark, {"category_id": verb})


FORMAT = TruthFormat(
    name="QPIC's V-COCO JSON",
    example="test_vcoco.json (QPIC, SG)",
    fits=lambda data: data.lstrip()[:1] == b"[" and b'"hoi_annotation"' in data,
    read=read_qpic_json,
    write=write_qpic_json,
)
